package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// measured is what go test is given with -exec: testsum itself, which runs each test binary and reports its processor time.
const measured = "-measured"

// cpuPrefix begins the line that a measured test binary ends with. go test -json makes it output of the package.
const cpuPrefix = "testsum: processor time "

// measure runs a test binary with the standard files and the signals of this process, and reports the processor time
// of it and of the processes that it has waited for. It returns the exit code.
func measure(args []string, out io.Writer) int {
	runtime.LockOSThread() // The binary ends with the thread that started it.
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	endWithParent(cmd)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, relayed...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	_, _ = fmt.Fprintf(out, "%s%.2f s\n", cpuPrefix, cpu.Seconds())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 2
	}
	return cmd.ProcessState.ExitCode()
}

// cpuOf reads the line that measure writes.
func cpuOf(line string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(line), cpuPrefix)
	if !ok {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(text, " s"), 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}
