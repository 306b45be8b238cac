package release

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answers serves one answer to every request for a version.
func answers(t *testing.T, code int, header http.Header, text string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), header)
		if r.URL.Path != "/releases/latest/download/VERSION" || r.URL.RawQuery != "" || r.UserAgent() != "athanor" {
			t.Errorf("asked for %s by %s", r.URL, r.UserAgent())
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	t.Setenv(releasesVariable, server.URL+"/releases/")
}

func TestNewestRelease(t *testing.T) {
	for _, c := range []struct {
		code         int
		location     string
		text         string
		want, failed string
	}{
		{200, "", "v1.3.0\n", "v1.3.0", ""},
		{200, "", "v1.3.0-rc.1", "v1.3.0-rc.1", ""},
		{200, "", "<html>", "", "it names no version"},
		{200, "", "v1.3.0\n\x1b[31m", "", "it names no version"},
		{200, "", strings.Repeat("v", 1000), "", "it names no version"},
		{404, "", "v1.3.0\n", "", "404 Not Found"},
		{302, "file:///etc/passwd", "", "", "unsupported protocol"},
	} {
		header := http.Header{}
		if c.location != "" {
			header.Set("Location", c.location)
		}
		answers(t, c.code, header, c.text)
		have, err := Newest(t.Context())
		if have != c.want || (err == nil) != (c.failed == "") || err != nil && !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%+v: %q, %v", c, have, err)
		}
	}
}

// TestNewestReleaseStaysSecure: an address with https never leads to one without.
func TestNewestReleaseStaysSecure(t *testing.T) {
	answers(t, 200, nil, "v1.3.0\n")
	plain := Address()
	secure := httptest.NewTLSServer(http.RedirectHandler(plain+"/latest/download/VERSION", http.StatusFound))
	t.Cleanup(secure.Close)
	before := http.DefaultTransport
	http.DefaultTransport = secure.Client().Transport
	t.Cleanup(func() { http.DefaultTransport = before })
	t.Setenv(releasesVariable, secure.URL+"/releases")
	if have, err := Newest(t.Context()); err == nil || !strings.Contains(err.Error(), "it is redirected to http://") {
		t.Errorf("%q, %v", have, err)
	}
}

func TestIsNewer(t *testing.T) {
	order := []string{"v0.0.0-20260102030405-abcdefabcdef", "v0.1.0", "v0.1.1", "v0.10.0", "v1.0.0-rc.1", "v1.0.0", "v1.0.1"}
	for i, a := range order {
		for j, b := range order {
			if IsNewer(a, b) != (i > j) {
				t.Errorf("%s after %s: %t", a, b, IsNewer(a, b))
			}
		}
		if IsNewer(a, "(development build)") || IsNewer("", a) || IsNewer("v1.2", a) || IsNewer("v99999999999999999999.0.0", a) {
			t.Errorf("%s is compared with what is no version", a)
		}
	}
}

// TestUpdateNotice: what a request finds is said at once and once a day, and the next request comes after a day.
func TestUpdateNotice(t *testing.T) {
	answers(t, 200, nil, "v1.3.0\n")
	file := filepath.Join(t.TempDir(), "none yet", "newest.json")
	said := func(now time.Time, asks bool) string {
		t.Helper()
		u := newUpdateNotice(t.Context(), file, "v1.2.3", now)
		if asks {
			select {
			case version := <-u.found:
				u.found <- version // it is there before the command ends
			case <-t.Context().Done():
				t.Fatal("it does not ask")
			}
		}
		var b strings.Builder
		u.End(&b, now)
		return b.String()
	}
	now := time.Unix(1_800_000_000, 0)
	const want = "athanor v1.3.0 is released; this is v1.2.3: "
	if have := said(now, true); !strings.Contains(have, want) || !strings.Contains(have, QuietVariable+"=1") {
		t.Errorf("first: %q", have)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	answers(t, 404, nil, "")
	if have := said(now.Add(time.Hour), false); have != "" {
		t.Errorf("an hour later: %q", have)
	}
	if have := said(now.Add(25*time.Hour), true); !strings.Contains(have, want) {
		t.Errorf("a day later, when nobody answers: %q", have)
	}
	if have := said(now.Add(26*time.Hour), false); have != "" {
		t.Errorf("and an hour after that: %q", have)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers(t, 200, nil, "v1.4.0\n")
	if have := said(now.Add(27*time.Hour), true); !strings.Contains(have, "athanor v1.4.0 is released") {
		t.Errorf("with a broken cache: %q", have)
	}
	var none *Notice
	none.End(nil, now)
	u := newUpdateNotice(context.Background(), filepath.Join(t.TempDir(), "x", "y.json"), "v1.2.3", now)
	<-u.found
	u.End(&strings.Builder{}, now)
}

// TestReleases tells versions that a module proxy has from those that nobody can get.
func TestReleases(t *testing.T) {
	for version, want := range map[string]string{
		"": "", "(development build)": "", "v0.0.0-20260301120000-0123456789ab": "", "v1.2.4-0.20260301120000-0123456789ab": "",
		"v1.2.3+dirty": "", "v1.2.3": "v1.2.3", "1.2.3": "v1.2.3", "v1.3.0-rc.1": "v1.3.0-rc.1",
	} {
		if have := Of(version); have != want {
			t.Errorf("%q is %q, want %q", version, have, want)
		}
	}
}
