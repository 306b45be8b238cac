package athanor

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

// fileNames writes places of the program: file:line, the file as seen from the stack's directory.
type fileNames struct {
	dir string
	at  func() string // see [Input].At
}

// caller is the nearest line of the calling stack that is not of this module. Examples and tests of the module
// count as programs.
func (n fileNames) caller() string {
	at, _ := n.calling()
	return at
}

// calling is the same, and beside it the function of this module that is called there, with the place: lambda.Consume, main.go:41.
func (n fileNames) calling() (at, by string) {
	if n.at != nil {
		at = n.at()
		return at, at
	}
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.File != "" && !within(f.Function, f.File) {
			at = n.short(f.File) + ":" + strconv.Itoa(f.Line)
			return at, by + at
		}
		if !more {
			return "", ""
		}
		by = strings.NewReplacer("(*", "", ")", "").Replace(f.Function[strings.LastIndexByte(f.Function, '/')+1:]) + ", "
	}
}

// within reports whether a function is part of the module and no program.
func within(function, file string) bool {
	rest, ours := strings.CutPrefix(function, modulePath())
	if !ours || rest == "" || strings.HasSuffix(file, "_test.go") {
		return false
	}
	if rest[0] != '.' && rest[0] != '/' {
		return false
	}
	return !strings.HasPrefix(rest, "/examples/") && !strings.HasPrefix(rest, "/bench")
}

// modulePath is the path of this package, which is the root of its module.
func modulePath() string { return reflect.TypeFor[Stack]().PkgPath() }

func (n fileNames) short(file string) string {
	if n.dir != "" {
		if rel, err := filepath.Rel(n.dir, file); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return file
}
