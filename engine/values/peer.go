package values

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Peers is the way to the records of other stacks.
type Peers interface {
	// Open opens the store of that name, as a program writes it; "" is the one that this stack's record is in.
	Open(ctx context.Context, name string) (statestore.Store, error)
	// Key is the key of another stage, of which its store knows the id. It never makes one.
	Key(stage statestore.Stage, id string) (*seal.Key, error)
}

// What of another stack may be missing. A *PeerError carries which.
var (
	ErrNoStack  = errors.New("there is no such stack")
	ErrNoStage  = errors.New("the stack has no such stage")
	ErrNoOutput = errors.New("the stack has no such output")
)

// PeerError says what is missing of another stack that a program refers to.
type PeerError struct {
	Stack token.Stack
	// Output is the path that was asked for.
	Output tree.Path
	// Missing is ErrNoStack, ErrNoStage or ErrNoOutput; Known are the names that there are in its place, sorted.
	Missing error
	Known   []string
}

func (e *PeerError) Error() string {
	where := "in this store"
	if e.Stack.Store != "" {
		where = "in " + e.Stack.Store
	}
	switch {
	case errors.Is(e.Missing, ErrNoStack):
		return fmt.Sprintf("no stack %q has state %s", e.Stack.Name, where)
	case errors.Is(e.Missing, ErrNoStage):
		return fmt.Sprintf("stack %s has no stage %q with state %s", e.Stack.Name, e.Stack.Stage, where)
	default:
		return fmt.Sprintf("%s has no output %q", e.Stack, e.Output)
	}
}

// Is reports what is missing.
func (e *PeerError) Is(target error) bool { return e.Missing == target }

// Hint says what may be meant, or what can be done.
func (e *PeerError) Hint() string {
	name := outputName(e.Output)
	switch {
	case errors.Is(e.Missing, ErrNoStack):
		name = e.Stack.Name
	case errors.Is(e.Missing, ErrNoStage):
		name = e.Stack.Stage
	}
	near, found := props.Nearest(name, e.Known)
	switch {
	case found:
		return "did you mean " + near + "?"
	case len(e.Known) > 0:
		return "there is " + strings.Join(e.Known, ", ")
	default:
		return "deploy that stack first: its outputs are written to state at the end of a run"
	}
}

func outputName(path tree.Path) string {
	if steps := path.Steps(); len(steps) > 0 {
		return steps[0].Key
	}
	return ""
}

// peer is another stack, read once for a plan and what is done with it.
type peer struct {
	once   sync.Once
	values map[string]any
	secret map[string]bool
	err    error

	mu   sync.Mutex
	used map[tree.Path]string
}

// missing says whether a stack is not there or only a stage of it.
func missing(from token.Stack, stages []statestore.Stage) error {
	e := &PeerError{Stack: from, Missing: ErrNoStack}
	var names, stacks []string
	for _, s := range stages {
		stacks = append(stacks, s.Stack)
		if s.Stack == from.Name {
			names = append(names, s.Name)
		}
	}
	if e.Known = stacks; len(names) > 0 {
		e.Missing, e.Known = ErrNoStage, names
	}
	slices.Sort(e.Known)
	e.Known = slices.Compact(e.Known)
	return e
}

// Output is the value of another stack's output, as the last run wrote it to state. It is never unknown.
func (v *Values) Output(ctx context.Context, from token.Stack, path tree.Path) (token.Value, error) {
	v.mu.Lock()
	p := v.peers[from]
	if p == nil {
		p = &peer{used: map[tree.Path]string{}}
		v.peers[from] = p
	}
	v.mu.Unlock()
	p.once.Do(func() { p.values, p.secret, p.err = v.readPeer(ctx, from) })
	if p.err != nil {
		return token.Value{}, p.err
	}
	value, ok := tree.Get(p.values, path)
	if !ok {
		known := make([]string, 0, len(p.values))
		for name := range p.values {
			known = append(known, name)
		}
		slices.Sort(known)
		return token.Value{}, &PeerError{Stack: from, Output: path, Missing: ErrNoOutput, Known: known}
	}
	secret := p.secret[outputName(path)]
	if secret {
		v.from.Redact.Learn(value)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, noted := p.used[path]; !noted {
		p.used[path] = v.from.Key.Digest("output of another stack", tree.Canonical(value))
	}
	return token.Value{Any: value, Secret: secret}, nil
}

// readPeer reads the outputs of another stack.
func (v *Values) readPeer(ctx context.Context, from token.Stack) (map[string]any, map[string]bool, error) {
	stage := statestore.Stage{Stack: from.Name, Name: from.Stage}
	switch {
	case v.from.Peers == nil:
		return nil, nil, errors.New("outputs of other stacks cannot be read here")
	case stage == v.from.Stage && from.Store == "":
		return nil, nil, reconcile.WithHint(errors.New("a stack cannot refer to its own outputs"), "refer to the resource itself")
	}
	store, err := v.from.Peers.Open(ctx, from.Store)
	if err != nil {
		return nil, nil, err
	}
	stages, err := store.Stages(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(stages, stage) {
		return nil, nil, missing(from, stages)
	}
	snap, err := store.Load(ctx, stage)
	if err != nil || len(snap.Outputs) == 0 {
		return nil, nil, err
	}
	key, err := v.from.Peers.Key(stage, snap.KeyID)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", stage, err)
	}
	values, secret, err := state.OpenOutputs(snap, key)
	if err != nil {
		err = fmt.Errorf("the outputs of %s: %w", stage, err)
	}
	return values, secret, err
}

// Used are digests of the outputs of other stacks that the plan was made with.
func (v *Values) Used() map[string]string {
	var used map[string]string
	for from, p := range v.peers {
		for path, digest := range p.used {
			if used == nil {
				used = map[string]string{}
			}
			name := from.String() + "." + string(path)
			if from.Store != "" {
				name += " in " + from.Store
			}
			used[name] = digest
		}
	}
	return used
}
