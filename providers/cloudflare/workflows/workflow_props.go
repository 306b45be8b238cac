package workflows

import "github.com/athanor-dev/athanor/providers/cloudflare"

// Name is that of a Workflow, by which Workers are bound to it.
type Name string

// WorkflowProps declare a Workflow. Limits are those of https://developers.cloudflare.com/workflows/reference/limits/
type WorkflowProps struct {
	// Name of the Workflow in the account: up to 64 letters, digits, _ and -, with a letter, a digit or _ in front. Default:
	// none, a name is generated. Changing it replaces the Workflow.
	Name string
	// Script is the name of the Worker that has the class.
	Script cloudflare.WorkerName `prop:"required"`
	// Class is the name of the class in it, which extends WorkflowEntrypoint.
	Class string `prop:"required"`
	// MaxSteps is how many steps an instance may take. It is write-only: the digest of what was written last is compared.
	// Default: none, that of the plan.
	MaxSteps *int `prop:"min=1,max=25000"`
	// Schedules are the times at which an instance is begun by itself, as cron expressions in UTC. The order does not
	// count. Default: none.
	Schedules []string
}

// Workflow is what others may refer to of a Workflow.
type Workflow struct {
	// ID of the Workflow.
	ID string
	// Name of the Workflow.
	Name Name
	// Script is the name of the Worker that has the class.
	Script cloudflare.WorkerName
	// Class is the name of the class in it: a Worker is bound by it too.
	Class string
}
