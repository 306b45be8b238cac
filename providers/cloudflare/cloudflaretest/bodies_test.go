package cloudflaretest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBodiesAreWhole: where Cloudflare's own client sends one value as the whole body, the descriptions have it as the whole body too. They are of
// another tool, which has some of these values as the only property of an object; an API that wants a list refuses such a body.
func TestBodiesAreWhole(t *testing.T) {
	c := load(t)
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cloudflare/cloudflare-go/v6").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(found)), "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the client has no source: %v", err)
	}
	whole, sent := map[string]string{}, map[string]string{} // the field that is the body by its parameters; bodies of functions by theirs
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		group := filepath.Base(filepath.Dir(file)) + "."
		for _, m := range marshalled.FindAllStringSubmatch(string(text), -1) {
			whole[group+m[1]] = m[2]
		}
		for _, m := range calling.FindAllStringSubmatch(string(text), -1) {
			sent[group+m[1]] = m[2]
		}
	}
	held := 0
	for parameters, field := range whole {
		path, method := sentTo.FindStringSubmatch(sent[parameters]), by.FindStringSubmatch(sent[parameters])
		if path == nil || method == nil {
			continue
		}
		for _, scope := range []string{"", "/accounts/x", "/zones/x"} {
			at := "/" + strings.ReplaceAll(path[1], "%s", "x")
			if scope != "" {
				at = strings.Replace(at, "/x/x", scope, 1)
			}
			op, _ := c.find(strings.ToUpper(method[1]), at)
			if op == nil || op.Method == http.MethodGet {
				continue
			}
			held++
			var bodies []string
			for _, p := range op.Params {
				if p.Path == "" && p.Query == "" && p.Header == "" {
					bodies = append(bodies, p.Name)
				}
			}
			if len(bodies) == 1 && bodies[0] != "body" && strings.EqualFold(strings.ReplaceAll(bodies[0], "_", ""), field) {
				t.Errorf("%s: the client sends the value of %q as the whole body, and the description has an object with it", op, bodies[0])
			}
			break
		}
	}
	if held < 100 {
		t.Errorf("%d operations were compared", held)
	}
}

var (
	marshalled = regexp.MustCompile(`func \(r (\w+)\) MarshalJSON\(\) \(data \[\]byte, err error\) \{\n\treturn apijson\.MarshalRoot\(r\.(\w+)\)`)
	calling    = regexp.MustCompile(`(?s)\nfunc \(r \*\w+\) \w+\(ctx[^\n]*?(?:params|body) (\w+),[^\n]*\{\n(.*?)\n\}\n`)
	sentTo     = regexp.MustCompile(`path := (?:fmt\.Sprintf\()?"([^"]+)"`)
	by         = regexp.MustCompile(`http\.Method(\w+)`)
)
