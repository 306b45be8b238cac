//go:build unix

package cmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/reconcile"
)

// The first line of a command that plans is on the terminal before the kinds are listed, and nothing of it is left at the end.
func TestFirstLineBeforeAllElse(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	for line, want := range map[string]string{
		"plan": "planning", "--stage=x deploy": "planning", "destroy --yes": "planning", "drift": "planning",
		"plan --json": "", "plan --no-color": "", "plan --help": "", "state list": "", "": "",
	} {
		t.Run(line, func(t *testing.T) {
			master, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer tty.Close()
			seen := func(end string) string {
				text := ""
				if err := master.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				for part := make([]byte, 4096); !strings.HasSuffix(text, end); {
					n, err := master.Read(part)
					if text += string(part[:n]); err != nil {
						t.Fatalf("%q: %v", text, err)
					}
				}
				return text
			}
			t.Chdir(t.TempDir())
			a := newApp(&terminal.Terminal{In: os.Stdin, Out: terminal.Guarded(tty), Err: terminal.Guarded(tty)}, nil, Release{})
			asked := false
			a.execute(append([]string{"athanor"}, strings.Fields(line)...), func() []reconcile.Provider {
				asked = true
				if _, err := tty.WriteString("|"); err != nil {
					t.Error(err)
				}
				if got := seen("|"); got != want+"|" {
					t.Errorf("%q is on the terminal when the kinds are asked for, want %q", got, want+"|")
				}
				return nil
			})
			if !asked {
				t.Fatal("the kinds were not asked for")
			}
			if _, err := tty.WriteString("|"); err != nil {
				t.Fatal(err)
			}
			if rest := seen("|"); want != "" && !strings.HasPrefix(rest, "\r\x1b[K") {
				t.Errorf("the line is not removed before what follows: %q", rest)
			}
		})
	}
}
