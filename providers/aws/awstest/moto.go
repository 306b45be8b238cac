package awstest

import (
	"bytes"
	"context"
	_ "embed" // of the program that starts it
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// startLimit is generous because a loaded machine compiles Python on the first
// start; an idle one takes about a second.
const startLimit = 90 * time.Second

var errNoMoto = errors.New("moto_server not found: run `task moto` (needs Python 3)")

// running is the emulator as this test binary reaches it. It outlives every
// test, so nothing but the process can own it.
var running = sync.OnceValues(launch)

// emulator returns the URL of the running emulator, starting it if need be.
func emulator(t testing.TB) string {
	t.Helper()
	origin, err := running()
	switch {
	case err == nil:
		return origin
	case errors.Is(err, errNoMoto):
		proctest.Missing(t, "%v", err)
	default:
		t.Fatal(err)
	}
	return ""
}

// find returns the path of moto_server.
func find() (string, error) {
	if path := os.Getenv("ATHANOR_MOTO"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("$ATHANOR_MOTO: %w", err)
		}
		return path, nil
	}
	if root, ok := proctest.ModuleRoot(); ok {
		for _, place := range []string{"bin/moto_server", "Scripts/moto_server.exe"} {
			path := filepath.Join(root, ".venv", filepath.FromSlash(place))
			if _, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath("moto_server")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", errNoMoto
	}
	return path, err
}

// launch returns the URL of the emulator that all packages of this test run share. Where this process belongs to none, or
// the emulator cannot be told to, it is one that ends with this process.
func launch() (string, error) {
	path, err := find()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	cmd := command(path, "-H", "127.0.0.1", "-p", "0")
	cmd.Env = environment()
	if r, ok := runOf(os.Getppid()); ok && slices.Contains(cmd.Args, emulatorProgram) {
		return r.join(ctx, cmd)
	}
	return start(ctx, cmd, proctest.StartBound)
}

// start starts the server and returns its URL once it answers. The server
// picks its own port, since one found free beforehand may be taken by the time
// it listens; it says which on its standard error.
func start(ctx context.Context, cmd *exec.Cmd, by func(*exec.Cmd) (<-chan struct{}, error)) (string, error) {
	said := &output{address: make(chan string, 1)}
	cmd.Stderr = said
	ended, err := by(cmd)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	select {
	case origin := <-said.address:
		if err := ready(ctx, origin, ended); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd.Path, err, said)
		}
		return origin, nil
	case <-ended:
		return "", fmt.Errorf("%s ended at once\n%s", cmd.Path, said)
	case <-ctx.Done():
		return "", fmt.Errorf("%s named no port within %s\n%s", cmd.Path, startLimit, said)
	}
}

// emulatorProgram starts moto so that a request takes less of the processor, and so that a test run can share it.
//
//go:embed emulator.py
var emulatorProgram string

// command is moto_server with arguments, run by emulatorProgram where it is a script that names its interpreter.
func command(path string, args ...string) *exec.Cmd {
	if text, err := os.ReadFile(path); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		python, ok := strings.CutPrefix(strings.TrimSpace(first), "#!")
		if ok && filepath.IsAbs(python) && strings.Contains(filepath.Base(python), "python") && !strings.Contains(python, " ") {
			return exec.Command(python, append([]string{"-c", emulatorProgram}, args...)...)
		}
	}
	return exec.Command(path, args...)
}

// environment is that of this process without settings of moto, of which
// MOTO_ACCOUNT_ID would put all tests into one account, and without settings
// of AWS: moto is built on AWS's own library, and answers 500 when AWS_PROFILE
// names a profile that does not exist. A bucket of another account is denied,
// as in the real S3. Certificates are issued when they are read next, and not
// after a minute of moto's own. Objects stay in memory: moto would keep each
// part of an upload in a file of its own.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "MOTO_") && !strings.HasPrefix(entry, "AWS_") {
			env = append(env, entry)
		}
	}
	return append(env, "MOTO_S3_ALLOW_CROSSACCOUNT_ACCESS=false", "MOTO_DISABLE_GLOBAL_CORS=true", "MOTO_ACM_VALIDATION_WAIT=0",
		"MOTO_S3_DEFAULT_KEY_BUFFER_SIZE=1000000000", "PYTHONUNBUFFERED=1")
}

// ready polls until the server answers a request.
func ready(ctx context.Context, origin string, ended <-chan struct{}) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/moto-api/config", nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode/100 == 2 {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			return errors.New("ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s", startLimit)
		}
	}
}

var announced = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// lastWords is how much of the server's output is kept, in bytes.
const lastWords = 8 << 10

// output keeps the last words of the server, and hands out the address that it
// announces.
type output struct {
	mu      sync.Mutex
	tail    []byte
	found   bool
	address chan string
}

// Write takes what the server says.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	if !o.found {
		if m := announced.FindSubmatch(o.tail); m != nil && bytes.HasSuffix(o.tail, []byte("\n")) {
			o.found = true
			o.address <- string(m[1])
		}
	}
	if len(o.tail) > lastWords {
		o.tail = bytes.Clone(o.tail[len(o.tail)-lastWords:])
	}
	return len(p), nil
}

// String returns the last words.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail)
}
