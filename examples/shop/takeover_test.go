//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/creack/pty"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/examples/internal/programtest"
)

// tool runs the ready-made binary on a folder, with a record and a machine of its own.
type tool struct {
	*shop
	stack string
}

func newTool(t *testing.T, s *shop, stack string) *tool {
	t.Helper()
	x := &tool{shop: &shop{programtest.Build(t, s.Cloud, "../../cmd/athanor"), t}, stack: t.TempDir()}
	x.write("athanor.yaml", stack)
	return x
}

func (x *tool) write(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.stack, name), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// at runs a command on the folder.
func (x *tool) at(args ...string) (stdout, stderr string, code int) {
	x.t.Helper()
	return x.Run(append(args, x.stack)...)
}

// onTerminal runs a command on a terminal where somebody has typed an answer.
func (x *tool) onTerminal(answer string, args ...string) (text string, code int) {
	x.t.Helper()
	cmd := x.Command(append(args, x.stack)...)
	terminal, err := pty.Start(cmd)
	if err != nil {
		x.t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := io.WriteString(terminal, answer); err != nil {
		x.t.Fatal(err)
	}
	out, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // which is how a terminal ends on Linux
		x.t.Fatal(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// settle deploys and gives the summary of the run.
func (x *tool) settle(args ...string) programtest.Counts {
	x.t.Helper()
	return x.Do(append([]string{"deploy", x.stack}, args...)...)
}

// existing is the shop as a company may have it already: under names of its own. Without the password, which is of
// athanor's making and so cannot be there before.
const existing = `stack: shop
resources:
  dead: {kind: aws.sqs.Queue, props: {name: shop-dead, messageRetention: 14d}}
  events: {kind: aws.sns.Topic, props: {name: shop-events, displayName: Shop events}}
  orders:
    kind: aws.sqs.Queue
    props:
      name: shop-orders
      visibilityTimeout: 60s
      receiveWait: 20s
      deadLetter: ${dead.arn}
      maxReceives: 5
      policy:
        Version: "2012-10-17"
        Statement:
          - Sid: events
            Effect: Allow
            Principal: {Service: sns.amazonaws.com}
            Action: sqs:SendMessage
            Resource: "*"
            Condition: {ArnEquals: {"aws:SourceArn": "${events.arn}"}}
  events-to-orders:
    kind: aws.sns.Subscription
    props:
      topic: ${events.arn}
      protocol: sqs
      endpoint: ${orders.arn}
      rawMessageDelivery: true
      filterPolicy: {type: [order, refund]}
  assets:
    kind: aws.s3.Bucket
    props: {name: the-shops-assets, versioning: Enabled, forceDestroy: true}
  page:
    kind: aws.s3.Object
    props: {bucket: "${assets.name}", key: index.html, content: "<h1>Shop</h1>\n", cacheControl: max-age=60}
`

// build makes the shop with the cloud's own clients, as somebody did by hand years ago: some of it is as declared, some
// is not.
func (s *shop) build() {
	s.t.Helper()
	ctx, cfg := s.t.Context(), s.Cloud.Config(s.t)
	queues, topics, buckets := sqs.NewFromConfig(cfg), sns.NewFromConfig(cfg), s3.NewFromConfig(cfg)
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	_, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: new("shop-dead"), Tags: map[string]string{"made": "by hand"}})
	must(err)
	orders, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: new("shop-orders"), Attributes: map[string]string{"VisibilityTimeout": "77"}})
	must(err)
	_, err = queues.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: orders.QueueUrl, MessageBody: new("an order")})
	must(err)
	attrs, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: orders.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"}})
	must(err)
	topic, err := topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: new("shop-events")})
	must(err)
	_, err = topics.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: new("sqs"), Endpoint: new(attrs.Attributes["QueueArn"])})
	must(err)
	_, err = buckets.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: new("the-shops-assets")})
	must(err)
	_, err = buckets.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: new("the-shops-assets"), VersioningConfiguration: &s3types.VersioningConfiguration{Status: "Enabled"},
	})
	must(err)
	_, err = buckets.PutObject(ctx, &s3.PutObjectInput{Bucket: new("the-shops-assets"), Key: new("index.html"), Body: strings.NewReader("<h1>Old shop</h1>\n")})
	must(err)
}

// TestTakeOver takes over a whole shop that the cloud's own clients made: nothing is created, nothing deleted.
func TestTakeOver(t *testing.T) {
	s := newShop(t)
	s.build()
	x := newTool(t, s, existing)
	out, errs, code := x.at("deploy", "--yes")
	if code != 1 || !strings.Contains(errs, "exists and is not ours") || !strings.Contains(errs, "--adopt") {
		t.Fatalf("without the flag: exit %d\n%s%s", code, out, errs)
	}

	x.scanAndWrite()

	s.Cloud.Reset()
	plan, errs, code := x.at("plan", "--adopt")
	if code != 2 || len(s.Cloud.Mutations()) > 0 || !strings.Contains(plan, "visibilityTimeout:") || !strings.Contains(plan, "77s → 60s") && !strings.Contains(plan, "1m17s → 1m") {
		t.Fatalf("plan: exit %d, %v\n%s%s", code, s.Cloud.Mutations(), plan, errs)
	}
	if again, _, _ := x.at("orphans"); strings.TrimSpace(again) != "" {
		t.Errorf("the plan marked something: %s", again)
	}
	c := x.settle("--adopt")
	if c.Created != 0 || c.Deleted != 0 || c.Replaced != 0 || c.Adopted+c.Recovered != 6 {
		t.Errorf("taken over: %+v", c)
	}
	s.Cloud.Reset()
	if c = x.settle(); c.Calls.Mutations != 0 || c.Commits != 0 || len(s.Cloud.Mutations()) > 0 || c.Unchanged != 6 {
		t.Errorf("the second run wrote: %+v %v", c, s.Cloud.Mutations())
	}
	queues := sqs.NewFromConfig(s.Cloud.Config(t))
	got, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: new(x.url("shop-orders"))})
	if err != nil || len(got.Messages) != 1 || awssdk.ToString(got.Messages[0].Body) != "an order" {
		t.Errorf("the order in the queue: %v %v", got, err)
	}

	// The state is lost with the machine: owner tags and names give it back.
	y := newTool(t, s, existing)
	if c = y.settle(); c.Created != 0 || c.Deleted != 0 || c.Adopted+c.Recovered != 6 {
		t.Errorf("from an empty store on another machine: %+v", c)
	}
	if c = y.settle(); c.Calls.Mutations != 0 || c.Commits != 0 {
		t.Errorf("once more: %+v", c)
	}
	y.strangers()
}

func (s *shop) url(name string) string {
	s.t.Helper()
	out, err := sqs.NewFromConfig(s.Cloud.Config(s.t)).GetQueueUrl(s.t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	return awssdk.ToString(out.QueueUrl)
}

// scanAndWrite lists what could be taken over, and writes one object down: deployed with --adopt it differs in nothing
// but the owner tag.
func (x *tool) scanAndWrite() {
	t := x.t
	list, errs, code := x.at("adopt", "--scan")
	for _, want := range []string{"adoptable  aws.sqs.Queue", "dead, with deploy --adopt", "adoptable  aws.s3.Bucket"} {
		if code != 0 || !strings.Contains(list, want) {
			t.Errorf("scan: exit %d, no %q:\n%s%s", code, want, list, errs)
		}
	}
	yaml, errs, code := x.at("adopt", "--scan", "--write", "shop-orders", "--write", "the-shops-assets", "--write", "shop-events")
	if code != 0 || !strings.Contains(yaml, "visibilityTimeout: 77s") && !strings.Contains(yaml, "visibilityTimeout: 1m17s") {
		t.Fatalf("write: exit %d\n%s%s", code, yaml, errs)
	}
	other := newTool(t, x.shop, "stack: copy\n"+yaml)
	plan, errs, _ := other.at("plan", "--adopt", "--json")
	var p engine.Plan
	if err := json.Unmarshal([]byte(plan), &p); err != nil || p.Summary.Adopted != 3 {
		t.Fatalf("plan of what was written: %v\n%s%s", err, plan, errs)
	}
	for _, a := range p.Actions {
		for _, r := range a.Reasons {
			if !strings.Contains(string(r.Path), "athanor:") {
				t.Errorf("what was written differs: %s.%s: %v → %v", a.Address, r.Path, r.Have, r.Want)
			}
		}
	}
}

// strangers: another store with a smaller program finds what it does not declare and deletes nothing of it by --yes
// alone; orphans lists and deletes it with leave.
func (x *tool) strangers() {
	t := x.t
	smaller := newTool(t, x.shop, "stack: shop\nresources:\n  dead: {kind: aws.sqs.Queue, props: {name: shop-dead, messageRetention: 14d}}\n")
	x.Cloud.Reset()
	_, errs, code := smaller.at("deploy", "--yes")
	if code != 1 || !strings.Contains(errs, "tagged by another state store") || !strings.Contains(errs, "--take-over") || len(x.Cloud.Mutations()) > 0 {
		t.Errorf("another store: exit %d, %v\n%s", code, x.Cloud.Mutations(), errs)
	}
	if text, code := smaller.onTerminal("n\n", "deploy"); code != 5 || !strings.Contains(text, "Delete them? [y/N]") || len(x.Cloud.Mutations()) > 0 {
		t.Errorf("an answer of no: exit %d, %v\n%s", code, x.Cloud.Mutations(), text)
	}
	list, errs, code := smaller.at("orphans")
	if code != 0 || !strings.Contains(list, "shop-orders") || !strings.Contains(list, "dead, tagged by another state store; the next deploy adopts it") {
		t.Errorf("orphans: exit %d\n%s%s", code, list, errs)
	}
	if _, errs, code = smaller.at("orphans", "--delete", "--yes"); code != 1 || !strings.Contains(errs, "--take-over") {
		t.Errorf("orphans --delete: exit %d\n%s", code, errs)
	}
	if out, errs, code := smaller.at("orphans", "--delete", "--yes", "--take-over", "--allow-delete", "*"); code != 0 {
		t.Fatalf("orphans --delete --take-over: exit %d\n%s%s", code, out, errs)
	}
	list, _, _ = smaller.at("orphans")
	if strings.Contains(list, "shop-orders") || !strings.Contains(list, "dead") {
		t.Errorf("left over: %s", list)
	}
}
