package workflows

import (
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const all = "/accounts/ACCOUNT/workflows"

// objects are the Workflows that others see, with their limits and without their names and what differs between two makings.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	listed, _ := s.Do(t, http.MethodGet, all+"?per_page=100", nil).([]any)
	for _, w := range listed {
		name := w.(obj)["name"].(string)
		w := maps.Clone(s.Do(t, http.MethodGet, all+"/"+name, nil).(obj))
		delete(w, "id")
		delete(w, "name")
		w["steps"] = s.WorkflowSteps(name)
		out = append(out, w)
	}
	return out
}

// started is an account with the Workers whose classes the tests name.
func started(t testing.TB) *cloudflaretest.Server {
	s := cloudflaretest.Start(t)
	addScripts(nil, s)
	return s
}

func addScripts(_ kindtest.T, s *cloudflaretest.Server) {
	for _, name := range []string{"shop", "orders"} {
		s.AddScript(name)
	}
}

// TestWithoutWorker: a Workflow of a Worker that does not exist is refused, when it is created and when it is changed, and nothing is
// tried again. The error names the Worker.
func TestWithoutWorker(t *testing.T) {
	s, kind := started(t), workflowKind.Erase()
	refused := func(last *reconcile.Outcome) {
		t.Helper()
		s.Reset()
		_, err := kind.Settle(t.Context(), s.Job(t, kind, obj{"script": "nobody", "class": "Checkout"}, last), reconcile.Hooks{})
		if !errors.Is(err, errNoWorker) || s.Cloud().Classify(err) != reconcile.Invalid || !strings.Contains(err.Error(), "nobody") || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%v, %v", err, reconcile.Hints(err))
		}
		if wrote := s.Wrote(); len(wrote) != 1 {
			t.Errorf("it was tried %d times: %v", len(wrote), wrote)
		}
	}
	refused(nil)
	out := s.Settled(t, kind, obj{"script": "shop", "class": "Checkout"}, nil)
	refused(&out)
}

func TestWorkflow(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	rewrite := func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		p := cloudflaretest.Declared[WorkflowProps](t, to)
		schedules := list{}
		for _, cron := range p.Schedules {
			schedules = append(schedules, obj{"cron": cron})
		}
		body := obj{"script_name": p.Script, "class_name": p.Class, "schedules": schedules}
		if p.MaxSteps != nil {
			body["limits"] = obj{"steps": *p.MaxSteps}
		}
		ws.Of(w).Do(t, http.MethodPut, all+"/"+to.Attrs["name"].(string), body)
	}
	kindtest.Run(t, kindtest.Suite{
		Kind:  workflowKind.Erase(),
		World: ws.Make(addScripts, objects),
		Base:  obj{"script": "shop", "class": "Checkout"},
		Fault: cloudflaretest.FaultOf("Workflows"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"script": "orders", "class": "Refund", "maxSteps": int64(100), "schedules": list{"0 3 * * *", "*/5 * * * *"}}},
			{Name: "named", Props: obj{"name": "nightly", "script": "shop", "class": "Checkout"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"script": rewrite, "class": rewrite, "schedules": rewrite,
			"": ws.Deletes(func(to kindtest.Edited) string { return all + "/" + to.Attrs["name"].(string) }),
		},
		Unreadable: map[tree.Path]string{"maxSteps": "no read tells the limits of a Workflow"},
		Steady:     map[tree.Path]string{"name": "a Workflow keeps its name for life"},
	})
}

// TestUnderWay: a Workflow with instances that have not ended goes with leave alone.
func TestUnderWay(t *testing.T) {
	s, kind := started(t), workflowKind.Erase()
	p := obj{"script": "shop", "class": "Checkout"}
	out := s.Settled(t, kind, p, nil)
	if out.Holds {
		t.Error("a Workflow whose instances have all ended holds nothing")
	}
	s.RunWorkflow("shop-test-orders")
	look, err := kind.Look(t.Context(), s.Job(t, kind, p, &out))
	if err != nil || !look.Holds {
		t.Errorf("holds %v, %v", look.Holds, err)
	}
	job := s.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Fatalf("without leave: %v", err)
	}
	job.MayDelete = true
	if err := kind.Delete(t.Context(), job); err != nil || len(objects(t, s)) != 0 {
		t.Errorf("with leave: %v", err)
	}
}

// TestLimits: a limit is written when it is declared, kept by other changes, and given up when it no longer is.
func TestLimits(t *testing.T) {
	s, kind := started(t), workflowKind.Erase()
	p := func(class string, steps any) obj {
		all := obj{"script": "shop", "class": class}
		if steps != nil {
			all["maxSteps"] = steps
		}
		return all
	}
	settle := func(had, want obj, last *reconcile.Outcome) *reconcile.Outcome {
		t.Helper()
		job := s.Job(t, kind, want, last)
		job.Digest = func(_ string, data []byte) string { return "digest of " + string(data) }
		if last != nil {
			job.Had, job.Written = had, last.Written
		}
		out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		return &out
	}
	out := settle(nil, p("A", int64(5)), nil)
	for _, c := range []struct {
		had, want obj
		steps     any
	}{
		{p("A", int64(5)), p("B", int64(5)), 5.0},
		{p("B", int64(5)), p("B", int64(6)), 6.0},
		{p("B", int64(6)), p("B", nil), nil},
	} {
		out = settle(c.had, c.want, out)
		if have := s.WorkflowSteps("shop-test-orders"); have != c.steps {
			t.Errorf("%v: %v steps, want %v", c.want, have, c.steps)
		}
	}
	s.Reset()
	if settle(p("B", nil), p("B", nil), out); len(s.Wrote()) > 0 {
		t.Errorf("unchanged, and wrote %v", s.Wrote())
	}
}

// TestList goes past the first page.
func TestList(t *testing.T) {
	s, kind := started(t), workflowKind.Erase()
	for i := range 120 {
		s.Do(t, http.MethodPut, all+"/shop-test-"+strconv.Itoa(i), obj{"script_name": "shop", "class_name": "B"})
	}
	s.Do(t, http.MethodPut, all+"/theirs", obj{"script_name": "shop", "class_name": "B"})
	job := s.Job(t, kind, nil, nil)
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Prefix: "shop-test-"})
	if err != nil || len(found) != 120 {
		t.Errorf("%d found, %v", len(found), err)
	}
}

func TestCheck(t *testing.T) {
	kind := workflowKind.Erase()
	for name, ok := range map[string]bool{"night-ly_1": true, "-a": false, "a b": false} {
		if err := kind.Decode(&reconcile.Job{Props: obj{"name": name, "script": "a", "class": "B"}}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
