package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench/opentofu"
)

// treeCost is what a command took, with the processes that it started.
type treeCost struct {
	wall, cpu time.Duration
	// plugins is the part of cpu of the processes that it started, as they were seen last.
	plugins time.Duration
	// own is the most memory in bytes that the command's own process had, plugin the most that one of those had which it started. Of own, anonymous is the most that
	// was no part of a file: a program of 80 MB has up to its size more, as much as the kernel likes.
	own, anonymous, plugin int64
	// processes is how many it started, at most at once.
	processes int
}

// measureTree runs a command, and looks at it and at what it started every few milliseconds: the kernel keeps the peak of each process while it lives.
func measureTree(ctx context.Context, dir string, env []string, codes []int, args ...string) (c treeCost, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return c, err
	}
	ended, spent := make(chan error, 1), map[int]time.Duration{}
	go func() { ended <- cmd.Wait() }()
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-time.After(5 * time.Millisecond):
			children := childrenOf(cmd.Process.Pid)
			c.own, c.anonymous = max(c.own, memoryOf(cmd.Process.Pid, "VmHWM")), max(c.anonymous, memoryOf(cmd.Process.Pid, "RssAnon"))
			c.processes = max(c.processes, len(children))
			for _, pid := range children {
				c.plugin, spent[pid] = max(c.plugin, memoryOf(pid, "VmHWM")), max(spent[pid], spentBy(pid))
			}
		}
	}
	c.wall, c.cpu = time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	for _, took := range spent {
		c.plugins += took
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return c, err
	}
	for _, code := range codes {
		if cmd.ProcessState.ExitCode() == code {
			return c, nil
		}
	}
	return c, fmt.Errorf("%v: exit code %d: %.2000s", args, cmd.ProcessState.ExitCode(), out.String())
}

// childrenOf are the processes that any thread of a process started and that live.
func childrenOf(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// spentBy is the time of processors that a process had, to a hundredth of a second, 0 for one that ended.
func spentBy(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	var ticks int64
	for _, field := range fields[11:13] { // of the user, and of the system
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memoryOf is a line of the memory of a process, in bytes: VmHWM is the most that it had, RssAnon what it has that is part of no file. It is 0 for one that ended.
func memoryOf(pid int, line string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), line+":")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// costPage is where the table of costs is, and costHead what it begins with.
const (
	costPage = "../docs/terraform-providers.md"
	costHead = "| | athanor | OpenTofu | ratio of time | of processor time | at most |\n|---|---|---|---|---|---|\n"
)

// costRow is a line of the table. At most the ratio of processor time would be what is in its last column: that of a tool which takes nothing itself, beside
// the providers.
func costRow(name string, our, their treeCost) string {
	cell := func(c treeCost) string {
		return fmt.Sprintf("%.1f s, %.1f s of processor (providers %.1f s), %d MiB (%d anonymous)", c.wall.Seconds(), c.cpu.Seconds(), c.plugins.Seconds(), c.own>>20, c.anonymous>>20)
	}
	ratio := func(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
	return fmt.Sprintf("| %s | %s | %s | %.1f | %.1f | %.1f |\n", name, cell(our), cell(their), ratio(their.wall, our.wall), ratio(their.cpu, our.cpu), ratio(their.cpu, our.plugins))
}

// costTable is the table of a page, without its head, with what is before and after it.
func costTable(page string) (before, rows, after string, err error) {
	before, rest, found := strings.Cut(page, costHead)
	if !found {
		return "", "", "", errors.New("the page has no table of costs")
	}
	rows, after, _ = strings.Cut(rest, "\n\n")
	return before + costHead, rows + "\n", "\n" + after, nil
}

// TestCostTable reads the lines of the table in the documentation: each is one that the benchmark writes of what it measured.
func TestCostTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(costPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _, err := costTable(string(page))
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
	var phases []string
	for line := range strings.Lines(rows) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		var n [10]float64
		cell := "%f s, %f s of processor (providers %f s), %f MiB (%f anonymous) | "
		if _, err := fmt.Sscanf(strings.TrimPrefix(line, "| "+name+" | "), cell+cell, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		cost := func(n []float64) treeCost {
			return treeCost{wall: seconds(n[0]), cpu: seconds(n[1]), plugins: seconds(n[2]), own: int64(n[3]) << 20, anonymous: int64(n[4]) << 20}
		}
		our, their := cost(n[:5]), cost(n[5:])
		if want := costRow(name, our, their); line != want { // but for what is lost by rounding
			at := strings.LastIndex(want, " anonymous) | ")
			var have, computed [3]float64
			for text, into := range map[string]*[3]float64{line[at:]: &have, want[at:]: &computed} {
				if _, err := fmt.Sscanf(text, " anonymous) | %f | %f | %f |", &into[0], &into[1], &into[2]); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
			for i, by := range []time.Duration{our.wall, our.cpu, our.plugins} {
				lost := 0.11 + computed[i]*0.05/by.Seconds() // by the last digit of what was divided by
				if math.Abs(have[i]-computed[i]) > lost {
					t.Errorf("%q: its own numbers make %.1f", line, computed[i])
				}
			}
		}
		phases = append(phases, name)
	}
	if want := []string{"first deploy", "unchanged plan", "destroy"}; !slices.Equal(phases, want) {
		t.Errorf("the table has %q, want %q", phases, want)
	}
}

// BenchmarkProviders deploys, plans and destroys resources of two real Terraform providers, half of them tf.random_id and half tf.local_file, with athanor
// and with OpenTofu, by the same programs. $ATHANOR_PEERS is the folder with the programs. Under $ATHANOR_UPDATE it writes what it measured into the table of
// the documentation.
func BenchmarkProviders(b *testing.B) {
	peers := os.Getenv("ATHANOR_PEERS")
	if peers == "" {
		b.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	tofu, err := opentofu.Find("..")
	if err != nil {
		b.Skip(err)
	}
	n := sized(1000)
	ours, theirs := b.TempDir(), b.TempDir()
	random, files := filepath.Join(peers, "terraform-provider-random"), filepath.Join(peers, "terraform-provider-local")
	type declared = map[string]any
	resources, ids, notes := declared{}, declared{}, declared{}
	for i := range n / 2 {
		id, note := fmt.Sprint("id", i), fmt.Sprint("note", i)
		resources[id] = declared{"kind": "tf.random_id", "provider": "rnd", "props": declared{"byte_length": 8}}
		resources[note] = declared{"kind": "tf.local_file", "provider": "loc", "props": declared{"filename": note + ".txt", "content": "${" + id + ".hex}"}}
		ids[id] = declared{"byte_length": 8}
		notes[note] = declared{"filename": note + ".txt", "content": "${random_id." + id + ".hex}"}
	}
	write := func(path string, v any) {
		b.Helper()
		text, ok := v.(string)
		if !ok {
			data, err := json.Marshal(v)
			if err != nil {
				b.Fatal(err)
			}
			text = string(data)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write(filepath.Join(ours, "athanor.yaml"), declared{
		"stack": "bench", "resources": resources,
		"providers": declared{"rnd": declared{"terraform": "hashicorp/random", "path": random}, "loc": declared{"terraform": "hashicorp/local", "path": files}},
	})
	write(filepath.Join(theirs, "main.tf.json"), declared{
		"terraform": declared{"required_providers": declared{"random": declared{"source": "hashicorp/random"}, "local": declared{"source": "hashicorp/local"}}},
		"resource":  declared{"random_id": ids, "local_file": notes},
	})
	write(filepath.Join(theirs, "tofurc"), fmt.Sprintf("provider_installation {\n dev_overrides {\n\"hashicorp/random\" = %q\n\"hashicorp/local\" = %q\n }\n}\n", peers, peers))
	athanor := built(b)
	ourEnv := append(os.Environ(), "HOME="+ours, "XDG_CONFIG_HOME="+ours, "ATHANOR_ALLOW=program="+random+",program="+files)
	theirEnv := append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(theirs, "tofurc"), "CHECKPOINT_DISABLE=1")
	theirArgs := func(program string, args []string) []string {
		if args = append([]string{program}, args...); args[1] != "providers" { // which takes none
			args = append(args, "-no-color", "-input=false")
		}
		return args
	}
	rows := ""
	write(filepath.Join(ours, "idle.yaml"), declared{"stack": "idle", "resources": declared{}})
	for _, p := range []struct {
		name, row    string
		ours, theirs []string
	}{
		{"idle", "", []string{"plan", "idle.yaml"}, []string{"providers"}}, // which start no provider
		{"deploy", "first deploy", []string{"deploy", "--yes"}, []string{"apply", "-auto-approve"}},
		{"plan", "unchanged plan", []string{"plan"}, []string{"plan", "-detailed-exitcode"}},
		{"destroy", "destroy", []string{"destroy", "--yes"}, []string{"destroy", "-auto-approve"}},
	} {
		b.Run(p.name, func(b *testing.B) {
			if b.N > 1 {
				b.Skip("each phase is measured once: -benchtime 1x")
			}
			our, err := measureTree(b.Context(), ours, ourEnv, []int{0}, append([]string{athanor}, p.ours...)...)
			if err != nil {
				b.Fatal(err)
			}
			their, err := measureTree(b.Context(), theirs, theirEnv, []int{0}, theirArgs(tofu, p.theirs)...)
			if err != nil {
				b.Fatal(err)
			}
			if p.row != "" {
				rows += costRow(p.row, our, their)
			}
			const mib = 1 << 20
			for unit, v := range map[string]float64{
				"ms": ms(our.wall), "cpu-ms": ms(our.cpu), "plugins-cpu-ms": ms(our.plugins), "own-MiB": float64(our.own) / mib, "own-anonymous-MiB": float64(our.anonymous) / mib, "plugin-MiB": float64(our.plugin) / mib, "processes": float64(our.processes),
				"tofu-ms": ms(their.wall), "tofu-cpu-ms": ms(their.cpu), "tofu-plugins-cpu-ms": ms(their.plugins), "tofu-own-MiB": float64(their.own) / mib, "tofu-anonymous-MiB": float64(their.anonymous) / mib, "tofu-plugin-MiB": float64(their.plugin) / mib,
				"tofu-processes": float64(their.processes), "tofu/ms": ms(their.wall) / ms(our.wall), "tofu/cpu-ms": ms(their.cpu) / ms(our.cpu),
			} {
				b.ReportMetric(v, unit)
			}
			b.ReportMetric(0, "ns/op")
			have, err := filepath.Glob(filepath.Join(ours, "note*.txt"))
			if want := n / 2; (p.name == "destroy" || p.name == "idle") && len(have) != 0 || (p.name == "deploy" || p.name == "plan") && len(have) != want || err != nil {
				b.Errorf("%d files after %s (%v)", len(have), p.name, err)
			}
		})
	}
	if os.Getenv("ATHANOR_UPDATE") == "" || b.Failed() || strings.Count(rows, "\n") != 3 {
		return
	}
	page, err := os.ReadFile(costPage)
	if err != nil {
		b.Fatal(err)
	}
	before, _, after, err := costTable(string(page))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(costPage, []byte(before+rows+after), 0o644); err != nil { //nolint:gosec // it is a page for everybody
		b.Fatal(err)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
