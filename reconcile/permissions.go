package reconcile

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Permissions are the actions of a provider's access control that a kind needs, by what is done with a thing.
// A plan tells what is done, and so what it needs and no more.
type Permissions struct {
	// Observe are for looking at a thing that is known or named, which is done before everything else.
	Observe []string
	// List are for finding things by their mark or their parent: for recovery, and for adoption.
	List []string
	// Create are for making a thing, beside those of Observe.
	Create []string
	// Update are for changing any of its aspects in place, beside those of Observe.
	Update []string
	// Delete are for removing it, and for what has to be emptied or detached first, beside those of Observe.
	Delete []string
	// Resource is what the actions are allowed on, in the provider's own writing (an ARN), for the thing of this
	// name in a place; name is "*" when it is not known yet. Nil: on everything.
	Resource func(place Place, name string) []string
	// Of is the prop that says what the actions are allowed on, where that is another thing than this one: its value is
	// the name that Resource gets.
	Of tree.Path
	// Anywhere are the actions that the provider allows on everything or not at all.
	Anywhere []string
	// Passes are the props that name what is handed on to the thing, such as a role that it runs as, by the action that is
	// allowed on that.
	Passes map[string][]tree.Path
}

// Need is what something asks of a provider's access control.
type Need struct {
	// Provider is its name, such as "aws".
	Provider string
	// Actions are what is done, and Resources on what; none is on everything.
	Actions, Resources []string
}

// Needs are what some of the actions ask for, done to the things of these names in a place.
func (p Permissions) Needs(provider string, place Place, names, actions []string) []Need {
	var anywhere, on []string
	for _, action := range actions {
		if p.Resource == nil || slices.Contains(p.Anywhere, action) {
			anywhere = append(anywhere, action)
		} else {
			on = append(on, action)
		}
	}
	var needs []Need
	if len(anywhere) > 0 {
		needs = append(needs, Need{Provider: provider, Actions: anywhere})
	}
	if len(on) == 0 {
		return needs
	}
	need := Need{Provider: provider, Actions: on}
	for _, name := range names {
		need.Resources = append(need.Resources, p.Resource(place, name)...)
	}
	return append(needs, need)
}

// All are all actions, sorted, each once.
func (p Permissions) All() []string {
	all := slices.Concat(p.Observe, p.List, p.Create, p.Update, p.Delete, slices.Collect(maps.Keys(p.Passes)))
	slices.Sort(all)
	return slices.Compact(all)
}
