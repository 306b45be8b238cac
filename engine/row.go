package engine

import (
	"fmt"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

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
	if r.leave {
		body["leave"] = true
	}
	if r.loose {
		body["loose"] = true
	}
	if r.built != "" {
		body["built"] = r.built
	}
	if len(r.secret) > 0 {
		body["secret"] = texts(r.secret)
	}
	if len(r.was) > 0 {
		body["was"] = texts(r.was)
	}
	if r.moving != "" {
		body["moving"] = r.moving
	}
	if len(r.cut) > 0 {
		cut := make(map[string]any, len(r.cut))
		for addr, paths := range r.cut {
			cut[addr] = texts(paths)
		}
		body["cut"] = cut
	}
	options, err := optionsTree(&r.options)
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
	put(t, "props", g.props)
	if g.retain {
		t["retain"] = true
	}
	if g.virtual {
		t["virtual"] = true
	}
	if g.dev {
		t["dev"] = true
	}
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
	plain, err := key.Open(row.Body, aad(stage, row.Birth))
	if err != nil {
		return nil, err
	}
	return decodeRow(row, plain)
}

// decodeRow makes a record of a row and its opened body. There can be very many rows, so that only what a record keeps is
// made of the body.
func decodeRow(row statestore.Row, plain []byte) (*record, error) {
	r := &record{address: row.Address, version: row.Version, birth: row.Birth, needs: row.Needs}
	r.gens = make([]*generation, len(row.Generations))
	for i, g := range row.Generations {
		r.gens[i] = generationOf(g)
	}
	var options map[string]any
	err := tree.Members(plain, func(name string, m tree.Member) {
		if name == "options" {
			options = m.Map()
			return
		}
		r.load(name, m)
	})
	if err != nil {
		return nil, fmt.Errorf("row body: %w", err)
	}
	if options != nil {
		if err := props.Load(options, &r.options); err != nil {
			return nil, fmt.Errorf("row body: options: %w", err)
		}
	}
	return r, nil
}

// load reads one member of a row's body but its options.
func (r *record) load(name string, m tree.Member) {
	switch name {
	case "props":
		r.props = m.Map()
	case "settings":
		r.settings = m.Map()
	case "leave":
		r.leave = m.True()
	case "loose":
		r.loose = m.True()
	case "moving":
		r.moving = m.Text()
	case "built":
		r.built = m.Text()
	case "secret":
		r.secret = textsOf[tree.Path](m.Value())
	case "was":
		r.was = textsOf[string](m.Value())
	case "cut":
		r.cut = map[string][]tree.Path{}
		for addr, list := range m.Map() {
			r.cut[addr] = textsOf[tree.Path](list)
		}
	case "gens":
		m.Members(func(name string, m tree.Member) {
			number, err := strconv.ParseUint(name, 10, 64)
			if g := r.numberedAs(number); err == nil && g != nil {
				m.Members(g.load)
			}
		})
	}
}

// generationOf is what the row itself says of a generation: all but what is sealed.
func generationOf(g statestore.Generation) *generation {
	return &generation{
		number: g.Number, state: g.State, slot: g.Slot, kind: g.Kind, place: reconcile.Place(g.Place),
		identity: g.Identity, intent: g.Intent, written: g.Written,
	}
}

// load reads one member of what a row's body says of a generation.
func (g *generation) load(name string, m tree.Member) {
	switch name {
	case "attrs":
		g.attrs = m.Map()
	case "settings":
		g.settings = m.Map()
	case "props":
		g.props = m.Map()
	case "retain":
		g.retain = m.True()
	case "virtual":
		g.virtual = m.True()
	case "dev":
		g.dev = m.True()
	case "name":
		g.name = m.Text()
	case "named":
		g.named = m.True()
	case "nonce":
		g.nonce = m.Text()
	case "written":
		g.digests = map[tree.Path]string{}
		for p, s := range m.Map() {
			g.digests[tree.Path(p)], _ = s.(string)
		}
	}
}

// texts makes a tree of a list of strings.
func texts[S ~string](list []S) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func textsOf[S ~string](v any) []S {
	list, _ := v.([]any)
	var out []S
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, S(s))
		}
	}
	return out
}

// optionsTree is options as the graph document writes them, nil when none is set.
func optionsTree(o *Options) (map[string]any, error) {
	t, err := props.Encode(o)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	for name, v := range t {
		if list, ok := v.([]any); ok && len(list) == 0 {
			delete(t, name)
		}
	}
	if len(t) == 0 {
		return nil, nil
	}
	return t, nil
}
