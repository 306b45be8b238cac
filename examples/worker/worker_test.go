package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type obj = map[string]any

// service is the links, with a cloud of their own.
type service struct {
	*programtest.Program[*cloudflaretest.Server]
	t *testing.T
	// source is the argument that names what is deployed, none for a program.
	source []string
	// counts are what the steps did, for the golden file.
	counts strings.Builder
}

// newService builds what deploys: the Go program of this folder, or the command of everybody.
func newService(t *testing.T, main string, source ...string) *service {
	t.Helper()
	cloud := cloudflaretest.Start(t)
	cloud.WithDatabases(t)
	cloud.AddZone(cloud.Account, "shop.example")
	return &service{Program: programtest.Build(t, cloud, main), t: t, source: source}
}

// do runs a step, and notes what it did.
func (s *service) do(step string, args ...string) programtest.Counts {
	s.t.Helper()
	c := s.Do(append(args, s.source...)...)
	fmt.Fprintf(&s.counts, "%-22s %s\n", step+":", c)
	return c
}

// TestLinks is the life of the service from YAML; its counts are in testdata/numbers.golden.
func TestLinks(t *testing.T) {
	s := newService(t, "../../cmd/athanor", "worker.yaml")
	s.Folder = t.TempDir() // a copy, whose files are changed
	if err := os.CopyFS(s.Folder, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := s.Run("plan", "worker.yaml"); code != 2 || len(s.Cloud.Wrote()) > 0 {
		t.Fatalf("plan: exit %d, wrote %v\n%s%s", code, s.Cloud.Wrote(), out, errs)
	}
	first := s.do("first deploy", "deploy")
	s.works(first)

	s.Cloud.Reset()
	again := s.do("second deploy", "deploy")
	if again.Calls.Mutations != 0 || again.Commits != 0 || len(s.Cloud.Wrote()) != 0 {
		t.Errorf("the second deploy wrote: %s %v", again, s.Cloud.Wrote())
	}

	s.edit("src/index.ts", "no such link", "nothing here")
	if c := s.do("changed code", "deploy"); c.Updated != 1 || c.Calls.Mutations != 1 {
		t.Errorf("changed code: %s", c)
	}
	url := s.Cloud.Run(t, fmt.Sprint(first.Outputs["worker"]))
	if status, _, body := s.call(http.MethodGet, url+"/none", "", ""); status != http.StatusNotFound || string(body) != "nothing here\n" {
		t.Errorf("the new code answers %d %q", status, body)
	}
	if c := s.do("changed config", "deploy", "--config", "keep=90"); c.Updated != 1 || c.Calls.Mutations != 1 {
		t.Errorf("changed config: %s", c)
	}
	s.write("migrations/0003_by.sql", "ALTER TABLE links ADD COLUMN made_by TEXT;\n")
	if c := s.do("one more migration", "deploy", "--config", "keep=90"); c.Updated != 1 {
		t.Errorf("one more migration: %s", c)
	}

	s.drift(first)
	if out, _, code := s.Run("plan", "worker.yaml", "--config", "keep=90"); code != 2 || !strings.Contains(out, "drift") {
		t.Errorf("plan after drift: exit %d\n%s", code, out)
	}
	if c := s.do("repair of drift", "deploy", "--config", "keep=90"); c.Updated != 2 {
		t.Errorf("repair of drift: %s", c)
	}

	s.Lose()
	lost := s.do("after a lost record", "deploy", "--config", "keep=90")
	if lost.Created != 0 || lost.Replaced != 0 || lost.Deleted != 0 || lost.Recovered != 7 || lost.Calls.Mutations != 1 {
		t.Errorf("a lost record: %s", lost) // the Worker's secret cannot be read, and is written once more
	}
	once := s.do("once more", "deploy", "--config", "keep=90")
	if once.Calls.Mutations != 0 || once.Commits != 0 {
		t.Errorf("once more: %s", once)
	}
	s.do("destroy", "destroy", "--allow-delete", "**")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	s.Golden("numbers.golden", s.counts.String(), *update)
}

// TestProgram deploys the Go program once, and destroys what it made.
func TestProgram(t *testing.T) {
	s := newService(t, ".")
	c := s.Do("deploy")
	s.works(c)
	s.Do("destroy", "--allow-delete", "**")
	if left := s.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestTwins proves that worker.yaml declares what worker.go declares.
func TestTwins(t *testing.T) { programtest.Twins(t, "worker.yaml") }

// works makes a link and follows it, and lets the night come, with what was deployed, in Cloudflare's own runtime.
func (s *service) works(c programtest.Counts) {
	s.t.Helper()
	const home = "https://athanor.example/"
	url := s.Cloud.Run(s.t, fmt.Sprint(c.Outputs["worker"]))
	if status, _, _ := s.call(http.MethodPost, url+"/links", home, ""); status != http.StatusUnauthorized {
		s.t.Errorf("a link without the token: %d", status)
	}
	token, errs, code := s.Run(append([]string{"output", "token", "--reveal"}, s.source...)...)
	if code != 0 {
		s.t.Fatalf("output: exit %d %s", code, errs)
	}
	var made struct{ Name string }
	if status, _, body := s.call(http.MethodPost, url+"/links", home, strings.TrimSpace(token)); status != http.StatusCreated || json.Unmarshal(body, &made) != nil {
		s.t.Fatalf("a link: %d %s", status, body)
	}
	if status, to, body := s.call(http.MethodGet, url+"/"+made.Name, "", ""); status != http.StatusFound || to != home {
		s.t.Fatalf("following: %d to %q %s", status, to, body)
	}
	for { // the message is on its way through the queue; the test's own deadline ends this
		var links []struct {
			Name, Target string
			Followed     int
		}
		status, _, body := s.call(http.MethodGet, url+"/", "", "")
		if err := json.Unmarshal(body, &links); err != nil || status != http.StatusOK || len(links) != 1 || links[0].Target != home {
			s.t.Fatalf("the list: %d %s", status, body)
		}
		if links[0].Followed == 1 {
			break
		}
	}
	if status, _, body := s.call(http.MethodGet, url+"/cdn-cgi/handler/scheduled?cron=17+3+*+*+*", "", ""); status != http.StatusOK {
		s.t.Errorf("at night: %d %s", status, body)
	}
}

// call sends a request, and follows no redirection.
func (s *service) call(method, url, body, token string) (status int, to string, answer []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), answer
}

// edit changes a file of the service.
func (s *service) edit(name, from, to string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Folder, name))
	if err != nil || !strings.Contains(string(text), from) {
		s.t.Fatalf("%s has no %q (%v)", name, from, err)
	}
	s.write(name, strings.ReplaceAll(string(text), from, to))
}

func (s *service) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.Folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// drift edits the service behind athanor's back: the Worker is called at other times, and knows another number of days;
// messages are tried more often.
func (s *service) drift(c programtest.Counts) {
	s.t.Helper()
	worker := fmt.Sprint(c.Outputs["worker"])
	s.Cloud.Do(s.t, http.MethodPut, account+"/workers/scripts/"+worker+"/schedules", []any{obj{"cron": "* * * * *"}})
	for _, q := range s.all("/queues") {
		for _, c := range s.all("/queues/" + q["queue_id"].(string) + "/consumers") {
			s.Cloud.Do(s.t, http.MethodPut, account+"/queues/"+q["queue_id"].(string)+"/consumers/"+c["consumer_id"].(string),
				obj{"type": "worker", "script_name": worker, "dead_letter_queue": c["dead_letter_queue"], "settings": obj{"max_retries": 9}})
		}
	}
}

const account = "/accounts/ACCOUNT"

// all returns the entries of a list.
func (s *service) all(path string) []obj {
	s.t.Helper()
	list, _ := s.Cloud.Do(s.t, http.MethodGet, account+path, nil).([]any)
	var things []obj
	for _, v := range list {
		if o, ok := v.(obj); ok {
			things = append(things, o)
		}
	}
	return things
}

// left is what the account still has.
func (s *service) left() []string {
	s.t.Helper()
	var left []string
	for _, path := range []string{"/workers/scripts", "/workers/domains", "/storage/kv/namespaces", "/d1/database", "/queues"} {
		for _, thing := range s.all(path) {
			left = append(left, fmt.Sprint(path, " ", thing))
		}
	}
	return left
}

func TestBothWays(t *testing.T) { programtest.BothWays(t) }
