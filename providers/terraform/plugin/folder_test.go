//go:build linux

package plugin_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/terraform/plugin"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// roleVariable makes a copy of the test binary a provider that never greets, or the process that has started one.
const roleVariable = "ATHANOR_TEST_PLUGIN"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "provider":
		fmt.Fprintln(os.Stderr, "up")
		time.Sleep(time.Hour) // it is killed
	case "starter":
		_, err := plugin.NewStarter(context.Background()).Start(context.Background(), plugin.Options{
			Path: os.Args[0], Env: []string{roleVariable + "=provider"}, Output: func(line string) { fmt.Println(line) },
		})
		fmt.Println("unexpected:", err)
	default:
		os.Exit(proctest.Tidy(m).Run())
	}
}

// TestKilledLeaveNoFolder: the folder of a provider whose process was killed is removed by the next one, and that of a living one stays.
func TestKilledLeaveNoFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	starting := func() (kill func()) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=starter")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("%q, %v", line, err)
		}
		return func() {
			t.Helper()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
		}
	}
	folders := func(when string, want int) {
		t.Helper()
		if all, _ := filepath.Glob(filepath.Join(dir, "*")); len(all) != want {
			t.Errorf("%s: %v, want %d", when, all, want)
		}
	}
	killOne, killTwo := starting(), starting()
	folders("two that live", 2)
	killOne()
	killThree := starting()
	folders("one was killed, and one began", 2)
	killTwo()
	killThree()
	if _, err := starter(t).Start(t.Context(), plugin.Options{Path: filepath.Join(dir, "missing")}); err == nil {
		t.Error("a program that is not there was started")
	}
	folders("at last", 0)
}
