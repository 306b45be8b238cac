package state

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Intent is a creation that was begun and whose end is not in state. What it may have created is looked for with the values of
// the intent, never with those declared now. Kind, location and number are those of its generation.
type Intent struct {
	// Address is the one in the owner tag of the new object, Name its name, "" where the cloud names it.
	Address, Name string
	NameGiven     bool // by the author, not generated
	// Props are the resolved props that the creation began with, Assets the digests of what was prepared for them.
	Props  map[string]any
	Assets map[string]string
	// Started is when the creation was begun. Zero: an object was deleted to make room, and no creation was begun yet.
	Started time.Time
	// Undo: what the generation did on the outside was complete, and its undo was begun.
	Undo bool
}

// Begun reports whether a creation was begun for the generation, while its identity is not in state.
func (g *Generation) Begun() bool {
	return g != nil && g.Identity == "" && g.Intent != nil && !g.Intent.Started.IsZero()
}

// Empty reports whether no object of the generation can exist: no creation was begun for it.
func (g *Generation) Empty() bool { return g.Identity == "" && !g.StateOnly && !g.Begun() }

// body returns nothing for a creation that was not begun yet.
func (i *Intent) body() map[string]any {
	t := map[string]any{}
	if i.Started.IsZero() {
		return t
	}
	t["address"], t["name"], t["started"] = i.Address, i.Name, i.Started.UTC().Format(time.RFC3339Nano)
	if i.Props != nil { // an empty map is "explicitly none"
		t["props"] = i.Props
	}
	if i.NameGiven {
		t["named"] = true
	}
	if i.Undo {
		t["undo"] = true
	}
	if len(i.Assets) > 0 {
		assets := make(map[string]any, len(i.Assets))
		for name, digest := range i.Assets {
			assets[name] = digest
		}
		t["assets"] = assets
	}
	return t
}

// load reads one member of an intent in a row's body.
func (i *Intent) load(name string, m tree.Member) {
	switch name {
	case "address":
		i.Address = m.Text()
	case "name":
		i.Name = m.Text()
	case "named":
		i.NameGiven = m.True()
	case "undo":
		i.Undo = m.True()
	case "props":
		i.Props = m.Map()
	case "assets":
		i.Assets = map[string]string{}
		for asset, digest := range m.Map() {
			i.Assets[asset], _ = digest.(string)
		}
	case "started":
		i.Started, _ = time.Parse(time.RFC3339Nano, m.Text())
	}
}

// complete fills the intents of a row that was written before intents held what they began with: a row of that time has it in
// other members.
func (r *Entry) complete() {
	for _, g := range r.Generations {
		i := g.Intent
		if i == nil || i.Address != "" || i.Started.IsZero() {
			continue
		}
		i.Address, i.Name, i.NameGiven, i.Props = r.Address, g.Name, g.NameGiven, g.Props
		if i.Props == nil {
			i.Props = r.Props
		}
	}
}
