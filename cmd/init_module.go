package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
)

// goModule is how a new Go program finds athanor.
type goModule struct {
	// files are go.mod and go.sum; none where a module above the program has athanor already.
	files map[string]string
	// commands are to be run in the program's directory before it builds.
	commands []string
	// notes say what was found.
	notes []string
}

// moduleOf finds athanor for a new program: in the module that the directory belongs to, in a given checkout, as the release
// that this command is, or in the checkout that it was built from.
func (a *app) moduleOf(dir, name, checkout string) (*goModule, error) {
	ours := modulePath()
	if above := moduleAbove(dir); above != "" && checkout == "" {
		text, err := os.ReadFile(above)
		if err != nil {
			return nil, err
		}
		if mod := readGoMod(text); mod.path == ours || mod.versions[ours] != "" {
			return &goModule{notes: []string{"the program belongs to the module of " + above}}, nil
		}
	}
	m := &goModule{files: map[string]string{}}
	if workspaceAbove(dir) {
		m.commands = append(m.commands, "go work use .")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "// Written by athanor init; go mod tidy keeps what the program needs.\nmodule example.com/%s\n\n", name)
	release := releaseOf(a.versionText())
	switch {
	case checkout != "":
		if !isCheckout(checkout) {
			return nil, cli.Hint(fmt.Errorf("--module %s: it is no checkout of %s", checkout, ours), "DIR is the folder with athanor's go.mod")
		}
		checkout = files.Absolute(checkout)
	case release != "":
		fmt.Fprintf(&text, "go %s\n\nrequire %s %s\n", goVersion(), ours, release)
		m.files["go.mod"] = text.String()
		m.commands = append(m.commands, "go mod tidy")
		return m, nil
	default:
		if checkout = builtFrom(); checkout == "" {
			return nil, cli.Hint(errors.New("this command is no release, and the checkout that it was built from is not on this machine"),
				"athanor init --go --module DIR, where DIR is a checkout of "+ours)
		}
	}
	own, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return nil, err
	}
	mod := readGoMod(own)
	fmt.Fprintf(&text, "go %s\n\nrequire %s v0.0.0\n\n%s\nreplace %s => %s\n\n// What athanor itself needs.\nrequire (\n", mod.goVersion, ours,
		replacedComment, ours, quotedPath(checkout))
	for _, line := range mod.required {
		fmt.Fprintf(&text, "\t%s // indirect\n", line)
	}
	text.WriteString(")\n")
	m.files["go.mod"], m.files["go.sum"] = text.String(), string(sum)
	m.notes = append(m.notes, "the program uses the checkout "+checkout+"; athanor version --check says which")
	return m, nil
}

// replacedComment stands above the line of go.mod that leads to a checkout.
const replacedComment = "// A checkout stands in for the release: without this line, go get gets the newest one."

// modulePath is athanor's own module.
func modulePath() string { return strings.TrimSuffix(reflect.TypeFor[Option]().PkgPath(), "/cmd") }

// goMod is what a go.mod says.
type goMod struct {
	path, goVersion string
	// required are the requirements in their order: path and version.
	required []string
	versions map[string]string
	// replaced are the folders or modules that stand in for others.
	replaced map[string]string
}

var goModWord = regexp.MustCompile("\"[^\"]*\"|`[^`]*`|[^\\s]+")

// readGoMod reads a go.mod; what it does not know is left out.
func readGoMod(text []byte) goMod {
	mod := goMod{goVersion: goVersion(), versions: map[string]string{}, replaced: map[string]string{}}
	block := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		words := goModWord.FindAllString(line, -1)
		for i := range words {
			words[i] = strings.Trim(words[i], "\"`")
		}
		switch {
		case len(words) == 0:
			continue
		case block != "" && words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		}
		switch at := len(words); {
		case words[0] == "module" && at == 2:
			mod.path = words[1]
		case words[0] == "go" && at == 2:
			mod.goVersion = words[1]
		case words[0] == "require" && at == 3:
			mod.required = append(mod.required, words[1]+" "+words[2])
			mod.versions[words[1]] = words[2]
		case words[0] == "replace":
			if from, to, ok := strings.Cut(strings.Join(words[1:], " "), " => "); ok {
				from, _, _ = strings.Cut(from, " ")
				mod.replaced[from] = to
			}
		}
	}
	return mod
}

// goVersion is the release of Go that this command was built with, as go.mod names it.
func goVersion() string {
	version := strings.TrimPrefix(runtime.Version(), "go")
	if parts := strings.SplitN(version, ".", 3); len(parts) > 1 {
		return parts[0] + "." + strings.TrimRight(parts[1], "abcdefghijklmnopqrstuvwxyz-+ :")
	}
	return version
}

// quotedPath writes a path as go.mod takes it.
func quotedPath(path string) string {
	if strings.ContainsAny(path, " \t'\"()[]{},`") || strings.Contains(path, "//") {
		return "\"" + path + "\""
	}
	return path
}

// notReleased matches versions that nobody can get: of a commit, or of changed files.
var notReleased = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}|\+`)

// releaseOf is a version as a module has it, "" for one that is no release.
func releaseOf(version string) string {
	if version == "" || strings.HasPrefix(version, "(") || notReleased.MatchString(version) {
		return ""
	}
	return "v" + strings.TrimPrefix(version, "v")
}

// builtFrom is the checkout that this command was built from, "" when it is not on this machine.
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0)
	if root := filepath.Dir(filepath.Dir(file)); ok && filepath.IsAbs(file) && isCheckout(root) {
		return root
	}
	return ""
}

// isCheckout reports whether a folder is a checkout of athanor.
func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && readGoMod(text).path == modulePath()
}

// moduleAbove is the go.mod that a directory belongs to, "" for none.
func moduleAbove(dir string) string { return above(dir, "go.mod") }

// workspaceAbove reports whether a workspace of Go is around a directory, which lists the modules in it.
func workspaceAbove(dir string) bool {
	return above(dir, "go.work") != "" && os.Getenv("GOWORK") != "off"
}

// above is the nearest file of a name in a directory or above it, "" for none.
func above(dir, name string) string {
	for at := dir; ; {
		if info, err := os.Stat(filepath.Join(at, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(at, name)
		}
		up := filepath.Dir(at)
		if up == at {
			return ""
		}
		at = up
	}
}

// usedModule is what a Go program uses of athanor.
type usedModule struct {
	File     string `json:"file"`
	Version  string `json:"version,omitempty"`
	Replaced string `json:"replaced,omitempty"` // the folder or module that stands in for it
}

// usedBy finds what the Go program in a folder uses of athanor; nil outside of a module.
func usedBy(dir string) (*usedModule, error) {
	file := moduleAbove(dir)
	if file == "" {
		return nil, nil //nolint:nilnil // there is no module, which is no error
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	mod := readGoMod(text)
	return &usedModule{File: file, Version: mod.versions[modulePath()], Replaced: mod.replaced[modulePath()]}, nil
}

func (m *usedModule) String() string {
	switch {
	case m == nil:
		return "there is no go.mod here or above: no Go program to compare with"
	case m.Replaced != "":
		return fmt.Sprintf("%s uses the checkout %s, not a release: it replaces %s", m.File, m.Replaced, modulePath())
	case m.Version != "":
		return m.File + " uses " + modulePath() + " " + m.Version
	default:
		return m.File + " does not require " + modulePath()
	}
}
