// Package workflows offers Workflows of Cloudflare.
//
// It knows which class of which Worker a Workflow runs, and when. It does not know its instances, beyond how many are
// under way, nor Workers beyond their names; how calls are made and judged is the business of package cloudflare.
package workflows

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed workflow.go
var source embed.FS

const workflowType = "cloudflare.Workflow"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{workflowKind.Erase()}}
}

// NewWorkflow declares a Workflow.
func NewWorkflow(s *athanor.Stack, name string, p WorkflowProps, opts ...athanor.Option) Workflow {
	return athanor.Declare(s, workflowKind, name, p, opts...)
}

// ReadWorkflow uses a Workflow that the stack does not own: by its name, or by WorkflowProps that name it.
func ReadWorkflow(s *athanor.Stack, name string, by any) Workflow {
	return athanor.Read(s, workflowKind, name, by)
}
