package types_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
)

// TestTypeBesideAKindByHand declares a type whose objects a kind by hand can manage too. What both see is one object: it is no orphan, and
// it is found again as what the program declares.
func TestTypeBesideAKindByHand(t *testing.T) {
	t.Parallel()
	control, second := controltest.Start(t, controltest.Load(t)), awstest.StartMinistack(t)
	home := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	state := filepath.Join(home, "state.db")
	env := append(control.Environ(), "AWS_ENDPOINT_URL="+beside(t, control.URL, second.URL), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"),
		"ATHANOR_STAGE=both", "ATHANOR_STORE=bolt:"+state)
	program := write("athanor.yaml", "stack: example\nresources:\n  repo: {kind: AWS::ECR::Repository, props: {RepositoryName: both}}\n")
	if made := run(t, env, "deploy", program, "--yes"); made.Created != 1 {
		t.Fatalf("first deploy: %+v", made)
	}
	// Cloud Control and ECR are two servers here: what the first has made is made in the second, with the same owner tags.
	hand := write("hand.yaml", "stack: example\nresources:\n  repo: {kind: aws.ecr.Repository, props: {name: both}}\n")
	apart := append(slices.Clone(env), "AWS_ENDPOINT_URL="+second.URL, "ATHANOR_STORE=bolt:"+filepath.Join(home, "other.db"))
	if made := run(t, apart, "deploy", hand, "--yes"); made.Created != 1 {
		t.Fatalf("the same by the other server: %+v", made)
	}
	orphans := func(when string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), programtest.Athanor(t), "orphans", program, "--json")
		c.Env = env
		out, err := c.Output()
		var listed struct{ Things, Places []any }
		if err != nil || json.Unmarshal(out, &listed) != nil || len(listed.Things) > 0 || len(listed.Places) == 0 {
			t.Errorf("orphans %s: %v\n%s", when, err, out)
		}
	}
	orphans("beside the state")
	if again := run(t, env, "deploy", program, "--yes"); again.Unchanged != 1 || again.Calls.Mutations != 0 {
		t.Errorf("second deploy: %+v", again)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if found := run(t, env, "deploy", program, "--yes"); found.Recovered != 1 || found.Deleted+found.Created+found.Replaced != 0 || found.Calls.Mutations != 0 {
		t.Errorf("deploy after the loss of the state: %+v", found)
	}
	orphans("found again")
	if gone := run(t, env, "destroy", program, "--yes", "--allow-delete", "**"); gone.Deleted != 1 {
		t.Errorf("destroy: %+v", gone)
	}
}
