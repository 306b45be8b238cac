package athanor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ErrMisuse is matched by errors about a program that treats references as if they were values, or that
// depends on more than its config.
var ErrMisuse = errors.New("the program does not mean the same each time")

// misuse adds the way out to an error about a damaged token.
func misuse(err error) error {
	if _, ok := errors.AsType[*token.DamagedError](err); !ok {
		return err
	}
	return reconcile.WithHint(err, "references stand for values that are known later; athanor.Then makes something of the value itself")
}

// Check compares two evaluations of one program, one with each [Spelling]. Where they differ the program
// measured, cut, hashed or encoded a reference, or used the clock, randomness or the environment. The error is
// an *engine.GraphError that names each such place; its problems match [ErrMisuse].
//
// What takes the same way with both spellings, such as comparing a reference with a text, is not found.
func Check(first, second *engine.Graph) error {
	c := &comparison{}
	c.resources(first.Resources, second.Resources)
	c.reads(first.Reads, second.Reads)
	c.trees("output", "", first.Outputs, second.Outputs)
	c.trees("config", "", first.Config, second.Config)
	c.secrets(first.Secrets, second.Secrets)
	if !slices.Equal(first.Forget, second.Forget) {
		c.differ("", "", "forget")
	}
	if !slices.Equal(first.Program, second.Program) {
		c.differ("", "", "the use of functions")
	}
	if len(first.Funcs.Then) > 0 && len(second.Funcs.Then) > 0 && len(first.Funcs.Then) != len(second.Funcs.Then) {
		c.differ("", "", "the number of calls of Then")
	}
	if len(c.problems) == 0 {
		return nil
	}
	return &engine.GraphError{Problems: c.problems}
}

// comparison collects how two graphs differ.
type comparison struct{ problems []engine.Problem }

func (c *comparison) differ(address, source, what string) {
	err := fmt.Errorf("%s: %w", what, ErrMisuse)
	c.problems = append(c.problems, engine.Problem{Address: address, Source: source, Err: reconcile.WithHint(err,
		"it looks at the letters of a reference, or uses the clock, randomness or the environment; athanor.Then makes something of a value, athanor.Config reads what the user sets")})
}

func (c *comparison) resources(a, b []engine.Resource) {
	other := make(map[string]*engine.Resource, len(b))
	for i := range b {
		other[b[i].Address] = &b[i]
	}
	for i := range a {
		x := &a[i]
		y, ok := other[x.Address]
		if !ok {
			c.differ(x.Address, x.Source, "declared only once")
			continue
		}
		delete(other, x.Address)
		if x.Kind != y.Kind {
			c.differ(x.Address, x.Source, "kind")
		}
		c.trees(x.Address, x.Source, x.Props, y.Props)
		c.trees(x.Address, x.Source, x.Settings, y.Settings)
		c.options(x, y)
	}
	for _, address := range slices.Sorted(maps.Keys(other)) {
		c.differ(address, other[address].Source, "declared only once")
	}
}

func (c *comparison) reads(a, b []engine.Read) {
	other := make(map[string]*engine.Read, len(b))
	for i := range b {
		other[b[i].Address] = &b[i]
	}
	for i := range a {
		x := &a[i]
		y, ok := other[x.Address]
		if !ok {
			c.differ(x.Address, x.Source, "read only once")
			continue
		}
		delete(other, x.Address)
		if x.Kind != y.Kind || x.ID != y.ID {
			c.differ(x.Address, x.Source, "what is read")
		}
		c.trees(x.Address, x.Source, x.Query, y.Query)
		c.trees(x.Address, x.Source, x.Settings, y.Settings)
	}
	for _, address := range slices.Sorted(maps.Keys(other)) {
		c.differ(address, other[address].Source, "read only once")
	}
}

// trees names every place at which two trees differ.
func (c *comparison) trees(address, source string, a, b map[string]any) {
	if tree.Equal(a, b) {
		return
	}
	for _, p := range differences(a, b, "", nil) {
		c.differ(address, source, string(p))
	}
}

// differences are the deepest paths at which two trees differ.
func differences(a, b any, at tree.Path, found []tree.Path) []tree.Path {
	if tree.Equal(a, b) {
		return found
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			xv, inX := x[k]
			yv, inY := y[k]
			switch {
			case inX != inY && token.Has(k) || inX != inY && !plainName(k):
				return append(found, at)
			case inX != inY:
				found = append(found, at.Key(k))
			default:
				found = differences(xv, yv, at.Key(k), found)
			}
		}
		return found
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			found = differences(x[i], y[i], at.Index(i), found)
		}
		return found
	}
	return append(found, at)
}

func (c *comparison) secrets(a, b map[string]SecretSource) {
	if maps.Equal(a, b) {
		return
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a[name] != b[name] {
			c.differ("", "", "secret "+name)
		}
	}
}

// options compares by the document, in which what is empty and what is left out are the same.
func (c *comparison) options(x, y *engine.Resource) {
	if reflect.DeepEqual(x.Options, y.Options) {
		return
	}
	a, errA := json.Marshal(x.Options)
	b, errB := json.Marshal(y.Options)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		c.differ(x.Address, x.Source, "options")
	}
}
