package simtest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/simtest"
)

// operations are what a plan announces for one address, read from its JSON.
type operations struct {
	actions    map[string]bool
	generation uint64
	paths      []string
	steps      []announcement
}

// announcement is one line of a step. Affects are paths that its call may change beside its own, and that are then set again.
type announcement struct {
	Verb, Path string
	Object     struct{ Identity string }
	Affects    []string
}

// readAnnouncements reads what the text of a plan announces, by address, former address and identity.
func readAnnouncements(doc []byte) (map[string]*operations, error) {
	var plan struct {
		Actions []struct {
			Address, Action, From, Identity string
			Generation                      uint64
			Reasons                         []struct{ Path string }
			Steps                           []struct{ Operations []announcement }
		}
	}
	if err := json.Unmarshal(doc, &plan); err != nil {
		return nil, err
	}
	said := map[string]*operations{}
	about := func(name string) *operations {
		if said[name] == nil {
			said[name] = &operations{actions: map[string]bool{}}
		}
		return said[name]
	}
	for _, a := range plan.Actions {
		for _, name := range []string{a.Address, a.From, a.Identity} {
			o := about(name)
			o.actions[a.Action] = true
			o.generation = max(o.generation, a.Generation)
			for _, r := range a.Reasons {
				o.paths = append(o.paths, r.Path)
			}
			for _, s := range a.Steps {
				o.steps = append(o.steps, s.Operations...)
			}
		}
		for _, s := range a.Steps {
			for _, op := range s.Operations { // of other objects than the line's own
				if id := op.Object.Identity; id != a.Identity && id != a.From {
					about(id).steps = append(about(id).steps, op)
				}
			}
		}
	}
	delete(said, "")
	return said, nil
}

// unannounced are the effects that the text of a plan does not announce.
func unannounced(doc []byte, effects []simtest.Effect) []string {
	said, err := readAnnouncements(doc)
	if err != nil {
		return []string{err.Error()}
	}
	created := map[string]bool{}
	var wrong []string
	for _, e := range effects {
		if !said[e.Owner.Address].announces(e) && !said[e.ID].announces(e) && !created[e.ID] {
			wrong = append(wrong, fmt.Sprintf("%s was not announced: %s", e, said[e.Owner.Address]))
		}
		created[e.ID] = created[e.ID] || e.Op == "create" // what the run created is nobody else's
	}
	return wrong
}

// announces goes by the operations of steps where a plan has them, and else by its actions and reasons.
func (o *operations) announces(e simtest.Effect) bool {
	switch {
	case o == nil:
		return false
	case len(o.steps) > 0:
		return slices.ContainsFunc(o.steps, func(op announcement) bool { return op.allows(e) }) || o.begins(e)
	}
	switch e.Op {
	case "create", "run":
		return o.actions["create"] || o.actions["replace"] || o.actions["recover"]
	case "delete", "undo":
		return o.actions["delete"] || o.actions["replace"]
	}
	if o.begins(e) || e.Path == "tags" && (o.actions["move"] || o.actions["forget"] || o.actions["adopt"] || o.actions["recover"]) {
		return true
	}
	return slices.ContainsFunc(o.paths, func(path string) bool { return firstOf(path) == e.Path })
}

// begins: an update of the half-made object that the step goes on with. It is nobody else's.
func (o *operations) begins(e simtest.Effect) bool {
	return e.Path != "" && (o.actions["create"] || o.actions["replace"] && e.Owner.Generation > o.generation)
}

func (op announcement) allows(e simtest.Effect) bool {
	switch e.Op {
	case "create", "run", "undo":
		return op.Verb == e.Op
	case "delete":
		return op.Verb == "remove"
	}
	switch op.Verb {
	case "set", "unset":
		return op.Path == "" || firstOf(op.Path) == e.Path || slices.Contains(op.Affects, e.Path)
	case "retag", "release", "take":
		return e.Path == "tags"
	}
	return false
}

// firstOf is the prop that a path begins with.
func firstOf(path string) string {
	first, _, _ := strings.Cut(path, ".")
	first, _, _ = strings.Cut(first, "[")
	return first
}

func (o *operations) String() string {
	if o == nil {
		return "nothing is announced for it"
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(o.actions)), " ", o.paths, " ", o.steps)
}
