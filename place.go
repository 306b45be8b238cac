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
	if n.at != nil {
		return n.at()
	}
	at, _ := n.nearest("")
	return at
}

// declaring is the same for a resource whose props are of a type: the package of the type holds the constructor of the kind, which
// every resource of it goes through. A package that declares resources of its own kind is a program.
func (n fileNames) declaring(props reflect.Type) string {
	if n.at != nil {
		return n.at()
	}
	at, _ := n.nearest(props.PkgPath())
	return at
}

// calling is the same, and beside it the function of this module that is called there, with the place: lambda.Consume, main.go:41.
func (n fileNames) calling() (at, by string) {
	if n.at != nil {
		at = n.at()
		return at, at
	}
	at, function := n.nearest("")
	if function == "" {
		return at, at
	}
	return at, strings.NewReplacer("(*", "", ")", "").Replace(function[strings.LastIndexByte(function, '/')+1:]) + ", " + at
}

// nearest is the nearest line that is neither of this module nor of the package of constructors, or of this module alone where all others
// are of that package; and the function of the module that is called there, "" for none.
func (n fileNames) nearest(constructors string) (at, function string) {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.File == "" || within(f.Function, f.File) {
			if at != "" {
				break
			}
			function = f.Function
			continue
		}
		outside := !constructs(f, constructors)
		if outside || at == "" {
			at = n.short(f.File) + ":" + strconv.Itoa(f.Line)
		}
		if outside {
			break
		}
	}
	return at, function
}

// constructs reports whether a function is of a package of constructors, and no test of it.
func constructs(f runtime.Frame, path string) bool {
	rest, is := strings.CutPrefix(f.Function, path)
	return path != "" && is && strings.HasPrefix(rest, ".") && !strings.HasSuffix(f.File, "_test.go")
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
