// Package opentofu runs OpenTofu on generated stacks, so that athanor's numbers can be set beside those of
// a peer on the same work, on the same machine, in the same minute.
//
// It knows how a working folder of OpenTofu is written and which commands it takes. It imports nothing of
// OpenTofu, which task tofu builds from tofu.mod, and does not know what athanor does.
package opentofu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/athanor-dev/athanor/bench/measure"
)

// Env names the variable that holds the path of the tofu binary.
const Env = "ATHANOR_TOFU"

// ErrNone says that there is no OpenTofu to compare with.
var ErrNone = errors.New("no OpenTofu: `task tofu` builds one into .cache, and `task bench` does so first")

// Find gives the path of the tofu binary: the one that $ATHANOR_TOFU names, else the one that task tofu built in the
// folder root, else [ErrNone].
func Find(root string) (string, error) {
	bin := os.Getenv(Env)
	if bin == "" {
		bin = filepath.Join(root, ".cache", "tofu")
	}
	if _, err := os.Stat(bin); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	return filepath.Abs(bin)
}

// A Shape is how the resources of a generated stack hang together.
type Shape string

const (
	Flat  Shape = "flat"  // nothing refers to anything
	Chain Shape = "chain" // each refers to the one before
	Fan   Shape = "fan"   // all refer to the first
	DAG   Shape = "dag"   // each but the first hundred refers to five of those
)

// Needs lists the resources that the ith of a stack refers to.
func (s Shape) Needs(i int) (needs []int) {
	const first, edges = 100, 5
	switch {
	case s == Chain && i > 0:
		return []int{i - 1}
	case s == Fan && i > 0:
		return []int{0}
	case s == DAG && i >= first:
		for k := range edges {
			needs = append(needs, (i*7+k*13)%first)
		}
	}
	return needs
}

// Write writes a stack of n terraform_data resources, r0 to r(n-1). They live in the process and the state
// file alone, as local.Value does in athanor's. first is the input of r0, so that a second stack can differ
// in one resource.
func Write(w io.Writer, shape Shape, n int, first string) error {
	out := bufio.NewWriter(w)
	for i := range n {
		input := fmt.Sprintf("%q", fmt.Sprintf("value-%d", i))
		if i == 0 {
			input = fmt.Sprintf("%q", first)
		}
		if needs := shape.Needs(i); len(needs) > 0 {
			input = "join(\" \", ["
			for _, j := range needs {
				input += fmt.Sprintf("terraform_data.r%d.id, ", j)
			}
			input += "])"
		}
		// The first error is kept by the writer, and told by Flush.
		_, _ = fmt.Fprintf(out, "resource \"terraform_data\" \"r%d\" {\n  input = %s\n}\n", i, input)
	}
	return out.Flush()
}

// A Stack is a working folder of OpenTofu.
type Stack struct {
	Bin string // the tofu binary, see [Find]
	Dir string
	Env []string // added to the environment, as KEY=VALUE
}

// StateSize returns how many bytes the state file has, without its backup.
func (s *Stack) StateSize() (int64, error) {
	info, err := os.Stat(filepath.Join(s.Dir, "terraform.tfstate"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// New writes a stack into dir and initializes it, which needs no network: terraform_data is built in.
func New(ctx context.Context, bin, dir string, shape Shape, n int) (*Stack, error) {
	return NewAt(ctx, bin, dir, shape, n, Backend{})
}

// A Backend is where OpenTofu keeps the state of a stack. The zero value is a file in the folder of the stack.
type Backend struct {
	Type     string            // "http", "s3"
	Settings map[string]string // the settings of the block, as HCL
	Env      []string          // credentials, as KEY=VALUE
}

// NewAt writes a stack with a backend into dir, and initializes it there.
func NewAt(ctx context.Context, bin, dir string, shape Shape, n int, at Backend) (*Stack, error) {
	s := &Stack{Bin: bin, Dir: dir, Env: at.Env}
	if err := s.Rewrite(shape, n, "value-0"); err != nil {
		return nil, err
	}
	if at.Type != "" {
		text := fmt.Appendf(nil, "terraform {\n  backend %q {\n", at.Type)
		for _, name := range slices.Sorted(maps.Keys(at.Settings)) {
			text = fmt.Appendf(text, "    %s = %s\n", name, at.Settings[name])
		}
		if err := os.WriteFile(filepath.Join(dir, "backend.tf"), append(text, "  }\n}\n"...), 0o600); err != nil {
			return nil, err
		}
	}
	_, err := s.run(ctx, "init")
	return s, err
}

// Rewrite replaces the program; see [Write].
func (s *Stack) Rewrite(shape Shape, n int, first string) error {
	f, err := os.Create(filepath.Join(s.Dir, "main.tf"))
	if err != nil {
		return err
	}
	return errors.Join(Write(f, shape, n, first), f.Close())
}

// Apply deploys without asking.
func (s *Stack) Apply(ctx context.Context) (measure.Cost, error) {
	return s.run(ctx, "apply", "-auto-approve")
}

// Plan plans, and reports whether anything would change.
func (s *Stack) Plan(ctx context.Context) (cost measure.Cost, changes bool, err error) {
	cost, err = s.run(ctx, "plan", "-detailed-exitcode")
	if exit, ok := errors.AsType[*measure.ExitError](err); ok && exit.Cost.Exit == 2 {
		return exit.Cost, true, nil
	}
	return cost, false, err
}

// Destroy deletes everything without asking.
func (s *Stack) Destroy(ctx context.Context) (measure.Cost, error) {
	return s.run(ctx, "destroy", "-auto-approve")
}

func (s *Stack) run(ctx context.Context, verb string, flags ...string) (measure.Cost, error) {
	return measure.Run(ctx, measure.Command{
		Args: append([]string{s.Bin, verb, "-input=false", "-no-color"}, flags...),
		Dir:  s.Dir,
		Env:  append([]string{"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}, s.Env...),
	})
}
