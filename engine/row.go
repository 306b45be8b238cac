package engine

import (
	"errors"
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

// decodeRow makes a record of a row and its opened body.
func decodeRow(row statestore.Row, plain []byte) (*record, error) {
	decoded, err := tree.Decode(plain)
	if err != nil {
		return nil, fmt.Errorf("row body: %w", err)
	}
	body, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("row body: not a map")
	}
	r := &record{address: row.Address, version: row.Version, birth: row.Birth, needs: row.Needs}
	r.props, _ = body["props"].(map[string]any)
	r.settings, _ = body["settings"].(map[string]any)
	r.leave, _ = body["leave"].(bool)
	r.loose, _ = body["loose"].(bool)
	r.moving, _ = body["moving"].(string)
	r.built, _ = body["built"].(string)
	r.secret, r.was = textsOf[tree.Path](body["secret"]), textsOf[string](body["was"])
	if cut, ok := body["cut"].(map[string]any); ok {
		r.cut = make(map[string][]tree.Path, len(cut))
		for addr, list := range cut {
			r.cut[addr] = textsOf[tree.Path](list)
		}
	}
	if o, ok := body["options"].(map[string]any); ok {
		if err := props.Load(o, &r.options); err != nil {
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

func openGeneration(g statestore.Generation, t map[string]any) *generation {
	out := &generation{
		number: g.Number, state: g.State, slot: g.Slot, kind: g.Kind, place: reconcile.Place(g.Place),
		identity: g.Identity, intent: g.Intent, written: g.Written,
	}
	out.attrs, _ = t["attrs"].(map[string]any)
	out.settings, _ = t["settings"].(map[string]any)
	out.props, _ = t["props"].(map[string]any)
	out.retain, _ = t["retain"].(bool)
	out.virtual, _ = t["virtual"].(bool)
	out.dev, _ = t["dev"].(bool)
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
