package release

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
)

const (
	releasesVariable = "ATHANOR_RELEASES"
	// QuietVariable turns off the search for a newer release that a command makes by itself.
	QuietVariable  = "ATHANOR_NO_UPDATE_CHECK"
	publicReleases = "https://github.com/athanor-dev/athanor/releases"
	// askedEvery is the time between two requests for the newest release, and between two notices of it.
	askedEvery = 24 * time.Hour
	// newestPatience bounds the request.
	newestPatience = 5 * time.Second
)

// Address is where releases are published: $ATHANOR_RELEASES names a mirror.
func Address() string {
	return strings.TrimRight(cmp.Or(os.Getenv(releasesVariable), publicReleases), "/")
}

var releaseNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]+)?$`)
})

// Newest asks for the version of the newest release. The request carries nothing but the address of that file.
func Newest(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, newestPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, Address()+"/latest/download/VERSION", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", "athanor")
	client := http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > 5 || before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return errors.New("it is redirected to " + next.URL.Scheme + "://" + next.URL.Host)
		}
		return nil
	}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 256))
	switch version := strings.TrimSpace(string(text)); {
	case err != nil:
		return "", err
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: %s", request.URL, answer.Status)
	case !releaseNumber().MatchString(version):
		return "", fmt.Errorf("%s: it names no version", request.URL)
	default:
		return version, nil
	}
}

// IsNewer reports whether a release comes after another. What is no release comes before none and after none.
func IsNewer(version, than string) bool {
	a, b := releaseNumber().FindStringSubmatch(version), releaseNumber().FindStringSubmatch(than)
	if a == nil || b == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		x, _ := strconv.Atoi(a[i]) // nine digits at most
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x > y
		}
	}
	return a[4] == "" && b[4] != ""
}

// newestKnown is what the last request found, kept in the user's cache.
type newestKnown struct {
	Version string    `json:"version,omitempty"`
	Asked   time.Time `json:"asked,omitzero"`
	Noticed time.Time `json:"noticed,omitzero"`
}

// isDue reports whether a day has passed since a time. One in the future is of a clock that was wrong.
func isDue(since, now time.Time) bool { return since.After(now) || now.Sub(since) >= askedEvery }

// Notice is the search for a newer release while a command works.
type Notice struct {
	version string // of this release
	file    string
	known   newestKnown
	found   chan string // what the request found, "" for nothing
	cancel  context.CancelFunc
}

// LookForNewer asks for a newer release beside a command, at most once a day; nil where nobody may ask. A command of a person at a
// terminal is attended.
func (r Release) LookForNewer(ctx context.Context, args []string, attended bool) *Notice {
	if !attended || Of(r.Version) == "" || os.Getenv(QuietVariable) != "" || os.Getenv("CI") != "" ||
		os.Getenv(untrusted.Variable) != "" || cli.HasSwitch(args, "untrusted") {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return newUpdateNotice(ctx, filepath.Join(cache, "athanor", "newest.json"), r.Version, time.Now())
}

func newUpdateNotice(ctx context.Context, file, version string, now time.Time) *Notice {
	u := &Notice{version: version, file: file, found: make(chan string, 1)}
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &u.known) != nil {
		u.known = newestKnown{} // none yet, or none that can be read: it is asked for
	}
	ctx, u.cancel = context.WithCancel(ctx)
	if isDue(u.known.Asked, now) {
		go func() {
			version, _ := Newest(ctx) // an error is nothing that the command's user asked about
			u.found <- version
		}()
	}
	return u
}

// End prints at the end of the command that there is a newer release, once a day. It waits for no answer.
func (u *Notice) End(w io.Writer, now time.Time) {
	if u == nil {
		return
	}
	defer u.cancel()
	before := u.known
	select {
	case version := <-u.found:
		u.known.Version, u.known.Asked = cmp.Or(version, u.known.Version), now
	default:
	}
	if IsNewer(u.known.Version, u.version) && isDue(u.known.Noticed, now) {
		u.known.Noticed = now
		fmt.Fprintf(w, "\nathanor %s is released; this is %s: %s\n%s=1 turns this notice off\n",
			u.known.Version, u.version, Address(), QuietVariable)
	}
	if u.known == before {
		return
	}
	// A cache that cannot be written costs a request tomorrow; the command has done its work.
	if text, err := json.Marshal(u.known); err == nil && os.MkdirAll(filepath.Dir(u.file), 0o700) == nil {
		_ = files.Replace(u.file, text, 0o600)
	}
}
