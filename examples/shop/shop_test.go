package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shop is the built program, a cloud and a place for its record.
type shop struct {
	t      *testing.T
	cloud  *awstest.Server
	binary string
	dir    string // of the record
	env    []string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, cloud: awstest.Start(t), dir: t.TempDir()}
	s.binary = filepath.Join(t.TempDir(), "shop")
	if out, err := exec.Command("go", "build", "-o", s.binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s.env = append(s.cloud.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "HOME="+t.TempDir(), "USER=tester", "NO_COLOR=1")
	return s
}

// run runs one command of the shop and gives its output and exit code.
func (s *shop) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	args = append(args, "--store", "bolt:"+filepath.Join(s.dir, "state.db"), "--stage", "test")
	cmd := exec.CommandContext(s.t.Context(), s.binary, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

// counts is the summary line of a run.
type counts struct {
	Created, Adopted, Recovered, Updated, Replaced, Moved, Deleted, Unchanged, Failed, Blocked int

	Calls   struct{ Reads, Mutations int }
	Commits int
	Outputs map[string]any
}

// String leaves open what depends on what happens to meet: how many changes share a commit, and how often a thing that
// is being made is looked at. What is settled is read a fixed number of times, and that is said.
func (c counts) String() string {
	how := fmt.Sprintf("mutations %d", c.Calls.Mutations)
	if c.Commits == 0 {
		how += fmt.Sprintf(", no commit, reads %d", c.Calls.Reads)
	}
	return fmt.Sprintf("created %d, recovered %d, updated %d, replaced %d, deleted %d, unchanged %d, failed %d; %s",
		c.Created, c.Recovered, c.Updated, c.Replaced, c.Deleted, c.Unchanged, c.Failed+c.Blocked, how)
}

// do runs a command that must end well and returns its summary.
func (s *shop) do(args ...string) counts {
	s.t.Helper()
	out, errs, code := s.run(append(args, "--yes", "--json")...)
	if code != 0 {
		s.t.Fatalf("%v: exit %d\n%s%s", args, code, out, errs)
	}
	var c counts
	var last string
	for scanner := bufio.NewScanner(strings.NewReader(out)); scanner.Scan(); {
		last = scanner.Text()
	}
	if err := json.Unmarshal([]byte(last), &c); err != nil {
		s.t.Fatalf("summary %q: %v", last, err)
	}
	return c
}

func (s *shop) golden(name, got string) {
	s.t.Helper()
	file := filepath.Join("testdata", name)
	got = strings.ReplaceAll(got, s.cloud.Account, "ACCOUNT")
	got = strings.ReplaceAll(got, s.cloud.URL, "ENDPOINT")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestShop is the life of the shop against an independent emulator; its counts are in testdata/numbers.golden.
func TestShop(t *testing.T) {
	s := newShop(t)
	plan, errs, code := s.run("plan", "--no-color")
	if code != 2 {
		t.Fatalf("plan: exit %d\n%s%s", code, plan, errs)
	}
	if n := len(s.cloud.Mutations()); n > 0 {
		t.Errorf("a plan made %d mutating calls", n)
	}
	s.golden("plan.golden", plan)

	var numbers strings.Builder
	note := func(step string, c counts) counts {
		fmt.Fprintf(&numbers, "%-22s %s\n", step+":", c)
		return c
	}
	first := note("first deploy", s.do("deploy"))
	secret := s.object(first, "settings.json")
	s.searchSecret(secret)

	s.cloud.Reset()
	again := note("second deploy", s.do("deploy"))
	if again.Calls.Mutations != 0 || again.Commits != 0 || len(s.cloud.Mutations()) != 0 {
		t.Errorf("the second deploy wrote: %s %v", again, s.cloud.Mutations())
	}
	if _, _, code := s.run("plan"); code != 0 {
		t.Errorf("plan of the settled shop: exit %d", code)
	}

	s.drift(first)
	if out, _, code := s.run("plan"); code != 2 || !strings.Contains(out, "drift") {
		t.Errorf("plan after drift: exit %d\n%s", code, out)
	}
	note("repair of drift", s.do("deploy"))
	note("changed config", s.do("deploy", "--config", "retention=2d"))

	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lost := note("after a lost record", s.do("deploy", "--config", "retention=2d"))
	if lost.Created != 0 || lost.Replaced != 0 || lost.Deleted != 0 || lost.Recovered == 0 {
		t.Errorf("a lost record: %s", lost)
	}
	note("once more", s.do("deploy", "--config", "retention=2d"))
	note("destroy", s.do("destroy"))
	s.empty()
	s.golden("numbers.golden", numbers.String())
}

// object reads an object of the shop's bucket, as the cloud's own client sees it.
func (s *shop) object(c counts, key string) string {
	s.t.Helper()
	bucket, _ := c.Outputs["bucket"].(string)
	client := s3.NewFromConfig(s.cloud.Config(s.t))
	out, err := client.GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Body.Close()
	var settings struct{ Admin, Queue, Topic string }
	if err := json.NewDecoder(out.Body).Decode(&settings); err != nil {
		s.t.Fatal(err)
	}
	if settings.Queue != c.Outputs["queue"] || settings.Topic != c.Outputs["topic"] || len(settings.Admin) != 24 {
		s.t.Errorf("settings.json: %s %s, a password of %d", settings.Queue, settings.Topic, len(settings.Admin))
	}
	return settings.Admin
}

// searchSecret looks for the password in everything that athanor keeps and says.
func (s *shop) searchSecret(secret string) {
	s.t.Helper()
	plan, errs, _ := s.run("plan", "--detailed")
	state, _, _ := s.run("state", "show", "settings")
	record, err := os.ReadFile(filepath.Join(s.dir, "state.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{"plan": plan + errs, "state show": state, "the record": string(record)} {
		if strings.Contains(text, secret) {
			s.t.Errorf("%s shows the password", name)
		}
	}
}

// drift edits the shop behind athanor's back.
func (s *shop) drift(c counts) {
	s.t.Helper()
	bucket, _ := c.Outputs["bucket"].(string)
	queue, _ := c.Outputs["queue"].(string)
	if _, err := s3.NewFromConfig(s.cloud.Config(s.t)).DeleteBucketCors(s.t.Context(), &s3.DeleteBucketCorsInput{Bucket: &bucket}); err != nil {
		s.t.Fatal(err)
	}
	_, err := sqs.NewFromConfig(s.cloud.Config(s.t)).SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &queue, Attributes: map[string]string{"VisibilityTimeout": "77"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// empty checks with the cloud's own clients that nothing is left.
func (s *shop) empty() {
	s.t.Helper()
	buckets, err := s3.NewFromConfig(s.cloud.Config(s.t)).ListBuckets(s.t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, b := range buckets.Buckets {
		s.t.Errorf("bucket %s is left", awssdk.ToString(b.Name))
	}
	queues, err := sqs.NewFromConfig(s.cloud.Config(s.t)).ListQueues(s.t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range queues.QueueUrls {
		s.t.Errorf("queue %s is left", q)
	}
}

// TestTwins proves that shop.yaml declares what shop.go declares.
func TestTwins(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "athanor")
	if out, err := exec.Command("go", "build", "-o", tool, "../../cmd/athanor").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	graph := func(args ...string) map[string]any {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, append(args, "--json", "--stage", "test")...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		var g map[string]any
		if err := json.Unmarshal(out, &g); err != nil {
			t.Fatal(err)
		}
		resources, _ := g["resources"].([]any)
		byAddress := map[string]any{}
		for _, r := range resources {
			m, _ := r.(map[string]any)
			delete(m, "source")
			address, _ := m["address"].(string)
			byAddress[address] = m
		}
		g["resources"] = byAddress
		return g
	}
	if diff := cmp.Diff(graph("graph", "."), graph("graph", "shop.yaml")); diff != "" {
		t.Errorf("the YAML twin differs (-go +yaml):\n%s", diff)
	}
}
