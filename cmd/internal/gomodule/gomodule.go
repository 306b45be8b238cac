// Package gomodule finds athanor for a Go program that is to be written, and says what an existing one uses of it.
//
// It reads go.mod files alone: it runs no go command and asks no network.
package gomodule

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
	"github.com/athanor-dev/athanor/cmd/internal/release"
)

// Module is how a new Go program finds athanor.
type Module struct {
	// Files are go.mod and go.sum; none where a module above the program has athanor already.
	Files map[string]string
	// Commands are to be run in the program's directory before it builds.
	Commands []string
	// Notes say what was found.
	Notes []string
}

// For finds athanor for a new program: in the module that the directory belongs to, in a given checkout, as the release
// that this command is, or in the checkout that it was built from.
func For(dir, name, checkout, version string) (*Module, error) {
	ours := ModulePath()
	if above := moduleAbove(dir); above != "" && checkout == "" {
		text, err := os.ReadFile(above)
		if err != nil {
			return nil, err
		}
		if mod := readGoMod(text); mod.path == ours || mod.versions[ours] != "" {
			return &Module{Notes: []string{"the program belongs to the module of " + above}}, nil
		}
	}
	m := &Module{Files: map[string]string{}}
	if workspaceAbove(dir) {
		m.Commands = append(m.Commands, "go work use .")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "// Written by athanor init; go mod tidy keeps what the program needs.\nmodule example.com/%s\n\n", name)
	released := release.Of(version)
	switch {
	case checkout != "":
		if !isCheckout(checkout) {
			return nil, cli.Hint(fmt.Errorf("--module %s: it is no checkout of %s", checkout, ours), "DIR is the folder with athanor's go.mod")
		}
		checkout = files.Absolute(checkout)
	case released != "":
		fmt.Fprintf(&text, "go %s\n\nrequire %s %s\n", goVersion(), ours, released)
		m.Files["go.mod"] = text.String()
		m.Commands = append(m.Commands, "go mod tidy")
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
	m.Files["go.mod"], m.Files["go.sum"] = text.String(), string(sum)
	m.Notes = append(m.Notes, "the program uses the checkout "+checkout+"; athanor version --check says which")
	return m, nil
}

// replacedComment stands above the line of go.mod that leads to a checkout.
const replacedComment = "// A checkout stands in for the release: without this line, go get gets the newest one."

// ModulePath is athanor's own module.
func ModulePath() string {
	return strings.TrimSuffix(reflect.TypeFor[Module]().PkgPath(), "/cmd/internal/gomodule")
}

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

// builtFrom is the checkout that this command was built from, "" when it is not on this machine.
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0)
	if root := filepath.Join(filepath.Dir(file), "..", "..", ".."); ok && filepath.IsAbs(file) && isCheckout(root) {
		return root
	}
	return ""
}

// isCheckout reports whether a folder is a checkout of athanor.
func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && readGoMod(text).path == ModulePath()
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

// Used is what a Go program uses of athanor.
type Used struct {
	File     string `json:"file"`
	Version  string `json:"version,omitempty"`
	Replaced string `json:"replaced,omitempty"` // the folder or module that stands in for it
}

// UsedBy finds what the Go program in a folder uses of athanor; nil outside of a module.
func UsedBy(dir string) (*Used, error) {
	file := moduleAbove(dir)
	if file == "" {
		return nil, nil //nolint:nilnil // there is no module, which is no error
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	mod := readGoMod(text)
	return &Used{File: file, Version: mod.versions[ModulePath()], Replaced: mod.replaced[ModulePath()]}, nil
}

func (m *Used) String() string {
	switch {
	case m == nil:
		return "there is no go.mod here or above: no Go program to compare with"
	case m.Replaced != "":
		return fmt.Sprintf("%s uses the checkout %s, not a release: it replaces %s", m.File, m.Replaced, ModulePath())
	case m.Version != "":
		return m.File + " uses " + ModulePath() + " " + m.Version
	default:
		return m.File + " does not require " + ModulePath()
	}
}
