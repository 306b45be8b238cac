package planner

import (
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// familyKinds are the kinds of families that the objects of an address may be of, see [reconcile.Scope.Kinds].
type familyKinds map[string][]numberedKind

// numberedKind is the kind of a generation in state, or of a declaration, which has the number 0.
type numberedKind struct {
	number uint64
	kind   string
	family bool
}

// familyKindsOf indexes the addresses at which state or the program has a kind of a family. Most stages have none.
func familyKindsOf(catalog *reconcile.Catalog, records map[string]*state.Entry, program *Graph) familyKinds {
	families := map[string]bool{}
	ofFamily := func(kind string) bool {
		is, known := families[kind]
		if !known {
			p, ok := catalog.ProviderOf(kind)
			is = ok && p.Discover != nil && catalog.OfFamily(kind)
			families[kind] = is
		}
		return is
	}
	all := familyKinds{}
	for i := range program.Resources {
		if r := &program.Resources[i]; ofFamily(r.Kind) {
			for _, addr := range addressesOf(r) {
				all[addr] = append(all[addr], numberedKind{0, r.Kind, true})
			}
		}
	}
	for _, entry := range records {
		has := slices.ContainsFunc(entry.Generations, func(g *state.Generation) bool { return ofFamily(g.Kind) })
		if !has && len(all) == 0 {
			continue // before its addresses are gathered: most stages have nothing of a family
		}
		addresses := append([]string{entry.Address, entry.Birth}, entry.Former...)
		slices.Sort(addresses)
		for _, addr := range slices.Compact(addresses) {
			if !has && all[addr] == nil {
				continue
			}
			for _, g := range entry.Generations {
				all[addr] = append(all[addr], numberedKind{g.Number, g.Kind, ofFamily(g.Kind)})
			}
		}
	}
	return all
}

// of returns the kinds of families that an object with an owner tag may be of. The generation of its number says it alone.
func (f familyKinds) of(mark reconcile.Mark) []string {
	var kinds, declared []string
	for _, k := range f[mark.Address] {
		switch {
		case k.number != 0 && k.number == mark.Generation && k.family:
			return []string{k.kind}
		case k.number != 0 && k.number == mark.Generation:
			return nil
		case k.family && k.number == 0:
			declared = append(declared, k.kind)
		case k.family:
			kinds = append(kinds, k.kind)
		}
	}
	return append(kinds, declared...)
}
