package cloudflaretest

import "slices"

// flow is a Workflow.
type flow struct {
	account, id, name string
	body              object
	running           int // instances
}

var flowHandlers = map[string]handler{
	"workflows.ListWorkflows":  listFlows,
	"workflows.GetWorkflow":    onFlow(func(_ *world, _ request, f *flow) (any, *failure) { return f.shown(), nil }),
	"workflows.PutWorkflow":    putFlow,
	"workflows.DeleteWorkflow": onFlow(deleteFlow),
}

func noFlow() *failure {
	return &failure{service: "workflows", status: 404, code: 10200, message: "workflow.not_found"}
}

func (w *world) flow(r request) *flow {
	for _, f := range w.flows {
		if f.account == r.account && f.name == r.path["workflowName"] {
			return f
		}
	}
	return nil
}

func onFlow(do func(*world, request, *flow) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		if f := w.flow(r); f != nil {
			return do(w, r, f)
		}
		return nil, noFlow()
	}
}

func (f *flow) listed() object {
	return object{
		"id": f.id, "name": f.name, "class_name": f.body["class_name"], "script_name": f.body["script_name"], "triggered_on": nil,
		"created_on": "2024-01-01T00:00:00Z", "modified_on": "2024-01-01T00:00:00Z", "instances": object{"running": f.running, "complete": 7},
	}
}

// shown tells no limits.
func (f *flow) shown() object {
	all := f.listed()
	given, _ := f.body["schedules"].([]any)
	schedules := make([]any, len(given))
	for i, s := range given {
		schedules[i] = object{"cron": s.(object)["cron"], "next_instance": "2024-01-01T00:00:00Z"}
	}
	all["schedules"] = schedules
	return all
}

func listFlows(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, f := range w.flows {
		if f.account == r.account {
			all[f.name] = f.listed()
		}
	}
	return paged(r, sorted(all), 10), nil
}

// putFlow makes a Workflow, or sets all of one that is there. Of a Worker that the account does not have Cloudflare says no more than that
// something went wrong inside, as https://github.com/skyphusion-labs/vivijure-control-plane/issues/537 has measured.
func putFlow(w *world, r request) (any, *failure) {
	if script, _ := r.body["script_name"].(string); w.worker(r.account, script) == nil {
		return nil, &failure{service: "workflows", status: 500, code: 10001, message: "workflows.api.error.internal_server"}
	}
	f := w.flow(r)
	if f == nil {
		f = &flow{account: r.account, id: hexID(16), name: r.path["workflowName"]}
		w.flows = append(w.flows, f)
	}
	f.body = r.body
	all := f.listed()
	delete(all, "instances")
	all["version_id"] = hexID(16)
	return all, nil
}

func deleteFlow(w *world, _ request, f *flow) (any, *failure) {
	w.flows = slices.DeleteFunc(w.flows, func(o *flow) bool { return o == f })
	return object{"status": "ok", "success": true}, nil
}

// RunWorkflow begins an instance of a Workflow.
func (s *Server) RunWorkflow(name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, f := range s.world.flows {
		if f.name == name {
			f.running++
		}
	}
}

// WorkflowSteps is the limit of steps that a Workflow was last given, nil for none.
func (s *Server) WorkflowSteps(name string) any {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, f := range s.world.flows {
		if limits, ok := f.body["limits"].(object); ok && f.name == name {
			return limits["steps"]
		}
	}
	return nil
}
