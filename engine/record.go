package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// record is a row as the engine understands it. One record is changed by one goroutine at a time.
type record struct {
	address string
	version uint64
	birth   string
	needs   []string
	gens    []*generation

	options  Options
	settings map[string]any // of the provider, as last deployed
	props    map[string]any // resolved, as last settled
	// cut are the late paths, by upstream, through which a cycle was opened: what must be emptied before the
	// members of the cycle can go.
	cut map[string][]tree.Path
}

// generation is one physical thing of a record, or the intent to make one.
type generation struct {
	number   uint64
	state    statestore.State
	slot     int
	kind     string
	place    reconcile.Place
	identity string
	intent   bool
	written  time.Time

	name     string
	named    bool // the author gave the name
	nonce    string
	attrs    map[string]any
	digests  map[tree.Path]string // of write-only paths
	settings map[string]any       // when another than the record's
}

func (r *record) find(state statestore.State) *generation {
	if r == nil {
		return nil
	}
	for _, g := range r.gens {
		if g.state == state {
			return g
		}
	}
	return nil
}

func (r *record) live() *generation      { return r.find(statestore.Live) }
func (r *record) candidate() *generation { return r.find(statestore.Candidate) }

func (r *record) condemned() []*generation {
	var gens []*generation
	if r != nil {
		for _, g := range r.gens {
			if g.state == statestore.Condemned {
				gens = append(gens, g)
			}
		}
	}
	return gens
}

// drop takes a generation out.
func (r *record) drop(g *generation) {
	r.gens = slices.DeleteFunc(r.gens, func(x *generation) bool { return x == g })
}

// next is the number of a further generation.
func (r *record) next() uint64 {
	var n uint64
	for _, g := range r.gens {
		n = max(n, g.number)
	}
	return n + 1
}

// slotFree is the lowest name slot that nothing of the record holds.
func (r *record) slotFree(slots int) (int, error) {
	for slot := range slots {
		if !slices.ContainsFunc(r.gens, func(g *generation) bool { return g.slot == slot && !g.named }) {
			return slot, nil
		}
	}
	return 0, fmt.Errorf("%d things of this address are waiting for deletion; one must be gone before another can be made", slots)
}

// aad binds sealed bytes to what they belong to, so that they cannot be moved elsewhere.
func aad(stage statestore.Stage, what string) []byte {
	return []byte("athanor row\x00" + stage.Stack + "\x00" + stage.Name + "\x00" + what)
}

// seal makes the row that a store keeps.
func (r *record) seal(stage statestore.Stage, key *seal.Key) (statestore.Row, error) {
	gens := make(map[string]any, len(r.gens))
	row := statestore.Row{Address: r.address, Version: r.version, Birth: r.birth, Needs: r.needs}
	for _, g := range r.gens {
		row.Generations = append(row.Generations, statestore.Generation{
			Number: g.number, State: g.state, Slot: g.slot, Kind: g.kind, Place: statestore.Place(g.place),
			Identity: g.identity, Intent: g.intent, Written: g.written,
		})
		gens[strconv.FormatUint(g.number, 10)] = g.tree()
	}
	if len(r.gens) == 0 {
		return row, nil
	}
	body := map[string]any{"gens": gens}
	put(body, "props", r.props)
	put(body, "settings", r.settings)
	if len(r.cut) > 0 {
		cut := make(map[string]any, len(r.cut))
		for addr, paths := range r.cut {
			list := make([]any, len(paths))
			for i, p := range paths {
				list[i] = string(p)
			}
			cut[addr] = list
		}
		body["cut"] = cut
	}
	options, err := optionsTree(r.options)
	if err != nil {
		return row, err
	}
	put(body, "options", options)
	// The birth address is what stays when a row moves, and so what its bytes are bound to.
	row.Body = key.Seal(tree.Canonical(body), aad(stage, r.birth))
	return row, nil
}

func (g *generation) tree() map[string]any {
	t := map[string]any{}
	put(t, "attrs", g.attrs)
	put(t, "settings", g.settings)
	if g.name != "" {
		t["name"] = g.name
	}
	if g.named {
		t["named"] = true
	}
	if g.nonce != "" {
		t["nonce"] = g.nonce
	}
	if len(g.digests) > 0 {
		d := make(map[string]any, len(g.digests))
		for p, s := range g.digests {
			d[string(p)] = s
		}
		t["written"] = d
	}
	return t
}

// put keeps nil apart from empty: an empty map is "explicitly none".
func put(t map[string]any, name string, m map[string]any) {
	if m != nil {
		t[name] = m
	}
}

// open reads a row. The error says what cannot be read; the physical identities are in the row itself.
func open(row statestore.Row, stage statestore.Stage, key *seal.Key) (*record, error) {
	r := &record{address: row.Address, version: row.Version, birth: row.Birth, needs: row.Needs}
	plain, err := key.Open(row.Body, aad(stage, row.Birth))
	if err != nil {
		return nil, err
	}
	decoded, err := tree.Decode(plain)
	if err != nil {
		return nil, fmt.Errorf("row body: %w", err)
	}
	body, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("row body: not a map")
	}
	r.props, _ = body["props"].(map[string]any)
	r.settings, _ = body["settings"].(map[string]any)
	if cut, ok := body["cut"].(map[string]any); ok {
		r.cut = make(map[string][]tree.Path, len(cut))
		for addr, list := range cut {
			paths, _ := list.([]any)
			for _, p := range paths {
				s, _ := p.(string)
				r.cut[addr] = append(r.cut[addr], tree.Path(s))
			}
		}
	}
	if o, ok := body["options"]; ok {
		if err := json.Unmarshal(tree.Canonical(o), &r.options); err != nil {
			return nil, fmt.Errorf("row body: options: %w", err)
		}
	}
	gens, _ := body["gens"].(map[string]any)
	for _, g := range row.Generations {
		t, _ := gens[strconv.FormatUint(g.Number, 10)].(map[string]any)
		r.gens = append(r.gens, openGeneration(g, t))
	}
	return r, nil
}

func openGeneration(g statestore.Generation, t map[string]any) *generation {
	out := &generation{
		number: g.Number, state: g.State, slot: g.Slot, kind: g.Kind, place: reconcile.Place(g.Place),
		identity: g.Identity, intent: g.Intent, written: g.Written,
	}
	out.attrs, _ = t["attrs"].(map[string]any)
	out.settings, _ = t["settings"].(map[string]any)
	out.name, _ = t["name"].(string)
	out.named, _ = t["named"].(bool)
	out.nonce, _ = t["nonce"].(string)
	if d, ok := t["written"].(map[string]any); ok {
		out.digests = make(map[tree.Path]string, len(d))
		for p, s := range d {
			out.digests[tree.Path(p)], _ = s.(string)
		}
	}
	return out
}

func optionsTree(o Options) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	if string(data) == "{}" {
		return nil, nil
	}
	t, err := tree.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	m, _ := t.(map[string]any)
	return m, nil
}

// clone is a copy whose generations can be changed without changing the original.
func (r *record) clone() *record {
	c := *r
	c.gens = make([]*generation, len(r.gens))
	for i, g := range r.gens {
		copied := *g
		copied.digests = maps.Clone(g.digests)
		c.gens[i] = &copied
	}
	return &c
}
