package kindtest

import (
	"maps"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// Job is a resource as an engine declares it, for tests of what is special about a kind: in the first generation of the stage
// test of a stack shop, with the name that the author gives, else one made of these. It is in state when last is set;
// without props it is what a deletion gets.
func Job(t *testing.T, kind reconcile.Any, cloud reconcile.Cloud, address string, props map[string]any, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	place, err := cloud.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := &reconcile.Job{
		Address: address, Props: maps.Clone(props), Cloud: cloud, Place: place, Name: "shop-test-" + address,
		Mark: reconcile.Mark{Stack: "shop", Stage: "test", Address: address, Generation: 1, Store: "store"},
	}
	if last != nil {
		job.ID, job.Last, job.Written = last.Identity, last.Attrs, last.Written
	}
	if props == nil {
		return job
	}
	if err := kind.Decode(job); err != nil {
		t.Fatal(err)
	}
	kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case job.Naming != nil:
		job.Name += job.Naming.Suffix
	default:
		job.Name = ""
	}
	return job
}

// Settled makes a resource match its declaration, and fails the test when it does not.
func Settled(t *testing.T, kind reconcile.Any, job *reconcile.Job) reconcile.Outcome {
	t.Helper()
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
