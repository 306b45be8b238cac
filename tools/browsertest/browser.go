// Package browsertest starts Chromium for tests, and leaves nothing of it on the machine.
//
// It knows the program, its folders and its end. It does not know what a test opens in it.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// folderPrefix begins the names of the folders of browsers.
const folderPrefix = "athanor-browser-"

// endLimit is how long a browser may take to end by itself, and its last processes to stop writing.
const endLimit = 20 * time.Second

// Start starts a browser which ends with the test, or after the limit: what never shows is an error. Missing is called where there is no
// Chromium: [testing.T.Skip] or [testing.T.Fatal]. All that the browser writes, its profile and what it puts into a temporary folder, lies
// in one folder that the test removes. A test that is killed removes nothing: the next one removes what it left.
func Start(t testing.TB, missing func(args ...any), limit time.Duration, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		missing("there is no Chromium (Debian: apt-get install chromium)")
	}
	folder := ownFolder(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.UserDataDir(filepath.Join(folder, "profile")), chromedp.Env("TMPDIR="+folder))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run otherwise
	}
	// The context of the test ends before its cleanups: the browser would be killed, and leave its folders.
	ctx, kill := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(options, flags...)...)
	t.Cleanup(kill)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		ending, cancel := context.WithTimeout(ctx, endLimit)
		defer cancel()
		_ = chromedp.Cancel(ending) // the browser that does not end by itself is killed
		stop()
	})
	ctx, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return ctx
}

// ownFolder makes the folder of a browser, and removes those that nobody has.
func ownFolder(t testing.TB) string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if lock := lockFolder(path); lock != nil {
			_ = removeAll(path) // what stays is removed by another test
			_ = lock.Close()    // it was only locked
		}
	}
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		t.Fatal(err)
	}
	lock := lockFolder(path)
	t.Cleanup(func() {
		if err := removeAll(path); err != nil {
			t.Error(err)
		}
		if lock != nil {
			_ = lock.Close() // it was only locked
		}
	})
	if lock == nil && canLock {
		t.Fatal("another process took the folder of the browser, ", path)
	}
	return path
}

// removeAll removes the folder of a browser that has ended: processes of it outlive it by a moment, in which they write.
func removeAll(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.RemoveAll(path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
