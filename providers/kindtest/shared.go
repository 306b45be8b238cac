package kindtest

import (
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// shared is what several checks of one run ask for, so that the emulator is asked once.
type shared struct {
	mu         sync.Mutex
	references map[string]string // the world as props make it where nothing was, by the canonical props
	calls      map[string]*watch // of creations by the canonical props, and of other transitions by their name
	sampled    *bool             // nil: no world has said
}

// Shared returns the suite for several checks: what one has found out of a fresh world, the others know. [Run] and [RunOnly] do that
// by themselves. Numbers of its props may be of any Go type.
func (s Suite) Shared() Suite {
	s.Base, s.Variants = treeOfProps(s.Base), slices.Clone(s.Variants)
	for i, v := range s.Variants {
		s.Variants[i].Props = treeOfProps(v.Props)
	}
	s.shared = &shared{references: map[string]string{}, calls: map[string]*watch{}}
	return s
}

// treeOfProps are props as a program or a file would give them: 5 in Go is an int, and in a tree an int64.
func treeOfProps(props map[string]any) map[string]any {
	of, err := tree.Of(props)
	if m, ok := of.(map[string]any); ok && err == nil {
		return m
	}
	return props // the kind says what is wrong with them
}

// reference is the world as it is after these props were reconciled in a fresh one.
func reference(t T, s Suite, props map[string]any, name string) string {
	t.Helper()
	key := string(tree.Canonical(props))
	if state, known := s.shared.get(key); known {
		return state
	}
	d := start(t, s)
	d.must(d.to(props), "%s in a fresh world", name)
	state := d.state()
	if d.w.End != nil {
		d.w.End()
	}
	s.shared.put(key, state)
	s.shared.went(key, d.watch)
	return state
}

// sampled reports whether the worlds of the suite are to be sampled.
func (s Suite) sampled(t T) bool {
	t.Helper()
	if sampled := s.shared.says(); sampled != nil {
		return *sampled
	}
	w := s.world(t)
	if w.End != nil {
		w.End()
	}
	return w.Sampled
}

// world makes a world, and remembers what it says of all worlds of the suite.
func (s Suite) world(t T) World {
	t.Helper()
	w := s.World(t)
	if s.shared != nil {
		s.shared.mu.Lock()
		defer s.shared.mu.Unlock()
		s.shared.sampled = &w.Sampled
	}
	return w
}

// says is what a world has said of all; nil when none has.
func (s *shared) says() *bool {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sampled
}

// went keeps the calls of a transition.
func (s *shared) went(name string, calls *watch) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[name] = calls
}

// callsOf are the calls of a transition that an earlier check has made; nil when none has.
func (s *shared) callsOf(name string) *watch {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[name]
}

func (s *shared) get(key string) (state string, known bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state, known = s.references[key]
	return state, known
}

func (s *shared) put(key, state string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references[key] = state
}
