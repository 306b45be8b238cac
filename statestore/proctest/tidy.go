package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// folderPrefix begins the names of the temporary folders of test binaries. It is short: paths of sockets are bounded.
const folderPrefix = "ath-"

// outside names the variable with the temporary folder of the machine, which the children of a test binary inherit.
const outside = "PROCTEST_OUTSIDE"

// Outside returns the temporary folder of the machine, for what outlives the tests of a binary and removes itself; empty where
// the tests have no folder of their own.
func Outside() string { return os.Getenv(outside) }

// locks are the files by which a store proves that a process has ended without giving back its lease: they outlive it by design, and the
// next process takes one over.
const locks = "athanor-*.lock"

// Tidy gives the tests of a binary a temporary folder of their own, in which only they and their children write. Its Run removes the
// folder, and fails when a test left something there, other than sockets, whose name none of the patterns matches: name what
// killed processes leave by design. A binary that is killed, by its time limit too, removes nothing: the next one removes what it left.
// TestMain calls it before anything asks for a temporary folder. Where folders cannot be locked, it returns m.
func Tidy(m interface{ Run() int }, leaves ...string) interface{ Run() int } {
	if !canLock {
		return m
	}
	machine := os.TempDir()
	f, err := makeFolder(machine)
	if err != nil {
		return failing{err}
	}
	for name, value := range map[string]string{outside: machine, "TMPDIR": f.path} {
		if err := os.Setenv(name, value); err != nil {
			return failing{err}
		}
	}
	return &tidy{m, f, append(leaves, locks)}
}

// failing are tests that cannot begin.
type failing struct{ err error }

func (f failing) Run() int {
	fmt.Fprintln(os.Stderr, f.err)
	return 1
}

type tidy struct {
	tests  interface{ Run() int }
	folder *tempFolder
	leaves []string
}

func (t *tidy) Run() int {
	code := t.tests.Run()
	entries, err := os.ReadDir(t.folder.path)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return onlySockets(t.folder.path, e) })
	if err == nil {
		err = os.RemoveAll(t.folder.path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	for _, e := range entries {
		if !slices.ContainsFunc(t.leaves, func(pattern string) bool { ok, _ := filepath.Match(pattern, e.Name()); return ok }) {
			fmt.Fprintf(os.Stderr, "a test left %s in the temporary folder\n", e.Name())
			code = max(code, 1)
		}
	}
	return code
}

// onlySockets reports whether an entry of a folder is a socket, or a folder with sockets alone: a process that is killed cannot remove its own.
func onlySockets(in string, e os.DirEntry) bool {
	if !e.IsDir() {
		return e.Type() == os.ModeSocket
	}
	within, err := os.ReadDir(filepath.Join(in, e.Name()))
	return err == nil && len(within) > 0 && !slices.ContainsFunc(within, func(e os.DirEntry) bool { return e.Type() != os.ModeSocket })
}

// tempFolder is locked as long as this process has it.
type tempFolder struct {
	path string
	lock *os.File
}

// makeFolder makes a folder that everybody may use, as the one of the machine, and removes those of binaries that were killed. Another
// binary may remove it between its making and its lock: then it makes another one.
func makeFolder(in string) (*tempFolder, error) {
	left, err := filepath.Glob(filepath.Join(in, folderPrefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if lock := lockFolder(path); lock != nil {
			_ = os.RemoveAll(path) // what stays is removed by another binary
			_ = lock.Close()       // it was only locked
		}
	}
	for {
		path, err := os.MkdirTemp(in, folderPrefix)
		if err != nil {
			return nil, err
		}
		lock := lockFolder(path)
		if lock == nil {
			continue
		}
		if err := os.Chmod(path, 0o777|os.ModeSticky); err == nil {
			return &tempFolder{path, lock}, nil
		} else if !os.IsNotExist(err) {
			return nil, err
		}
	}
}
