package tracetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrUnsupported says that processes cannot be traced on this system: it needs Linux on amd64.
var ErrUnsupported = errors.New("tracing a process needs Linux on amd64")

// Kind says what an operation does.
type Kind string

// The kinds of operations on files.
const (
	Create   Kind = "create" // a file that was not there
	MakeDir  Kind = "make directory"
	Link     Kind = "link" // Path is a further name of From
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	Write    Kind = "write"
	Copy     Kind = "copy" // the kernel copies from another file; Data is not known
	Truncate Kind = "truncate"
	Mode     Kind = "mode"
	Sync     Kind = "sync"   // of a file or of a directory
	Shared   Kind = "shared" // the lock of a file
	Locked   Kind = "locked"
	Unlocked Kind = "unlocked"
)

// Op is one operation on a file, as the kernel is asked for it.
type Op struct {
	Kind   Kind
	Path   string // absolute
	From   string // of Link and Rename: the name before
	Inode  uint64 // of the file or directory; of Create, MakeDir and Link known after it
	Offset int64  // of Write
	Size   int64  // of Truncate: the new length
	Data   []byte // of Write
}

// Changes reports an operation that changes what is on the disk, or makes it durable.
func (o Op) Changes() bool { return o.Kind != Shared && o.Kind != Locked && o.Kind != Unlocked }

// String is short: kind, path, place.
func (o Op) String() string {
	switch o.Kind {
	case Write:
		return fmt.Sprintf("%s %s [%d:%d]", o.Kind, o.Path, o.Offset, o.Offset+int64(len(o.Data)))
	case Truncate:
		return fmt.Sprintf("%s %s to %d", o.Kind, o.Path, o.Size)
	case Link, Rename:
		return fmt.Sprintf("%s %s to %s", o.Kind, o.From, o.Path)
	}
	return fmt.Sprintf("%s %s", o.Kind, o.Path)
}

// Order says what becomes of an operation. The zero Order lets it happen.
type Order struct {
	// Kill ends the process with SIGKILL before the operation.
	Kill bool
	// Fail makes the operation fail with this error instead of happening.
	Fail syscall.Errno
}

// Watch is a watcher. Its functions run on the goroutine that called [Run], one at a time. While one runs, no
// thread of the process gets past its next system call, so a function that waits stops the process.
type Watch struct {
	// Under are the folders whose files are shown.
	Under []string
	// Started is called once, before the process has run an instruction of its own.
	Started func(pid int)
	// Before is called before each operation.
	Before func(Op) Order
	// After is called after each operation that succeeded.
	After func(Op)
	// Step is called before each system call of whatever kind, with its number from 1. Two runs of a
	// program make about as many, not exactly: such a number is an instant, not a place.
	Step func(n int) Order
}

// sees reports that a path is in one of the folders.
func (w Watch) sees(path string) bool {
	for _, dir := range w.Under {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}
