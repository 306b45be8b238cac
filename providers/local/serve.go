package local

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Serve runs a process of a dev session for a resource of another provider, at its address: a dev server in the place of what
// is deployed. It is supervised, logged and ended as a [Process] is, and takes the place of what ran there. digest tells one
// start from another, and hidden are values that are masked in what it prints. Serve returns when the process is ready
// and its port takes connections.
func Serve(ctx context.Context, s kind.Facts, want ProcessProps, digest string, hidden []string) (url string, err error) {
	if s.Dev == nil {
		return "", reconcile.ErrDevClosed
	}
	processTable.Default(&want)
	if _, runs := Served(s); !runs {
		if err := endStray(ctx, s.Location, Process{Log: logPath(s.Dev.Dir, s.Owner, s.Address)}, want); err != nil {
			return "", err
		}
	}
	return url, through(ctx, s.Location, "StartProcess", true, func() error {
		keeper, err := reconcile.Owned(s.Dev, newSupervisor)
		if err != nil {
			return err
		}
		c, err := keeper.start(ctx, definition{
			dev: s.Dev, address: s.Address, mark: s.Owner, dir: s.Dir, want: want, inputs: digest, mask: masker(s.Redact, byLength(hidden)), serves: true,
		})
		if err == nil {
			url = c.attrs().URL
		}
		return err
	})
}

// Served is the digest of what a dev session runs at an address, see [Serve].
func Served(s kind.Facts) (digest string, runs bool) {
	if s.Dev == nil {
		return "", false
	}
	keeper, err := reconcile.Owned(s.Dev, newSupervisor)
	if err != nil {
		return "", false
	}
	for _, c := range keeper.at(s.Address) {
		if !c.over() {
			return c.def.inputs, true
		}
	}
	return "", false
}

// StopServing ends what [Serve] started at an address, and removes its log. Without a session it ends what an earlier one left
// running on this machine.
func StopServing(ctx context.Context, s kind.Facts) error {
	if s.Dev != nil {
		keeper, err := reconcile.Owned(s.Dev, newSupervisor)
		if err != nil {
			return err
		}
		for _, c := range keeper.at(s.Address) {
			if err := through(ctx, s.Location, "StopProcess", true, func() error { return keeper.stop(ctx, c) }); err != nil {
				return err
			}
		}
	}
	log, there := LogOf(s.Dev, s.Dir, s.Owner, s.Address)
	if !there {
		return nil
	}
	return errors.Join(endStray(ctx, s.Location, Process{Log: log}, ProcessProps{}), removeLog(log))
}

// LogOf is the file of the lines that a dev session printed for an address. Without a session it is looked for from the stack's
// directory upwards; there is false where there is none.
func LogOf(dev *reconcile.Dev, dir string, m reconcile.Mark, address string) (path string, there bool) {
	if dev != nil {
		return logPath(dev.Dir, m, address), true
	}
	for at := dir; ; at = filepath.Dir(at) {
		path := logPath(filepath.Join(at, ".athanor", "dev"), m, address)
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// Logs are the lines in the log of an address, see [LogOf].
func Logs(ctx context.Context, s kind.Facts, query kind.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	log, _ := LogOf(s.Dev, s.Dir, s.Owner, s.Address)
	return logsIn(ctx, s.Location, log, query)
}

// Log takes the lines that a dev session has of an address, and keeps them for [Logs], which other commands read by. It is safe for
// concurrent use.
type Log struct{ file *logFile }

// OpenLog opens the log of an address, to go on where an earlier session ended. A secret must be masked in what is written.
func OpenLog(dev *reconcile.Dev, m reconcile.Mark, address string) (*Log, error) {
	file, err := openLog(dev.Dir, m, address)
	return &Log{file}, err
}

// Write adds a line.
func (l *Log) Write(line reconcile.LogLine) { l.file.write(line) }

// Close ends writing. The file stays until [StopServing].
func (l *Log) Close() error { return l.file.close() }
