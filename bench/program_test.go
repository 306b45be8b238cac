package bench_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench/measure"
)

// goProgram is a folder with a Go stack of n queues. Change writes it with another timeout of one of them.
func goProgram(t testing.TB, n int) (dir string, change func(timeout int)) {
	t.Helper()
	dir = t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ours = "github.com/athanor-dev/athanor"
	write("go.mod", strings.Replace(string(mod), "module "+ours, "module example.com/dev", 1)+
		"\nrequire "+ours+" v0.0.0\nreplace "+ours+" => "+root+"\n")
	write("go.sum", string(sum))
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=mod")
	t.Setenv("GOPROXY", "off")
	change = func(timeout int) { write("main.go", program(n, timeout)) }
	change(30)
	return dir, change
}

// BenchmarkProgram is the graph of a Go stack after a change of its source, in processor time of all that it takes, the go
// command with it: read by the command from a program that is built for its graph alone, and from the program that is the
// command, in turn.
func BenchmarkProgram(b *testing.B) {
	for _, n := range []int{1, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, change := goProgram(b, n)
			light := []string{built(b), "graph", "--json"}
			whole := []string{"sh", "-c", `go build -buildvcs=false "-ldflags=-s -w" -o whole . && exec ./whole graph --json`}
			var cpu, wall [2][]time.Duration
			for i := 0; b.Loop(); i++ {
				for k, args := range [][]string{light, whole} {
					change(31 + (2*i+k)%1000)
					cost, err := measure.Run(b.Context(), measure.Command{Args: args, Dir: dir})
					if err != nil {
						b.Fatal(err)
					}
					if i > 0 { // the first round compiles the packages
						cpu[k], wall[k] = append(cpu[k], cost.CPU), append(wall[k], cost.Wall)
					}
				}
			}
			b.ReportMetric(0, "ns/op") // of both
			for k, name := range []string{"", "whole/"} {
				if len(cpu[k]) > 0 {
					b.ReportMetric(percentile(cpu[k], 50), name+"cpu-ms")
					b.ReportMetric(percentile(wall[k], 50), name+"ms")
				}
			}
		})
	}
}

// pulumi is a stack of Pulumi in YAML, deployed by the programs in the folder $ATHANOR_PEERS: pulumi, pulumi-language-yaml
// and pulumi-resource-testprovider.
type pulumi struct {
	t   testing.TB
	dir string
	env []string
	n   int
}

// newPulumi gives nil without the programs.
func newPulumi(t testing.TB, n int) *pulumi {
	t.Helper()
	peers := os.Getenv("ATHANOR_PEERS")
	if _, err := os.Stat(filepath.Join(peers, "pulumi")); peers == "" || err != nil {
		t.Logf("no Pulumi: $ATHANOR_PEERS is %q (%v)", peers, err)
		return nil
	}
	dir := t.TempDir()
	p := &pulumi{t, dir, append(os.Environ(), "PATH="+peers+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir,
		"PULUMI_HOME="+filepath.Join(dir, "home"), "PULUMI_BACKEND_URL=file://"+dir, "PULUMI_CONFIG_PASSPHRASE=",
		"PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true"), n}
	p.write(0)
	if out, err := p.command("stack", "init", "dev").CombinedOutput(); err != nil {
		t.Fatalf("pulumi: %v\n%s", err, out)
	}
	p.save(0)
	return p
}

func (p *pulumi) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(os.Getenv("ATHANOR_PEERS"), "pulumi"), append(args, "--non-interactive")...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

func (p *pulumi) write(value int) {
	p.t.Helper()
	var b strings.Builder
	b.WriteString("name: dev\nruntime: yaml\nresources:\n")
	for i := range p.n {
		text := 0
		if fmt.Sprint("q", i) == changedQueue {
			text = value
		}
		fmt.Fprintf(&b, "  q%d: {type: \"testprovider:index:Echo\", properties: {echo: \"%d\"}}\n", i, text)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "Pulumi.yaml"), []byte(b.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// save saves a program and deploys it, and gives how long it took until the first call of a provider that changes something.
func (p *pulumi) save(value int) (first time.Duration) {
	p.t.Helper()
	p.write(value)
	began := time.Now()
	cmd := p.command("up", "--yes", "--skip-preview", "--stack", "dev")
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		fmt.Fprintln(&said, line)
		if first == 0 && strings.Contains(line, "Echo") && (strings.Contains(line, "updating") || strings.Contains(line, "creating") || strings.Contains(line, "replac")) {
			first = time.Since(began)
		}
	}
	if err := cmd.Wait(); err != nil || first == 0 {
		p.t.Fatalf("pulumi up: %v\n%s", err, said.String())
	}
	return first
}
