package opentofu_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/bench/measure"
	"github.com/athanor-dev/athanor/bench/opentofu"
)

func TestMain(m *testing.M) {
	if code, served := measure.Serve(os.Stdout); served {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestWrite(t *testing.T) {
	tests := []struct {
		shape opentofu.Shape
		want  string
	}{
		{opentofu.Flat, `"value-1"`},
		{opentofu.Chain, `terraform_data.r0.id`},
	}
	for _, tt := range tests {
		t.Run(string(tt.shape), func(t *testing.T) {
			var out strings.Builder
			if err := opentofu.Write(&out, tt.shape, 2, `a "b"`); err != nil {
				t.Fatal(err)
			}
			want := "resource \"terraform_data\" \"r0\" {\n  input = \"a \\\"b\\\"\"\n}\n" +
				"resource \"terraform_data\" \"r1\" {\n  input = " + tt.want + "\n}\n"
			if out.String() != want {
				t.Errorf("wrote\n%swant\n%s", out.String(), want)
			}
		})
	}
}

// BenchmarkOpenTofu is the peer's side of the comparison. Its units are those of one command, not of b.N.
func BenchmarkOpenTofu(b *testing.B) {
	bin, err := opentofu.Find()
	if err != nil {
		b.Skip(err)
	}
	for _, size := range []struct {
		shape opentofu.Shape
		n     int
	}{{opentofu.Flat, 1000}, {opentofu.Chain, 500}, {opentofu.Flat, 10_000}} {
		b.Run(fmt.Sprintf("%s/%d", size.shape, size.n), func(b *testing.B) {
			for b.Loop() {
				life(b, bin, size.shape, size.n)
			}
			b.ReportMetric(0, "ns/op") // of a whole life: says nothing
		})
	}
}

// life deploys a stack, plans it, changes one resource, and destroys it.
func life(b *testing.B, bin string, shape opentofu.Shape, n int) {
	b.Helper()
	ctx := b.Context()
	stack, err := opentofu.New(ctx, bin, b.TempDir(), shape, n)
	if err != nil {
		b.Fatal(err)
	}
	cost, err := stack.Apply(ctx)
	report(b, "apply", cost, err)
	cost, changes, err := stack.Plan(ctx)
	report(b, "plan", cost, err)
	if changes {
		b.Fatal("an unchanged stack has changes")
	}
	cost, err = stack.Apply(ctx)
	report(b, "again", cost, err)
	if err := stack.Rewrite(shape, n, "other"); err != nil {
		b.Fatal(err)
	}
	if _, changes, err = stack.Plan(ctx); err != nil || !changes {
		b.Fatalf("a changed stack has changes: %v, %v", changes, err)
	}
	cost, err = stack.Apply(ctx)
	report(b, "one", cost, err)
	cost, err = stack.Destroy(ctx)
	report(b, "destroy", cost, err)
}

func report(b *testing.B, verb string, cost measure.Cost, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(cost.Wall.Seconds(), verb+"-s")
	b.ReportMetric(cost.CPU.Seconds(), verb+"-cpu-s")
	b.ReportMetric(float64(cost.PeakRSS)/(1<<20), verb+"-MiB")
}
