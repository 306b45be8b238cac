package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/foreign"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// peers opens the states of the stacks that a session's stack refers to.
type peers struct {
	session *Session
	begun   context.Context //nolint:containedctx // of the command: who asks for a key has none
	accept  bool            // states that were put back to something older

	mu     sync.Mutex
	loaded map[peerKey]*peerState
}

// peerKey is a key of a stage. Two stores may hold a stage of the same name, under the same key or another one.
type peerKey struct {
	stage statestore.Stage
	id    string
}

// peerState is what was loaded that a key belongs to.
type peerState struct {
	ring     []byte                 // the newest wrapped one
	unproven []*statestore.Snapshot // the key is asked for afterwards
}

var _ engine.Peers = (*peers)(nil)

// NewPeers opens the stacks that the stack of a session refers to.
func NewPeers(c *cli.Context, s *Session) *peers {
	return &peers{session: s, begun: c.Context, accept: c.Bool("accept-older-state"), loaded: map[peerKey]*peerState{}}
}

// Open opens a store by the name that a program gives it. The path of a file starts in the stack's directory.
func (p *peers) Open(_ context.Context, name string) (statestore.Store, error) {
	if name == "" {
		return peerStore{p.session.Project.Store, p}, nil
	}
	if grants.ForeignState(name) != "" {
		return foreignState{where: name, peers: p}, nil
	}
	if path, ok := strings.CutPrefix(name, "bolt:"); ok && path != "" && !filepath.IsAbs(path) {
		name = "bolt:" + filepath.Join(p.session.Dir, path)
	}
	var options []postgres.Option
	if project.StoreName(p.session.Dir, name) != project.StoreName(p.session.Dir, p.session.Store) {
		options = append(options, postgres.Foreign())
	}
	other, err := project.Open(p.session.Dir, name, options...)
	if err != nil {
		return nil, fmt.Errorf("the state of another stack: %w", err)
	}
	return peerStore{other.Store, p}, nil
}

// Key finds the key of a stage that was loaded, and proves what was loaded with it; it never makes one. A wrapped ring
// is looked for beside the program that refers to the stage, and in the store of the stage; the newer one counts.
func (p *peers) Key(stage statestore.Stage, id string) (*seal.Key, error) {
	if id == foreignKey {
		return p.session.Engine.Key, nil
	}
	place := project.KeySources(p.begun, stage, p.session.Dir)
	var unproven []*statestore.Snapshot
	p.mu.Lock()
	if state := p.loaded[peerKey{stage, id}]; state != nil {
		place.Stored, unproven, state.unproven = state.ring, state.unproven, nil
	}
	p.mu.Unlock()
	key, err := seal.Load(place, id)
	if err != nil {
		return nil, err
	}
	for _, snap := range unproven {
		whole := keeper.NewWhole(nil, stage, key)
		whole.Accept = p.accept
		if err := whole.Prove(snap); err != nil {
			return nil, err
		}
	}
	return key, nil
}

// peerStore is a store of another stack: it keeps what was loaded until the key is asked for.
type peerStore struct {
	statestore.Store
	peers *peers
}

// Load implements [statestore.Store].
func (s peerStore) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	snap, err := s.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if snap.Holder != nil {
		warnMoved(s.peers.session.Opener.Terminal, stage, statestore.MovedBy(snap.Holder.Command))
	}
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	at := peerKey{stage, snap.KeyID}
	state := s.peers.loaded[at]
	if state == nil {
		state = new(peerState)
		s.peers.loaded[at] = state
	}
	if ring := snap.Meta[keeper.RingFact]; state.ring == nil || seal.Revision(ring) > seal.Revision(state.ring) {
		state.ring = ring
	}
	state.unproven = append(state.unproven, snap)
	return snap, nil
}

// foreignKey stands for the id of a key where outputs are those of another tool: they are sealed with the key of this stage.
const foreignKey = "state of another tool"

// foreignState is the state of another tool as a store with one stage, which has outputs alone.
type foreignState struct {
	statestore.Store
	where string
	peers *peers
}

// Stages implements [statestore.Store].
func (f foreignState) Stages(context.Context) ([]statestore.Stage, error) {
	return []statestore.Stage{{Stack: grants.ForeignState(f.where), Name: "state"}}, nil
}

// Load implements [statestore.Store].
func (f foreignState) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	key := f.peers.session.Engine.Key
	if key == nil {
		return nil, errors.New("outputs of another tool are read where a stage has a key")
	}
	tool := grants.ForeignState(f.where)
	where := strings.TrimPrefix(f.where, tool+":")
	if !strings.Contains(where, "://") { // the permission for the store is that for its file
		where = project.ForeignName(f.peers.session.Dir, where)
		if bounds, ok := localfile.BoundsOf(ctx); ok {
			bounds.Allowed = append(slices.Clone(bounds.Allowed), where)
			ctx = localfile.With(ctx, bounds)
		}
	}
	read, err := foreign.ReadNamed(ctx, where, terraform.Source{}.Largest(), true)
	if err != nil {
		return nil, err
	}
	outputs, err := terraform.Outputs(tool, read.Content, from.Options{Env: os.Getenv})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", read.Shown, err)
	}
	values, secret := map[string]any{}, []any{}
	for name, o := range outputs {
		if values[name] = o.Value; o.Sensitive {
			secret = append(secret, name)
		}
	}
	body := tree.Canonical(map[string]any{"values": values, "secret": secret})
	return &statestore.Snapshot{Stage: stage, KeyID: foreignKey, Outputs: key.Seal(body, state.Binding(stage, "\x00outputs"))}, nil
}
