package terraform

import (
	"bytes"

	"github.com/athanor-dev/athanor/adopt/from"
)

// SST reads what SST has deployed. Version 2 deploys stacks of CloudFormation; later versions keep a state of Pulumi, which `sst state
// export` prints.
type SST struct {
	Stacks CloudFormation
	States Pulumi
}

// Kind is what users call it.
func (SST) Kind() string { return "sst" }

// Largest is the size that a file may have.
func (s SST) Largest() int64 { return max(s.Stacks.Largest(), s.States.Largest()) }

// Recognizes reports a template of version 2, and a state that has components of later versions.
func (s SST) Recognizes(f from.File) bool {
	return s.Stacks.Recognizes(f) || isPulumiState(f) && hasSSTTypes(f)
}

// hasSSTTypes reports whether a state of Pulumi has components of SST.
func hasSSTTypes(f from.File) bool { return bytes.Contains(f.Content, []byte("::sst:")) }

// Place is the name of a deployed stack, or the app and the stage of a state.
func (s SST) Place(f from.File) (stack, stage string) {
	if isPulumiState(f) {
		return s.States.Place(f)
	}
	return s.Stacks.Place(f)
}

// Read gives the stack of a file.
func (s SST) Read(f from.File) ([]from.Stack, error) {
	d, err := s.Draft(f, from.Options{})
	if err != nil {
		return nil, err
	}
	return []from.Stack{d.Stack(nil)}, nil
}

// Draft gives what a file has, before the cloud is read.
func (s SST) Draft(f from.File, o from.Options) (from.Draft, error) {
	if isPulumiState(f) {
		return s.States.Draft(f, o)
	}
	return s.Stacks.Draft(f, o)
}
