//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// publisher is asked for the newest release and does not answer.
type publisher struct {
	*httptest.Server
	asked chan string
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{asked: make(chan string, 10)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.asked <- r.URL.Path
		<-r.Context().Done()
	}))
	t.Cleanup(p.Close)
	return p
}

// releasedWorld is a world in which the command is a release, with a cache that says what was asked last.
func releasedWorld(t *testing.T, p *publisher, cache map[string]any) *world {
	t.Helper()
	w := newWorld(t, small)
	w.binary = "athanor-release"
	dir := t.TempDir()
	w.env = append(w.env, "XDG_CACHE_HOME="+dir, "ATHANOR_RELEASES="+p.URL+"/releases", "CI=")
	if cache != nil {
		text, err := json.Marshal(cache)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "athanor"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "athanor", "newest.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

const notice = "athanor v1.3.0 is released; this is v1.2.3: "

// TestNoticeOfNewer: a release on a terminal says once a day that there is a newer one, and who does not want that is not
// told and asks nobody.
func TestNoticeOfNewer(t *testing.T) {
	now := time.Now()
	fresh := func(version string, noticed time.Time) map[string]any {
		return map[string]any{"version": version, "asked": now, "noticed": noticed}
	}
	for name, c := range map[string]struct {
		cache  map[string]any
		env    string
		args   []string
		told   bool
		binary string
	}{
		"known from before":        {cache: fresh("v1.3.0", time.Time{}), told: true},
		"told two days ago":        {cache: fresh("v1.3.0", now.Add(-48*time.Hour)), told: true},
		"told by a clock in front": {cache: fresh("v1.3.0", now.Add(48*time.Hour)), told: true},
		"told an hour ago":         {cache: fresh("v1.3.0", now.Add(-time.Hour))},
		"an older one":             {cache: fresh("v1.2.2", time.Time{})},
		"the same":                 {cache: fresh("v1.2.3", time.Time{})},
		"what comes before it":     {cache: fresh("v1.2.3-rc.1", time.Time{})},
		"no version":               {cache: fresh("\x1b[31mv9", time.Time{})},
		"switched off":             {cache: fresh("v1.3.0", time.Time{}), env: "ATHANOR_NO_UPDATE_CHECK=1"},
		"in CI":                    {cache: fresh("v1.3.0", time.Time{}), env: "CI=true"},
		"a stranger's stack":       {cache: fresh("v1.3.0", time.Time{}), env: "ATHANOR_UNTRUSTED=1"},
		"JSON":                     {cache: fresh("v1.3.0", time.Time{}), args: []string{"--json"}},
		"a development build":      {cache: fresh("v1.3.0", time.Time{}), binary: "athanor"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t)
			w := releasedWorld(t, p, c.cache)
			w.env = append(w.env, c.env)
			if c.binary != "" {
				w.binary = c.binary
			}
			for i := range 2 { // the second one is within the day
				x := w.terminal(100, append([]string{"version"}, c.args...)...)
				code := x.end()
				if told := strings.Contains(x.seen(), notice+p.URL+"/releases"); code != 0 || told != (c.told && i == 0) {
					t.Errorf("%d: exit code %d: %s", i, code, x.seen())
				}
			}
			if len(p.asked) > 0 {
				t.Errorf("it asked for %s", <-p.asked)
			}
		})
	}
}

// TestNoticeIsNotAwaited: a command ends while the request for the newest release is unanswered, and says nothing of it.
func TestNoticeIsNotAwaited(t *testing.T) {
	p := newPublisher(t)
	x := releasedWorld(t, p, nil).terminal(100, "deploy")
	x.await("Deploy 1 change")
	awaited(t, p.asked, "the request for the newest release")
	x.write("n\n")
	if code := x.end(); code != 5 || strings.Contains(x.seen(), "is released") {
		t.Errorf("exit code %d: %s", code, x.seen())
	}
}
