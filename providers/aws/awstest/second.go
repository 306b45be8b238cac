package awstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

var errNoMinistack = errors.New("ministack is not installed: run `sh tools/s3.sh`")

// secondRunning is ministack as this test binary reaches it. It outlives every test, so nothing but the process can own it.
var secondRunning = sync.OnceValues(launchSecond)

// StartMinistack is [Start] with ministack as the emulator, which other people wrote than moto, and as it is: nothing of it is
// amended. It keeps whole configurations of CloudFront, serves their content, and issues certificates at once. Without it the
// test is skipped, or fails when $ATHANOR_NO_SKIP is set.
func StartMinistack(t testing.TB) *Server {
	t.Helper()
	origin, err := secondRunning()
	switch {
	case errors.Is(err, errNoMinistack):
		proctest.Missing(t, "%v", err)
	case err != nil:
		t.Fatal(err)
	}
	return startAt(t, origin, true)
}

// launchSecond starts ministack, which takes a port that it is told.
func launchSecond() (string, error) {
	root, _ := proctest.ModuleRoot()
	path := filepath.Join(root, ".cache", "s3", "python", "bin", "ministack")
	if _, err := exec.LookPath(path); err != nil {
		return "", errNoMinistack
	}
	port, err := proctest.Port()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path)
	cmd.Env = append(environment(), "GATEWAY_PORT="+port, "BIND_HOST=127.0.0.1", "MINISTACK_REGION=us-east-1")
	cmd.Dir = os.TempDir()
	ended, err := proctest.StartBound(cmd)
	if err != nil {
		return "", err
	}
	origin := "http://127.0.0.1:" + port
	err = answers(origin, ended)
	_ = os.Remove(filepath.Join(os.TempDir(), "ministack-"+port+".pid")) // which it removes when it ends by itself, and it is killed
	return origin, err
}

// answers waits until a server answers anything.
func answers(origin string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin, nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			return res.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ended:
			return errors.New("ministack ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("ministack gave no answer within %s", startLimit)
		}
	}
}

// inAccount makes ministack choose the account: it takes an access key of twelve digits for one.
func inAccount(h http.Header, account string) {
	if signed := h.Get("Authorization"); account != "" {
		h.Set("Authorization", strings.Replace(signed, "Credential="+AccessKey(account)+"/", "Credential="+account+"/", 1))
	}
}
