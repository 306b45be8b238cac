//go:build unix && !solaris && !aix

package bolt

import (
	"os"
	"syscall"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// turn is a writer's place in front of the readers. The lock of the database is shared among readers, so that a
// stream of them could keep a writer out for as long as it lasts. A writer that waits holds the turn, and
// readers do not begin while somebody holds it. It is a file beside the store that holds nothing, made by
// writers alone: reading writes nothing.
type turn struct{ f *os.File }

func turnPath(path string) string { return path + ".turn" }

// takeTurn takes the turn for a writer, or says errLocked when another one has it. Where the file cannot be
// made the writer goes on without: it is a matter of fairness, not of safety.
func takeTurn(path string) (turn, error) {
	f, err := durable.OpenFile(turnPath(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return turn{}, nil
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // it was never written to
		return turn{}, errLocked
	}
	return turn{f}, nil
}

// held reports that a writer has the turn, so that a reader must not begin.
func held(path string) bool {
	f, err := durable.OpenFile(turnPath(path), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // which gives the lock back
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// release gives the turn back.
func (t *turn) release() {
	if t.f != nil {
		_ = t.f.Close() // which gives the lock back
		t.f = nil
	}
}
