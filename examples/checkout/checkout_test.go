// Package checkout_test deploys the example against moto, as it is.
package checkout_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// all is how many resources the example has.
const all = 10

// TestStory is the life of the example: created, unchanged, changed by somebody and repaired, renamed, forgotten and found again, destroyed.
func TestStory(t *testing.T) {
	server := awstest.Start(t)
	p := programtest.Build(t, server, "../../cmd/athanor")
	p.Folder = t.TempDir()
	for _, name := range []string{"athanor.yaml", "ship.js"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quiet := func(after string) {
		t.Helper()
		if c := p.Do("deploy", "."); c.Unchanged != all || c.Calls.Mutations != 0 {
			t.Errorf("after %s: %s", after, c)
		}
	}
	if c := p.Do("deploy", "."); c.Created != all || c.Failed+c.Blocked > 0 {
		t.Fatalf("first deploy: %s", c)
	}
	quiet("the first deploy")

	// Somebody changes the definition, a tag of the settings, and a tag that is theirs.
	somebody := aws.FromConfig(server.Config(t)).AtAnyRate()
	states := aws.JSONService{Name: "SFN", Signing: "states", Host: "states", Target: "AWSStepFunctions", Version: "1.0"}
	var machines struct {
		StateMachines []struct{ StateMachineArn string }
	}
	if err := states.Call(t.Context(), somebody, "ListStateMachines", kind.Document{}, &machines); err != nil || len(machines.StateMachines) != 1 {
		t.Fatalf("%+v, %v", machines, err)
	}
	arn := machines.StateMachines[0].StateMachineArn
	if err := states.Call(t.Context(), somebody, "UpdateStateMachine", kind.Document{
		"stateMachineArn": arn, "definition": `{"StartAt":"a","States":{"a":{"Type":"Succeed"}}}`,
	}, nil); err != nil {
		t.Fatal(err)
	}
	queues := sqs.NewFromConfig(server.Config(t))
	urls, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(urls.QueueUrls) != 1 {
		t.Fatalf("%v, %v", urls, err)
	}
	if _, err := queues.TagQueue(t.Context(), &sqs.TagQueueInput{
		QueueUrl: &urls.QueueUrls[0], Tags: map[string]string{"team": "nobody", "backup/plan": "daily"},
	}); err != nil {
		t.Fatal(err)
	}
	if c := p.Do("deploy", "."); c.Updated != 2 || c.Unchanged != all-2 {
		t.Errorf("repaired: %s", c)
	}
	shown := kind.Document{}
	if err := states.Call(t.Context(), somebody, "DescribeStateMachine", kind.Document{"stateMachineArn": arn}, &shown); err != nil {
		t.Fatal(err)
	}
	if text, _ := shown["definition"].(string); !strings.Contains(text, urls.QueueUrls[0]) {
		t.Errorf("the definition names no queue: %s", text)
	}
	tags, err := queues.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &urls.QueueUrls[0]})
	if err != nil || tags.Tags["team"] != "shop" || tags.Tags["cost/center"] != "42" || tags.Tags["backup/plan"] != "daily" {
		t.Errorf("tags of the queue %v, %v", tags.Tags, err)
	}
	quiet("the repair")

	// The queue and the function get other names. What is declared below them goes with them, in one deploy. Of roles, the
	// description and the names of statements show an address.
	mappings := func() (all []string) {
		t.Helper()
		out, err := lambda.NewFromConfig(server.Config(t)).ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.EventSourceMappings {
			all = append(all, *m.UUID+" "+*m.State)
		}
		return all
	}
	before := mappings()
	for _, c := range []struct {
		what           string
		changes        *strings.Replacer
		moved, updated int
	}{
		{"the queue's rename", strings.NewReplacer("{messageRetention: 4d}", "{messageRetention: 4d}\n    options: {renamedFrom: [orders]}", "orders", "inbox"), 2, 2},
		{"the function's rename", strings.NewReplacer("  ship:\n", "  sender:\n    options: {renamedFrom: [ship]}\n"), 3, 1},
	} {
		text, err := os.ReadFile(filepath.Join(p.Folder, "athanor.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Folder, "athanor.yaml"), []byte(c.changes.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		have := p.Do("deploy", ".")
		if have.Moved != c.moved || have.Updated != c.updated || have.Unchanged != all-c.moved-c.updated {
			t.Errorf("%s: moved %d, %s", c.what, have.Moved, have)
		}
		if now := mappings(); len(now) != 1 || !slices.Equal(now, before) || !strings.HasSuffix(now[0], " Enabled") {
			t.Errorf("%s: mappings %v, and before %v", c.what, now, before)
		}
		quiet(c.what)
	}

	p.Lose()
	if c := p.Do("deploy", "."); c.Created != 0 || c.Calls.Mutations != 0 {
		t.Errorf("without state: %s", c)
	}
	quiet("the loss of state")
	if c := p.Do("destroy", "."); c.Deleted != all {
		t.Errorf("destroy: %s", c)
	}
}
