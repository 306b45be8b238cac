// Package measure runs a command and says what it cost: wall time, processor time, peak memory.
//
// It knows processes. It does not know what they do, which is why athanor and others are measured by the
// same code.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// A Command is what to run.
type Command struct {
	Args []string `json:"args"` // the program and its arguments
	Dir  string   `json:"dir"`  // "": the caller's
	Env  []string `json:"env"`  // added to the caller's environment, as KEY=VALUE
}

// A Cost is what one run took.
type Cost struct {
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"` // user and system time, of its waited-for children too
	// PeakRSS is the most memory, in bytes, that the process or one of its children had resident, the pages of its files
	// among it. These depend on how large the pieces are in which the system keeps a file in memory, by tens of MiB for one program.
	PeakRSS int64 `json:"peakRSS"`
	// PeakAnon is the most memory, in bytes, that the process itself had resident beside files: what it allocated. It is read
	// every millisecond, and 0 where the system does not tell.
	PeakAnon int64  `json:"peakAnon"`
	Exit     int    `json:"exit"`
	Output   string `json:"output"` // the end of what it printed, both streams
}

// An ExitError says that the command ran and ended with another code than zero. Its cost is known.
type ExitError struct {
	Command Command
	Cost    Cost
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%q: exit %d: %s", e.Command.Args, e.Cost.Exit, e.Cost.Output)
}

// envCommand tells a process to be the measuring one that [Serve] starts.
const envCommand = "ATHANOR_MEASURE"

// Run runs the command and measures it. A code other than zero is an *[ExitError]; plan commands that
// speak through their code are for the caller to tell.
//
// Linux counts the memory that a process had before it became another program, which is the memory of
// the process that started it: /bin/true started from a process of 400 MiB has a peak of 400 MiB.
// So the command is started by a fresh copy of this program, which must call [Serve] first of all.
func Run(ctx context.Context, c Command) (Cost, error) {
	if len(c.Args) == 0 {
		return Cost{}, errors.New("no command to measure")
	}
	self, err := os.Executable()
	if err != nil {
		return Cost{}, err
	}
	order, err := json.Marshal(c)
	if err != nil {
		return Cost{}, err
	}
	helper := exec.CommandContext(ctx, self)
	helper.Env = append(os.Environ(), envCommand+"="+string(order))
	var stderr bytes.Buffer
	helper.Stderr = &stderr
	endWithParent(helper)
	answer, err := helper.Output()
	if ctx.Err() != nil {
		return Cost{}, ctx.Err()
	}
	if err != nil {
		return Cost{}, fmt.Errorf("measure %q: %w: %s", c.Args, err, stderr.String())
	}
	var cost Cost
	if err := json.Unmarshal(answer, &cost); err != nil {
		return Cost{}, fmt.Errorf("measure %q: this program does not call measure.Serve first: %w", c.Args, err)
	}
	if cost.Exit != 0 {
		return cost, &ExitError{Command: c, Cost: cost}
	}
	return cost, nil
}

// Serve must come first in main, or in TestMain: where the process was started by [Run], it runs the command, writes
// its cost to out, and reports true and the code to exit with. Elsewhere it does nothing.
func Serve(out io.Writer) (code int, served bool) {
	order, ok := os.LookupEnv(envCommand)
	if !ok {
		return 0, false
	}
	cost, err := serve(order)
	if err == nil {
		err = json.NewEncoder(out).Encode(cost)
	}
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		return 1, true
	}
	return 0, true
}

func serve(order string) (Cost, error) {
	var c Command
	if err := json.Unmarshal([]byte(order), &c); err != nil {
		return Cost{}, err
	}
	if err := os.Unsetenv(envCommand); err != nil {
		return Cost{}, err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	endWithParent(cmd)
	last := &tail{}
	cmd.Stdout, cmd.Stderr = last, last
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, err
	}
	anonymous := sample(time.Millisecond, func() int64 { return anonymousOf(cmd.Process.Pid) })
	err := cmd.Wait()
	wall, peakAnon := time.Since(begin), anonymous()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return Cost{}, err
	}
	state := cmd.ProcessState
	return Cost{
		Wall: wall, CPU: state.UserTime() + state.SystemTime(), PeakRSS: peakRSS(state), PeakAnon: peakAnon,
		Exit: state.ExitCode(), Output: string(last.text),
	}, nil
}

// sample asks for a number now and then, until the function is called that it returns, which returns the largest.
func sample(every time.Duration, ask func() int64) (largest func() int64) {
	ctx, end := context.WithCancel(context.Background())
	most := make(chan int64)
	go func() {
		peak := ask()
		for reconcile.Wait(ctx, every, nil) == nil {
			peak = max(peak, ask())
		}
		most <- peak
	}()
	return func() int64 {
		end()
		return <-most
	}
}

// tail keeps the last few KiB of what is written to it.
type tail struct{ text []byte }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}
