package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// module FOLDER… makes each folder a module that builds against this one, with what the module cache holds alone.
func module(ts *testscript.TestScript, _ bool, folders []string) {
	here, err := os.Getwd()
	ts.Check(err)
	root := filepath.Dir(filepath.Dir(here))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	ts.Check(err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	ts.Check(err)
	ours := moduleLine.FindSubmatch(mod)
	if ours == nil {
		ts.Fatalf("no module line in go.mod")
	}
	for _, folder := range folders {
		text := moduleLine.ReplaceAllString(string(mod), "module example.com/"+folder)
		text += "\nrequire " + string(ours[1]) + " v0.0.0\nreplace " + string(ours[1]) + " => " + root + "\n"
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(folder), "go.mod"), []byte(text), 0o600))
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(folder), "go.sum"), sum, 0o600))
	}
	env, err := proctest.GoEnv("-mod=mod", "-ldflags=-w") // tables for debuggers take half of the time of linking
	ts.Check(err)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		ts.Setenv(name, value)
	}
	ts.Setenv("GOPROXY", "off")
}
