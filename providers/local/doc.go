// Package local offers resources of the machine that deploys: files, folders, commands, and plain values.
//
// It knows how to write a file so that readers see the old one or the new one whole, which files of a
// folder are its own, and how to run a command so that nothing of it outlives a cancel. It does not know
// other machines, users or permissions beyond a file's mode.
//
// Relative paths are relative to the stack's directory. Absolute paths, and paths that begin with "..",
// are taken as they are: a program may write wherever the user who runs it may.
package local

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"syscall"

	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed file.go directory.go command.go process.go value.go
var source embed.FS

// Provider is the family local. It has no settings and needs no credentials.
func Provider() reconcile.Provider {
	return reconcile.Provider{
		Name: "local",
		Open: func(context.Context, any) (reconcile.Cloud, error) {
			sweepLocks()
			return machine{}, nil
		},
		Kinds: Kinds(),
	}
}

// Kinds are all that it offers.
func Kinds() []reconcile.Any {
	return []reconcile.Any{
		fileKind.Erase(),
		directoryKind.Erase(),
		commandKind.Erase(),
		processKind.Erase(),
		valueKind.Erase(),
	}
}

// machine is the place where the program runs.
type machine struct{}

// Place has no account and no region.
func (machine) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "local"}, nil
}

// classes are the answers of the operating system that are not simply refusals.
func classes() []struct {
	is    error
	class reconcile.Class
} {
	return []struct {
		is    error
		class reconcile.Class
	}{
		{fs.ErrNotExist, reconcile.Absent},
		{fs.ErrExist, reconcile.Exists},
		{fs.ErrPermission, reconcile.Denied},
		{syscall.EROFS, reconcile.Denied},
		{syscall.ENOSPC, reconcile.Quota},
		{syscall.EFBIG, reconcile.Quota},
		{syscall.EMFILE, reconcile.Throttled},
		{syscall.ENFILE, reconcile.Throttled},
		{syscall.EBUSY, reconcile.Busy},
		{syscall.EINTR, reconcile.Transient},
		{syscall.EAGAIN, reconcile.Transient},
		{syscall.EISDIR, reconcile.Invalid},
		{syscall.ENOTDIR, reconcile.Invalid},
		{syscall.ENAMETOOLONG, reconcile.Invalid},
		{syscall.EINVAL, reconcile.Invalid},
	}
}

// Classify goes by error number. What a command answers is never "absent", whatever it could not find.
func (machine) Classify(err error) reconcile.Class {
	if _, ok := errors.AsType[*CommandError](err); ok {
		return reconcile.Invalid
	}
	if _, ok := errors.AsType[*ShapeError](err); ok {
		return reconcile.Invalid
	}
	for _, c := range classes() {
		if errors.Is(err, c.is) {
			return c.class
		}
	}
	return reconcile.Unknown
}

// through makes one call to the machine.
func through(ctx context.Context, place reconcile.Place, operation string, mutates bool, do func() error) error {
	call := reconcile.Call{Service: "local", Operation: operation, Place: place, Mutates: mutates}
	return reconcile.Through(ctx, call, func(context.Context) error { return do() })
}
