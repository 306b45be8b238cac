package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ciStep runs one step of .ci/steps in a folder that stands for the clone, as the script defines it.
func ciStep(t *testing.T, name, dir string, env ...string) (out string, passed bool) {
	t.Helper()
	script, err := filepath.Abs("../../.ci/steps")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?ms)^` + name + `\(\) \{\n.*?^\}$`).FindString(string(text))
	if function == "" {
		t.Fatalf("%s has no step %s", script, name)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -euo pipefail\nwork=$WORK\n"+function+"\n"+name)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOTOOLCHAIN=local", goFlags("-buildvcs=false"), "GOWORK=off", "GOSUMDB=off", "WORK="+t.TempDir()), env...)
	got, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(got), err == nil
}

// goFlags adds to the flags of the tests' own environment: with others of them all of Go would be compiled once more.
func goFlags(more ...string) string {
	return "GOFLAGS=" + strings.Join(append(strings.Fields(os.Getenv("GOFLAGS")), more...), " ")
}

// clone lays files out, beside the tools.
func clone(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tools, filepath.Join(dir, "tools")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// build compiles the program of a clone to where the steps look for it.
func build(t *testing.T, dir, out string, env ...string) (text string, passed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", out, ".")
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=off", "GOSUMDB=off"), env...)
	got, err := cmd.CombinedOutput()
	return string(got), err == nil
}

const (
	apache = "Apache License Version 2.0"
	gpl    = "GNU GENERAL PUBLIC LICENSE Version 3"
	caller = "package main\n\nimport \"example.com/y\"\n\nfunc main() { y.F() }\n"
	called = "package y\n\n// F does nothing.\nfunc F() {}\n"
)

// TestLicences: a module without a licence, or with one that nobody has judged, fails the bill of materials.
func TestLicences(t *testing.T) {
	for name, c := range map[string]struct {
		licence string
		passes  bool
	}{"a good one": {apache, true}, "one that asks for more": {gpl, false}, "none": {"", false}} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"go.mod":  "module example.com/x\n\ngo 1.26\n\nrequire example.com/y v1.0.0\n\nreplace example.com/y => ./y\n",
				"main.go": caller, "LICENSE": apache, "y/go.mod": "module example.com/y\n\ngo 1.26\n", "y/y.go": called,
			}
			if c.licence != "" {
				files["y/LICENSE"] = c.licence
			}
			dir := clone(t, files)
			binary := filepath.Join(t.TempDir(), "x")
			if out, ok := build(t, dir, binary); !ok {
				t.Fatal(out)
			}
			n, err := run(binary, filepath.Join(t.TempDir(), "bom.json"), dir)
			if (err == nil) != c.passes || err == nil && n != 2 || err != nil && !strings.Contains(err.Error(), "./y (devel): no licence") {
				t.Errorf("%d components, %v", n, err)
			}
		})
	}
}

// yaml is a module that the tools and the command are made with, so that it is at hand without a network.
const yaml = "gopkg.in/yaml.v3"

// moduleSums are the lines of go.sum of yaml and of what it requires, and its version.
func moduleSums(t *testing.T) (sums, version string) {
	t.Helper()
	text, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, yaml+" ") || strings.HasPrefix(line, "gopkg.in/check.v1 ") {
			sums += line
		}
		if rest, ok := strings.CutPrefix(line, yaml+" "); ok && !strings.Contains(line, "/go.mod ") {
			version, _, _ = strings.Cut(rest, " ")
		}
	}
	if version == "" {
		t.Fatalf("go.sum has no %s", yaml)
	}
	return sums, version
}

// usesYAML are the files of a program with that module.
func usesYAML(t *testing.T) map[string]string {
	t.Helper()
	sums, version := moduleSums(t)
	return map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.26\n\nrequire " + yaml + " " + version + "\n", "go.sum": sums, "LICENSE": apache,
		"main.go": "package main\n\nimport \"" + yaml + "\"\n\nfunc main() { _, _ = yaml.Marshal(1) }\n",
	}
}

// TestMaterials: a changed go.sum fails the build, and a module that was changed after its download the bill of materials.
func TestMaterials(t *testing.T) {
	sums, version := moduleSums(t)
	files := usesYAML(t)
	cached, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	env := []string{"GOMODCACHE=" + own, "GOPROXY=file://" + filepath.Join(strings.TrimSpace(string(cached)), "cache", "download"), goFlags("-modcacherw", "-mod=mod")}
	dir, work := clone(t, files), t.TempDir()
	if out, ok := build(t, dir, filepath.Join(work, "athanor"), env...); !ok {
		t.Fatal(out)
	}
	// The tools have more modules than this folder holds: the bill is made with those of the machine.
	write(t, dir, map[string]string{"go": "#!/bin/sh\n[ \"$1\" = -C ] && unset GOMODCACHE GOPROXY && export GOFLAGS='" + os.Getenv("GOFLAGS") + "'\nexec " + goCommand(t) + " \"$@\"\n"})
	if err := os.Chmod(filepath.Join(dir, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	step := append(env, "PATH="+dir+":"+os.Getenv("PATH"), "WORK="+work)
	if out, ok := ciStep(t, "materials", dir, step...); !ok || !strings.Contains(out, "all modules verified") || !strings.Contains(out, "components: 2") {
		t.Fatalf("what nobody has changed fails: %s", out)
	}
	write(t, own, map[string]string{filepath.Join(yaml+"@"+version, "more.go"): "package yaml\n"})
	if out, ok := ciStep(t, "materials", dir, step...); ok || !strings.Contains(out, "has been modified") {
		t.Errorf("a module that was changed: passed %t\n%s", ok, out)
	}
	changed := regexp.MustCompile(`(`+regexp.QuoteMeta(yaml+" "+version)+` h1:)....`).ReplaceAllString(sums, "${1}AAAA")
	if changed == sums {
		t.Fatal("go.sum was not changed")
	}
	write(t, dir, map[string]string{"go.sum": changed})
	if out, ok := build(t, dir, filepath.Join(t.TempDir(), "athanor")); ok || !strings.Contains(out, "checksum mismatch") {
		t.Errorf("a changed go.sum: built %t\n%s", ok, out)
	}
}

func goCommand(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// entry is one of a database of vulnerabilities, as https://go.dev/doc/security/vuln/database describes it.
const entry = `{"schema_version":"1.3.1","id":"GO-2000-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z","summary":"it does harm",
"details":"it does harm","affected":[{"package":{"name":"gopkg.in/yaml.v3","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
"ecosystem_specific":{"imports":[{"path":"gopkg.in/yaml.v3","symbols":["Marshal"]}]}}]}`

// TestVulnerabilities: a call of what is vulnerable fails the step, with a folder as database and with an archive; one that
// is old is said to be.
func TestVulnerabilities(t *testing.T) {
	dir := clone(t, usesYAML(t))
	database := func(modified, modules string, entries ...string) string {
		db := t.TempDir()
		files := map[string]string{
			"index/db.json": fmt.Sprintf(`{"modified": "%s"}`, modified), "index/modules.json": modules, "index/vulns.json": "[]",
		}
		for _, text := range entries {
			files["ID/GO-2000-0001.json"] = text
		}
		write(t, db, files)
		return db
	}
	const listed = `[{"path":"gopkg.in/yaml.v3","vulns":[{"id":"GO-2000-0001","modified":"2026-01-01T00:00:00Z"}]}]`
	bad, good := database("2026-01-01T00:00:00Z", listed, entry), database("2001-01-01T00:00:00Z", "[]")
	archive := filepath.Join(t.TempDir(), "vulndb-2026-01-01.tar")
	if out, err := exec.CommandContext(t.Context(), "tar", "-cf", archive, "-C", bad, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, c := range map[string]struct {
		db, says string
		passes   bool
	}{
		"nothing known": {good, "No vulnerabilities found", true}, "an old database": {good, "warning: the database of vulnerabilities is", true},
		"a folder": {bad, "GO-2000-0001", false}, "an archive": {archive, "GO-2000-0001", false}, "no database": {filepath.Join(dir, "none"), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			out, passed := ciStep(t, "vulnerabilities", dir, "ATHANOR_VULNDB="+c.db)
			if passed != c.passes || !strings.Contains(out, c.says) {
				t.Errorf("passed %t, want %t: %s", passed, c.passes, out)
			}
		})
	}
}
