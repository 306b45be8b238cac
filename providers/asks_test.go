package providers

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestKindsOnlyAsk finds kinds that wait, or that refuse to delete data, by themselves: both are the runner's, which can be
// interrupted, retries, and looks at what an object holds right before it deletes it.
func TestKindsOnlyAsk(t *testing.T) {
	own := regexp.MustCompile(`reconcile\.(Wait|Intervals|Reads|Writes|ErrHoldsData|ErrInterrupted)\b|time\.(Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)\(|\bbackoff\.`)
	allowed := map[string]string{
		"aws/logs/tail.go":    "it follows lines for as long as somebody reads them",
		"aws/cognito/pool.go": "Cognito's count of users is late: one user is looked for right before the deletion, and in no plan",
	}
	test := regexp.MustCompile(`^(aws/(awstest|cloudcontrol/controltest)|cloudflare/(cloudflaretest|miniflare))/`)
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, _ fs.DirEntry, err error) error {
		service := strings.HasPrefix(file, "aws/") || strings.HasPrefix(file, "cloudflare/")
		if err != nil || !service || strings.Count(file, "/") < 2 || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || test.MatchString(file) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files++
		switch found := own.FindAllString(string(text), -1); {
		case allowed[file] != "" && len(found) == 0:
			t.Errorf("%s is allowed to wait or to refuse, and does not", file)
		case allowed[file] == "" && len(found) > 0:
			t.Errorf("%s: %v", file, found)
		}
		return nil
	})
	if err != nil || files < 80 {
		t.Fatalf("%d files, %v", files, err)
	}
}
