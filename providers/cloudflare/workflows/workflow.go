package workflows

import (
	"slices"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	workflowSite = reconcile.Site[WorkflowProps, Workflow]
	workflowDiff = reconcile.Diff[liveWorkflow]
)

var workflowKind = &reconcile.Kind[WorkflowProps, liveWorkflow, Workflow]{
	Type: workflowType,
	Doc: "A Workflow: a class of a Worker whose instances go on step by step, whatever happens. Its instances are not managed: a " +
		"Workflow with some under way holds data, and deleting it needs leave. It has no tags, so that its name tells whose it is.",

	Observe:  observeWorkflow,
	Create:   createWorkflow,
	Compare:  compareWorkflow,
	Attrs:    liveWorkflow.attrs,
	Delete:   deleteWorkflow,
	Identity: func(w Workflow) string { return string(w.Name) },

	Naming: func(WorkflowProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 64, Allowed: func(r rune) bool {
			return r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		}}
	},
	Given:   func(want WorkflowProps) string { return want.Name },
	Check:   checkWorkflow,
	Moves:   []string{"script", "class"},
	MovedBy: map[string][]tree.Path{"script": {"script"}, "class": {"class"}},
	AtBirth: []string{"id", "name", "script", "class"},
	Holds:   func(live liveWorkflow) bool { return live.underWay() > 0 },
	List:    listWorkflows,

	Source: source,
	Calls:  []string{"Workflows.ListWorkflows", "Workflows.GetWorkflow", "Workflows.PutWorkflow", "Workflows.DeleteWorkflow"},
	Permissions: reconcile.Permissions{
		Observe: []string{"Workers Scripts Read"},
		List:    []string{"Workers Scripts Read"},
		Create:  []string{"Workers Scripts Write"},
		Update:  []string{"Workers Scripts Write"},
		Delete:  []string{"Workers Scripts Write"},
	},
}

var nameForm = props.Pattern(`^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,63}$`)

func checkWorkflow(want WorkflowProps) error {
	var problems props.Errors
	if want.Name != "" && !token.Has(want.Name) && !nameForm().MatchString(want.Name) {
		problems.Wrong("name", "want up to 64 letters, digits, _ and -, with a letter, a digit or _ in front")
	}
	return problems.OrNil()
}

// compareWorkflow states every aspect. One call sets all, since what it leaves out is gone.
func compareWorkflow(d *workflowDiff, want WorkflowProps, live liveWorkflow) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.Name)
	}
	set := setWorkflow(want)
	reconcile.Value(d, "script", want.Script, live.Script, set)
	reconcile.Value(d, "class", want.Class, live.Class, set)
	reconcile.List(d, "schedules", sorted(want.Schedules), sorted(live.crons()), set)
	reconcile.Written(d, "maxSteps", want.MaxSteps, set)
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
