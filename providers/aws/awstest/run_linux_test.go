package awstest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestRun: a process called go starts two packages side by side, and later one that finds the emulator. It is there between
// packages, when the run was killed and a package is left, and no longer.
func TestRun(t *testing.T) {
	switch os.Getenv("AWSTEST_RUN") {
	case "package":
		fmt.Println("emulator", strings.TrimPrefix(emulator(t), "http://"))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "run":
		packages(t)
		return
	}
	Start(t) // skips where there is none
	if path, err := find(); err != nil || !slices.Contains(command(path).Args, emulatorProgram) {
		proctest.Missing(t, "%s is no script that names its Python, so it cannot be told to be shared: run `task moto`", path)
	}
	for _, killed := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "go")
		if err := os.Symlink(os.Args[0], name); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), name, "-test.run=^TestRun$", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), "AWSTEST_RUN=run")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		lives := make([]io.WriteCloser, 3)
		for i := range lives {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			cmd.ExtraFiles, lives[i] = append(cmd.ExtraFiles, read), write
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		said := func(what string) string {
			for lines.Scan() {
				if text, ok := strings.CutPrefix(lines.Text(), what+" "); ok {
					return text
				}
			}
			t.Fatalf("the run said no %q: %v", what, lines.Err())
			return ""
		}
		address := said("emulator")
		if other := said("emulator"); other != address {
			t.Errorf("two packages side by side: %s and %s", address, other)
		}
		lives[0].Close()
		lives[1].Close()
		said("ended")
		said("ended")
		if other := said("emulator"); other != address {
			t.Errorf("a package after them: %s, before it %s", other, address)
		}
		if killed {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatalf("a package is left: %v", err)
			}
			conn.Close()
		}
		lives[2].Close()
		if !killed {
			said("ended")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		if !closes(address) {
			t.Errorf("the run is over, and the emulator listens on %s", address)
		}
	}
}

// packages starts three packages as go test does: two at once, and the third when they have ended.
func packages(t *testing.T) {
	start := func(n uintptr) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRun$", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), "AWSTEST_RUN=package")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.NewFile(3+n, "life"), os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("ended", cmd.Process.Pid)
	}
	first, second := start(0), start(1)
	end(first)
	end(second)
	end(start(2))
}
