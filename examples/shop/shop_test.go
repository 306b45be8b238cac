package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shop is the built program with a cloud of its own.
type shop struct {
	*programtest.Program[*awstest.Server]
	t *testing.T
}

func newShop(t *testing.T) *shop {
	t.Helper()
	return &shop{programtest.Build(t, awstest.Start(t), "."), t}
}

// TestShop is the life of the shop against an independent emulator; its programtest.Counts are in testdata/numbers.golden.
func TestShop(t *testing.T) {
	s := newShop(t)
	t.Parallel() // what is built is built once
	plan, errs, code := s.Run("plan", "--no-color")
	if code != 2 {
		t.Fatalf("plan: exit %d\n%s%s", code, plan, errs)
	}
	if n := len(s.Cloud.Mutations()); n > 0 {
		t.Errorf("a plan made %d mutating calls", n)
	}
	s.Golden("plan.golden", regexp.MustCompile(`reads, [\d.]+m?s`).ReplaceAllString(plan, "reads, TIME"), *update)

	var numbers strings.Builder
	note := func(step string, c programtest.Counts) programtest.Counts {
		fmt.Fprintf(&numbers, "%-22s %s\n", step+":", c)
		return c
	}
	first := note("first deploy", s.Do("deploy"))
	secret := s.object(first, "settings.json")
	s.searchSecret(secret)

	s.Cloud.Reset()
	again := note("second deploy", s.Do("deploy"))
	if again.Calls.Mutations != 0 || again.Commits != 0 || len(s.Cloud.Mutations()) != 0 {
		t.Errorf("the second deploy wrote: %s %v", again, s.Cloud.Mutations())
	}
	if _, _, code := s.Run("plan"); code != 0 {
		t.Errorf("plan of the settled shop: exit %d", code)
	}

	s.drift(first)
	if out, _, code := s.Run("plan"); code != 2 || !strings.Contains(out, "drift") {
		t.Errorf("plan after drift: exit %d\n%s", code, out)
	}
	note("repair of drift", s.Do("deploy"))
	note("changed config", s.Do("deploy", "--config", "retention=2d"))

	s.Lose()
	lost := note("after a lost record", s.Do("deploy", "--config", "retention=2d"))
	if lost.Created != 0 || lost.Replaced != 0 || lost.Deleted != 0 || lost.Recovered == 0 {
		t.Errorf("a lost record: %s", lost)
	}
	note("once more", s.Do("deploy", "--config", "retention=2d"))
	note("destroy", s.Do("destroy"))
	s.empty()
	s.Golden("numbers.golden", numbers.String(), *update)
}

// object reads an object of the shop's bucket, as the cloud's own client sees it.
func (s *shop) object(c programtest.Counts, key string) string {
	s.t.Helper()
	bucket, _ := c.Outputs["bucket"].(string)
	client := s3.NewFromConfig(s.Cloud.Config(s.t))
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
	plan, errs, _ := s.Run("plan", "--detailed")
	state, _, _ := s.Run("state", "show", "settings")
	record, err := os.ReadFile(filepath.Join(s.Dir, "state.db"))
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
func (s *shop) drift(c programtest.Counts) {
	s.t.Helper()
	bucket, _ := c.Outputs["bucket"].(string)
	queue, _ := c.Outputs["queue"].(string)
	if _, err := s3.NewFromConfig(s.Cloud.Config(s.t)).DeleteBucketCors(s.t.Context(), &s3.DeleteBucketCorsInput{Bucket: &bucket}); err != nil {
		s.t.Fatal(err)
	}
	_, err := sqs.NewFromConfig(s.Cloud.Config(s.t)).SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &queue, Attributes: map[string]string{"VisibilityTimeout": "77"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// empty checks with the cloud's own clients that nothing is left.
func (s *shop) empty() {
	s.t.Helper()
	buckets, err := s3.NewFromConfig(s.Cloud.Config(s.t)).ListBuckets(s.t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, b := range buckets.Buckets {
		s.t.Errorf("bucket %s is left", awssdk.ToString(b.Name))
	}
	queues, err := sqs.NewFromConfig(s.Cloud.Config(s.t)).ListQueues(s.t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range queues.QueueUrls {
		s.t.Errorf("queue %s is left", q)
	}
}

// TestTwins proves that shop.yaml declares what shop.go declares.
func TestTwins(t *testing.T) { programtest.Twins(t, "shop.yaml") }

func TestBothWays(t *testing.T) { programtest.BothWays(t) }
