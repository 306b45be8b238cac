//go:build unix

package main

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// TestFirstDeployCutAndStateLost: the first deploy is killed when its first object exists, and its state is lost. On the same
// machine the object belongs to no other store: destroy deletes it, and a deploy goes on with it.
func TestFirstDeployCutAndStateLost(t *testing.T) {
	t.Parallel()
	binary := built(t, true)
	x := newLived(t, binary, awstest.Start(t))
	x.program("stack: life\nresources:\n  jobs: {kind: aws.sqs.Queue}\n")
	x.must("deploy")
	first := 1 + slices.IndexFunc(x.cloud.Calls(), func(c awstest.Call) bool { return c.Mutating })
	x.must("destroy")
	for _, next := range []string{"destroy", "deploy"} {
		// Another home, which remembers nothing.
		y := newLived(t, binary, x.cloud)
		y.program("stack: life-" + next + "\nresources:\n  jobs: {kind: aws.sqs.Queue}\n")
		if !y.kill("deploy", cut{kind: awstest.HoldAnswer, nth: first, lost: true}) {
			t.Fatal("the first deploy was not killed")
		}
		y.must(next)
		if next == "deploy" {
			y.quiet("deploy")
			y.must("destroy")
		}
		if left := y.seen(); len(left) != 0 {
			t.Errorf("%s after the cut leaves %v", next, left)
		}
	}
}
