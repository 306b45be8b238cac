package simtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// regression is one way in which another deployer is known to fail: here it is a scenario, played at every point, or a test
// elsewhere where the fault does not lie in what is done to a cloud; and where it can be made on purpose, a defect that the
// scenarios must find.
type regression struct {
	name, what string
	scenarios  []string
	tests      []string // FOLDER TestName
	defect     string
}

// regressions are named as the studies of those deployers name them.
func regressions() []regression {
	return []regression{
		{"alchemy W1", "addresses that look alike share a row", []string{"addresses that look alike"}, []string{"statestore/storetest rowCases"}, ""},
		{"alchemy W2", "a destroy of what was replaced leaves one of two", []string{"destroy what was replaced and refuses to go"}, nil, "destroy-forgets-the-old"},
		{"alchemy W3", "a destroy of what was being replaced leaves the live one", []string{"destroy what could not be replaced", "destroy what was replaced half"}, nil, "destroy-forgets-the-new"},
		{"alchemy W4", "undeclared while replaced survives a deploy", []string{"not declared while the old one stays"}, nil, "condemned-is-forgotten"},
		{"alchemy W5", "going back after a failed replacement destroys the original", []string{"the new one was denied, and the program reverted"}, nil, "compares-with-the-candidate"},
		{"alchemy W6", "deleted first before the upstream succeeded", []string{"delete first behind a change"}, nil, "deletes-before-upstreams"},
		{"alchemy W7", "a fixed prop beside an unknown one is updated in place", []string{"a fixed prop changes beside one that is known later"}, nil, "unknown-hides-a-replacement"},
		{"alchemy W8", "another kind takes over the row", []string{"replace by another kind"}, nil, "another-kind-takes-the-row"},
		{"alchemy W9", "a second declaration of an address is ignored", nil, []string{". TestDeclare"}, ""},
		{"alchemy W10", "redeclared and larger while deleted: changed in place", []string{"declared again and larger while it is deleted"}, nil, ""},
		{"alchemy W11", "dev replaces and deletes what is live", []string{"dev on what deploy made", "dev gives up what deploy made and cannot change"}, []string{"engine TestDevDeletesNothingThatDeployMade", "cmd/athanor TestDevHereDeletesNothing"}, "dev-deletes-what-deploy-made"},
		{"alchemy W12", "two deploys at once both write", []string{"update everything of one"}, []string{"cmd/athanor TestTwoDeploysAtOnce", "statestore/storetest leaseCases"}, "writes-without-its-lease"},
		{"alchemy W13", "an empty row counts as none", nil, []string{"statestore/storetest damageCases"}, ""},
		{"alchemy W14", "a lost record loses what has a generated name", []string{"recover", "recover after a replacement"}, nil, "names-by-chance"},
		{"alchemy W15", "a stranger's thing is overwritten", []string{"somebody else has the name", "somebody else has the name that is known later"}, nil, "takes-what-is-foreign"},
		{"alchemy W16", "begun and no longer declared: leaked", []string{"begun, and no longer declared", "begun and assigned, and no longer declared"}, nil, "drops-what-was-begun"},
		{"alchemy W17", "convergence without an end", nil, []string{"engine/simtest TestUnstableAttributesHaveAnEnd"}, ""},
		{"alchemy W18", "a cycle of a thing and a command hangs", nil, []string{"engine TestCycleThroughLatePath"}, ""},
		{"alchemy W19", "a deletion that fails stops the rest", []string{"the old one refuses to go in a cycle"}, nil, ""},
		{"alchemy W20", "consumers keep a stale value until the next deploy", []string{"update moves an attribute"}, nil, "consumers-keep-old-values"},
		{"alchemy W21", "what needs a failed thing is changed all the same", []string{"update", "update moves an attribute"}, nil, "runs-behind-a-failure"},
		{"alchemy W22", "an empty value is none", []string{"an empty value goes on"}, nil, ""},
		{"alchemy W23", "a changed secret is not seen", []string{"update everything of one"}, nil, ""},
		{"alchemy W24", "an output that is gone from the program stays", []string{"an output goes"}, nil, ""},
		{"alchemy W25", "outputs of what is not there are empty", nil, []string{"engine TestMissingOutputsOfOtherStacks"}, ""},
		{"alchemy W26", "one call that hangs stops everything", []string{"create", "replace"}, []string{"engine TestHungCallFailsItsOwnResource"}, ""},
		{"alchemy W27", "as many calls as resources at once", nil, []string{"engine TestLongestPathFirstAndBoundedCalls"}, ""},
		{"alchemy W28", "rows of what was never started", []string{"create a diamond"}, []string{"engine TestFailureStopsDependentsAlone"}, ""},
		{"alchemy W29", "deleted first without attributes: skipped", []string{"begun, and larger now"}, nil, ""},
		{"alchemy W30", "adoption does not see what cannot change", nil, []string{"engine TestFixedDifferencesAreNeverAdoptedSilently"}, ""},
		{"alchemy W31", "one row of an unknown kind blocks all", nil, []string{"engine/simtest TestAnUnknownKindBlocksItselfAlone"}, ""},
		{"alchemy W32", "two cycles lose the order between them", []string{"two joined cycles go"}, nil, "cycles-stay-tied"},
		{"alchemy 793", "a plan writes", []string{"plan: no row, same"}, nil, ""},
		{"alchemy 862, 1704", "a destroy after half a replacement leaves the original", []string{"destroy what was replaced half"}, nil, "destroy-forgets-the-new"},
		{"alchemy 979", "edges in rows grow old", []string{"a user that was moved over goes before its new upstream"}, nil, "edges-grow-old"},
		{"alchemy 995", "a cut first deploy breaks every later plan", []string{"create a diamond"}, nil, ""},
		{"alchemy 1536", "deleted by hand and called unchanged", []string{"gone", "gone and assigned"}, nil, "gone-is-unchanged"},
		{"Pulumi E1, ACK 2062", "killed after the cloud made it: made again", []string{"create with an assigned identity", "create"}, nil, "no-intent"},
		{"Pulumi E2", "the same with names given: refused for ever", []string{"create with a given name"}, nil, "no-intent"},
		{"Pulumi E4", "killed in a replacement: a third thing", []string{"replace assigned", "replaced, and cut before the old one went, and changed again"}, nil, "no-room"},
		{"Pulumi E5", "killed in a deletion: unchanged", []string{"declared again while it is deleted"}, nil, "gone-is-unchanged"},
		{"Pulumi E7", "a run that lost its lock overwrites the other's", []string{"update everything of one"}, nil, "writes-without-its-lease"},
		{"Pulumi E9", "what goes with its parent is forgotten while the parent stays", []string{"its parent refuses to go"}, nil, "gone-with-its-parent"},
		{"Pulumi E10", "a lost answer makes it twice", []string{"create with an assigned identity"}, nil, "makes-it-again"},
		{"Pulumi 4712", "deleted first, and the creation failed", []string{"delete first", "delete first alone"}, nil, ""},
		{"Pulumi GitHub 744", "renamed: taken over, then deleted under its old name", []string{"rename without tags"}, []string{"engine TestOneOwner"}, ""},
		{"Databricks 5598", "a journal that is ahead fails every command", nil, []string{"statestore/bolt TestPowerLoss"}, ""},
	}
}

// TestRegressionsAreThere: each names a scenario, a test and a defect that exist.
func TestRegressionsAreThere(t *testing.T) {
	names := map[string]bool{}
	for _, sc := range append(scenarios(), matrix()...) {
		if names[sc.name] {
			t.Errorf("two scenarios are called %q", sc.name)
		}
		names[sc.name] = true
	}
	known := map[string]bool{}
	for _, d := range defects(t) {
		known[d.name] = true
	}
	for _, r := range append(regressions(), promises()...) {
		if len(r.scenarios)+len(r.tests) == 0 || r.what == "" {
			t.Errorf("%s: nothing shows it", r.name)
		}
		for _, s := range r.scenarios {
			if !names[s] {
				t.Errorf("%s: there is no scenario %q", r.name, s)
			}
		}
		if r.defect != "" && !known[r.defect] {
			t.Errorf("%s: there is no defect %q", r.name, r.defect)
		}
		for _, test := range r.tests {
			folder, name, _ := strings.Cut(test, " ")
			if !declares(t, filepath.Join(root, folder), name) {
				t.Errorf("%s: %s has no %s", r.name, folder, name)
			}
		}
	}
}

// declares reports whether a folder's Go files declare a name.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^(func|var) ` + regexp.QuoteMeta(name) + `\b`)
	return slices.ContainsFunc(paths, func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && declared.Match(data)
	})
}
