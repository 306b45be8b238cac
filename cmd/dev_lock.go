package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// devLock keeps a second dev session of one stage on this machine out: two programs would undo each other's saves. What
// is written to the file only says whose the lock is.
type devLock struct{ file *os.File }

// errDevRuns is matched when another dev session has the stage.
var errDevRuns = errors.New("another dev session works on it")

// devHolder is what the file says.
type devHolder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// lockDev takes the lock of a session's stage.
func (s *session) lockDev() (*devLock, error) {
	dir := filepath.Join(s.project.root, ".athanor", "dev")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := ignore(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, s.stage.Stack+"."+s.stage.Name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if !lockFile(file) {
		defer file.Close()
		var h devHolder
		who := "somebody"
		if data, err := io.ReadAll(file); err == nil && json.Unmarshal(data, &h) == nil {
			who = fmt.Sprintf("pid %d on %s, since %s", h.PID, h.Host, h.Since.Local().Format(time.RFC3339))
		}
		return nil, hint(fmt.Errorf("%s: %w: %s", s.stage, errDevRuns, who), "end that one, or give this one a stage of its own: --stage NAME")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	data, err := json.Marshal(devHolder{os.Getpid(), host, time.Now().UTC()})
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt(data, 0)
	}
	return &devLock{file}, err
}

// release gives the lock back.
func (l *devLock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
