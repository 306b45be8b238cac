package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// peak is a program that runs another one and writes to a file how much memory that held at most, in KiB. A process begins with the
// peak of the one that starts it, for Linux counts both as one until the program is loaded, and the process of the tests holds much.
func peak() {
	runtime.LockOSThread()                                                  // the child dies with the thread that started it
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM) // meant for the child, which gets it too
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	held := strconv.FormatInt(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss, 10)
	if err := os.WriteFile(os.Args[1], []byte(held), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// peaking finds that program.
func peaking(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("athanor-peak")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// heldIn reads what it wrote, in KiB.
func heldIn(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	held, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// TestPeakIsThatOfTheProgram: what the tests themselves hold is not counted, and what the program holds is.
func TestPeakIsThatOfTheProgram(t *testing.T) {
	mine := make([]byte, 300<<20)
	for i := 0; i < len(mine); i += os.Getpagesize() {
		mine[i] = 1
	}
	for command, fits := range map[string]bool{"true": true, "x=$(head -c 300000000 /dev/zero | tr '\\0' x)": false} {
		file := t.TempDir() + "/held"
		if out, err := exec.Command(peaking(t), file, "sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		if held := heldIn(t, file); (held < 250<<10) != fits {
			t.Errorf("%s: %d KiB", command, held)
		}
	}
	runtime.KeepAlive(mine)
}
