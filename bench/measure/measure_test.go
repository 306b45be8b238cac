package measure_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench/measure"
)

// role makes this test binary one of the commands that are measured.
const role = "MEASURE_TEST_ROLE"

// roles are those that only some systems know.
var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if code, served := measure.Serve(os.Stdout); served {
		os.Exit(code)
	}
	if play := roles[os.Getenv(role)]; play != nil {
		if err := play(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "small":
		fmt.Println("hello", os.Getenv("EXTRA"))
		os.Exit(0)
	case "large":
		fill(300 << 20)
		os.Exit(0)
	case "busy":
		for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; {
		}
		os.Exit(0)
	case "wordy":
		fmt.Print(strings.Repeat("x", 1<<20), "the end")
		os.Exit(7)
	case "hold": // the pipe until killed
		pipe, err := os.OpenFile(os.Getenv("PIPE"), os.O_WRONLY, 0)
		if err != nil {
			os.Exit(1)
		}
		_, _ = pipe.WriteString("open")
		time.Sleep(time.Hour)
	}
}

func fill(size int) []byte {
	block := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		block[i] = 1
	}
	return block
}

func run(t *testing.T, name string, env ...string) (measure.Cost, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return measure.Run(t.Context(), measure.Command{Args: []string{self}, Env: append(env, role+"="+name)})
}

func TestMemoryIsTheCommandsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("peak memory is counted on Linux; this is " + runtime.GOOS)
	}
	mine := fill(400 << 20)
	cost, err := run(t, "small")
	runtime.KeepAlive(mine)
	if err != nil {
		t.Fatal(err)
	}
	if cost.PeakRSS < 1<<20 || cost.PeakRSS > 100<<20 {
		t.Errorf("a small command started from a large one peaks at %d MiB", cost.PeakRSS>>20)
	}
	if cost, err = run(t, "large"); err != nil || cost.PeakRSS < 300<<20 || cost.PeakRSS > 390<<20 {
		t.Errorf("a command of 300 MiB peaks at %d MiB, %v", cost.PeakRSS>>20, err)
	}
}

// TestSample: the largest of the numbers is kept that are asked for, the first among them.
func TestSample(t *testing.T) {
	numbers := []int64{3, 7, 5}
	for first := range numbers {
		all, asked := slices.Concat(numbers[first:], numbers[:first]), make(chan struct{})
		next := 0
		largest := measure.Sample(time.Nanosecond, func() int64 {
			n := all[min(next, len(all)-1)]
			if next++; next == len(all) {
				close(asked)
			}
			return n
		})
		<-asked
		if got := largest(); got != 7 {
			t.Errorf("the largest of %v is %d", all, got)
		}
	}
}

func TestTime(t *testing.T) {
	cost, err := run(t, "busy")
	if err != nil {
		t.Fatal(err)
	}
	if cost.Wall < 300*time.Millisecond || cost.CPU <= 0 || cost.CPU > 2*cost.Wall*time.Duration(runtime.NumCPU()) {
		t.Errorf("300 ms of work took %v, %v of processor time", cost.Wall, cost.CPU)
	}
}

func TestOutputAndCode(t *testing.T) {
	cost, err := run(t, "small", "EXTRA=world")
	if err != nil || cost.Output != "hello world\n" {
		t.Errorf("output %q, %v", cost.Output, err)
	}
	_, err = run(t, "wordy")
	exit, ok := errors.AsType[*measure.ExitError](err)
	if !ok || exit.Cost.Exit != 7 || !strings.HasSuffix(exit.Cost.Output, "xthe end") || len(exit.Cost.Output) > 8<<10 {
		t.Errorf("got %.200v, want exit 7 and the end of the output", err)
	}
}

func TestNoSuchCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"/no/such/program"}} {
		if _, err := measure.Run(t.Context(), measure.Command{Args: args}); err == nil {
			t.Errorf("%q was measured", args)
		}
	}
}
