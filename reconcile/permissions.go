package reconcile

import "slices"

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
	// Anywhere are the actions that the provider allows on everything or not at all.
	Anywhere []string
}

// All are all actions, sorted, each once.
func (p Permissions) All() []string {
	all := slices.Concat(p.Observe, p.List, p.Create, p.Update, p.Delete)
	slices.Sort(all)
	return slices.Compact(all)
}
