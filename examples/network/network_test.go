// Package network_test deploys the example against a Cloud Control that treats resources as their schemas say, references
// between them included.
package network_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
)

// all is how many resources the example has.
const all = 22

// network is a copy of the example, an account and a home.
type network struct {
	t      *testing.T
	dir    string
	server *controltest.Server
	env    []string
}

func start(t *testing.T) *network {
	t.Helper()
	n := &network{t: t, dir: t.TempDir(), server: controltest.Start(t, controltest.Load(t))}
	n.server.Strict = true
	n.edit()
	home := t.TempDir()
	n.env = append(n.server.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "ATHANOR_STAGE=test", "ATHANOR_STORE=")
	return n
}

// edit writes the example with words replaced.
func (n *network) edit(pairs ...string) {
	n.t.Helper()
	text, err := os.ReadFile("athanor.yaml")
	if err != nil {
		n.t.Fatal(err)
	}
	edited := strings.NewReplacer(pairs...).Replace(string(text))
	if len(pairs) > 0 && edited == string(text) {
		n.t.Fatalf("nothing to edit: %q", pairs)
	}
	if err := os.WriteFile(filepath.Join(n.dir, "athanor.yaml"), []byte(edited), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// summary is the last line of a run.
type summary struct {
	Created, Adopted, Recovered, Updated, Replaced, Deleted, Unchanged, Failed, Blocked int

	Commits int
	Calls   struct{ Reads, Mutations int }
	Outputs map[string]any
}

// counts are those that are not zero.
func (s summary) counts() map[string]int {
	counts := map[string]int{
		"created": s.Created, "adopted": s.Adopted, "recovered": s.Recovered, "updated": s.Updated, "replaced": s.Replaced,
		"deleted": s.Deleted, "unchanged": s.Unchanged, "failed": s.Failed, "blocked": s.Blocked,
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n == 0 })
	return counts
}

// athanor runs a command and gives its output; the exit code must be the one wanted.
func (n *network) athanor(code int, args ...string) string {
	n.t.Helper()
	c := exec.CommandContext(n.t.Context(), programtest.Athanor(n.t), append([]string{args[0], n.dir, "--json"}, args[1:]...)...)
	c.Env = n.env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited || c.ProcessState.ExitCode() != code {
		n.t.Fatalf("athanor %v: %v, exit code %d, want %d: %s%s", args, err, c.ProcessState.ExitCode(), code, &out, &errs)
	}
	return out.String() + errs.String()
}

// deploy runs a command that must end well, and checks what it did.
func (n *network) deploy(want map[string]int, args ...string) summary {
	n.t.Helper()
	lines := strings.Split(strings.TrimSpace(n.athanor(0, append(args, "--yes")...)), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"type":"summary"`) })
	if i < 0 {
		n.t.Fatalf("athanor %v has no summary", args)
	}
	var s summary
	if err := json.Unmarshal([]byte(lines[i]), &s); err != nil {
		n.t.Fatal(err)
	}
	if have := s.counts(); !maps.Equal(have, want) {
		n.t.Fatalf("athanor %v: %v, want %v\n%s", args, have, want, strings.Join(lines, "\n"))
	}
	return s
}

// quiet says that there is nothing to do: no change, no commit.
func (n *network) quiet() {
	n.t.Helper()
	if s := n.deploy(map[string]int{"unchanged": all}, "deploy"); s.Calls.Mutations != 0 || s.Commits != 0 {
		n.t.Errorf("%d changes and %d commits, want none", s.Calls.Mutations, s.Commits)
	}
}

// TestStory is the life of the example: made, unchanged, drifted and repaired, changed, replaced, forgotten and found
// again, destroyed.
func TestStory(t *testing.T) {
	n := start(t)
	n.athanor(2, "plan")
	if len(n.server.Find("")) != 0 {
		t.Fatal("planning made something")
	}
	s := n.deploy(map[string]int{"created": all}, "deploy")
	if url, _ := s.Outputs["url"].(string); !strings.HasPrefix(url, "http://loadbalancer-") {
		t.Errorf("outputs %v", s.Outputs)
	}
	if s.Calls.Mutations != all || len(n.server.Find("")) != all {
		t.Errorf("%d changes made %d things, want %d", s.Calls.Mutations, len(n.server.Find("")), all)
	}
	n.quiet()

	t.Run("drift", n.drift)
	t.Run("changes", n.changes)
	t.Run("lost record", n.lost)

	n.deploy(map[string]int{"deleted": all}, "destroy")
	if left := n.server.Find(""); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// drift is a rule that somebody added by hand.
func (n network) drift(t *testing.T) {
	n.t = t
	for _, group := range n.server.Find("AWS::EC2::SecurityGroup") {
		if group["GroupDescription"] != "What the world may reach" {
			continue
		}
		rules := []any{map[string]any{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}}
		if err := n.server.Edit("AWS::EC2::SecurityGroup", group["Id"].(string), "SecurityGroupIngress", rules); err != nil {
			t.Fatal(err)
		}
	}
	n.deploy(map[string]int{"updated": 1, "unchanged": all - 1}, "deploy")
	n.quiet()
}

// changes are one in place, one that replaces what nothing else needs, and a misspelt property.
func (n network) changes(t *testing.T) {
	n.t = t
	n.edit("HealthCheckPath: /healthy", "HealthCheckPath: /ready")
	n.deploy(map[string]int{"updated": 1, "unchanged": all - 1}, "deploy")
	n.edit("HealthCheckPath: /healthy", "HealthCheckPath: /ready", "What the load balancer may reach", "What the balancer may reach")
	n.deploy(map[string]int{"replaced": 1, "unchanged": all - 1}, "deploy")
	n.edit("HealthCheckPath: /healthy", "HealtCheckPath: /ready")
	if out := n.athanor(1, "plan"); !strings.Contains(out, "did you mean HealthCheckPath?") || !strings.Contains(out, "athanor.yaml:") {
		t.Errorf("%s", out)
	}
	n.edit()
	n.deploy(map[string]int{"updated": 1, "replaced": 1, "unchanged": all - 2}, "deploy")
	n.quiet()
}

// lost deploys with a state that is lost: everything is found by tags, or in the list of what it belongs to.
func (n network) lost(t *testing.T) {
	n.t = t
	if err := os.RemoveAll(filepath.Join(n.dir, ".athanor")); err != nil {
		t.Fatal(err)
	}
	s := n.deploy(map[string]int{"recovered": all}, "deploy")
	if s.Calls.Mutations != 0 || len(n.server.Find("")) != all {
		t.Errorf("%d changes, %d things", s.Calls.Mutations, len(n.server.Find("")))
	}
	n.quiet()
}
