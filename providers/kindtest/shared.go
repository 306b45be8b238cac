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
}

// Shared returns the suite for several checks: what one has found out of a fresh world, the others know. [Run] and [RunOnly] do that
// by themselves. Numbers of its props may be of any Go type.
func (s Suite) Shared() Suite {
	s.Base, s.Variants = treeOfProps(s.Base), slices.Clone(s.Variants)
	for i, v := range s.Variants {
		s.Variants[i].Props = treeOfProps(v.Props)
	}
	s.shared = &shared{references: map[string]string{}}
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
	return state
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
