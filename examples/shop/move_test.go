package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMovedRecord moves the whole shop into a scope and back. Every object gets a new owner tag, nothing else of it is
// touched, and the program then finds nothing to do.
func TestMovedRecord(t *testing.T) {
	s := newShop(t)
	s.Do("deploy")
	for _, move := range [][]string{{"/", "old/"}, {"old/", "/"}} {
		s.Cloud.Reset()
		moved := s.Do(append([]string{"state", "mv"}, move...)...)
		if moved.Moved != 8 || moved.Failed > 0 {
			t.Errorf("mv %v: moved %d, failed %d", move, moved.Moved, moved.Failed)
		}
		var calls []string
		for _, c := range s.Cloud.Mutations() {
			calls = append(calls, fmt.Sprint(c))
		}
		if slices.ContainsFunc(calls, func(c string) bool { return !strings.Contains(c, "Tag") }) || len(calls) != moved.Calls.Mutations || len(calls) == 0 {
			t.Errorf("mv %v: %v, counted %d", move, calls, moved.Calls.Mutations)
		}
	}
	if c := s.Do("deploy"); c.Calls.Mutations != 0 || c.Commits != 0 || c.Unchanged != 8 {
		t.Errorf("a deploy afterwards: %s", c)
	}
}
