package statestore

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// KeptVersions is how many versions of a stage are kept before the newest one: as many runs can be taken back.
const KeptVersions = 20

// Versions is implemented by stores that keep the versions of a stage which its newest runs have replaced. A version is the
// state as a run left it. Stores keep what each run changed, and not the whole: the versions of a stage that take most
// space are given up before there are KeptVersions of them, the one before the newest run never.
type Versions interface {
	// Versions lists the versions of a stage, newest first. The first one is the state as it is.
	Versions(ctx context.Context, stage Stage) ([]Version, error)
	// LoadVersion reads the newest version with a serial, as Load reads the newest of all. A serial that is not kept is a
	// *NoVersionError.
	LoadVersion(ctx context.Context, stage Stage, serial uint64) (*Snapshot, error)
}

// Version describes the state that a run left.
type Version struct {
	Serial uint64
	// Epoch is that of the run, and Run, Command and User are its own; they are empty when the run is not kept any more.
	Epoch              uint64
	Run, Command, User string
	// Written is when the run changed the state last, by the clock of the store; zero when an older program wrote it.
	Written time.Time
}

// ErrNoVersion: the store keeps no version with that serial (*NoVersionError).
var ErrNoVersion = errors.New("the store keeps no such version")

// NoVersionError says which version is not kept.
type NoVersionError struct {
	Stage  Stage
	Serial uint64
}

func (e *NoVersionError) Error() string {
	return fmt.Sprintf("%s: the store keeps no version with serial %d", e.Stage, e.Serial)
}

// Is reports ErrNoVersion.
func (e *NoVersionError) Is(target error) bool { return target == ErrNoVersion }
