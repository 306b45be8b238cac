package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/bench/measure"
	"github.com/athanor-dev/athanor/bench/opentofu"
	"github.com/athanor-dev/athanor/engine"
)

const (
	stackName = "bench"
	stageName = "bench"
	// firstInput is the input of the first resource; others have inputs of their own.
	firstInput = "value-0"
)

// Build builds the static binary, and gives its path below dir. As it is released it has no paths of this machine; for that
// each package, those of Go itself included, is compiled once more.
func Build(ctx context.Context, dir string, released bool) (string, error) {
	bin := filepath.Join(dir, "athanor")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath="+strconv.FormatBool(released), "-ldflags", "-s -w", "-o", bin, "github.com/athanor-dev/athanor/cmd/athanor")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build athanor: %w: %s", err, out)
	}
	return bin, nil
}

// Graph is the same stack for athanor as [opentofu.Write] writes for OpenTofu: n values, r0 to r(n-1), first the
// input of r0.
func Graph(shape opentofu.Shape, n int, first string) *engine.Graph {
	g := &engine.Graph{Format: engine.GraphFormat, Stack: stackName, Stage: stageName}
	for i := range n {
		input := fmt.Sprintf("value-%d", i)
		if i == 0 {
			input = first
		}
		if needs := shape.Needs(i); len(needs) > 0 {
			input = ""
			for _, j := range needs {
				input += fmt.Sprintf("⟦r%d.output⟧ ", j)
			}
			input = strings.TrimSpace(input)
		}
		g.Resources = append(g.Resources, engine.Resource{
			Address: fmt.Sprintf("r%d", i), Kind: "local.Value", Props: map[string]any{"input": input},
		})
	}
	return g
}

// Stack is a folder with a graph document and a store of its own.
type Stack struct {
	Bin   string // the athanor binary, see [Build]
	Dir   string
	Shape opentofu.Shape
	N     int
	Store string   // what --store names; "" for a file in Dir
	Env   []string // added to the environment, as KEY=VALUE
}

// New writes a stack into dir. Nothing is deployed.
func New(bin, dir string, shape opentofu.Shape, n int) (*Stack, error) {
	s := &Stack{Bin: bin, Dir: dir, Shape: shape, N: n}
	return s, s.Rewrite(firstInput)
}

// Rewrite replaces the program by one whose first resource has another input.
func (s *Stack) Rewrite(first string) error {
	data, err := json.Marshal(Graph(s.Shape, s.N, first))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, "stack.json"), data, 0o600)
}

// StateSize returns how many bytes the state file has.
func (s *Stack) StateSize() (int64, error) {
	info, err := os.Stat(filepath.Join(s.Dir, "state.db"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Run is one process: what it cost and what it says it did.
type Run struct {
	measure.Cost
	Summary
}

// Summary is the last line of --json.
type Summary struct {
	engine.Summary
	Commits int          `json:"commits"`
	Calls   engine.Calls `json:"calls"`
}

// Deploy deploys without asking.
func (s *Stack) Deploy(ctx context.Context) (Run, error) {
	return s.summed(ctx, "deploy", "--yes", "--json")
}

// Destroy deletes everything without asking.
func (s *Stack) Destroy(ctx context.Context) (Run, error) {
	return s.summed(ctx, "destroy", "--yes", "--json")
}

// Plan plans, and reports whether anything would change. What it says is for people: its --json is the whole plan.
func (s *Stack) Plan(ctx context.Context) (cost measure.Cost, changes bool, err error) {
	cost, err = s.run(ctx, "plan")
	if exit, ok := errors.AsType[*measure.ExitError](err); ok && exit.Cost.Exit == 2 {
		return exit.Cost, true, nil
	}
	return cost, false, err
}

// Command runs the binary with any arguments in the stack's folder.
func (s *Stack) Command(ctx context.Context, args ...string) (measure.Cost, error) {
	return measure.Run(ctx, measure.Command{
		Args: append([]string{s.Bin}, args...), Dir: s.Dir,
		// What athanor remembers of stores belongs to the measurement and goes with its folder.
		Env: append([]string{"XDG_CONFIG_HOME=" + filepath.Join(s.Dir, "config"), "XDG_CACHE_HOME=" + filepath.Join(s.Dir, "cache")}, s.Env...),
	})
}

func (s *Stack) run(ctx context.Context, verb string, flags ...string) (measure.Cost, error) {
	store := cmp.Or(s.Store, "bolt:"+filepath.Join(s.Dir, "state.db"))
	args := append([]string{verb, "--stage", stageName, "--store", store}, flags...)
	return s.Command(ctx, append(args, "stack.json")...)
}

func (s *Stack) summed(ctx context.Context, verb string, flags ...string) (Run, error) {
	cost, err := s.run(ctx, verb, flags...)
	if err != nil {
		return Run{Cost: cost}, err
	}
	run := Run{Cost: cost}
	lines := strings.Split(strings.TrimSpace(cost.Output), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &run.Summary); err != nil {
		return run, fmt.Errorf("%s: the last line is no summary: %w: %s", verb, err, lines[len(lines)-1])
	}
	return run, nil
}
