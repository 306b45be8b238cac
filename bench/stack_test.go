package bench_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/bench/measure"
	"github.com/athanor-dev/athanor/bench/opentofu"
)

const stageName = "bench"

// subject is a stack that is brought from one state to another by processes.
type subject interface {
	deploy(ctx context.Context) (bench.Run, error)
	plan(ctx context.Context) (cost measure.Cost, changes bool, err error)
	destroy(ctx context.Context) (bench.Run, error)
	rewrite(first string) error
	StateSize() (int64, error)
}

type ours struct{ *bench.Stack }

func (s ours) deploy(ctx context.Context) (bench.Run, error)        { return s.Deploy(ctx) }
func (s ours) plan(ctx context.Context) (measure.Cost, bool, error) { return s.Plan(ctx) }
func (s ours) destroy(ctx context.Context) (bench.Run, error)       { return s.Destroy(ctx) }
func (s ours) rewrite(first string) error                           { return s.Rewrite(first) }

type theirs struct {
	*opentofu.Stack
	shape opentofu.Shape
	n     int
}

func (s theirs) deploy(ctx context.Context) (bench.Run, error) {
	cost, err := s.Apply(ctx)
	return bench.Run{Cost: cost}, err
}

func (s theirs) plan(ctx context.Context) (measure.Cost, bool, error) { return s.Plan(ctx) }

func (s theirs) destroy(ctx context.Context) (bench.Run, error) {
	cost, err := s.Destroy(ctx)
	return bench.Run{Cost: cost}, err
}

func (s theirs) rewrite(first string) error { return s.Rewrite(s.shape, s.n, first) }

// stage is a subject and what is there of it.
type stage struct {
	subject
	n        int
	deployed bool
	input    int   // raised with each change of the program
	first    int64 // bytes of the state file after the first deploy
}

// A phase is one command on a stage in a known state.
type phase struct {
	name     string
	deployed bool // what must be there before
	change   bool // of one resource, before the command
	command  func(ctx context.Context, s *stage) (bench.Run, error)
	counted  func(s bench.Summary) int // how many resources it touched; all of them, or one where it changes one
}

func phases() []phase {
	deploy := func(ctx context.Context, s *stage) (bench.Run, error) { return s.deploy(ctx) }
	return []phase{
		{name: "deploy", command: deploy, counted: func(s bench.Summary) int { return s.Created }},
		{name: "plan", deployed: true, command: planned},
		{name: "again", deployed: true, command: deploy, counted: func(s bench.Summary) int { return s.Unchanged }},
		{name: "one", deployed: true, change: true, command: deploy, counted: func(s bench.Summary) int { return s.Unchanged + s.Updated }},
		{
			name: "destroy", deployed: true, command: func(ctx context.Context, s *stage) (bench.Run, error) { return s.destroy(ctx) },
			counted: func(s bench.Summary) int { return s.Deleted },
		},
	}
}

func planned(ctx context.Context, s *stage) (bench.Run, error) {
	cost, changes, err := s.plan(ctx)
	if err == nil && changes {
		err = fmt.Errorf("an unchanged stack has changes: %s", cost.Output)
	}
	return bench.Run{Cost: cost}, err
}

// prepare brings a stage to where a phase begins.
func (s *stage) prepare(ctx context.Context, p phase) error {
	if p.change {
		s.input++
		if err := s.rewrite(fmt.Sprintf("other-%d", s.input)); err != nil {
			return err
		}
	}
	var err error
	switch {
	case p.deployed && !s.deployed:
		_, err = s.deploy(ctx)
	case !p.deployed && s.deployed:
		_, err = s.destroy(ctx)
	}
	s.deployed = p.deployed
	return err
}

// run measures a phase once.
func (s *stage) run(ctx context.Context, p phase) (bench.Run, error) {
	r, err := p.command(ctx, s)
	s.deployed = p.name != "destroy"
	if _, athanor := s.subject.(ours); athanor && err == nil && p.counted != nil && p.counted(r.Summary) != s.n {
		err = fmt.Errorf("%s of %d: %+v", p.name, s.n, r.Summary)
	}
	return r, err
}

func newOurs(t testing.TB, shape opentofu.Shape, n int) *stage {
	t.Helper()
	s, err := bench.New(built(t), t.TempDir(), shape, n)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{subject: ours{s}, n: n}
}

// newTheirs is nil without an OpenTofu.
func newTheirs(b *testing.B, bin string, shape opentofu.Shape, n int) *stage {
	b.Helper()
	if bin == "" {
		return nil
	}
	s, err := opentofu.New(b.Context(), bin, b.TempDir(), shape, n)
	if err != nil {
		b.Fatal(err)
	}
	return &stage{subject: theirs{s, shape, n}, n: n}
}

// series are the runs of one phase.
type series []bench.Run

// median of one number of each run.
func (s series) median(of func(bench.Run) float64) float64 {
	values := make([]float64, 0, len(s))
	for _, r := range s {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

func wall(r bench.Run) float64    { return float64(r.Wall.Microseconds()) / 1000 }
func cpu(r bench.Run) float64     { return float64(r.CPU.Microseconds()) / 1000 }
func memory(r bench.Run) float64  { return float64(r.PeakRSS) / (1 << 20) }
func anon(r bench.Run) float64    { return float64(r.PeakAnon) / (1 << 20) }
func commits(r bench.Run) float64 { return float64(r.Commits) }
func calls(r bench.Run) float64   { return float64(r.Calls.Reads + r.Calls.Mutations) }
