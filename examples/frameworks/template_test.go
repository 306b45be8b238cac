//go:build frameworks

package frameworks

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestTemplate: what `athanor init --template worker-website` writes is built and deployed as it is, in YAML and in Go, answers with its page and its API,
// needs nothing at the second deploy, and is destroyed.
func TestTemplate(t *testing.T) {
	root, _ := proctest.ModuleRoot()
	for name, args := range map[string][]string{"yaml": nil, "go": {"--go", "--module", root}} {
		t.Run(name, func(t *testing.T) {
			cloud := cloudflaretest.Start(t)
			program := programtest.Build(t, cloud, "../../cmd/athanor")
			program.Folder = t.TempDir()
			if out, errs, code := program.Bare(append([]string{"init", "first", "--template", "worker-website"}, args...)...); code != 0 {
				t.Fatalf("init: exit %d\n%s%s", code, out, errs)
			}
			packages := filepath.Join(root, ".cache", "frameworks", "node_modules")
			if err := os.Symlink(packages, filepath.Join(program.Folder, "first", "web", "node_modules")); err != nil {
				t.Fatal(err)
			}
			first := program.Do("deploy", "first")
			base := cloud.Run(t, fmt.Sprint(first.Outputs["worker"]))
			if page := ask(t, http.MethodGet, base+"/", "", ""); !strings.Contains(page, "<h1>first</h1>") || strings.Contains(page, "/src/page.ts") {
				t.Errorf("the page is %q", page)
			}
			ask(t, http.MethodPost, base+"/api/guests", "text/plain", "Ada")
			if guests := ask(t, http.MethodGet, base+"/api/guests", "", ""); guests != `["Ada"]` {
				t.Errorf("the guests are %s", guests)
			}
			if again := program.Do("deploy", "first"); again.Calls.Mutations != 0 || again.Commits != 0 || again.Unchanged != first.Created {
				t.Errorf("the second deploy: %s", again)
			}
			if gone := program.Do("destroy", "first", "--allow-delete", "**"); gone.Deleted != first.Created {
				t.Errorf("destroy: %s, created %d", gone, first.Created)
			}
		})
	}
}
