package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// Seen is how far this machine has seen the state of a stage. A store that shows less was put back to something older.
type Seen struct {
	Store  string `json:"store"` // the id
	Serial uint64 `json:"serial"`
	// Epoch is that of the last run that ended.
	Epoch uint64 `json:"epoch"`
}

// ErrOlder says that a store shows an older state than this machine has seen (*OlderError).
var ErrOlder = errors.New("the state is older than what this machine has seen")

// OlderError says how old a state is.
type OlderError struct {
	Stage      string
	Have, Seen Seen
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("%s: the store shows serial %d and epoch %d; this machine has seen serial %d and epoch %d",
		e.Stage, e.Have.Serial, e.Have.Epoch, e.Seen.Serial, e.Seen.Epoch)
}

// Is reports ErrOlder.
func (e *OlderError) Is(target error) bool { return target == ErrOlder }

// Hint says what the user can do.
func (e *OlderError) Hint() string {
	return "find out who put it back; where that was you, from a backup, --accept-older-state goes on from there"
}

// SeenAt names a stage of a project in one store. Two stores of a stage may have one id, because a store that is made anew
// gets the id of the lost one, and each has serials and epochs of its own.
type SeenAt struct {
	Project, Stack, Stage string
	Store                 string // where the store is, in one form: bolt:PATH, or a URL without a password
}

// Seen is what this machine has seen of the stage; the zero value when nothing. Dir is that of [LoadOrMake]. Read it
// before the state: a state that was read before may be older than what another process has seen since.
func (at SeenAt) Seen(dir string) (Seen, error) {
	path, err := at.path(dir)
	if err != nil {
		return Seen{}, err
	}
	data, err := durable.ReadFile(path, longestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Seen{}, nil
	}
	var s Seen
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return Seen{}, &KeyFileError{Path: path, Why: "cannot be read: " + err.Error(), Fix: "rm " + path}
	}
	return s, nil
}

// Check compares a state with what was seen. Another store is another matter, and one that is empty was lost, which is
// said elsewhere. The error is an *OlderError.
func (s Seen) Check(stage string, have Seen) error {
	if s.Store != have.Store || have.Serial == 0 && have.Epoch == 0 || have.Serial >= s.Serial && have.Epoch >= s.Epoch {
		return nil
	}
	return &OlderError{Stage: stage, Have: have, Seen: s}
}

// Remember makes what was seen of the stage durable on this machine, in a file of its own.
func (at SeenAt) Remember(dir string, s Seen) error {
	path, err := at.path(dir)
	if err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := durable.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.Write(path, append(data, '\n'))
}

func (at SeenAt) path(dir string) (string, error) {
	path, err := rememberPath(dir, at.Project, at.Stack, at.Stage)
	sum := sha256.Sum256(frame("athanor seen 1", at.Store))
	return path + "-" + hex.EncodeToString(sum[:8]) + ".seen", err
}
