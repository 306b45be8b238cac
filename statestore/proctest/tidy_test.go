package proctest_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// left names what a copy of this binary does in place of its tests, and leaves in its temporary folder.
const left = "PROCTEST_LEFT"

func TestMain(m *testing.M) {
	what := os.Getenv(left)
	if what == "" {
		os.Exit(proctest.Tidy(m).Run())
	}
	os.Exit(proctest.Tidy(leaving(what), "by design-*").Run())
}

// leaving are tests that leave a file of this name.
type leaving string

func (l leaving) Run() int {
	if l == "killed" {
		fmt.Println(os.TempDir())
		time.Sleep(time.Hour) // it is killed; without a timer the Go runtime would end it as a deadlock
	}
	if l == "sockets" {
		for _, path := range []string{"socket", filepath.Join("folder", "socket")} {
			path = filepath.Join(os.TempDir(), path)
			err := os.MkdirAll(filepath.Dir(path), 0o700)
			if err == nil {
				_, err = net.Listen("unix", path) //nolint:noctx // it ends with the process, which leaves its file
			}
			if err != nil {
				fmt.Println(err)
				return 3
			}
		}
		return 0
	}
	if l != "nothing" {
		if err := os.WriteFile(filepath.Join(os.TempDir(), string(l)), nil, 0o600); err != nil {
			fmt.Println(err)
			return 3
		}
	}
	return 0
}

// TestTidy: what tests leave in the temporary folder fails them and is removed, unless it is named; what killed ones leave is removed by
// the next ones, and the folder of a living one stays.
func TestTidy(t *testing.T) {
	t.Parallel()
	if proctest.Outside() == "" {
		proctest.Missing(t, "folders cannot be locked here")
	}
	machine := t.TempDir()
	copied := func(what string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), left+"="+what, "TMPDIR="+machine)
		return cmd
	}
	held := func() (folder string, kill func()) {
		cmd := copied("killed")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line), func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	living, kill := held()
	defer kill()
	killed, now := held()
	now()
	if filepath.Dir(living) != machine || filepath.Dir(killed) != machine || living == killed {
		t.Fatalf("folders %s, %s", living, killed)
	}
	for what, want := range map[string]string{"nothing": "", "by design-1": "", "sockets": "", "a file": "a test left a file in the temporary folder\n"} {
		out, err := copied(what).CombinedOutput()
		exit, failed := errors.AsType[*exec.ExitError](err)
		if string(out) != want || failed != (want != "") || err != nil && exit.ExitCode() != 1 {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	entries, err := os.ReadDir(machine)
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(living) {
		t.Errorf("%v is left, %v; want %s", entries, err, living)
	}
}
