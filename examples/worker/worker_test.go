package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type obj = map[string]any

// key is the secret of the service.
const key = "canary-5f27e0"

// listener is a test that hears what it logs: what the Worker prints.
type listener struct {
	testing.TB
	lines chan string
}

func (l listener) Log(args ...any) { l.lines <- fmt.Sprint(args...) }

// service is the built program with a cloud of its own.
type service struct {
	*programtest.Program
	*cloudflaretest.Server
	t     *testing.T
	lines chan string
}

func build(t *testing.T) *service {
	t.Helper()
	lines := make(chan string, 1000)
	s := cloudflaretest.Start(listener{t, lines})
	s.WithDatabases(t)
	s.AddZone(s.Account, "example.com")
	env := append(os.Environ(), "SHOP_KEY="+key)
	for name, value := range s.Env() {
		env = append(env, name+"="+value)
	}
	return &service{programtest.BuildIn(t, env, "."), s, t, lines}
}

// TestWorker is the life of the service; its counts are in testdata/numbers.golden.
func TestWorker(t *testing.T) {
	s := build(t)
	var numbers strings.Builder
	note := func(step string, c programtest.Counts) programtest.Counts {
		fmt.Fprintf(&numbers, "%-22s %s\n", step+":", c)
		return c
	}
	if out, _, code := s.Program.Run("plan"); code != 2 || len(s.Mutations()) > 0 || strings.Contains(out, key) {
		t.Fatalf("plan: exit %d, wrote %v\n%s", code, s.Wrote(), out)
	}
	first := note("first deploy", s.Program.Do("deploy"))
	name := fmt.Sprint(first.Outputs["worker"])
	s.works(name, "thank you for lamp: you are number 1")

	s.Reset()
	again := note("second deploy", s.Program.Do("deploy"))
	if again.Calls.Mutations != 0 || again.Commits != 0 || len(s.Wrote()) != 0 || again.Outputs["version"] != first.Outputs["version"] {
		t.Errorf("the second deploy wrote: %s %v", again, s.Wrote())
	}
	changed := note("changed config", s.Program.Do("deploy", "--config", "greeting=thanks for"))
	if wrote := s.Wrote(); changed.Updated != 1 || !slices.Equal(wrote, []string{"Workers.PatchScriptScriptAndVersionSetting"}) {
		t.Errorf("another greeting: %s %v", changed, wrote)
	}
	s.works(name, "thanks for lamp: you are number 2")

	s.drift(name)
	if out, _, code := s.Program.Run("plan", "--config", "greeting=thanks for"); code != 2 || !strings.Contains(out, "drift") {
		t.Errorf("plan after drift: exit %d\n%s", code, out)
	}
	note("repair of drift", s.Program.Do("deploy", "--config", "greeting=thanks for"))

	s.Lose()
	s.Reset()
	lost := note("after a lost record", s.Program.Do("deploy", "--config", "greeting=thanks for"))
	if wrote := s.Wrote(); lost.Created+lost.Replaced+lost.Deleted != 0 || lost.Recovered != 6 || slices.Contains(wrote, "Workers.PutScript") {
		t.Errorf("a lost record: %s %v", lost, wrote)
	}
	once := note("once more", s.Program.Do("deploy", "--config", "greeting=thanks for"))
	if once.Calls.Mutations != 0 || once.Commits != 0 {
		t.Errorf("once more: %s", once)
	}
	note("destroy", s.Program.Do("destroy", "--allow-delete", "**"))
	s.nothing()
	s.Golden("numbers.golden", numbers.String(), *update)
}

// works orders a lamp from what is deployed, in Cloudflare's own runtime, and waits for the work to be done.
func (s *service) works(name, said string) {
	s.t.Helper()
	url := s.Server.Run(s.t, name)
	ask := func(method, path, body, as string) (int, obj) {
		s.t.Helper()
		req, err := http.NewRequestWithContext(s.t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+as)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		var answer obj
		_ = json.Unmarshal(text, &answer) // a refusal is no JSON
		return res.StatusCode, answer
	}
	if code, _ := ask(http.MethodPost, "/", "lamp", "guess"); code != http.StatusUnauthorized {
		s.t.Errorf("without the key: %d", code)
	}
	code, made := ask(http.MethodPost, "/", "lamp", key)
	if code != http.StatusCreated || made["said"] != said {
		s.t.Fatalf("POST: %d %v", code, made)
	}
	limit := time.After(time.Minute)
	for heard, done := "", fmt.Sprintf("order %v is done", made["id"]); !strings.Contains(heard, done); {
		select {
		case heard = <-s.lines:
		case <-limit:
			s.t.Fatal("the work is not done")
		}
	}
	if code, shown := ask(http.MethodGet, fmt.Sprintf("/%v", made["id"]), "", key); code != http.StatusOK || shown["state"] != "done" {
		s.t.Errorf("GET: %d %v", code, shown)
	}
}

// drift is what somebody does in the dashboard: another greeting, no cron, and a secret of their own.
func (s *service) drift(name string) {
	s.t.Helper()
	at := "/accounts/ACCOUNT/workers/scripts/" + name
	var bindings []any
	for _, b := range s.Server.Do(s.t, http.MethodGet, at+"/settings", nil).(obj)["bindings"].([]any) {
		b := b.(obj)
		if b["name"] == "GREETING" {
			bindings = append(bindings, obj{"type": "plain_text", "name": "GREETING", "text": "by hand"})
			continue
		}
		bindings = append(bindings, obj{"type": "inherit", "name": b["name"]})
	}
	s.PatchSettings(s.t, name, obj{"bindings": bindings})
	s.Server.Do(s.t, http.MethodPut, at+"/schedules", []any{})
	s.Server.Do(s.t, http.MethodPut, at+"/secrets", obj{"name": "THEIRS", "type": "secret_text", "text": "hidden"})
}

// nothing is left.
func (s *service) nothing() {
	s.t.Helper()
	for _, path := range []string{"/workers/scripts", "/workers/domains", "/storage/kv/namespaces", "/queues", "/d1/database"} {
		if left, _ := s.Server.Do(s.t, http.MethodGet, "/accounts/ACCOUNT"+path, nil).([]any); len(left) > 0 {
			s.t.Errorf("%s: left %v", path, left)
		}
	}
}

// TestTwins proves that worker.yaml declares what worker.go declares.
func TestTwins(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "athanor")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "../../cmd/athanor").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	graph := func(of string) obj {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, "graph", of, "--json", "--stage", "test")
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		var g obj
		if err := json.Unmarshal(out, &g); err != nil {
			t.Fatal(err)
		}
		byAddress := obj{}
		for _, r := range g["resources"].([]any) {
			m := maps.Clone(r.(obj))
			delete(m, "source")
			byAddress[m["address"].(string)] = m
		}
		g["resources"] = byAddress
		return g
	}
	if diff := cmp.Diff(graph("."), graph("worker.yaml")); diff != "" {
		t.Errorf("the YAML twin differs (-go +yaml):\n%s", diff)
	}
}
