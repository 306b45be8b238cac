// Package pages_test runs the README, the tutorials, the how-to pages and the first hours: it writes each file that a page shows, types each command, and
// compares what is printed with the page. Pages of AWS run on an emulator over HTTP, those of Cloudflare on its test server.
//
//	go test ./examples/pages -run 'TestPages/howto/stages' -update    # write what is printed into the page
package pages_test

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

var (
	update     = flag.Bool("update", false, "write the outputs into the pages")
	frameworks = flag.Bool("frameworks", false, "type the page that takes packages from npm too, after tools/frameworks.sh; task frameworks does")
)

// website is the page whose commands take packages from npm.
const website = "docs/first-hour/worker-website.md"

// mostNotRun is how many console blocks of all pages may not be run.
const mostNotRun = 5

// clouds are the pages that need more than this machine.
var clouds = map[string]func(t *testing.T) world{
	"docs/tutorial.md":        emulator,
	"docs/tutorial-worker.md": cloudflare,
	"docs/howto/policies.md":  goProgram,

	"docs/first-hour/aws-api.md":          both(emulator),
	"docs/first-hour/aws-website.md":      both(emulator),
	"docs/first-hour/local.md":            both(nil),
	"docs/first-hour/worker-fullstack.md": both(cloudflare),
	"docs/first-hour/worker.md":           both(cloudflare),
	website:                               both(packages),
}

// goProgram is a page whose stack is compiled. It says where a checkout of athanor is; the checkout is this one.
func goProgram(t *testing.T) world {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return world{env: programtest.Caches(t), names: map[string]string{"../athanor": root}}
}

// both is a page with a stack in YAML and one in Go, which is compiled with the checkout that the page calls /home/ada/athanor.
func both(cloud func(t *testing.T) world) func(t *testing.T) world {
	return func(t *testing.T) world {
		w := world{}
		if cloud != nil {
			w = cloud(t)
		}
		compiled := goProgram(t)
		if w.env == nil {
			w.env = map[string]string{}
		}
		maps.Copy(w.env, compiled.env)
		if w.names == nil {
			w.names = map[string]string{}
		}
		w.names["/home/ada/athanor"] = compiled.names["../athanor"]
		return w
	}
}

// needs skips the page where a program that its commands call is not at hand, or fails it when $ATHANOR_NO_SKIP is set.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			proctest.Missing(t, "%v", err)
		}
	}
}

// emulator is an AWS account. The pages say the port that the emulator takes by itself, and set the environment.
func emulator(t *testing.T) world {
	needs(t, "curl", "node") // which runs the function
	server := s3test.Start(t, s3test.Ministack)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.Origin, "http://"), ":")
	env := map[string]string{"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true"}
	return world{env: env, names: map[string]string{":4566": ":" + port}}
}

// cloudflare is an account of Cloudflare, whose Workers run on this machine: curl is led to them in place of workers.dev.
func cloudflare(t *testing.T) world {
	needs(t, "curl")
	server := cloudflaretest.Start(t)
	server.WithDatabases(t)
	return world{env: server.Env(), names: map[string]string{"ACCOUNT": server.Account}, before: func(s *shell) {
		led := "#!/bin/sh\nfor a; do shift; set -- \"$@\" \"$(printf %s \"$a\" | sed 's|https://[^/]*workers[.]dev|" + server.Run(t, s.value(t, "athanor output worker")) +
			"|')\"; done\nPATH=${PATH#*:} exec curl \"$@\"\n"
		out, code := s.run(t, "cat > \"$BIN/curl\" <<'END'\n"+led+"END\nchmod +x \"$BIN/curl\"")
		if code != 0 {
			t.Fatal(out)
		}
	}}
}

// packages is an account of Cloudflare with an npm whose `install` gives a folder the packages that tools/frameworks.sh has installed: those of
// the template, in the same versions.
func packages(t *testing.T) world {
	needs(t, "node", "npm")
	installed, err := filepath.Abs("../../.cache/frameworks/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(installed); err != nil {
		t.Fatalf("tools/frameworks.sh installs the packages: %v", err)
	}
	w := cloudflare(t)
	w.scripts = map[string]string{
		"npm": "if [ \"$1 $2\" = \"install --prefix\" ]; then ln -s '" + installed + "' \"$3/node_modules\"; else PATH=${PATH#*:} exec npm \"$@\"; fi\n",
	}
	return w
}

// TestPages runs the README, every tutorial and how-to page, and the first hours; other pages are not run. Of how-to pages and first hours it is every
// second for each push, and each every night. The first is not among them: neither is then the first hour that compiles Go and clients of AWS anew,
// for Lambda, which examples/api does for each push.
func TestPages(t *testing.T) {
	program := programtest.Athanor(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"README.md", "docs/tutorial*.md", "docs/howto/*.md", "docs/first-hour/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 8 {
		t.Errorf("there are %d pages", len(files))
	}
	notRun, n, tried := 0, -1, []string{}
	for _, file := range files {
		page, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		page = filepath.ToSlash(page)
		tried = append(tried, page)
		if page == website && !*frameworks {
			continue
		}
		if sampled := strings.Count(page, "/") > 1; sampled && !*update && !*frameworks {
			if n++; !proctest.Played(n+1, 2) {
				continue
			}
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(page, "docs/"), ".md"), func(t *testing.T) {
			w := world{}
			if cloud := clouds[page]; cloud != nil {
				w = cloud(t)
			}
			notRun += try(t, file, program, w, *update)
		})
	}
	if notRun > mostNotRun {
		t.Errorf("%d blocks are not run, and at most %d may be", notRun, mostNotRun)
	}
	for page := range clouds {
		if !slices.Contains(tried, page) {
			t.Errorf("there is no page %s", page)
		}
	}
}

// TestValueIsNotProgress: what a command reports while it works is no part of its value, and part of what a person
// sees.
func TestValueIsNotProgress(t *testing.T) {
	s := &shell{dir: t.TempDir(), env: os.Environ()}
	const line = "echo building /home/ada/notes >&2; echo notes-dev-ada"
	if got := s.value(t, line); got != "notes-dev-ada" {
		t.Errorf("the value is %q", got)
	}
	if got, code := s.run(t, line); code != 0 || !slices.Equal(got, []string{"building /home/ada/notes", "notes-dev-ada"}) {
		t.Errorf("%d: %q", code, got)
	}
}

// TestCompared holds the comparison to what it must see and what it must not.
func TestCompared(t *testing.T) {
	split := func(s string) []string { return strings.Split(s, "\n") }
	for _, tt := range []struct {
		name, want, got string
		same            bool
	}{
		{"times and runs", "10:31:04 deploy 20260101-103104-AAAAAA of a/b: 1 change\nDone  2.5s", "17:09:51 deploy 20261123-170951-Z5W3ON of a/b: 1 change\nDone  12ms", true},
		{"order within a run", "10:31:04 + a: created in 1s\n10:31:05 + b: created in 2s", "10:31:04 + b: created in 1s\n10:31:04 … x\n10:31:05 + a: created in 2s", true},
		{"order of a plan", "+ a\n+ b", "+ b\n+ a", false},
		{"lines left out", "a\n…\nd", "a\nb\nc\nd", true},
		{"no lines left out", "a\n…", "a", true},
		{"a line too many", "a", "a\nb", false},
		{"a line too few", "a\nb", "a", false},
		{"another count", "Plan: 1 to create", "Plan: 2 to create", false},
		{"another verb", "10:31:04 + a: created in 1s", "10:31:04 + a: updated in 1s", false},
		{"columns", "a  b", "a       b", true},
		{"indentation", "  a", "    a", false},
	} {
		if got := matches(comparable(split(tt.want)), comparable(split(tt.got))); got != tt.same {
			t.Errorf("%s: the same is %t", tt.name, got)
		}
	}
	if got, err := patched("a\nb\nc\n", " a\n-b\n+d\n"); err != nil || got != "a\nd\nc\n" {
		t.Errorf("patched: %q, %v", got, err)
	}
	if _, err := patched("a\nb\na\nb\n", "-b\n+d\n"); err == nil {
		t.Error("a diff that fits twice is applied")
	}
	all, err := commands(block{text: "$ a \\\nb  # exits 2\nout\n$ c\n"})
	if err != nil || len(all) != 2 || all[0].shell != "a \\\nb" || all[0].exit != 2 || len(all[0].want) != 1 || all[1].exit != 0 {
		t.Errorf("commands: %+v, %v", all, err)
	}
}
