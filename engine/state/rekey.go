package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Secrecy is what a kind says about its values when a key is rotated.
type Secrecy struct {
	Attributes, Props []tree.Path // that are secret
	Derives           bool        // the attributes are derived from the stage's key
}

// Deriver returns the key of a ring that the values of a generation derive from: the one that it names, else the
// newest.
func (g *Generation) Deriver(ring *seal.Key) *seal.Key {
	if g != nil && g.DerivedFrom != "" {
		if from := ring.By(g.DerivedFrom); from != nil {
			return from
		}
	}
	return ring
}

// Rekey returns the body of a row as it stands under the newest key of a ring. Keyed digests of what was written are
// made again from the props that were written; one that cannot be made again stays, and the next run writes that path
// once more. What was derived from a key names that key, which is also returned.
func Rekey(row statestore.Row, plain []byte, ring *seal.Key, secrecy func(kind string) Secrecy) ([]byte, []string, error) {
	decoded, err := tree.Decode(plain)
	body, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return nil, nil, fmt.Errorf("row body: %w", err)
	}
	gens, _ := body["gens"].(map[string]any)
	var derived []string
	for _, g := range row.Generations {
		gen, ok := gens[strconv.FormatUint(g.Number, 10)].(map[string]any)
		if !ok {
			continue
		}
		from, named := gen["derived"].(string)
		if !named {
			from = seal.SealedBy(row.Body)
			gen["derived"] = from
		}
		if secrecy(g.Kind).Derives {
			derived = append(derived, from)
		}
		props, own := gen["props"].(map[string]any)
		if !own {
			props, _ = body["props"].(map[string]any)
		}
		if written, ok := gen["written"].(map[string]any); ok {
			gen["written"] = rewritten(row, written, props, ring)
		}
	}
	return tree.Canonical(body), derived, nil
}

// rewritten are the digests of write-only paths under the newest key.
func rewritten(row statestore.Row, written, props map[string]any, ring *seal.Key) map[string]any {
	out := maps.Clone(written)
	for path, digest := range written {
		value, ok := tree.Get(props, tree.Path(path))
		if !ok {
			continue
		}
		for _, address := range []string{row.Address, row.Birth} {
			domain, data := "written "+address+" "+path, tree.Canonical(value)
			made := func(k *seal.Key) bool { return k.Digest(domain, data) == digest }
			if slices.ContainsFunc(ring.Ring(), made) {
				out[path] = ring.Digest(domain, data)
			}
		}
	}
	return out
}

// SecretValues returns the values in the body of a row that are secret, by path: of the attributes of its live
// generation, and of its props.
func SecretValues(row statestore.Row, plain []byte, secrecy func(kind string) Secrecy) (map[string][]byte, error) {
	entry, err := decodeRow(row, plain, new(tree.Reader), nil)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	note := func(what string, from map[string]any, paths []tree.Path) error {
		for _, p := range paths {
			if v, ok := tree.Get(from, p); ok && v != nil {
				data, err := json.Marshal(v)
				if err != nil {
					return err
				}
				values[what+string(p)] = data
			}
		}
		return nil
	}
	paths := slices.Clone(entry.SecretPaths)
	if live := entry.Live(); live != nil {
		if err := note("", live.Attributes, secrecy(live.Kind).Attributes); err != nil {
			return nil, err
		}
		paths = append(paths, secrecy(live.Kind).Props...)
	}
	return values, note("props.", entry.Props, paths)
}
