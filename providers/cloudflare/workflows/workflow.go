package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Name is that of a Workflow, by which Workers are bound to it.
type Name string

// WorkflowProps declare a Workflow. Limits are those of https://developers.cloudflare.com/workflows/reference/limits/
type WorkflowProps struct {
	// Name of the Workflow in the account: up to 64 letters, digits, _ and -, with a letter, a digit or _ in front. Default:
	// none, a name is generated. Changing it replaces the Workflow.
	Name string
	// Script is the name of the Worker that has the class.
	Script cloudflare.WorkerName `prop:"required" wire:"script_name"`
	// Class is the name of the class in it, which extends WorkflowEntrypoint.
	Class string `prop:"required" wire:"class_name"`
	// MaxSteps is how many steps an instance may take. It is write-only: the digest of what was written last is compared.
	// Default: none, that of the plan.
	MaxSteps *int `prop:"min=1,max=25000,writeonly" wire:"limits.steps"`
	// Schedules are the times at which an instance is begun by itself, as cron expressions in UTC. The order does not
	// count. Default: none.
	Schedules []string `prop:"set" wire:"schedules,crons"`
}

// Workflow is what others may refer to of a Workflow.
type Workflow struct {
	// ID of the Workflow.
	ID string `attr:"early"`
	// Name of the Workflow.
	Name Name `attr:"early"`
	// Script is the name of the Worker that has the class.
	Script cloudflare.WorkerName `attr:"early,mutable=script"`
	// Class is the name of the class in it: a Worker is bound by it too.
	Class string `attr:"early,mutable=class"`
}

// liveWorkflow is an observed Workflow.
type liveWorkflow struct {
	attrs Workflow
	have  WorkflowProps
	// underWay is how many instances have not ended.
	underWay float64
}

type workflowSite = kind.Site[WorkflowProps, Workflow]

var workflowTable = kind.TableOf[WorkflowProps](kind.Codec{Name: "crons", Write: writeCrons, Read: readCrons})

var workflowKind = &kind.Kind[WorkflowProps, liveWorkflow, Workflow]{
	Type: workflowType,
	Doc: "A Workflow: a class of a Worker whose instances go on step by step, whatever happens. Its instances are not managed: a " +
		"Workflow with some under way holds data, and deleting it needs permission. It has no tags, so that the name proves ownership.",

	Observe:    observeWorkflow,
	Create:     createWorkflow,
	Compare:    compareWorkflow,
	Attributes: func(live liveWorkflow) Workflow { return live.attrs },
	Delete: func(ctx context.Context, s workflowSite) error {
		return call(ctx, s.Facts, http.MethodDelete, string(s.Last.Name), nil, nil)
	},
	Identity: func(w Workflow) string { return string(w.Name) },

	Props: workflowTable,
	Check: checkWorkflow,
	Named: &kind.Named[WorkflowProps, liveWorkflow]{
		Given: func(want WorkflowProps) string { return want.Name },
		Rule: func(WorkflowProps) kind.NameRule {
			return kind.NameRule{Max: 64, Marks: "_-", Note: inFront}
		},
		Live: func(live liveWorkflow) string { return string(live.attrs.Name) },
	},
	HoldsData: &kind.HoldsData[WorkflowProps, liveWorkflow]{Now: func(live liveWorkflow) bool { return live.underWay > 0 }},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		path, query := "/accounts/"+scope.Place.Account+"/workflows", url.Values{"per_page": {"100"}}
		return cloudflare.FoundIn(scope, cloudflare.CallPages[kind.Document](ctx, scope.Cloud, path, query), func(w kind.Document) kind.Found {
			name, _ := w["name"].(string)
			return kind.Found{Kind: workflowType, Identity: name, Name: name}
		})
	},
	API: kind.API{
		Source:      source,
		Calls:       []string{"Workflows.ListWorkflows", "Workflows.GetWorkflow", "Workflows.PutWorkflow", "Workflows.DeleteWorkflow", "Workers.GetScriptSetting"},
		Permissions: cloudflare.ReadWrite("Workers Scripts"),
	},
}

const inFront = "a letter, a digit or _ is in front"

func checkWorkflow(want WorkflowProps) error {
	var problems props.Errors
	if strings.HasPrefix(want.Name, "-") {
		problems.Wrong("name", inFront)
	}
	return problems.OrNil()
}

// writeCrons and readCrons are schedules as Cloudflare writes them: each in an object of its own.
func writeCrons(prop any) (any, error) {
	all := []any{}
	for _, cron := range prop.([]string) {
		all = append(all, map[string]any{"cron": cron})
	}
	return all, nil
}

func readCrons(wire any) (any, error) {
	list, _ := wire.([]any)
	all := make([]any, len(list))
	for i, e := range list {
		schedule, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("a %T, which is no schedule", e)
		}
		all[i] = schedule["cron"]
	}
	return all, nil
}

// compareWorkflow sets all by one call, since what it leaves out is deleted.
func compareWorkflow(d *kind.Diff[liveWorkflow], want WorkflowProps, live liveWorkflow) {
	kind.Compare(d, workflowTable, want, live.have, kind.Set("PutWorkflow", func(ctx context.Context, u kind.Update[liveWorkflow]) error {
		return put(ctx, u.Facts, string(u.Live.attrs.Name), workflowTable.Merged(want, u.Live.have, u.Changed), nil)
	}))
}

// call makes a call about the Workflow of a name.
func call(ctx context.Context, s kind.Facts, method, name string, body, into any) error {
	path := "/accounts/" + s.Location.Account + "/workflows/" + url.PathEscape(name)
	return cloudflare.Send(ctx, s.Cloud, method, path, body, into)
}

// put makes a Workflow of a name what it is to be.
func put(ctx context.Context, s kind.Facts, name string, want WorkflowProps, into any) error {
	body := kind.Document{"schedules": []any{}}
	if err := workflowTable.Created(want, body); err != nil {
		return err
	}
	err := call(ctx, s, http.MethodPut, name, body, into)
	if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Has(internalError) {
		return explained(ctx, s, want.Script, err)
	}
	return err
}

// internalError is the code of an error within Cloudflare, which also answers that a Workflow is to be of a Worker that does not exist.
const internalError = 10001

var errNoWorker = errors.New("there is no Worker of this name in the account")

// explained is the error of a Workflow that could not be written: where its Worker does not exist, that is why.
func explained(ctx context.Context, s kind.Facts, script cloudflare.WorkerName, err error) error {
	path := "/accounts/" + s.Location.Account + "/workers/scripts/" + url.PathEscape(string(script)) + "/script-settings"
	if !cloudflare.IsAbsent(cloudflare.Send(ctx, s.Cloud, http.MethodGet, path, nil, nil)) {
		return err
	}
	return cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errNoWorker, script, err),
		"deploy the Worker first; of a Worker of this stack write script: ${ADDRESS.name}, so that it is created before"))
}

// observeWorkflow reads a Workflow by its name, which is its identity in the account.
func observeWorkflow(ctx context.Context, s workflowSite) (live liveWorkflow, err error) {
	id, name := cloudflare.KeyOf(s, func(w Workflow) string { return string(w.Name) }, func(string) bool { return false })
	if name = cmp.Or(id, name); name == "" {
		return live, errors.New("a Workflow is found by its name, and there is none")
	}
	var shown kind.Document
	if err := call(ctx, s.Facts, http.MethodGet, name, nil, &shown); err != nil {
		return live, cloudflare.Absent(err)
	}
	live.have, err = workflowTable.Read(shown)
	live.attrs = Workflow{Script: live.have.Script, Class: live.have.Class}
	live.attrs.ID, _ = shown["id"].(string)
	name, _ = shown["name"].(string)
	live.attrs.Name = Name(name)
	counts, _ := shown["instances"].(map[string]any)
	for state, n := range counts {
		if count, ok := n.(float64); ok && state != "complete" && state != "errored" && state != "terminated" {
			live.underWay += count
		}
	}
	return live, err
}

func createWorkflow(ctx context.Context, s workflowSite) (Workflow, error) {
	var made struct{ ID string }
	err := put(ctx, s.Facts, s.Name, s.Want, &made)
	return Workflow{ID: made.ID, Name: Name(s.Name), Script: s.Want.Script, Class: s.Want.Class}, err
}
