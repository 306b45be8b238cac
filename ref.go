package athanor

import (
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// RefOption says where another stack is looked for.
type RefOption func(*token.Stack)

// AtStage refers to that stage of the other stack, whatever stage of this one is deployed.
func AtStage(stage string) RefOption { return func(from *token.Stack) { from.Stage = stage } }

// InStore refers to the record in another store than this stack's own, written as --store takes it. The path of a
// file starts in the stack's directory.
func InStore(store string) RefOption { return func(from *token.Stack) { from.Store = store } }

// Outputs of other tools are those of a stack of this name and stage, in a store that says where their state is.
const (
	foreignStage    = "state"
	terraformPrefix = "terraform"
	pulumiPrefix    = "pulumi"
)

// InTerraform refers to the outputs in a state of Terraform or OpenTofu, whatever name is given to it: a file, whose path starts in the
// stack's directory, or s3://BUCKET/KEY, postgres://USER:PASSWORD@HOST/DATABASE or https://HOST/PATH, as the backends keep states.
func InTerraform(where string) RefOption { return inForeign(terraformPrefix, where) }

// InPulumi refers to the outputs in a state of Pulumi, whatever name is given to it: a file that `pulumi stack export` wrote or that its
// own backends keep, or s3://BUCKET/KEY.
func InPulumi(where string) RefOption { return inForeign(pulumiPrefix, where) }

func inForeign(tool, where string) RefOption {
	return func(from *token.Stack) {
		*from = token.Stack{Name: tool, Stage: foreignStage, Store: tool + ":" + where}
	}
}

// Ref is an output of another stack: what its last deploy wrote to state in the same stage, unless options say otherwise.
// The output may go on as a path into a value: "zones.eu" or "subnets[0]". It is known at plan. A secret output stays
// secret, and the key of the other stage must be at hand. What is missing is an *engine.PeerError.
func (s *Stack) Ref(stack, output string, from ...RefOption) string {
	return s.ref(stack, output, false, from)
}

// RefList is an output of another stack that is a list: one element that stands for all, as list attributes have it.
func (s *Stack) RefList(stack, output string, from ...RefOption) []string {
	return []string{s.ref(stack, output, true, from)}
}

func (s *Stack) ref(stack, output string, list bool, from []RefOption) string {
	to := token.Stack{Name: stack, Stage: s.in.Stage}
	for _, option := range from {
		option(&to)
	}
	path, err := tree.ParsePath(output)
	if err == nil {
		err = CheckRef(to, path)
	}
	if err != nil {
		s.fail("", fmt.Errorf("ref %s.%s: %w", stack, output, err))
	}
	return s.in.Spelling.Output(to, path, list)
}

// CheckRef says what is wrong with a reference to an output of another stack.
func CheckRef(to token.Stack, path tree.Path) error {
	if err := CheckStack(to.Name); err != nil {
		return err
	}
	if slices.ContainsFunc([]string{to.Stage, to.Store, string(path)}, token.Has) {
		return errLiteral
	}
	steps := path.Steps()
	switch {
	case to.Stage == "":
		return fmt.Errorf("a stage: %w", errName)
	case len(steps) == 0:
		return fmt.Errorf("an output: %w", errName)
	}
	return CheckName(steps[0].Key)
}
