package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
)

// tracer is a gate that writes down what passes.
type tracer struct {
	name  string
	trace *[]string
	err   error
}

func (g tracer) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	*g.trace = append(*g.trace, g.name+" enter "+call.String())
	if g.err != nil {
		return nil, g.err
	}
	return func(err error) { *g.trace = append(*g.trace, fmt.Sprint(g.name, " leave ", err)) }, nil
}

func TestGatesArePassedInOrder(t *testing.T) {
	t.Parallel()
	failed, full := errors.New("failed"), errors.New("full")
	for _, c := range []struct {
		name  string
		inner error
		want  []string
		err   error
	}{
		{"open", nil, []string{"outer enter s.Op", "inner enter s.Op", "call", "inner leave failed", "outer leave failed"}, failed},
		{"shut", full, []string{"outer enter s.Op", "inner enter s.Op", "outer leave full"}, full},
	} {
		var trace []string
		ctx := reconcile.WithGate(t.Context(), tracer{"outer", &trace, nil})
		ctx = reconcile.WithGate(ctx, tracer{"inner", &trace, c.inner})
		err := reconcile.Through(ctx, reconcile.Call{Service: "s", Operation: "Op", Mutates: true}, func(context.Context) error {
			trace = append(trace, "call")
			return failed
		})
		if !errors.Is(err, c.err) || !slices.Equal(trace, c.want) {
			t.Errorf("%s: %q, want %q (%v)", c.name, trace, c.want, err)
		}
	}
}

func TestLookingCannotWrite(t *testing.T) {
	t.Parallel()
	var trace []string
	ctx := reconcile.ReadOnly(reconcile.WithGate(t.Context(), tracer{"gate", &trace, nil}))
	called := false
	do := func(context.Context) error {
		called = true
		return nil
	}
	err := reconcile.Through(ctx, reconcile.Call{Service: "s", Operation: "Put", Mutates: true}, do)
	if !errors.Is(err, reconcile.ErrReadOnly) || called || len(trace) > 0 {
		t.Errorf("a write while looking: called %v, %q (%v)", called, trace, err)
	}
	if err := reconcile.Through(ctx, reconcile.Call{Service: "s", Operation: "Get"}, do); err != nil || !called {
		t.Errorf("a read while looking: %v", err)
	}
	if err := reconcile.Through(t.Context(), reconcile.Call{Mutates: true}, do); err != nil {
		t.Errorf("without a gate: %v", err)
	}
}

// Every look of a kind is read-only, whichever way it is asked for.
func TestKindsLookReadOnly(t *testing.T) {
	t.Parallel()
	r := &room{}
	write := func(ctx context.Context) error {
		return reconcile.Through(ctx, reconcile.Call{Mutates: true}, func(context.Context) error { return nil })
	}
	k := r.kind()
	k.Observe = func(ctx context.Context, _ reconciletest.Site[LampProps, Lamp]) (lamp, error) {
		return lamp{}, write(ctx)
	}
	k.List = func(ctx context.Context, _ reconcile.Scope) ([]reconcile.Found, error) { return nil, write(ctx) }
	kind := reconciletest.Erase(k)
	_, errs := kind.LookMany(t.Context(), []*reconcile.Job{r.job(red())})
	_, look := kind.Look(t.Context(), r.job(red()))
	_, list := kind.List(t.Context(), reconcile.Scope{})
	_, settle := kind.Settle(t.Context(), r.job(red()), reconcile.Hooks{})
	k.ObserveMany = func(ctx context.Context, _ []reconciletest.Site[LampProps, Lamp]) ([]reconcile.Observed[lamp], error) {
		return nil, write(ctx)
	}
	_, many := kind.LookMany(t.Context(), []*reconcile.Job{r.job(red())})
	for name, err := range map[string]error{"look": look, "look many": errs[0], "bulk": many[0], "list": list, "settle": settle} {
		if !errors.Is(err, reconcile.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A bulk read answers each job for itself, and an answer that is missing is no "absent".
func TestLookMany(t *testing.T) {
	t.Parallel()
	r, answers := &room{}, []reconcile.Observed[lamp]{{Live: lamp{color: "red"}}, {Err: reconcile.ErrAbsent}, {Err: errDenied}}
	k := r.kind()
	k.ObserveMany = func(context.Context, []reconciletest.Site[LampProps, Lamp]) ([]reconcile.Observed[lamp], error) {
		return answers, nil
	}
	bad := r.job(map[string]any{"colour": "red"})
	jobs := []*reconcile.Job{r.job(red()), bad, r.job(red()), r.job(red())}
	looks, errs := reconciletest.Erase(k).LookMany(t.Context(), jobs)
	if errs[0] != nil || looks[0].Absent || errs[1] == nil || errs[2] != nil || !looks[2].Absent || !errors.Is(errs[3], errDenied) {
		t.Errorf("looks %+v, errors %v", looks, errs)
	}
	answers = answers[:1]
	looks, errs = reconciletest.Erase(k).LookMany(t.Context(), jobs)
	for i := range jobs {
		if errs[i] == nil || looks[i].Absent {
			t.Errorf("%d: a short answer gives %+v (%v)", i, looks[i], errs[i])
		}
	}
}

// opens is the way to nothing, for providers of whose kinds no object is observed.
func opens(context.Context, any) (reconcile.Cloud, error) { return nil, errors.New("nothing is there") }

func TestCatalogRefuses(t *testing.T) {
	t.Parallel()
	named := func(name string) reconcile.Any {
		k := (&room{}).kind()
		k.Type = name
		return reconciletest.Erase(k)
	}
	broken := (&room{}).kind()
	broken.Type, broken.Delete = "a.B", nil
	for name, c := range map[string]struct {
		providers []reconcile.Provider
		says      string
	}{
		"a part missing":     {[]reconcile.Provider{{Name: "a", Open: opens, Kinds: []reconcile.Any{reconciletest.Erase(broken)}}}, "Delete is missing"},
		"one name twice":     {[]reconcile.Provider{{Name: "a", Open: opens, Kinds: []reconcile.Any{named("a.B"), named("a.B")}}}, "taken"},
		"names without case": {[]reconcile.Provider{{Name: "a", Open: opens, Kinds: []reconcile.Any{named("a.Url"), named("a.URL")}}}, "taken by a.Url"},
		"providers twice":    {[]reconcile.Provider{{Name: "a", Open: opens}, {Name: "a", Open: opens}}, "one of that name"},
	} {
		if _, err := reconcile.NewCatalog(c.providers...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := reconcile.NewCatalog(reconcile.Provider{Name: "b", Open: opens, Kinds: []reconcile.Any{named("b.Z"), named("b.A")}}, reconcile.Provider{Name: "a", Open: opens})
	if err != nil {
		t.Fatal(err)
	}
	if of, ok := c.ProviderOf("b.A"); !ok || of.Name != "b" || !slices.Equal(c.Types(), []string{"b.A", "b.Z"}) {
		t.Errorf("catalog: %v of %v", of.Name, c.Types())
	}
	if _, ok := c.Kind("b.a"); ok {
		t.Error("kinds are found without regard to case")
	}
}
