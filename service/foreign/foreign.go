// Package foreign holds what the protocols of other tools share: their state in a store, sealed by a key of each stage.
//
// A stage of another tool is a stage of the store: it has a lease, runs, events and an audit log like any other, so that
// exclusion is decided where it is for athanor's own runs. Its whole state is one row. The service holds the key of such a
// stage, wrapped by its master key, since these tools send their state in clear.
package foreign

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Master wraps the keys of stages. Bound is authenticated, and must be given again to unwrap.
type Master interface {
	Wrap(plain []byte, bound map[string]string) ([]byte, error)
	Unwrap(sealed []byte, bound map[string]string) ([]byte, error)
}

// States reads and writes the states of another tool in a store. Kind names what the state of a stage is.
type States struct {
	store  statestore.Folders
	permit func(ctx context.Context, stage statestore.Stage) error
	master Master
	kind   string

	mu    sync.Mutex
	known map[statestore.Stage]cipher.AEAD
}

// New returns the states of another tool in the store of a service.
func New(s *service.Service, master Master, kind string) *States {
	return &States{store: s.Store(), permit: s.Permit, master: master, kind: kind, known: map[statestore.Stage]cipher.AEAD{}}
}

// Acquire takes the lease of a stage for a run. A stage that takes only runs of approved plans is refused: other tools have no
// such plans.
func (s *States) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	if err := s.permit(ctx, stage); err != nil {
		return statestore.Lease{}, err
	}
	return s.store.Acquire(ctx, stage, claim)
}

const (
	keysFolder = "service.keys"
	// stateAddress is the address of the one row of a stage.
	stateAddress = "state"
	keyBytes     = 32
)

// ErrBroken says that sealed bytes are not those that were sealed.
var ErrBroken = errors.New("the sealed bytes are not those that were sealed")

// sealer returns what seals for a stage. The key is created with the first use of the stage: whichever replica comes first
// stores it, and all others read that one.
func (s *States) sealer(ctx context.Context, stage statestore.Stage) (cipher.AEAD, error) {
	s.mu.Lock()
	known := s.known[stage]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	name := wire.Segment(stage.Stack) + "/" + wire.Segment(stage.Name)
	bound := map[string]string{"use": "athanor service", "stack": stage.Stack, "stage": stage.Name}
	fresh := make([]byte, keyBytes)
	_, _ = rand.Read(fresh) // it never fails
	var wrapped []byte
	read := func(f statestore.Folder) (err error) { wrapped, err = f.Get(name); return err }
	if err := s.store.ReadFolder(ctx, keysFolder, read); err != nil {
		return nil, err
	}
	if wrapped == nil {
		created, err := s.master.Wrap(fresh, bound)
		if err != nil {
			return nil, err
		}
		err = s.store.ChangeFolder(ctx, keysFolder, func(f statestore.Folder) (bool, error) {
			if err := read(f); err != nil || wrapped != nil {
				return false, err
			}
			wrapped = created
			return true, f.Put(name, created)
		})
		if err != nil {
			return nil, err
		}
	}
	key, err := s.master.Unwrap(wrapped, bound)
	if err != nil {
		return nil, fmt.Errorf("%s: the master key does not open the key of the stage: %w", stage, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[stage] = sealer
	return sealer, nil
}

// Seal seals bytes under the key of a stage for one use.
func (s *States) Seal(ctx context.Context, stage statestore.Stage, use string, plain []byte) ([]byte, error) {
	sealer, err := s.sealer(ctx, stage)
	if err != nil {
		return nil, err
	}
	return sealer.Seal(nil, nil, plain, []byte(use)), nil
}

// Open opens what [States.Seal] sealed for the same stage and use.
func (s *States) Open(ctx context.Context, stage statestore.Stage, use string, sealed []byte) ([]byte, error) {
	sealer, err := s.sealer(ctx, stage)
	if err != nil {
		return nil, err
	}
	plain, err := sealer.Open(nil, nil, sealed, []byte(use))
	if err != nil {
		return nil, ErrBroken
	}
	return plain, nil
}

// State is the state of a stage in one version.
type State struct {
	// Head is what the protocol keeps beside the document.
	Head json.RawMessage
	// Document is the state as the tool sent it, nil when there is none.
	Document []byte
	// Version is the version of the row; 0 when there is none.
	Version uint64
	Holder  *statestore.Holder
	Epoch   uint64
}

// sealedUse is the use of a sealed state.
const sealedUse = "state"

// Load reads the state of a stage.
func (s *States) Load(ctx context.Context, stage statestore.Stage) (*State, error) {
	snap, err := s.store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if broken := snap.Damaged[stateAddress]; broken != nil {
		return nil, broken
	}
	state := &State{Holder: snap.Holder, Epoch: snap.Epoch}
	row, ok := snap.Rows[stateAddress]
	if !ok {
		return state, nil
	}
	plain, err := s.Open(ctx, stage, sealedUse, row.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stage, err)
	}
	var parts struct{ Head, Document []byte }
	if err := json.Unmarshal(plain, &parts); err != nil {
		return nil, err
	}
	state.Head, state.Document, state.Version = parts.Head, parts.Document, row.Version
	return state, nil
}

// Put returns the batch that replaces a state that was loaded; a nil document removes it. The store refuses it when another
// writer came in between.
func (s *States) Put(ctx context.Context, stage statestore.Stage, over *State, head json.RawMessage, document []byte) (statestore.Batch, error) {
	row := statestore.Row{Address: stateAddress, Birth: stateAddress, Version: over.Version}
	if document == nil {
		if over.Version == 0 {
			return statestore.Batch{Renew: true}, nil
		}
		return statestore.Batch{Put: []statestore.Row{row}, Renew: true}, nil
	}
	plain, err := json.Marshal(struct{ Head, Document []byte }{head, document})
	if err != nil {
		return statestore.Batch{}, err
	}
	if row.Body, err = s.Seal(ctx, stage, sealedUse, plain); err != nil {
		return statestore.Batch{}, err
	}
	row.Generations = []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: s.kind, Place: statestore.Place{Provider: "service"}, Identity: stage.String(),
	}}
	return statestore.Batch{Put: []statestore.Row{row}, Renew: true}, nil
}

// Commit applies a batch under a lease whose holder counts no batches: the store says which is the next one. A batch that
// another request overtook is sent again behind it.
func (s *States) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	batch.Seq = math.MaxUint64
	for {
		next, err := s.store.Commit(ctx, lease, batch)
		replay, ok := errors.AsType[*statestore.ReplayError](err)
		if !ok || replay.Next == batch.Seq {
			return next, err
		}
		batch.Seq = replay.Next
	}
}

// Once runs one change of the state of a stage under a lease of its own, which it gives back.
func (s *States) Once(
	ctx context.Context, stage statestore.Stage, claim statestore.Claim, change func(*State) (statestore.Batch, error),
) (statestore.Lease, error) {
	lease, err := s.Acquire(ctx, stage, claim)
	if err != nil {
		return lease, err
	}
	finish := func(batch statestore.Batch, as statestore.RunState) (statestore.Lease, error) {
		batch.Finish = as
		return s.Commit(ctx, lease, batch)
	}
	state, err := s.Load(ctx, stage)
	var batch statestore.Batch
	if err == nil {
		batch, err = change(state)
	}
	if err != nil {
		_, ending := finish(statestore.Batch{}, statestore.Failed)
		return lease, errors.Join(err, ending)
	}
	return finish(batch, statestore.Succeeded)
}

// NewID returns a random id in the form of a UUID.
func NewID() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // it never fails
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	text := hex.EncodeToString(raw)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// NeverRenewed is the life of a lease that its tool does not renew: it ends with the tool's own unlock, or somebody's.
const NeverRenewed = 10 * 365 * 24 * time.Hour

// HasKeys reports whether a store has keys that a master key wraps.
func HasKeys(ctx context.Context, store statestore.Folders) (has bool, err error) {
	err = store.ReadFolder(ctx, keysFolder, func(f statestore.Folder) error {
		has = false
		for range f.Documents("", "") {
			has = true
			break
		}
		return nil
	})
	return has, err
}
