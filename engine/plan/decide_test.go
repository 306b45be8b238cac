package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// ownTag is the owner tag of address a in the stage of these tests.
var ownTag = reconcile.Mark{Stack: "s", Stage: "t", Address: "a", Generation: 1, Store: "store"}

// deciding makes a classifier of an empty stage.
func deciding(o PlanOptions) *Classifier {
	b := &Basis{
		Index: &Index{Catalog: &reconcile.Catalog{}, Redact: &redact.Redactor{}, Nodes: map[string]*Node{}},
		Stage: statestore.Stage{Stack: "s", Name: "t"}, Store: "store", Owners: &state.Owners{},
	}
	return &Classifier{Basis: b, Refusals: &Refusals{Masks: b.Redact}, Options: o, Drift: &Drift{}}
}

// decide decides about a declared resource that was observed.
func (c *Classifier) decide(n *Node) {
	if c.Begin(n) && !c.Classify(n) {
		Foresee(n)
	}
}

// observed is a declared resource of a tagged kind that was observed with everything before it decided.
func observed(addr string, look reconcile.Look, live bool) *Node {
	n := declaredAs(addr)
	n.Spec, n.Access = &reconcile.Spec{Type: "test.Kind", Marked: true}, &observe.Way{}
	n.Job = &reconcile.Job{Address: addr, Props: map[string]any{"size": int64(2)}, Mark: ownTag}
	n.SetLook(look)
	n.Looked, n.Current = true, true
	if live {
		n.Entry = &state.Entry{Address: addr, Birth: addr, Props: map[string]any{"size": int64(1)}, Generations: []*state.Generation{
			{Number: 1, State: statestore.Live, Kind: "test.Kind", Identity: "id"},
		}}
	}
	return n
}

func there(owner reconcile.Mark, steps ...reconcile.Step) reconcile.Look {
	return reconcile.Look{Identity: "id", Owner: owner, Steps: steps, Attrs: map[string]any{"arn": "x"}}
}

// TestClassify: what is declared, in state and observed decides what is done, and nothing else does.
func TestClassify(t *testing.T) {
	t.Parallel()
	foreign := reconcile.Mark{Stack: "other", Stage: "t", Address: "a"}
	size := reconcile.Step{Path: "size", Have: int64(1), Want: int64(2)}
	later, fixed := size, size
	later.Unknown, fixed.Replaces = true, true
	fixedLater := fixed
	fixedLater.Unknown = true
	for name, c := range map[string]struct {
		o       PlanOptions
		n       *Node
		want    Action
		may     bool
		problem string
	}{
		"nothing is there":              {n: observed("a", reconcile.Look{Absent: true}, false), want: Create},
		"it was deleted":                {n: observed("a", reconcile.Look{Absent: true}, true), want: Create},
		"equal":                         {n: observed("a", there(ownTag), true), want: Unchanged},
		"somebody must act":             {n: observed("a", reconcile.Look{Identity: "id", Owner: ownTag, Waiting: "confirm"}, true), want: Wait},
		"it differs":                    {n: observed("a", there(ownTag, size), true), want: Update},
		"it may differ":                 {n: observed("a", there(ownTag, later), true), want: Update, may: true},
		"it differs where nothing sets": {n: observed("a", there(ownTag, size, fixed), true), want: Replace},
		"it may differ there":           {n: observed("a", there(ownTag, fixedLater), true), want: Replace, may: true},
		"ours without an entry":         {n: observed("a", there(ownTag), false), want: Recover},
		"another stack's":               {n: observed("a", there(foreign), false), want: Blocked, problem: "other"},
		"another stack's, by the entry": {n: observed("a", there(foreign), true), want: Blocked, problem: "other"},
		"nobody's":                      {n: observed("a", there(reconcile.Mark{}), false), want: Blocked},
		"nobody's, and to be adopted":   {o: PlanOptions{Adopt: true}, n: observed("a", there(reconcile.Mark{}), false), want: Adopt},
		"adopted, and cannot become so": {
			o: PlanOptions{Adopt: true}, n: observed("a", there(reconcile.Mark{}, fixed), false), want: Blocked, problem: "cannot be adopted",
		},
		"state alone says that it is equal": {o: PlanOptions{NoObserve: true}, n: observed("a", there(ownTag), true), want: Update},
	} {
		d := deciding(c.o)
		if d.decide(c.n); c.n.Plan.Action != c.want || c.n.Plan.May != c.may || !strings.Contains(c.n.Plan.Problem, c.problem) {
			t.Errorf("%s: %s (may: %t) %s", name, c.n.Plan.Action, c.n.Plan.May, c.n.Plan.Problem)
		}
		if refused := d.Refused() != nil; refused != (c.want == Blocked) {
			t.Errorf("%s: refused: %t", name, refused)
		}
		if c.want == Blocked && c.n.Plan.From != "" { // which a reader of the plan would take for a move
			t.Errorf("%s: it is refused, and said to come from %s", name, c.n.Plan.From)
		}
	}
}

// TestClassifyGoesByUpstreams: a resource is blocked by one that cannot be planned and held by one that waits; a
// refusal stops one resource alone where the policy says so.
func TestClassifyGoesByUpstreams(t *testing.T) {
	t.Parallel()
	size := reconcile.Step{Path: "size", Have: int64(1), Want: int64(2)}
	for _, tt := range []struct {
		up, want Action
		held     bool
	}{{Blocked, Blocked, false}, {Wait, Wait, true}, {Update, Update, false}} {
		up, n := observed("up", reconcile.Look{}, true), observed("a", there(ownTag, size), true)
		up.Plan, n.Ups = &Planned{Address: "up", Action: tt.up}, []*Node{up}
		if deciding(PlanOptions{}).decide(n); n.Plan.Action != tt.want || n.Held != tt.held {
			t.Errorf("behind %s: %s, held: %t", tt.up, n.Plan.Action, n.Held)
		}
	}
	d, n := deciding(PlanOptions{}), observed("a", there(reconcile.Mark{}), false)
	d.Each = true
	if d.decide(n); n.Plan.Action != Blocked || d.Refused() != nil {
		t.Errorf("refused alone: %s, %v", n.Plan.Action, d.Refused())
	}
}

// TestForesee: others count on the attributes of what stays, and not on those that its change may move.
func TestForesee(t *testing.T) {
	t.Parallel()
	size := reconcile.Step{Path: "size", Have: int64(1), Want: int64(2)}
	n := observed("a", there(ownTag, size), true)
	n.Spec.Moves = []string{"version"}
	deciding(PlanOptions{}).decide(n)
	if n.Unknown || !slices.Contains(n.Moving, "version") || slices.Contains(n.Moving, "arn") || n.Attrs["arn"] != "x" {
		t.Errorf("an update: unknown %t, moving %v, %v", n.Unknown, n.Moving, n.Attrs)
	}
	fresh := observed("a", reconcile.Look{Absent: true}, false)
	if deciding(PlanOptions{}).decide(fresh); !fresh.Unknown {
		t.Error("the attributes of what is created are known")
	}
}

// replaced is a resource that is planned to be replaced because of a path.
func replaced(addr string, path tree.Path) *Node {
	n := observed(addr, there(ownTag), true)
	n.Plan = &Planned{Address: addr, Action: Replace, Reasons: []Reason{{Path: path, Replaces: true}}}
	return n
}

// refersTo are props that refer to the identity of a resource at the path "of".
func refersTo(t *testing.T, address string) *token.Template {
	t.Helper()
	props, err := token.Parse(map[string]any{"of": token.Plain.Ref(token.Ref{Address: address, Path: "id"})})
	if err != nil {
		t.Fatal(err)
	}
	return props
}

// TestDeleteFirst: what a deletion would break goes first as well, with all that stand on it.
func TestDeleteFirst(t *testing.T) {
	t.Parallel()
	a, b, c, d := replaced("a", "size"), replaced("b", "of"), replaced("c", "of"), replaced("d", "other")
	a.Decl.Options.DeleteFirst = true
	on := func(n, up *Node) {
		n.Ups, n.Needs = []*Node{up}, []string{up.Address}
		n.Props = refersTo(t, up.Address)
	}
	on(b, a)
	on(c, b)
	on(d, a) // it refers to what goes first through a path that replaces nothing
	x := &Index{Sorted: []*Node{a, b, c, d}, Declared: []*Node{a, b, c, d}, Nodes: map[string]*Node{"a": a, "b": b, "c": c, "d": d}}
	DeleteFirst{x}.Spread()
	for _, tt := range []struct {
		n    *Node
		want bool
	}{{a, true}, {b, true}, {c, true}, {d, false}} {
		if tt.n.Plan.DeleteFirst != tt.want {
			t.Errorf("%s: delete first: %t", tt.n.Address, tt.n.Plan.DeleteFirst)
		}
	}
}

// TestCyclesAreOpened: a cycle is opened at a path that may be set late, at the one that the state says, and else is
// an error.
func TestCyclesAreOpened(t *testing.T) {
	t.Parallel()
	ring := func(late ...tree.Path) *Index {
		x := &Index{Nodes: map[string]*Node{}}
		for addr, up := range map[string]string{"a": "b", "b": "a"} {
			n := declaredAs(addr)
			n.Spec, n.Needs = &reconcile.Spec{Type: "test.Kind", Late: late}, []string{up}
			n.Props = refersTo(t, up)
			x.Nodes[addr] = n
		}
		x.Declared = []*Node{x.Nodes["a"], x.Nodes["b"]}
		return x
	}
	if err := ring().Arrange(nil); err == nil || !strings.Contains(err.Error(), "a (of) → b (of) → a") {
		t.Errorf("a cycle that nothing opens: %v", err)
	}
	was := map[string]*state.Entry{"b": {Address: "b", Cut: map[string][]tree.Path{"a": {"of"}}}}
	for _, tt := range []struct {
		entries map[string]*state.Entry
		first   string // it is cut
	}{{nil, "a"}, {was, "b"}} {
		x := ring("of")
		if err := x.Arrange(tt.entries); err != nil {
			t.Fatal(err)
		}
		if x.Sorted[0].Address != tt.first || len(x.Sorted[0].Cut) != 1 || len(x.Sorted[1].Cut) != 0 {
			t.Errorf("%s comes first, cut %v, then %v", x.Sorted[0].Address, x.Sorted[0].Cut, x.Sorted[1].Cut)
		}
	}
}

// TestAnnounce: each decision announces its operations, and one that changes nothing announces none.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	size := reconcile.Step{Path: "size", Have: int64(1), Want: int64(2)}
	gone := size
	gone.Want = nil
	fixed := size
	fixed.Replaces = true
	deleted := observed("a", there(ownTag), true)
	deleted.Decl, deleted.Plan = nil, &Planned{Address: "a", Action: Delete}
	released := observed("a", there(ownTag), true)
	released.Decl, released.Plan = nil, &Planned{Address: "a", Action: Forget}
	hooked := observed("a", there(ownTag, size), true)
	hooked.Decl.Options.Before = []graph.Hook{{Run: "true"}}
	a := Announcer{Catalog: &reconcile.Catalog{}, MayDelete: func(*Node) bool { return false }, DeletedWith: func(*Node, uint64) *Node { return nil }}
	for name, c := range map[string]struct {
		n    *Node
		want []operation.Verb
	}{
		"create":    {observed("a", reconcile.Look{Absent: true}, false), []operation.Verb{operation.Create}},
		"update":    {observed("a", there(ownTag, size), true), []operation.Verb{operation.Set}},
		"unset":     {observed("a", there(ownTag, gone), true), []operation.Verb{operation.Unset}},
		"replace":   {observed("a", there(ownTag, fixed), true), []operation.Verb{operation.Create, operation.Remove}},
		"recover":   {observed("a", there(ownTag, size), false), []operation.Verb{operation.Take, operation.Set}},
		"unchanged": {observed("a", there(ownTag), true), nil},
		"hooks":     {hooked, []operation.Verb{operation.Set, operation.Hook}},
		"delete":    {deleted, []operation.Verb{operation.Remove}},
		"release":   {released, []operation.Verb{operation.Detach, operation.Release}},
	} {
		if c.n.Plan == nil {
			deciding(PlanOptions{}).decide(c.n)
		}
		var verbs []operation.Verb
		for _, step := range a.announce(c.n) {
			for _, o := range step.Operations {
				verbs = append(verbs, o.Verb)
			}
		}
		if !slices.Equal(verbs, c.want) {
			t.Errorf("%s: %v, want %v", name, verbs, c.want)
		}
	}
}
