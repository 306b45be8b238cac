package state

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Abroad returns a copy of the entry as another stage has it. Addresses that move along become their new ones, and what names an
// address that stays is left out: a stage knows no address of another one. Digests of what cannot be read are made again with
// the key of the other stage; a digest that cannot be made again is left out, and the next deploy writes that path once more.
func (r *Entry) Abroad(to string, moves map[string]string, from, key *seal.Key) *Entry {
	stays := func(addr string) bool { _, moved := moves[addr]; return !moved }
	kept := r.Clone()
	kept.Needs = slices.DeleteFunc(slices.Clone(r.Needs), stays)
	o := r.Options()
	o.DependsOn, o.RenamedFrom = slices.DeleteFunc(slices.Clone(o.DependsOn), stays), nil
	if stays(o.DeletedWith) {
		o.DeletedWith = ""
	}
	kept.SetOptions(&o)
	kept.Cut = maps.Clone(r.Cut)
	maps.DeleteFunc(kept.Cut, func(addr string, _ []tree.Path) bool { return stays(addr) })
	c, _ := kept.Readdressed(moves)
	c.Address, c.Version, c.Former, c.MovingTo = to, 0, nil, ""
	c.redigest(append([]string{r.Address}, r.Former...), from, key)
	for _, g := range c.Generations {
		g.Replaced = nil
	}
	return c
}

// redigest makes the digests of what cannot be read anew for the entry's address, which was at other ones. A digest that cannot be
// made again is left out.
func (r *Entry) redigest(was []string, from, key *seal.Key) {
	was = append(slices.Clone(was), r.Birth, r.Address)
	for _, g := range r.Generations {
		props := g.Props
		if props == nil {
			props = r.Props
		}
		written := make(map[tree.Path]string, len(g.WriteDigests))
		for path, digest := range g.WriteDigests {
			if again, ok := redigested(digest, path, props, was, r.Address, from, key); ok {
				written[path] = again
			}
		}
		g.WriteDigests = written
	}
}

// redigested is the digest of a value that was written at one of some addresses, as it is at another address under another key. It
// is false when the props do not hold the value that was written.
func redigested(digest string, path tree.Path, props map[string]any, was []string, to string, from, key *seal.Key) (string, bool) {
	value, ok := tree.Get(props, path)
	if !ok {
		return "", false
	}
	data := tree.Canonical(value)
	for _, address := range was {
		for _, k := range from.Ring() {
			if k.Digest("written "+address+" "+string(path), data) == digest {
				return key.Digest("written "+to+" "+string(path), data), true
			}
		}
	}
	return "", false
}

// Shares reports whether two rows have an object in common: what both say is one object of the cloud.
func Shares(a, b statestore.Row) bool {
	return slices.ContainsFunc(a.Generations, func(x statestore.Generation) bool {
		return slices.ContainsFunc(b.Generations, func(y statestore.Generation) bool {
			return x.Kind == y.Kind && x.Place == y.Place && x.Identity == y.Identity && x.Number == y.Number
		})
	})
}
