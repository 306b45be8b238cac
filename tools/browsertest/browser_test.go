package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// killedVariable makes this binary end itself in the middle of a test.
const killedVariable = "BROWSERTEST_KILLED"

// TestStart: a browser that ends with its test leaves nothing in the temporary folder, and what a killed test left goes with the next one.
func TestStart(t *testing.T) {
	if os.Getenv(killedVariable) != "" {
		if err := chromedp.Run(Start(t, t.Fatal, time.Minute), chromedp.Navigate("data:text/html,begun")); err != nil {
			t.Fatal(err)
		}
		os.Exit(7)
	}
	machine := t.TempDir()
	t.Setenv("TMPDIR", machine)
	names := func() (names []string) {
		entries, err := os.ReadDir(machine)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no Chromium (Debian: apt-get install chromium)")
	}
	killed := exec.Command(os.Args[0], "-test.run=^TestStart$")
	killed.Env = append(os.Environ(), killedVariable+"=yes")
	if out, _ := killed.CombinedOutput(); killed.ProcessState.ExitCode() != 7 {
		t.Fatalf("%s\n%s", killed.ProcessState, out)
	}
	left := names()
	if len(left) == 0 {
		t.Error("a test that was killed left nothing: this test shows nothing")
	}
	t.Run("ends", func(t *testing.T) {
		var title string
		ctx := Start(t, t.Fatal, time.Minute)
		if err := chromedp.Run(ctx, chromedp.Navigate("data:text/html,<title>here"), chromedp.Title(&title)); err != nil || title != "here" {
			t.Errorf("%q, %v", title, err)
		}
	})
	if now := names(); canLock && len(now) > 0 {
		t.Error(fmt.Sprintf("%q is left, and before it %q", now, left))
	}
}
