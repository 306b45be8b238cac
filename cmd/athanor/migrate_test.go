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

// TestMovedStageIsSaid: every command that opens a stage at the store which it was moved from says where it is now, none waits
// for it, and none asks the move to stop. An unlock takes the move back, and then nothing is said.
func TestMovedStageIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stack: shop\nconfig: {says: {type: string, default: x}}\n"+
		"resources: {a: {kind: local.File, props: {path: a.txt, content: \"${config.says}\"}}}\noutputs: {at: \"${a.path}\"}\n")
	w.run(0, "deploy", "--yes")
	w.run(0, "state", "migrate", "bolt:.athanor/state.db", "bolt:new.db", "--yes")
	const says = "was moved to bolt:"
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"plan"}},
		{0, []string{"plan", "--json"}},
		{0, []string{"deploy", "--yes"}}, // which has nothing to do
		{0, []string{"drift"}},
		{0, []string{"output"}},
		{0, []string{"state", "list"}},
		{0, []string{"state", "show", "a"}},
		{0, []string{"state", "export"}},
		{0, []string{"state", "check"}},
		{0, []string{"history"}},
		{0, []string{"events"}},
		{0, []string{"cancel"}},
		{5, []string{"unlock", "--why", "the wrong way"}},
		{3, []string{"deploy", "--yes", "--config", "says=y", "--wait", "1h"}},
		{3, []string{"destroy", "--yes", "--wait", "1h"}},
		{3, []string{"state", "rm", "a", "--yes", "--wait", "1h"}},
		{3, []string{"secret", "rotate"}},
	} {
		out, errs, code := w.printed("", c.args...)
		if code != c.code || !strings.Contains(errs+out, says) || strings.Contains(errs, "waiting up to") || strings.Contains(errs, "athanor cancel") {
			t.Errorf("%v: %d:\n%s%s", c.args, code, out, errs)
		}
	}
	if runs := w.lines("history", "--store", "bolt:.athanor/state.db"); len(runs) == 0 || runs[0]["cancelled"] == true || runs[0]["note"] != nil {
		t.Errorf("cancel reached the move: %v", runs[0])
	}
	for _, store := range []string{"bolt:new.db", "bolt:.athanor/state.db"} {
		if store != "bolt:new.db" {
			w.run(0, "unlock", "--why", "the wrong way", "--yes")
		}
		if out, errs, code := w.printed("", "plan", "--store", store); code != 0 || strings.Contains(errs+out, "moved to") {
			t.Errorf("plan with %s: %d:\n%s%s", store, code, out, errs)
		}
	}
}
