package miniflare

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestMain lets a copy of the test binary run a Worker and wait for its end.
func TestMain(m *testing.M) {
	from := os.Getenv("MINIFLARE_CHILD")
	if from == "" {
		os.Exit(proctest.Tidy(m).Run())
	}
	s, err := Start(context.Background(), Options{Packages: []string{from}, SpareAfter: time.Nanosecond})
	if err == nil {
		_, err = s.Set(context.Background(), esm("shop", endless))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.url, s.data)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over, should it not kill us
}

// endless begins an answer that never ends.
const endless = `export default { fetch() {
	return new Response(new ReadableStream({ async pull(to) {
		to.enqueue(new TextEncoder().encode("begun\n"));
		await scheduler.wait(10);
	} }));
} }`

// child is a copy of the test binary with a Worker; it tells where the runtime answers, and its folder.
func child(t *testing.T) (cmd *exec.Cmd, url, dir string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MINIFLARE_CHILD="+packages(t))
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, dir, found := strings.Cut(strings.TrimSpace(line), " ")
	if !found {
		t.Fatalf("the child says %q", line)
	}
	return cmd, url, dir
}

// TestKilled: of a program that is killed neither the runtime stays nor its folder.
func TestKilled(t *testing.T) {
	t.Parallel()
	cmd, url, dir := child(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(routeOverride, "shop")
	res, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if begun, err := bufio.NewReader(res.Body).ReadString('\n'); begun != "begun\n" {
		t.Fatalf("the runtime says %q, %v", begun, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := io.Copy(io.Discard, res.Body); err == nil || ctx.Err() != nil {
		t.Errorf("the answer ended with %v", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
	}
}

// TestEndsWithContext: a server goes with its context, and says that it has.
func TestEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{Packages: []string{packages(t)}})
	if err != nil {
		t.Fatal(err)
	}
	url := set(t, s, esm("shop", saying("here")))
	if err := s.Err(); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	cancel()
	<-s.Done()
	s.Close()
	if s.Err() == nil {
		t.Error("it has ended without a word")
	}
	if _, err := http.Get(url); err == nil {
		t.Errorf("%s still answers", url)
	}
	if _, err := os.Stat(s.data); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.data, err)
	}
	if _, err := s.Set(t.Context(), esm("shop", saying("again"))); err == nil {
		t.Error("it runs a Worker after its end")
	}
}
