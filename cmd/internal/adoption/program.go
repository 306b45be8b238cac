package adoption

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/gocode"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
)

// mainFile holds the program of a stack that was adopted.
const mainFile = "main.go"

// language is how an adopted stack is written.
type language struct {
	isGo bool
	// checkout is the folder of athanor that a program uses, "" for what is found.
	checkout string
}

func languageOf(c *cli.Context) language {
	return language{isGo: c.Bool("go"), checkout: c.String("module")}
}

// stackText is a stack as YAML, or as a Go program.
func stackText(o *session.Opener, s from.Stack, base string, l language) ([]byte, error) {
	if !l.isGo {
		return s.YAML(base)
	}
	text, err := gocode.Go(s, base, o.Catalog.Find)
	if errors.Is(err, gocode.ErrCycle) {
		err = cli.Hint(err, "without --go the stack is written as YAML, in which they may")
	}
	return text, err
}

// writeStack writes the file of a stack into a folder, and with a program its module. It overwrites nothing.
func writeStack(o *session.Opener, folder, name, stack string, text []byte, l language) (file string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file = filepath.Join(folder, name)
	var module *gomodule.Module
	if l.isGo {
		if module, err = gomodule.For(files.Absolute(folder), stack, l.checkout, o.Release.Text()); err != nil {
			return "", err
		}
	}
	if err := files.WriteNew(file, text); err != nil || module == nil {
		return file, err
	}
	for _, extra := range slices.Sorted(maps.Keys(module.Files)) {
		if err := files.WriteNew(filepath.Join(folder, extra), []byte(module.Files[extra])); err != nil {
			return file, err
		}
	}
	for _, note := range module.Notes {
		fmt.Fprintln(o.Err, note)
	}
	for _, command := range module.Commands {
		fmt.Fprintf(o.Err, "next: (cd %s && %s)\n", render.ShellWord(folder), command)
	}
	return file, nil
}

// stackTarget is how a command names the stack of a file: a program by its folder.
func stackTarget(file string) string {
	if filepath.Base(file) == mainFile {
		file = filepath.Dir(file)
	}
	return render.ShellWord(file)
}
