package workflows

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// liveWorkflow is a Workflow as Cloudflare writes it. Its limits are not told.
type liveWorkflow struct {
	ID, Name  string
	Script    cloudflare.WorkerName `json:"script_name"`
	Class     string                `json:"class_name"`
	Schedules []schedule
	Instances map[string]float64 // by state
}

type schedule struct {
	Cron string `json:"cron"`
}

func (w liveWorkflow) attrs() Workflow {
	return Workflow{ID: w.ID, Name: Name(w.Name), Script: w.Script, Class: w.Class}
}

func (w liveWorkflow) crons() []string {
	all := make([]string, len(w.Schedules))
	for i, s := range w.Schedules {
		all[i] = s.Cron
	}
	return all
}

// underWay is how many instances have not ended.
func (w liveWorkflow) underWay() int {
	n := 0.0
	for state, count := range w.Instances {
		if state != "complete" && state != "errored" && state != "terminated" {
			n += count
		}
	}
	return int(n)
}

func path(account, name string) string {
	all := "/accounts/" + account + "/workflows"
	if name == "" {
		return all
	}
	return all + "/" + url.PathEscape(name)
}

func call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{Method: method, Path: path, Body: body}, into)
}

var errNoName = errors.New("a Workflow is found by its name, and there is none")

// observeWorkflow reads a Workflow by its name, which is its identity in the account.
func observeWorkflow(ctx context.Context, site workflowSite) (liveWorkflow, error) {
	name := site.Name
	switch {
	case site.Last != nil:
		name = string(site.Last.Name)
	case site.ID != "":
		name = site.ID
	}
	if name == "" {
		return liveWorkflow{}, errNoName
	}
	var live liveWorkflow
	err := call(ctx, site.Cloud, http.MethodGet, path(site.Place.Account, name), nil, &live)
	return live, cloudflare.Absent(err)
}

// body is a whole Workflow, as Cloudflare wants it.
func body(want WorkflowProps) map[string]any {
	schedules := make([]schedule, len(want.Schedules))
	for i, cron := range sorted(want.Schedules) {
		schedules[i] = schedule{cron}
	}
	all := map[string]any{"script_name": want.Script, "class_name": want.Class, "schedules": schedules}
	if want.MaxSteps != nil {
		all["limits"] = map[string]any{"steps": *want.MaxSteps}
	}
	return all
}

func createWorkflow(ctx context.Context, site workflowSite) (Workflow, error) {
	var made liveWorkflow
	err := call(ctx, site.Cloud, http.MethodPut, path(site.Place.Account, site.Name), body(site.Want), &made)
	return Workflow{ID: made.ID, Name: Name(site.Name), Script: site.Want.Script, Class: site.Want.Class}, err
}

// setWorkflow sets all. What is ignored, or left for later, keeps its live value.
func setWorkflow(want WorkflowProps) *reconcile.Operation[liveWorkflow] {
	return &reconcile.Operation[liveWorkflow]{Name: "PutWorkflow", Do: func(ctx context.Context, on reconcile.On[liveWorkflow]) error {
		p := want
		if !slices.Contains(on.Changed, "script") {
			p.Script = on.Live.Script
		}
		if !slices.Contains(on.Changed, "class") {
			p.Class = on.Live.Class
		}
		if !slices.Contains(on.Changed, "schedules") {
			p.Schedules = on.Live.crons()
		}
		return call(ctx, on.Cloud, http.MethodPut, path(on.Place.Account, on.Live.Name), body(p), nil)
	}}
}

func deleteWorkflow(ctx context.Context, site workflowSite) error {
	at := path(site.Place.Account, string(site.Last.Name))
	if !site.MayDelete {
		var live liveWorkflow
		if err := call(ctx, site.Cloud, http.MethodGet, at, nil, &live); err != nil {
			return err
		}
		if n := live.underWay(); n > 0 {
			return fmt.Errorf("%w: %d instances are under way", reconcile.ErrHoldsData, n)
		}
	}
	return call(ctx, site.Cloud, http.MethodDelete, at, nil, nil)
}

func listWorkflows(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	for w, err := range cloudflare.CallPages[liveWorkflow](ctx, in.Cloud, path(in.Place.Account, ""), url.Values{"per_page": {"100"}}) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(w.Name, in.Prefix) {
			all = append(all, reconcile.Found{Kind: workflowType, Place: in.Place, Identity: w.Name, Name: w.Name})
		}
	}
	return all, nil
}
