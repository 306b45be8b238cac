package simtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// promises are those that athanor itself has broken once, with what holds each since. Where no simulated cloud shows one, because it
// is about processes, files or time, it has tests alone, and its defect names one of them that must find it.
func promises() []regression {
	return []regression{
		{"1", "a plan applied what nobody had reviewed", []string{"another path changed after the plan", "another path changed after the plan was saved"}, []string{"engine TestOnlyWhatWasAnnouncedIsDone"}, "does-what-was-not-announced"},
		{"2", "a destroy with a part of the state did not look for the rest", []string{"destroy with one entry lost", "destroy an older one that no entry knows"}, []string{"engine/simtest TestDestroyLeavesNothing"}, "a-destroy-goes-by-the-record-alone"},
		{"3", "an interrupt did not end a wait", nil, []string{"engine TestInterruptEndsEveryWait", "engine TestInterruptEndsTheQueue", "cmd/athanor TestInterruptedBy", "cmd/athanor TestUnreadOutputEndsNoRun"}, "an-interrupt-ends-no-wait"},
		{"4", "a call without an answer stalled a run, and a failing read made a destroy impossible", []string{"destroy once more, the found one could not be read"}, []string{"reconcile TestSilenceIsALostAnswer", "reconcile TestWhatMovesIsNoSilence", "reconcile/rate TestRefusedConnectionsAreTold", "engine TestHungCallFailsItsOwnResource", "engine TestUnreadObjectsAreDeleted", "engine TestAReadThatFailsLate", "engine TestOneCauseIsToldOnce", "engine TestOneReasonIsToldOnce"}, "deletes-what-it-could-not-read"},
		{"5", "drift and plan gave two answers about what is not visible yet", []string{"create under stale reads"}, []string{"engine TestVisibilityBound"}, "hidden-is-no-drift"},
		{"6", "the guard of data counted what the plan itself deletes", []string{"delete a box with what is in it", "destroy a box with what is in it"}, []string{"engine/simtest TestOnlyWhatThePlanDeletesIsNoData"}, "counts-what-it-deletes"},
		{"7", "a command that failed or was killed left effects without an entry", []string{"run a command"}, []string{"engine TestWhatActedOutsideIsUndone", "cmd/athanor TestFailedCommandIsUndone", "cmd/athanor TestKilledCommandEnds", "providers/local TestCommandWaitsForItsEarlierRun"}, "what-acts-outside-is-not-noted"},
		{"8", "outputs changed without being planned", []string{"an output goes"}, []string{"engine TestOutputsArePlanned"}, "outputs-change-silently"},
		{"9", "one entry of an unknown kind refused the deploy", []string{"deploy beside an entry of a kind that is not known"}, []string{"engine/simtest TestAnUnknownKindStopsNobodyElse"}, "an-unknown-kind-stops-all"},
		{"10", "cycles of what is built from files could not be destroyed", []string{"destroy a cycle of what is built"}, []string{"engine/simtest TestDestroyBuildsNothing", "engine/simtest TestAStuckCycleSaysWhyFirst"}, "a-cycle-is-mended-before-it-goes"},
		{"11", "the files of a build inside the stack were read before it", nil, []string{"providers/local TestDefect11", "providers/local TestDefect11Hooks", "providers/local TestDefect11HeldTo"}, "files-are-read-before-they-are-built"},
		{"12", "elapsed time counted the queue, what goes with its parent ran its own deletion, and what did not become as declared lost its cause", []string{"delete with its parent"}, []string{"engine TestElapsedLeavesOutTheQueue", "engine TestDeletedWithUndoesNothing", "engine TestFixedDifferencesAreNeverAdoptedSilently", "reconcile TestTimeoutEnds"}, "gone-with-its-parent"},
		{"13", "a cut creation whose identity the program then changes was orphaned", nil, []string{"engine/simtest TestDefect13"}, "looks-for-what-is-declared-now"},
		{"14", "a replacement cut between deletion and creation could not be destroyed", nil, []string{"engine/simtest TestDefect14"}, "an-empty-intent-needs-a-name"},
		{"15", "a folder with a reference in its content refused for ever after a kill", nil, []string{"cmd/athanor TestKillHereNext", "providers/local TestDirectoryConforms"}, "an-intent-is-not-its-values"},
		{"16", "a first deploy cut before its end took its own tags for another store's", nil, []string{"engine TestStoreIsRememberedFirst", "cmd/athanor TestFirstDeployCutAndStateLost"}, "the-store-is-remembered-last"},
		{"17", "what no listing of tags shows stayed when the state was lost", []string{"delete under a box, state lost", "destroy under a box, state lost"}, []string{"providers/aws/lambda TestDiscover"}, "lists-by-tags-alone"},
		{"18", "a rename did not take along addresses derived from it", nil, []string{"providers/aws/lambda TestRenamesTakeAlong"}, "derived-addresses-stay-behind"},
		{"19", "a destroy deleted before it had reached every location", nil, []string{"engine TestDestroyReachesAllLocationsFirst", "engine TestWrongRegionHint"}, "deletes-before-every-location-is-reached"},
		{"20", "a live holder was taken for dead where processes are hidden", nil, []string{"statestore/bolt TestALiveHolderIsNeverTakenForDead", "statestore/bolt TestAHolderElsewhereIsNeverTakenForDead"}, "who-is-hidden-is-dead"},
		{"21", "a recovered upstream moved attributes that the plan did not announce", []string{"recover and change"}, []string{"engine TestRecoveredUpstreamMovesItsAttributes"}, "owner-tags-move-nothing"},
		{"22", "hooks ran before a read had shown that there is anything to do", []string{"hooks, and somebody did it after the plan", "hooks, and another path changed after the plan"}, []string{"engine TestHooksRunForWhatIsPermitted"}, "hooks-run-before-the-read"},
		{"23", "what may be replaced was deleted first in any case", []string{"may delete first, and need not", "may replace what has a given name, and need not"}, []string{"engine/plan TestDeleteFirst"}, "deletes-what-may-stay"},
		{"24", "an undo that was cut or failed counted as never begun", []string{"undo a command"}, []string{"cmd/athanor TestCutUndoRunsAgain"}, "an-undo-is-not-noted"},
		{"25", "what an earlier run of a command left behind was undone after its new run", []string{"replace a command"}, []string{"engine/simtest/model TestCommands"}, "undone-after-the-new-run"},
	}
}

// TestPromisesAreInTheDocument: the table of docs/proof.md is the list, whose names TestRegressionsAreThere looks up.
func TestPromisesAreInTheDocument(t *testing.T) {
	var table strings.Builder
	table.WriteString("| | what went wrong | scenarios | tests | seeded defect |\n|---|---|---|---|---|\n")
	for _, p := range promises() {
		tests := make([]string, len(p.tests))
		for i, test := range p.tests {
			folder, name, _ := strings.Cut(test, " ")
			tests[i] = "`" + name + "` (" + folder + ")"
		}
		defect := ""
		if p.defect != "" {
			defect = "`" + p.defect + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", p.name, p.what, strings.Join(p.scenarios, "; "), strings.Join(tests, ", "), defect)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/proof.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n"+table.String()+"\n") {
		t.Errorf("docs/proof.md does not have this table:\n%s", table.String())
	}
}
