package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/plan"
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
func announced(v plan.Verb) plan.Operation {
	o := plan.Operation{Verb: v, Object: orders, Generation: 1}
	switch v {
	case plan.Create:
		o.Object, o.Generation = unknown, 2
	case plan.Take:
		o.Owner = theirs
	case plan.Set:
		o.Path, o.Have, o.Want = "color", "red", "blue"
	case plan.Unset:
		o.Path, o.Have, o.Want = "color", "red", "none"
	case plan.Remove:
		o.Owner = ours
	case plan.Run, plan.Undo:
		o.Call, o.Want = "local.Command", "inputs"
	case plan.Hook:
		o.Call = "make check"
	case plan.Write, plan.Detach:
		o.Object, o.Generation = state.Object{}, 0
	default:
	}
	return o
}

// asAnnounced is doing exactly that, on an object that is as it was when the plan was made.
func asAnnounced(v plan.Verb) plan.Seen {
	x := plan.Seen{Operation: announced(v)}
	x.Absent = v == plan.Create
	return x
}

// fact is one way in which what is found differs from what was announced.
type fact struct {
	name   string
	change func(*plan.Seen)
	// stops are the verbs that it stops; every other one goes on.
	stops []plan.Verb
}

var facts = []fact{
	{"as announced", func(*plan.Seen) {}, nil},
	{"another path", func(x *plan.Seen) { x.Path = "size" }, []plan.Verb{plan.Set, plan.Unset}},
	{"a part of the path", func(x *plan.Seen) { x.Path = x.Path.Key("hue") }, []plan.Verb{plan.Set, plan.Unset}},
	{"another value is wanted", func(x *plan.Seen) { x.Want = "green" }, []plan.Verb{plan.Set, plan.Unset, plan.Run}},
	{"a third value is there", func(x *plan.Seen) { x.Have = "yellow" }, []plan.Verb{plan.Set, plan.Unset}},
	{"what is there cannot be read", func(x *plan.Seen) { x.Have = "" }, nil},
	{"what is wanted is not known", func(x *plan.Seen) { x.Want = "" }, nil},
	{"a third value after our own call", func(x *plan.Seen) { x.Have, x.Called = "yellow", []tree.Path{"color"} }, nil},
	{"another path after our own call", func(x *plan.Seen) { x.Path, x.Called = "size", []tree.Path{"color"} }, []plan.Verb{plan.Set, plan.Unset}},
	{"another object", func(x *plan.Seen) { x.Object = another }, []plan.Verb{plan.Take, plan.Set, plan.Unset, plan.Release, plan.Remove, plan.Undo}},
	{"another kind", func(x *plan.Seen) { x.Object.Kind = "sns.Topic" }, []plan.Verb{plan.Take, plan.Set, plan.Unset, plan.Release, plan.Remove, plan.Undo}},
	{"another location", func(x *plan.Seen) { x.Object.Location.Account = "2" }, []plan.Verb{plan.Take, plan.Set, plan.Unset, plan.Release, plan.Remove, plan.Undo}},
	{"another owner tag", func(x *plan.Seen) { x.Owner = reconcile.Mark{Stack: "third"} }, []plan.Verb{plan.Take, plan.Remove}},
	{"an older generation", func(x *plan.Seen) { x.Generation-- }, []plan.Verb{plan.Create}},
	{"a later generation", func(x *plan.Seen) { x.Generation++ }, nil},
	{"it holds data", func(x *plan.Seen) { x.Data = true }, []plan.Verb{plan.Remove, plan.Undo}},
	{"it is missing", func(x *plan.Seen) { x.Absent = true }, []plan.Verb{plan.Set, plan.Unset, plan.Retag}},
	{"it is there", func(x *plan.Seen) { x.Absent = false }, []plan.Verb{plan.Create}},
	{"another call", func(x *plan.Seen) { x.Call = "rm -r" }, []plan.Verb{plan.Run, plan.Hook}},
	{"an older value may be shown", func(x *plan.Seen) { x.Fresh = true }, nil},
}

// TestEveryVerbWithEveryFact: a step that announces one operation permits it, and every fact that it did not see stops the
// verbs that it is about, and no other.
func TestEveryVerbWithEveryFact(t *testing.T) {
	for _, v := range plan.Verbs() {
		step := plan.Step{ID: "orders", Operations: []plan.Operation{announced(v)}}
		for _, f := range facts {
			x := asAnnounced(v)
			f.change(&x)
			err := step.Permits(x)
			if stops := slices.Contains(f.stops, v); stops != (err != nil) {
				t.Errorf("%s, %s: %v", v, f.name, err)
			}
			if err != nil && (!errors.Is(err, plan.ErrChanged) || errors.Is(err, plan.ErrOlder)) {
				t.Errorf("%s, %s: %v is no refusal for good", v, f.name, err)
			}
		}
	}
}

// TestNothingIsPermittedThatIsNotAnnounced: a step permits no verb but its own, an empty one permits none. What needs no
// call any more is no operation, and an owner tag may be written where its path is announced.
func TestNothingIsPermittedThatIsNotAnnounced(t *testing.T) {
	for _, has := range append(plan.Verbs(), "") {
		step := plan.Step{ID: "orders"}
		if has != "" {
			step.Operations = []plan.Operation{announced(has)}
		}
		for _, v := range plan.Verbs() {
			x := asAnnounced(v)
			x.Path, x.Want = "shape", "x"
			if has != v {
				x.Path = "color"
			}
			set := (has == plan.Set && v == plan.Unset || has == plan.Unset && v == plan.Set) && x.Want == announced(has).Want
			owns := v == plan.Retag && slices.Contains([]plan.Verb{plan.Retag, plan.Take}, has)
			if err := step.Permits(x); has != v && (err == nil) != (set || owns) {
				t.Errorf("%q permits %s: %v", has, v, err)
			}
		}
	}
	if err := (&plan.Step{}).Permits(plan.Seen{Operation: plan.Operation{Verb: "dance"}}); err == nil {
		t.Error("an unknown verb is permitted")
	}
}

// TestStepsOfSeveralOperations are the situations in which operations of one step work together.
func TestStepsOfSeveralOperations(t *testing.T) {
	create := plan.Operation{Verb: plan.Create, Object: unknown, Generation: 2, May: true}
	set := func(path tree.Path, change func(*plan.Operation)) plan.Operation {
		o := plan.Operation{Verb: plan.Set, Object: orders, Path: path, Have: "red", Want: "blue"}
		if change != nil {
			change(&o)
		}
		return o
	}
	later := func(o *plan.Operation) { o.Want, o.May = "", true }
	affects := func(o *plan.Operation) { o.Affects = []tree.Path{"color"} }
	seen := func(v plan.Verb, path tree.Path, change func(*plan.Seen)) plan.Seen {
		x := plan.Seen{Operation: plan.Operation{Verb: v, Object: orders, Generation: 2, Path: path, Have: "red", Want: "blue"}}
		if change != nil {
			change(&x)
		}
		return x
	}
	own := func(x *plan.Seen) { x.OwnCreation = true }
	cases := []struct {
		name  string
		step  []plan.Operation
		x     plan.Seen
		wrong string
	}{
		{"any path of our own creation", []plan.Operation{create}, seen(plan.Set, "color", own), ""},
		{"its owner tag", []plan.Operation{create}, seen(plan.Retag, "tags.x", own), ""},
		{"a path of an object that is not our own creation", []plan.Operation{create}, seen(plan.Set, "color", nil), "does not announce"},
		{"our own creation under an older generation", []plan.Operation{create}, seen(plan.Set, "color", func(x *plan.Seen) { own(x); x.Generation = 1 }), "does not announce"},
		{"a creation without an announcement", []plan.Operation{set("color", nil)}, seen(plan.Create, "", func(x *plan.Seen) { x.Absent = true }), "is missing"},
		{"a value that is known later", []plan.Operation{set("color", later)}, seen(plan.Set, "color", func(x *plan.Seen) { x.Want = "green" }), ""},
		{"a part of a value that is known later", []plan.Operation{set("labels", later)}, seen(plan.Set, "labels.x", nil), ""},
		{"what holds a value that is known later", []plan.Operation{set("labels.x", later)}, seen(plan.Set, "labels", nil), ""},
		{"a path beside a value that is known later", []plan.Operation{set("labels", later)}, seen(plan.Set, "color", nil), "does not announce"},
		{"a value that is known later empties the path", []plan.Operation{set("color", later)}, seen(plan.Unset, "color", nil), ""},
		{"what another call resets", []plan.Operation{set("size", affects)}, seen(plan.Set, "color", func(x *plan.Seen) { x.Called = []tree.Path{"size"} }), ""},
		{"what another call would reset", []plan.Operation{set("size", affects)}, seen(plan.Set, "color", nil), "does not announce"},
		{"what another call resets, announced as well", []plan.Operation{set("size", affects), set("color", nil)}, seen(plan.Set, "color", func(x *plan.Seen) { x.Have, x.Called = "none", []tree.Path{"size"} }), ""},
		{"what is found under a name that is known later", []plan.Operation{create, {Verb: plan.Take, Object: unknown, May: true}, {Verb: plan.Set, May: true}}, seen(plan.Take, "", func(x *plan.Seen) { x.Owner = ours }), ""},
		{"its paths", []plan.Operation{create, {Verb: plan.Take, Object: unknown, May: true}, {Verb: plan.Set, May: true}}, seen(plan.Set, "color", nil), ""},
		{"the owner tag of what is taken over", []plan.Operation{{Verb: plan.Take, Object: orders}}, seen(plan.Retag, "tags.x", nil), ""},
		{"a value of what is taken over", []plan.Operation{{Verb: plan.Take, Object: orders}}, seen(plan.Set, "color", nil), "does not announce"},
		{"the owner tag of what is moved", []plan.Operation{{Verb: plan.Retag, Object: orders}}, seen(plan.Retag, "tags.x", nil), ""},
		{"the owner tag of what is changed", []plan.Operation{set("color", nil)}, seen(plan.Retag, "tags.x", nil), "does not announce"},
		{"the owner tag of what is gone", []plan.Operation{{Verb: plan.Retag, Object: orders}}, seen(plan.Retag, "tags.x", func(x *plan.Seen) { x.Absent = true }), "missing"},
		{"our own creation is given up", []plan.Operation{create, {Verb: plan.Remove, Object: unknown, Generation: 2, May: true}}, seen(plan.Remove, "", func(x *plan.Seen) { own(x); x.Generation = 3 }), ""},
		{"the next of somebody else's is deleted", []plan.Operation{create, {Verb: plan.Remove, Object: unknown, Generation: 2, May: true}}, seen(plan.Remove, "", func(x *plan.Seen) { x.Generation = 3 }), "does not announce"},
		{"data that may go", []plan.Operation{{Verb: plan.Remove, Object: orders, Data: true}}, seen(plan.Remove, "", func(x *plan.Seen) { x.Data = true }), ""},
	}
	for _, c := range cases {
		step := plan.Step{ID: "orders", Operations: c.step}
		switch err := step.Permits(c.x); {
		case err == nil && c.wrong != "", err != nil && (c.wrong == "" || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
	}
}

// TestAnOlderValueIsReadAgain: what a later read may still lift says so.
func TestAnOlderValueIsReadAgain(t *testing.T) {
	step := plan.Step{ID: "orders", Operations: []plan.Operation{announced(plan.Set)}}
	x := asAnnounced(plan.Set)
	x.Path, x.Fresh = "size", true
	if err := step.Permits(x); !errors.Is(err, plan.ErrOlder) {
		t.Errorf("%v", err)
	}
}

func TestChangedErrorSaysWhatWasAnnouncedAndFound(t *testing.T) {
	e := &plan.ChangedError{Verb: plan.Set, Path: "versioning", Why: "the plan does not announce it", Found: `"Enabled"`}
	if want := `versioning changed since the plan: the plan does not announce it (announced: nothing; found: "Enabled")`; e.Error() != want {
		t.Errorf("%s", e)
	}
}
