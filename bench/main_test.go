package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/bench/measure"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// binary builds athanor, once per run and only where somebody asks. What is measured is built as it is released.
var binary = sync.OnceValues(func() (string, error) {
	return bench.Build(context.Background(), buildDir, flag.Lookup("test.bench").Value.String() != "")
})

var buildDir string

func TestMain(m *testing.M) {
	if code, served := measure.Serve(os.Stdout); served {
		os.Exit(code)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GODEBUG"} { // what is measured collects garbage as it does for its users
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	tests := proctest.Tidy(m, "athanor-bench-*", "miniflare-*", "update-check")
	dir, err := os.MkdirTemp("", "athanor-bench-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	buildDir = dir
	return tests.Run()
}

func built(t testing.TB) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// sized is a number of resources, divided by $ATHANOR_BENCH_DIVIDE: whether everything runs to its end takes minutes then.
func sized(n int) int {
	by, err := strconv.Atoi(os.Getenv("ATHANOR_BENCH_DIVIDE"))
	if err != nil || by < 1 {
		return n
	}
	return max(n/by, 10)
}
