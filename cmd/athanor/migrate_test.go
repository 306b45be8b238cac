//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// TestMovedStateOwnsItsObjects: what a stage has in the cloud stays its own when its state moves to another store. There is
// nothing to do there, and it can be changed and destroyed, also when it moved twice. Who takes it back at the old store
// is warned.
func TestMovedStateOwnsItsObjects(t *testing.T) {
	t.Parallel()
	x := newLived(t, built(t, true), awstest.Start(t))
	x.program("stack: shop\nresources:\n  orders: {kind: aws.sqs.Queue, props: {}}\n  late: {kind: aws.sqs.Queue, props: {tags: {of: \"${orders.name}\"}}}\n")
	move := func(from, to string) string {
		t.Helper()
		to = "bolt:" + filepath.Join(x.root, to)
		x.does(0, "state", "migrate", from, to, "--yes")
		x.env = append(x.env, "ATHANOR_STORE="+to)
		return to
	}
	if s := x.must("deploy"); s.Created != 2 {
		t.Fatalf("%+v", s)
	}
	second := move("bolt:.athanor/state.db", "second.db")
	x.quiet("deploy")
	third := move(second, "third.db")
	x.env = append(x.env, "ATHANOR_STORE="+second) // who takes it back is told what that may mean
	if said := x.does(5, "unlock", "--why", "the wrong way"); !strings.Contains(said, "was moved to "+third) {
		t.Errorf("unlock at the old store: %s", said)
	}
	x.does(0, "unlock", "--why", "the wrong way", "--yes")
	x.env = append(x.env, "ATHANOR_STORE="+third)
	if s := x.must("destroy"); s.Deleted != 2 {
		t.Errorf("destroyed from the new store: %+v", s)
	}
	if left := x.seen(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
