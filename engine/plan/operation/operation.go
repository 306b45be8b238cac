// Package operation says what a plan announces, and what an executor may therefore do. It is pure: it has no context, no clock
// and no I/O.
package operation

import (
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Verb is what an operation does.
type Verb string

// The verbs.
const (
	Create  Verb = "create"  // make a new object
	Take    Verb = "take"    // enter an object that exists into the state, as this address's own
	Set     Verb = "set"     // change one path of an object in place
	Unset   Verb = "unset"   // empty one path of an object in place
	Retag   Verb = "retag"   // write the owner tag of an object, and nothing else
	Release Verb = "release" // write into the owner tag that the object is retained, and nothing else
	Remove  Verb = "remove"  // delete an object
	Detach  Verb = "detach"  // drop an object from the state without any call
	Run     Verb = "run"     // carry out a resource that acts when it is created, such as a command
	Undo    Verb = "undo"    // carry out what such a resource does when it is deleted
	Hook    Verb = "hook"    // run a hook
	Write   Verb = "write"   // change the state, without any call
)

// Verbs are all of them.
func Verbs() []Verb {
	return []Verb{Create, Take, Set, Unset, Retag, Release, Remove, Detach, Run, Undo, Hook, Write}
}

// Operation is one action of an executor. In a plan it is an announcement.
type Operation struct {
	Verb       Verb         `json:"verb"`
	Object     state.Object `json:"object,omitzero"`
	Generation uint64       `json:"generation,omitempty"`
	// Path is what is set or unset; "" in an announcement stands for every path that can change in place.
	Path tree.Path `json:"path,omitempty"`
	// Call names the provider's operation, or the hook.
	Call string `json:"call,omitempty"`
	// Have and Want are keyed digests of the values, "" for one that is not known.
	Have string `json:"have,omitempty"`
	Want string `json:"want,omitempty"`
	// Owner is the owner tag that the object carried when it was read, zero when it carried none or was not read.
	Owner reconcile.Mark `json:"owner,omitzero"`
	// Affects are further paths that the call may change by itself.
	Affects []tree.Path `json:"affects,omitempty"`
	// May says that the operation happens only if a value that is not known yet calls for it.
	May bool `json:"may,omitempty"`
	// Data says that users' data may be deleted with the object.
	Data bool `json:"data,omitempty"`
}

// Step is one task of an executor: all that is done to a resource in one phase.
type Step struct {
	// ID is the address and what the step is, such as "orders" and "orders/delete".
	ID         string      `json:"id"`
	Operations []Operation `json:"operations"`
	// Only says that further differences of the object are not this step's business: they are neither applied nor a
	// reason to stop.
	Only bool `json:"only,omitempty"`
}

// Has reports whether the step announces a verb.
func (s *Step) Has(v Verb) bool {
	for i := range s.Operations {
		if s.Operations[i].Verb == v {
			return true
		}
	}
	return false
}
