package statestore

import (
	"errors"
	"fmt"
	"strings"
)

// What callers branch on with errors.Is. The struct types below carry the data.
var (
	// ErrHeld: another live run holds the lease of the stage (*HeldError).
	ErrHeld = errors.New("the stage is held by another run")
	// ErrFenced: the lease was taken away, taken over or released; the write did not happen (*FencedError).
	ErrFenced = errors.New("the lease is no longer ours")
	// ErrExpired: the lease may have expired, by the local clocks. Nothing new may be started until a
	// renewal succeeds. Only [Journal.Held] says this; the store itself goes by the epoch.
	ErrExpired = errors.New("the lease may have expired")
	// ErrConflict: the stored version of a row is another than the writer read (*ConflictError).
	ErrConflict = errors.New("the row was changed by another writer")
	// ErrOwned: a physical identity belongs to another row (*OwnedError).
	ErrOwned = errors.New("the physical identity belongs to another row")
	// ErrNeeded: a row that another row needs cannot be removed (*NeededError).
	ErrNeeded = errors.New("the row is needed by another row")
	// ErrInvalid: a row, claim or batch has no valid structure (*InvalidError).
	ErrInvalid = errors.New("the write has an invalid structure")
	// ErrReplay: a batch came again with other content, or out of order (*ReplayError).
	ErrReplay = errors.New("the batch is not the next one and not a replay")
	// ErrDamaged: a row, or the store as a whole, cannot be decoded (*DamagedError).
	ErrDamaged = errors.New("state is damaged")
	// ErrNewer: the store was written by a newer program (*NewerError).
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrUnavailable: the store cannot be read or written now (*UnavailableError). Whether a write
	// that ended like this became durable is not known; sending the same batch again finds out.
	ErrUnavailable = errors.New("the store is unavailable")
	// ErrFinished: the journal was finished or closed; it takes no more changes.
	ErrFinished = errors.New("the journal is finished")
)

// HeldError names the run that holds the lease.
type HeldError struct {
	Stage  Stage
	Holder Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by run %s (%s, pid %d on %s)", e.Stage, e.Holder.Run, e.Holder.Command, e.Holder.PID, e.Holder.Host)
}

// Is reports ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// FencedError says that a run lost its lease.
type FencedError struct {
	Stage Stage
	Run   string
	// Note says who unlocked the run or took it over, and why; empty when that is not known.
	Note string
}

func (e *FencedError) Error() string {
	text := fmt.Sprintf("%s: run %s no longer holds the lease", e.Stage, e.Run)
	if e.Note != "" {
		text += ": " + e.Note
	}
	return text
}

// Is reports ErrFenced.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// ConflictError names a row whose stored version is another than the writer expected.
type ConflictError struct {
	Address string
	Want    uint64 // the version that the writer gave; 0: the row must not exist
	Have    uint64 // the stored version; 0: there is no such row
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: expected version %d, the store has %d", e.Address, e.Want, e.Have)
}

// Is reports ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// OwnedError names the row that owns a physical identity which another row claims.
type OwnedError struct {
	Place    Place
	Kind     string
	Identity string
	Address  string // the owner
	Claimant string // the row that was refused
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("%s: %s %q already belongs to %s", e.Claimant, e.Kind, e.Identity, e.Address)
}

// Is reports ErrOwned.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// NeededError names the rows that keep another one from being removed.
type NeededError struct {
	Address string
	By      []string // sorted
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("%s: needed by %s", e.Address, strings.Join(e.By, ", "))
}

// Is reports ErrNeeded.
func (e *NeededError) Is(target error) bool { return target == ErrNeeded }

// InvalidError says which structural rule a write breaks.
type InvalidError struct {
	Address string // the row; empty when the claim or batch itself is meant
	Rule    string
}

func (e *InvalidError) Error() string {
	if e.Address == "" {
		return e.Rule
	}
	return e.Address + ": " + e.Rule
}

// Is reports ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// ReplayError says why a batch is neither the next one nor a replay.
type ReplayError struct {
	Seq  uint64 // the sequence that came
	Next uint64 // the sequence that the store takes next
}

func (e *ReplayError) Error() string {
	if e.Seq < e.Next {
		return fmt.Sprintf("batch %d was committed before with other content", e.Seq)
	}
	return fmt.Sprintf("batch %d came before batch %d", e.Seq, e.Next)
}

// Is reports ErrReplay.
func (e *ReplayError) Is(target error) bool { return target == ErrReplay }

// Identity is where one physical object can be found without a readable row.
type Identity struct {
	Place    Place  `json:"place"`
	Kind     string `json:"kind"`
	Identity string `json:"identity"`
}

// DamagedError names a row, or a whole store, that cannot be decoded.
type DamagedError struct {
	Path    string // the file, when the store is one
	Stage   Stage
	Address string // the row; empty when more than one row is concerned
	// Identities are the physical objects of the row that could still be read.
	Identities []Identity
	Err        error
}

func (e *DamagedError) Error() string {
	switch {
	case e.Address != "":
		return fmt.Sprintf("%s: the state of %s is damaged: %v", e.Stage, e.Address, e.Err)
	case e.Path != "":
		return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("the state of %s is damaged: %v", e.Stage, e.Err)
}

// Is reports ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

func (e *DamagedError) Unwrap() error { return e.Err }

// NewerError says that the store has a schema which this program does not know.
type NewerError struct {
	Path  string // the file, when the store is one
	Have  uint64 // the schema version of the store
	Known uint64 // the newest schema version that this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has schema version %d, this program knows up to %d", e.Path, e.Have, e.Known)
}

// Is reports ErrNewer.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// UnavailableError says why a store could not be reached.
type UnavailableError struct {
	Path string // the file, when the store is one
	Err  error
}

func (e *UnavailableError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Is reports ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

func (e *UnavailableError) Unwrap() error { return e.Err }

// RemnantsError says that a store may still hold bytes that were replaced or deleted, in parts that nobody reads.
type RemnantsError struct {
	// Where names each such part, and what removes the bytes from it if anything does.
	Where []string
}

func (e *RemnantsError) Error() string {
	return "what was replaced may still be in " + strings.Join(e.Where, "; ")
}

// Is reports [errors.ErrUnsupported].
func (e *RemnantsError) Is(target error) bool { return target == errors.ErrUnsupported }

// Refused reports whether the store looked at a write and said no: it is certain that the write did
// not happen. After any other error it may have.
func Refused(err error) bool {
	for _, sentinel := range []error{ErrHeld, ErrFenced, ErrConflict, ErrOwned, ErrNeeded, ErrInvalid, ErrReplay, ErrDamaged, ErrNewer} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}
