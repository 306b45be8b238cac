package reconcile

import (
	"cmp"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Permissions are the actions of a provider's access control that a kind needs, by what is done with an object. A plan says
// what is done, and so what it needs and no more.
type Permissions struct {
	// Observe are for reading an object that is known or named, which is done before everything else.
	Observe []string
	// List are for finding objects by their owner tag or their parent: for recovery, and for adoption.
	List []string
	// Create are for creating an object, beside those of Observe.
	Create []string
	// Update are for changing any of its aspects in place, beside those of Observe.
	Update []string
	// Delete are for deleting it, and for what has to be emptied or detached first, beside those of Observe.
	Delete []string
	// Resource is what the actions are allowed on, in the provider's own writing (an ARN), for the object of this
	// name in a location; name is "*" when it is not known yet. Nil: on everything.
	Resource func(place Place, name string) []string
	// Of is the prop that says what the actions are allowed on, where that is another object than this one: its value is
	// the name that Resource gets.
	Of tree.Path
	// Anywhere are the actions that the provider allows on everything or not at all.
	Anywhere []string
	// Calls are the actions that each operation takes, by the name that the steps of a plan have for it. An operation that is
	// not among them takes all of Update.
	Calls map[string][]string
	// Only are the props that an action is for. Without any of them, declared or in state, the action is not called to read, to
	// create or to delete.
	Only map[string][]tree.Path
	// Depends are the actions that the provider checks beside those of its operations.
	Depends []Dependence
}

// Dependence is what a provider asks of its caller beyond the operation that is called, such as the use of a key.
type Dependence struct {
	// Actions are what is asked for, and Phase is when.
	Actions []string
	Phase   Phase
	// Calls are the operations in place that ask for it. Nil: all.
	Calls []string
	// Props are those whose values name what the actions are allowed on. Without any value nothing is asked for. No props:
	// it is always asked for.
	Props []tree.Path
	// Under is a prop whose value follows the values of Props after a slash, such as the key of an object in a bucket.
	Under tree.Path
	// Resource says what the actions are allowed on, by the value of a prop, "*" for one that is not known yet and "" without
	// props. None: nothing is asked for. A nil Resource takes the value as it is.
	Resource func(place Place, value string) []string
	// Conditions are tests by operator and key, as policies have them.
	Conditions map[string]map[string][]string
	// Where are the props that an operation in place must set to ask for it. Nil: it asks in any case.
	Where []tree.Path
}

// Phase is when an action is needed. The zero phase is creating and updating.
type Phase uint8

// The phases, which can be joined.
const (
	Observing Phase = 1 << iota
	Creating
	Updating
	Deleting
)

// In reports whether it is asked for in any of some phases.
func (d Dependence) In(phases Phase) bool { return cmp.Or(d.Phase, Creating|Updating)&phases != 0 }

// By reports whether an operation in place asks for it that sets a path.
func (d Dependence) By(call string, path tree.Path) bool {
	return d.In(Updating) && (d.Calls == nil || call == "" || slices.Contains(d.Calls, call)) &&
		(d.Where == nil || path == "" || slices.ContainsFunc(d.Where, func(p tree.Path) bool { return path.Within(p) || p.Within(path) }))
}

// Needs are what the dependence asks for, by the values of its props in a location.
func (d Dependence) Needs(provider string, place Place, values []string) []Need {
	var resources []string
	for _, value := range values {
		if d.Resource == nil {
			resources = append(resources, value)
		} else {
			resources = append(resources, d.Resource(place, value)...)
		}
	}
	if len(resources) == 0 {
		return nil
	}
	return []Need{{Provider: provider, Actions: d.Actions, Resources: resources, Conditions: d.Conditions}}
}

// Need is what something asks of a provider's access control.
type Need struct {
	// Provider is its name, such as "aws".
	Provider string
	// Actions are what is done, and Resources on what; none is on everything.
	Actions, Resources []string
	// Conditions are tests by operator and key, as policies have them.
	Conditions map[string]map[string][]string
}

// Needs are what some of the actions ask for, done to the objects of these names in a location.
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

// Called are the actions that an operation in place takes.
func (p Permissions) Called(call string) []string {
	if actions, ok := p.Calls[call]; ok {
		return actions
	}
	return p.Update
}

// All are all actions, sorted, each once.
func (p Permissions) All() []string {
	all := slices.Concat(p.Observe, p.List, p.Create, p.Update, p.Delete)
	for _, d := range p.Depends {
		all = append(all, d.Actions...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
