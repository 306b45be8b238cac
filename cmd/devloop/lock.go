package devloop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Lock keeps a second dev session of one stage on this machine out: two programs would undo each other's saves. The
// content of its file only says who holds it.
type Lock struct{ file *os.File }

// ErrRuns is matched when another dev session has the stage.
var ErrRuns = errors.New("another dev session works on it")

// lockHolder is the content of the file.
type lockHolder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// TakeLock takes the lock of a stage, whose file is in a folder.
func TakeLock(dir string, stage statestore.Stage) (*Lock, error) {
	file, err := os.OpenFile(filepath.Join(dir, stage.Stack+"."+stage.Name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if !lockFile(file) {
		defer file.Close()
		var h lockHolder
		who := "somebody"
		if data, err := io.ReadAll(file); err == nil && json.Unmarshal(data, &h) == nil {
			who = fmt.Sprintf("pid %d on %s, since %s", h.PID, h.Host, h.Since.Local().Format(time.RFC3339))
		}
		return nil, reconcile.WithHint(fmt.Errorf("%s: %w: %s", stage, ErrRuns, who),
			"end that one, or give this one a stage of its own: --stage NAME")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	data, err := json.Marshal(lockHolder{os.Getpid(), host, time.Now().UTC()})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(data, 0)
	}
	return &Lock{file}, err
}

// Release gives the lock back. A nil lock has nothing to give.
func (l *Lock) Release() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
