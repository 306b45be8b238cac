// Package templates_test deploys what `athanor init` writes, each template in YAML and in Go, against the servers that stand
// for the clouds: with the commands that a newcomer types.
package templates_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// machine is the cloud of the template that needs none.
type machine struct{}

func (machine) Env() map[string]string   { return nil }
func (machine) Names() map[string]string { return nil }

// life writes a template, deploys it twice, lets the test use it, and destroys it.
func life[C programtest.Cloud](t *testing.T, cloud C, template string, inGo bool, use func(p *programtest.Program[C], c programtest.Counts)) {
	t.Helper()
	p := programtest.Build(t, cloud, "../../cmd/athanor")
	p.Folder = t.TempDir()
	args := []string{"init", "first", "--template", template}
	if inGo {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--go", "--module", root)
	}
	if out, errs, code := p.Bare(args...); code != 0 || !strings.Contains(errs, "next:  athanor deploy first\n") {
		t.Fatalf("init: exit %d\n%s%s", code, out, errs)
	}
	c := p.Do("deploy", "first")
	if c.Created == 0 || c.Failed > 0 || c.Blocked > 0 {
		t.Fatalf("first deploy: %s", c)
	}
	use(p, c)
	if again := p.Do("deploy", "first"); again.Calls.Mutations != 0 || again.Commits != 0 || again.Unchanged != c.Created {
		t.Errorf("second deploy: %s", again)
	}
	if gone := p.Do("destroy", "first", "--allow-delete", "**"); gone.Deleted != c.Created {
		t.Errorf("destroy: %s, created %d", gone, c.Created)
	}
}

// both runs a test of the nth template for YAML and for Go. A stack in Go is a program to compile: of every third template it is run for
// each push, of each template every night.
func both(t *testing.T, n int, test func(t *testing.T, inGo bool)) {
	t.Helper()
	t.Run("yaml", func(t *testing.T) { test(t, false) })
	if proctest.Played(n, 3) {
		t.Run("go", func(t *testing.T) { test(t, true) })
	}
}

func TestLocal(t *testing.T) {
	both(t, 0, func(t *testing.T, inGo bool) {
		life(t, machine{}, "local", inGo, func(p *programtest.Program[machine], _ programtest.Counts) {
			page, err := os.ReadFile(filepath.Join(p.Folder, "first", "public", "index.html"))
			if err != nil || !strings.HasPrefix(string(page), "<h1>first ") {
				t.Errorf("the page is %q (%v)", page, err)
			}
		})
	})
}

func TestAWSAPI(t *testing.T) {
	both(t, 1, func(t *testing.T, inGo bool) {
		life(t, awstest.Start(t), "aws-api", inGo, func(p *programtest.Program[*awstest.Server], c programtest.Counts) {
			if url := fmt.Sprint(c.Outputs["url"]); !strings.HasPrefix(url, "https://") {
				t.Errorf("the API is at %q", url)
			}
			client := lambda.NewFromConfig(p.Cloud.Config(t))
			list, err := client.ListFunctions(t.Context(), &lambda.ListFunctionsInput{})
			if err != nil || len(list.Functions) != 1 {
				t.Fatalf("functions: %+v (%v)", list, err)
			}
			if table := list.Functions[0].Environment.Variables["TABLE"]; table == "" || table != c.Outputs["table"] {
				t.Errorf("the function has the table %q, want %v", table, c.Outputs["table"])
			}
		})
	})
}

func TestAWSWebsite(t *testing.T) {
	both(t, 2, func(t *testing.T, inGo bool) {
		life(t, awstest.StartMinistack(t), "aws-website", inGo, func(p *programtest.Program[*awstest.Server], c programtest.Counts) {
			bucket := fmt.Sprint(c.Outputs["bucket"])
			url, ok := strings.CutPrefix(fmt.Sprint(c.Outputs["url"]), "https://")
			if !ok || !strings.HasSuffix(url, ".cloudfront.net") {
				t.Errorf("the site of %s is at %q", bucket, url)
			}
			client, key := s3.NewFromConfig(p.Cloud.Config(t)), "index.html"
			page, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(page.Body)
			if err != nil || !strings.Contains(string(text), "<h1>first</h1>") || page.ContentType == nil || !strings.HasPrefix(*page.ContentType, "text/html") {
				t.Errorf("the page is %s %q (%v)", *page.ContentType, text, err)
			}
			policy, err := client.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: &bucket})
			if err != nil || !strings.Contains(*policy.Policy, "arn:aws:s3:::"+bucket+"/*") || !strings.Contains(*policy.Policy, ":distribution/") {
				t.Errorf("the policy is %+v (%v)", policy, err)
			}
		})
	})
}

func TestWorker(t *testing.T) {
	both(t, 3, func(t *testing.T, inGo bool) {
		life(t, cloudflaretest.Start(t), "worker", inGo, func(p *programtest.Program[*cloudflaretest.Server], c programtest.Counts) {
			if c.Outputs["url"] == "" {
				t.Error("the Worker has no address")
			}
			url := p.Cloud.Run(t, fmt.Sprint(c.Outputs["worker"]))
			call(t, http.MethodGet, url+"/greeting", "", http.StatusNotFound)
			call(t, http.MethodPut, url+"/greeting", "hello", http.StatusCreated)
			if note := call(t, http.MethodGet, url+"/greeting", "", http.StatusOK); note != "hello" {
				t.Errorf("the note is %q", note)
			}
		})
	})
}

func TestWorkerFullstack(t *testing.T) {
	both(t, 4, func(t *testing.T, inGo bool) {
		cloud := cloudflaretest.Start(t)
		cloud.WithDatabases(t)
		life(t, cloud, "worker-fullstack", inGo, func(p *programtest.Program[*cloudflaretest.Server], c programtest.Counts) {
			worker := fmt.Sprint(c.Outputs["worker"])
			if pages, _ := p.Cloud.Assets(worker); !strings.Contains(string(pages["/index.html"]), "<h1>first</h1>") {
				t.Errorf("the pages are %q", pages)
			}
			url := p.Cloud.Run(t, worker) + "/api/entries"
			call(t, http.MethodPost, url, "", http.StatusBadRequest)
			call(t, http.MethodPost, url, "one", http.StatusCreated)
			var entries []struct{ Text string }
			if err := json.Unmarshal([]byte(call(t, http.MethodGet, url, "", http.StatusOK)), &entries); err != nil || len(entries) != 1 || entries[0].Text != "one" {
				t.Errorf("the entries are %v (%v)", entries, err)
			}
		})
	})
}

// TestWorkerWebsite: the stack can be planned before its packages are there, since a plan builds nothing; the command that installs them is
// printed, and the versions that it installs are those with which `task frameworks` deploys and develops the template.
func TestWorkerWebsite(t *testing.T) {
	both(t, 5, func(t *testing.T, inGo bool) {
		p := programtest.Build(t, cloudflaretest.Start(t), "../../cmd/athanor")
		p.Folder = t.TempDir()
		args := []string{"init", "first", "--template", "worker-website"}
		if inGo {
			root, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "--go", "--module", root)
		}
		if out, errs, code := p.Bare(args...); code != 0 || !strings.HasSuffix(errs, "\nnext:  npm install --prefix first/web\nnext:  athanor deploy first\n") {
			t.Fatalf("init: exit %d\n%s%s", code, out, errs)
		}
		if out, errs, code := p.Run("plan", "first"); code != 2 || !strings.Contains(out, "known after site/build") || !strings.Contains(out, "3 to create") {
			t.Errorf("plan: exit %d\n%s%s", code, out, errs)
		}
		ours, tested := packagesOf(t, filepath.Join(p.Folder, "first", "web", "package.json")), packagesOf(t, "../../tools/frameworks/package.json")
		for name, version := range ours {
			if tested[name] != version {
				t.Errorf("it installs %s %s, and is tested with %q", name, version, tested[name])
			}
		}
		if len(ours) == 0 {
			t.Error("it installs nothing")
		}
	})
}

// packagesOf are the packages that a package.json names, with their versions.
func packagesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	maps.Copy(all, read.Dependencies)
	maps.Copy(all, read.DevDependencies)
	return all
}

// call sends a request and returns the answer, which must have that status.
func call(t *testing.T, method, url, body string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s: %d %q (%v), want %d", method, url, res.StatusCode, text, err, status)
	}
	return string(text)
}
