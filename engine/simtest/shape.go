package simtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// Shape is the end state, world and record, without what depends on how it was reached: identities, names, generation
// numbers, times. Two shapes are equal when nobody who looks could tell them apart.
func (s *Sim) Shape(ctx context.Context) (string, error) {
	objects := s.Cloud.Objects()
	ids := make([]string, 0, 2*len(objects))
	for _, o := range objects {
		ids = append(ids, o.ID, "→"+o.Owner.Address)
	}
	named := strings.NewReplacer(longestFirst(ids)...)
	var lines []string
	for i := range objects {
		lines = append(lines, named.Replace(objects[i].line()))
	}
	slices.Sort(lines)
	rows, err := s.Rows(ctx)
	if err != nil {
		return "", err
	}
	for i := range rows {
		line, err := rowLine(&rows[i])
		if err != nil {
			return "", err
		}
		lines = append(lines, named.Replace(line))
	}
	outputs, err := s.Outputs(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		lines = append(lines, named.Replace(fmt.Sprintf("output %s: %v", name, outputs[name])))
	}
	return strings.Join(lines, "\n"), nil
}

// longestFirst orders pairs so that no identity is replaced inside a longer one.
func longestFirst(pairs []string) []string {
	type pair struct{ old, with string }
	all := make([]pair, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pair{pairs[i], pairs[i+1]})
	}
	slices.SortStableFunc(all, func(a, b pair) int { return len(b.old) - len(a.old) })
	out := make([]string, 0, len(pairs))
	for _, p := range all {
		out = append(out, p.old, p.with)
	}
	return out
}

// line is an object as it counts.
func (o *Object) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s in %q", o.Kind, o.Owner.Address, o.Region)
	for _, f := range slices.Sorted(maps.Keys(o.Fields)) {
		if v := o.Fields[f]; v != "" {
			fmt.Fprintf(&b, " %s=%s", f, v)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o.Labels)) {
		fmt.Fprintf(&b, " %s:%s", k, o.Labels[k])
	}
	if o.Owner.Retained {
		b.WriteString(" retained")
	}
	if o.Data > 0 {
		fmt.Fprintf(&b, " data=%d", o.Data)
	}
	return b.String()
}

// rowLine is a row as it counts.
func rowLine(row *engine.RowView) (string, error) {
	var gens []string
	for i := range row.Generations {
		g := &row.Generations[i]
		intent := ""
		if g.Intent {
			intent = "!"
		}
		gens = append(gens, fmt.Sprintf("%s%s %s in %q", g.State, intent, g.Kind, g.Place.Region))
	}
	slices.Sort(gens)
	if row.Props == nil {
		row.Props = map[string]any{}
	}
	props, err := json.Marshal(row.Props)
	if err != nil {
		return "", err
	}
	options, err := json.Marshal(row.Options)
	return fmt.Sprintf("row %s: %s needs=%v props=%s options=%s", row.Address, strings.Join(gens, ", "), row.Needs, props, options), err
}

// Digest is short for a shape.
func Digest(shape string) string {
	sum := sha256.Sum256([]byte(shape))
	return hex.EncodeToString(sum[:8])
}

// Tally counts effects: by operation, kind and address, and of creations and deletions also by generation.
type Tally struct {
	ByAddress    map[string]int
	ByGeneration map[string]int
	Mutations    int
}

// Count makes a tally.
func Count(effects []Effect) Tally {
	t := Tally{ByAddress: map[string]int{}, ByGeneration: map[string]int{}}
	for _, e := range effects {
		t.Mutations++
		switch e.Op {
		case "create", "delete", "run", "undo":
			t.ByAddress[fmt.Sprintf("%s %s %s", e.Op, e.Kind, e.Owner.Address)]++
			t.ByGeneration[fmt.Sprintf("%s %s %s/%d", e.Op, e.Kind, e.Owner.Address, e.Owner.Generation)]++
		}
	}
	return t
}
