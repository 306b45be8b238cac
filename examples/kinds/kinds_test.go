package kinds_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/examples/kinds"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// machine is the cloud of the kinds that need none.
type machine struct{}

func (machine) Env() map[string]string   { return nil }
func (machine) Names() map[string]string { return nil }

// TestEveryKind holds the examples to the kinds that were written by hand: those of the command that are no family.
func TestEveryKind(t *testing.T) {
	out, errs, code := programtest.Build(t, machine{}, "../../cmd/athanor").Bare("kinds", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	var want, got []string
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var k struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(k.Kind, "*") {
			want = append(want, k.Kind)
		}
	}
	for _, e := range kinds.Examples() {
		got = append(got, e.Kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("examples (-kinds +examples):\n%s", diff)
	}
}

// TestTwins holds the Go program and the file of each kind to one graph, which declares the kind.
func TestTwins(t *testing.T) {
	p := programtest.Build(t, machine{}, "../../cmd/athanor")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range kinds.Examples() {
		t.Run(e.Kind, func(t *testing.T) {
			t.Parallel()
			inGo, err := athanor.Evaluate(e.Declare, athanor.Input{Stack: "example", Stage: "test", Dir: here})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(inGo)
			if err != nil {
				t.Fatal(err)
			}
			out, errs, code := p.Bare("graph", "--json", "--stage", "test", e.Kind+".yaml")
			if code != 0 {
				t.Fatal(errs)
			}
			wanted, ofKind := resources(t, text, e.Kind)
			if !ofKind && !slices.Contains(composed, e.Kind) {
				t.Errorf("nothing is a %s", e.Kind)
			}
			if got, _ := resources(t, []byte(out), e.Kind); !cmp.Equal(wanted, got) {
				t.Errorf("the YAML declares something else (-go +yaml):\n%s", cmp.Diff(wanted, got))
			}
		})
	}
}

// composed are the kinds that a graph has only as the resources which they are declared as.
var composed = []string{"cloudflare.Website"}

// resources are those of a graph by their addresses, without the lines that they and grants come from.
func resources(t *testing.T, graph []byte, kind string) (byAddress map[string]any, ofKind bool) {
	t.Helper()
	var g struct{ Resources []map[string]any }
	if err := json.Unmarshal(graph, &g); err != nil {
		t.Fatal(err)
	}
	byAddress = map[string]any{}
	for _, r := range g.Resources {
		delete(r, "source")
		if bound, ok := r["bound"].(map[string]any); ok { // the line of each grant
			for name := range bound {
				bound[name] = nil
			}
		}
		address, _ := r["address"].(string)
		byAddress[address], ofKind = r, ofKind || r["kind"] == kind
	}
	return byAddress, ofKind
}

// deployedAll asks for the kinds of AWS too that the engine takes through their life on the emulator.
var deployedAll = flag.Bool("deployed.all", false, "deploy the example of every kind by the command: task kinds:deployed")

// TestDeployed deploys the file of each kind, finds it in sync, and destroys it. Of the kinds of AWS it does so with those that
// TestPlainEmulators does not take through all of their life in the emulator, from the graph that TestTwins finds equal to the file's.
// Every third kind of each cloud is deployed, and each every night.
func TestDeployed(t *testing.T) {
	t.Run("aws", func(t *testing.T) { deploy(t, awstest.Start(t), "aws.") })
	t.Run("content", func(t *testing.T) {
		cloud := awstest.StartMinistack(t)
		played := cloud.Play(t, awstest.Documented{Pending: 300 * time.Millisecond}) // which takes minutes
		deploy(t, cloud, content...)
		for _, waits := range []string{"CloudFront.GetDistribution", "ACM.DescribeCertificate", "ECS.DescribeServices"} {
			if played.Waited()[waits] == 0 {
				t.Errorf("nothing waited for %s: %v", waits, played.Waited())
			}
		}
	})
	t.Run("cloudflare", func(t *testing.T) {
		cloud := cloudflaretest.Start(t)
		cloud.WithDatabases(t)
		cloud.AddZone(cloud.Account, "shop.example")
		cloud.Upload(t, "shop", cloudflaretest.Upload{ // what another stack has deployed
			Metadata: map[string]any{"main_module": "index.js", "compatibility_date": "2026-01-31"},
			Modules: []cloudflaretest.Module{{
				Name: "index.js", Type: "application/javascript+module", Content: []byte("export default { fetch: () => new Response() }"),
			}},
		})
		deploy(t, cloud, "cloudflare.")
	})
	t.Run("machine", func(t *testing.T) { deploy(t, machine{}, "local.", "random.") })
}

// content are the kinds that moto does not keep whole, and ministack does.
var content = []string{"aws.cloudfront.Distribution", "aws.Website", "aws.ecs.Service"}

func deploy[C programtest.Cloud](t *testing.T, cloud C, prefixes ...string) {
	t.Helper()
	base := programtest.Build(t, cloud, "../../cmd/athanor")
	n := -1
	for _, e := range kinds.Examples() {
		for _, prefix := range prefixes {
			if prefix == "aws." && len(lacks[s3test.Moto][e.Kind]) == 0 && !*deployedAll {
				continue
			}
			if strings.HasPrefix(e.Kind, prefix) && slices.Contains(content, e.Kind) == slices.Contains(content, prefix) {
				// What has waited is counted of all of the content.
				if n++; *deployedAll || slices.Contains(prefixes, content[0]) || proctest.Played(n, 3) {
					t.Run(e.Kind, func(t *testing.T) { life(t, base.For(t), e.Kind) })
				}
			}
		}
	}
}

// life deploys an example twice and destroys it.
func life[C programtest.Cloud](t *testing.T, p *programtest.Program[C], kind string) {
	t.Helper()
	p.Folder = t.TempDir()
	if err := os.CopyFS(p.Folder, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	file := kind + ".yaml"
	c := p.Do("deploy", file)
	if (c.Created == 0) != (kind == "local.Process") { // which lives in a dev session alone
		t.Errorf("first deploy: %s", c)
	}
	if again := p.Do("deploy", file); again.Calls.Mutations != 0 || again.Commits != 0 {
		t.Errorf("second deploy: %s", again)
	}
	if gone := p.Do("destroy", file, "--allow-delete", "**"); gone.Deleted != c.Created {
		t.Errorf("destroy: %s, created %d", gone, c.Created)
	}
}
