package operation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	orders  = state.Object{Kind: "sqs.Queue", Location: reconcile.Place{Provider: "aws", Account: "1"}, Identity: "orders"}
	another = state.Object{Kind: "sqs.Queue", Location: orders.Location, Identity: "another"}
	unknown = state.Object{Kind: "sqs.Queue", Location: orders.Location}
	ours    = reconcile.Mark{Stack: "shop", Stage: "prod", Address: "orders", Generation: 1}
	theirs  = reconcile.Mark{Stack: "other", Stage: "prod", Address: "orders", Generation: 1}
)

// announced is one announcement of each verb.
func announced(v operation.Verb) operation.Operation {
	o := operation.Operation{Verb: v, Object: orders, Generation: 1}
	switch v {
	case operation.Create:
		o.Object, o.Generation = unknown, 2
	case operation.Take:
		o.Owner = theirs
	case operation.Set:
		o.Path, o.Have, o.Want = "color", "red", "blue"
	case operation.Unset:
		o.Path, o.Have, o.Want = "color", "red", "none"
	case operation.Remove:
		o.Owner = ours
	case operation.Run, operation.Undo:
		o.Call, o.Want = "local.Command", "inputs"
	case operation.Hook:
		o.Call = "make check"
	case operation.Write, operation.Detach:
		o.Object, o.Generation = state.Object{}, 0
	default:
	}
	return o
}

// asAnnounced is doing exactly that, on an object that is as it was when the plan was made.
func asAnnounced(v operation.Verb) operation.Seen {
	x := operation.Seen{Operation: announced(v)}
	x.Absent = v == operation.Create
	return x
}

// fact is one way in which what is found differs from what was announced.
type fact struct {
	name   string
	change func(*operation.Seen)
	// stops are the verbs that it stops; every other one goes on.
	stops []operation.Verb
}

var facts = []fact{
	{"as announced", func(*operation.Seen) {}, nil},
	{"another path", func(x *operation.Seen) { x.Path = "size" }, []operation.Verb{operation.Set, operation.Unset}},
	{"a part of the path", func(x *operation.Seen) { x.Path = x.Path.Key("hue") }, []operation.Verb{operation.Set, operation.Unset}},
	{"another value is wanted", func(x *operation.Seen) { x.Want = "green" }, []operation.Verb{operation.Set, operation.Unset, operation.Run}},
	{"a third value is there", func(x *operation.Seen) { x.Have = "yellow" }, []operation.Verb{operation.Set, operation.Unset}},
	{"what is there cannot be read", func(x *operation.Seen) { x.Have = "" }, nil},
	{"what is wanted is not known", func(x *operation.Seen) { x.Want = "" }, nil},
	{"a third value after our own call", func(x *operation.Seen) { x.Have, x.Called = "yellow", []tree.Path{"color"} }, nil},
	{"another path after our own call", func(x *operation.Seen) { x.Path, x.Called = "size", []tree.Path{"color"} }, []operation.Verb{operation.Set, operation.Unset}},
	{"another object", func(x *operation.Seen) { x.Object = another }, []operation.Verb{operation.Take, operation.Set, operation.Unset, operation.Release, operation.Remove, operation.Undo}},
	{"another kind", func(x *operation.Seen) { x.Object.Kind = "sns.Topic" }, []operation.Verb{operation.Take, operation.Set, operation.Unset, operation.Release, operation.Remove, operation.Undo}},
	{"another location", func(x *operation.Seen) { x.Object.Location.Account = "2" }, []operation.Verb{operation.Take, operation.Set, operation.Unset, operation.Release, operation.Remove, operation.Undo}},
	{"another owner tag", func(x *operation.Seen) { x.Owner = reconcile.Mark{Stack: "third"} }, []operation.Verb{operation.Take, operation.Remove}},
	{"an older generation", func(x *operation.Seen) { x.Generation-- }, []operation.Verb{operation.Create}},
	{"a later generation", func(x *operation.Seen) { x.Generation++ }, nil},
	{"it holds data", func(x *operation.Seen) { x.Data = true }, []operation.Verb{operation.Remove, operation.Undo}},
	{"it is missing", func(x *operation.Seen) { x.Absent = true }, []operation.Verb{operation.Set, operation.Unset, operation.Retag}},
	{"it is there", func(x *operation.Seen) { x.Absent = false }, []operation.Verb{operation.Create}},
	{"another call", func(x *operation.Seen) { x.Call = "rm -r" }, []operation.Verb{operation.Run, operation.Hook}},
	{"an older value may be shown", func(x *operation.Seen) { x.Fresh = true }, nil},
}

// TestEveryVerbWithEveryFact: a step that announces one operation permits it, and every fact that it did not see stops the
// verbs that it is about, and no other.
func TestEveryVerbWithEveryFact(t *testing.T) {
	for _, v := range operation.Verbs() {
		step := operation.Step{ID: "orders", Operations: []operation.Operation{announced(v)}}
		for _, f := range facts {
			x := asAnnounced(v)
			f.change(&x)
			err := step.Permits(x)
			if stops := slices.Contains(f.stops, v); stops != (err != nil) {
				t.Errorf("%s, %s: %v", v, f.name, err)
			}
			if err != nil && (!errors.Is(err, operation.ErrChanged) || errors.Is(err, operation.ErrOlder)) {
				t.Errorf("%s, %s: %v is no refusal for good", v, f.name, err)
			}
		}
	}
}

// TestNothingIsPermittedThatIsNotAnnounced: a step permits no verb but its own, an empty one permits none. What needs no
// call any more is no operation, and an owner tag may be written where its path is announced.
func TestNothingIsPermittedThatIsNotAnnounced(t *testing.T) {
	for _, has := range append(operation.Verbs(), "") {
		step := operation.Step{ID: "orders"}
		if has != "" {
			step.Operations = []operation.Operation{announced(has)}
		}
		for _, v := range operation.Verbs() {
			x := asAnnounced(v)
			x.Path, x.Want = "shape", "x"
			if has != v {
				x.Path = "color"
			}
			set := (has == operation.Set && v == operation.Unset || has == operation.Unset && v == operation.Set) && x.Want == announced(has).Want
			owns := v == operation.Retag && slices.Contains([]operation.Verb{operation.Retag, operation.Take}, has)
			if err := step.Permits(x); has != v && (err == nil) != (set || owns) {
				t.Errorf("%q permits %s: %v", has, v, err)
			}
		}
	}
	if err := (&operation.Step{}).Permits(operation.Seen{Operation: operation.Operation{Verb: "dance"}}); err == nil {
		t.Error("an unknown verb is permitted")
	}
}

// TestStepsOfSeveralOperations are the situations in which operations of one step work together.
func TestStepsOfSeveralOperations(t *testing.T) {
	create := operation.Operation{Verb: operation.Create, Object: unknown, Generation: 2, May: true}
	set := func(path tree.Path, change func(*operation.Operation)) operation.Operation {
		o := operation.Operation{Verb: operation.Set, Object: orders, Path: path, Have: "red", Want: "blue"}
		if change != nil {
			change(&o)
		}
		return o
	}
	later := func(o *operation.Operation) { o.Want, o.May = "", true }
	affects := func(o *operation.Operation) { o.Affects = []tree.Path{"color"} }
	seen := func(v operation.Verb, path tree.Path, change func(*operation.Seen)) operation.Seen {
		x := operation.Seen{Operation: operation.Operation{Verb: v, Object: orders, Generation: 2, Path: path, Have: "red", Want: "blue"}}
		if change != nil {
			change(&x)
		}
		return x
	}
	own := func(x *operation.Seen) { x.OwnCreation = true }
	cases := []struct {
		name  string
		step  []operation.Operation
		x     operation.Seen
		wrong string
	}{
		{"any path of our own creation", []operation.Operation{create}, seen(operation.Set, "color", own), ""},
		{"its owner tag", []operation.Operation{create}, seen(operation.Retag, "tags.x", own), ""},
		{"a path of an object that is not our own creation", []operation.Operation{create}, seen(operation.Set, "color", nil), "does not announce"},
		{"our own creation under an older generation", []operation.Operation{create}, seen(operation.Set, "color", func(x *operation.Seen) { own(x); x.Generation = 1 }), "does not announce"},
		{"a creation without an announcement", []operation.Operation{set("color", nil)}, seen(operation.Create, "", func(x *operation.Seen) { x.Absent = true }), "is missing"},
		{"a value that is known later", []operation.Operation{set("color", later)}, seen(operation.Set, "color", func(x *operation.Seen) { x.Want = "green" }), ""},
		{"a part of a value that is known later", []operation.Operation{set("labels", later)}, seen(operation.Set, "labels.x", nil), ""},
		{"what holds a value that is known later", []operation.Operation{set("labels.x", later)}, seen(operation.Set, "labels", nil), ""},
		{"a path beside a value that is known later", []operation.Operation{set("labels", later)}, seen(operation.Set, "color", nil), "does not announce"},
		{"a value that is known later empties the path", []operation.Operation{set("color", later)}, seen(operation.Unset, "color", nil), ""},
		{"what another call resets", []operation.Operation{set("size", affects)}, seen(operation.Set, "color", func(x *operation.Seen) { x.Called = []tree.Path{"size"} }), ""},
		{"what another call would reset", []operation.Operation{set("size", affects)}, seen(operation.Set, "color", nil), "does not announce"},
		{"what another call resets, announced as well", []operation.Operation{set("size", affects), set("color", nil)}, seen(operation.Set, "color", func(x *operation.Seen) { x.Have, x.Called = "none", []tree.Path{"size"} }), ""},
		{"what is found under a name that is known later", []operation.Operation{create, {Verb: operation.Take, Object: unknown, May: true}, {Verb: operation.Set, May: true}}, seen(operation.Take, "", func(x *operation.Seen) { x.Owner = ours }), ""},
		{"its paths", []operation.Operation{create, {Verb: operation.Take, Object: unknown, May: true}, {Verb: operation.Set, May: true}}, seen(operation.Set, "color", nil), ""},
		{"the owner tag of what is taken over", []operation.Operation{{Verb: operation.Take, Object: orders}}, seen(operation.Retag, "tags.x", nil), ""},
		{"a value of what is taken over", []operation.Operation{{Verb: operation.Take, Object: orders}}, seen(operation.Set, "color", nil), "does not announce"},
		{"the owner tag of what is moved", []operation.Operation{{Verb: operation.Retag, Object: orders}}, seen(operation.Retag, "tags.x", nil), ""},
		{"the owner tag of what is changed", []operation.Operation{set("color", nil)}, seen(operation.Retag, "tags.x", nil), "does not announce"},
		{"the owner tag of what is gone", []operation.Operation{{Verb: operation.Retag, Object: orders}}, seen(operation.Retag, "tags.x", func(x *operation.Seen) { x.Absent = true }), "missing"},
		{"our own creation is given up", []operation.Operation{create, {Verb: operation.Remove, Object: unknown, Generation: 2, May: true}}, seen(operation.Remove, "", func(x *operation.Seen) { own(x); x.Generation = 3 }), ""},
		{"the next of somebody else's is deleted", []operation.Operation{create, {Verb: operation.Remove, Object: unknown, Generation: 2, May: true}}, seen(operation.Remove, "", func(x *operation.Seen) { x.Generation = 3 }), "does not announce"},
		{"data that may go", []operation.Operation{{Verb: operation.Remove, Object: orders, Data: true}}, seen(operation.Remove, "", func(x *operation.Seen) { x.Data = true }), ""},
	}
	for _, c := range cases {
		step := operation.Step{ID: "orders", Operations: c.step}
		switch err := step.Permits(c.x); {
		case err == nil && c.wrong != "", err != nil && (c.wrong == "" || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
	}
}

// TestAnOlderValueIsReadAgain: what a later read may still lift says so.
func TestAnOlderValueIsReadAgain(t *testing.T) {
	step := operation.Step{ID: "orders", Operations: []operation.Operation{announced(operation.Set)}}
	x := asAnnounced(operation.Set)
	x.Path, x.Fresh = "size", true
	if err := step.Permits(x); !errors.Is(err, operation.ErrOlder) {
		t.Errorf("%v", err)
	}
}

func TestChangedErrorSaysWhatWasAnnouncedAndFound(t *testing.T) {
	e := &operation.ChangedError{Verb: operation.Set, Path: "versioning", Why: "the plan does not announce it", Found: `"Enabled"`}
	if want := `versioning changed since the plan: the plan does not announce it (announced: nothing; found: "Enabled")`; e.Error() != want {
		t.Errorf("%s", e)
	}
}
