package athanor_test

import (
	"os"
	"regexp"
	"testing"
)

var requiredModule = regexp.MustCompile(`(?m)^\s+(github\.com/aws/\S+) (v\S+)`)

// TestClientsOfAWSAreCompiledOnce: the S3 server that tests start has the clients of AWS in athanor's versions. With others all of them would be
// compiled once more in each run of CI.
func TestClientsOfAWSAreCompiledOnce(t *testing.T) {
	versions := func(file string) map[string]string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, m := range requiredModule.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	ours, shared := versions("go.mod"), 0
	for name, version := range versions("tools/s3/go.mod") {
		if want := ours[name]; want == version {
			shared++
		} else if want != "" {
			t.Errorf("tools/s3/go.mod has %s %s, and go.mod %s: go -C tools/s3 get %s@%s", name, version, want, name, want)
		}
	}
	if shared < 10 {
		t.Errorf("they share %d modules of AWS, and some fifteen were there", shared)
	}
}
