//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// groups is a stack with two log groups and something without logs.
const groups = `stack: groups
resources:
  web: {kind: aws.logs.LogGroup, props: {name: web-logs}}
  worker: {kind: aws.logs.LogGroup, props: {name: worker-logs}}
  queue: {kind: aws.sqs.Queue}
`

// Logs of a cloud are read by the record alone, several as one, with the credentials that it names.
func TestLogsOfACloud(t *testing.T) {
	cloud := awstest.Start(t)
	w := newWorld(t, groups)
	none := func(awstest.Fields) (awstest.Fields, string) { return awstest.Fields{}, "" } // moto does not have the policies of a group
	front := awstest.Amend(t, cloud, awstest.Amendments{
		Account: "111122223333",
		Answer: map[string]func(awstest.Fields) (awstest.Fields, string){
			"GetDataProtectionPolicy": none, "DescribeIndexPolicies": none, "DescribeResourcePolicies": none,
		},
		// The events of all streams come in the order of their times, asked or not.
		Edit: map[string]func(awstest.Fields){"FilterLogEvents": func(in awstest.Fields) { in["interleaved"] = true }},
	})
	w.env = append(append(cloud.Environ(), w.env[len(os.Environ()):]...), "AWS_ENDPOINT_URL="+front.URL)
	w.run(0, "deploy", "--yes")
	client := cloudwatchlogs.NewFromConfig(front.Outside(t))
	begin := time.Now().Add(-10 * time.Minute).UnixMilli()
	put := func(group string, at int64, text string) {
		t.Helper()
		_, err := client.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{
			LogGroupName: &group, LogStreamName: sdkaws.String("one"),
			LogEvents: []types.InputLogEvent{{Message: &text, Timestamp: sdkaws.Int64(begin + at)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range []string{"web-logs", "worker-logs"} {
		if _, err := client.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: sdkaws.String("one")}); err != nil {
			t.Fatal(err)
		}
		for i := range int64(2) {
			at := i*20_000 + int64(len(group))*1000 // those of web come first
			put(group, at, fmt.Sprintf("%s %d", group, i))
		}
	}
	w.write("athanor.yaml", "stack: groups\nresources: {}\n") // the program is not asked
	cloud.Reset()
	if have := texts(t, w.run(0, "logs", "--json")); have != "web: web-logs 0, worker: worker-logs 0, web: web-logs 1, worker: worker-logs 1" {
		t.Errorf("logs: %s", have)
	}
	if wrote := cloud.Mutations(); len(wrote) > 0 || cloud.Count("*.FilterLogEvents") != 2 {
		t.Errorf("reading logs made the calls %v", cloud.Calls())
	}
	if have := texts(t, w.run(0, "logs", "web", "--json", "--filter", "1")); have != "web: web-logs 1" {
		t.Errorf("filtered: %s", have)
	}
	if out := w.refusal("logs", "queue"); !strings.Contains(out, "aws.sqs.Queue has none") {
		t.Errorf("of what has none: %s", out)
	}

	// What comes is followed; what was there is told once.
	c := w.command("logs", "--follow", "--json")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewScanner(out)
	var told []string
	for n := 1; n <= 5 && seen.Scan(); n++ {
		if told = append(told, seen.Text()); n == 4 {
			put("worker-logs", 60_000, "news")
		}
	}
	if have := texts(t, strings.Join(told, "\n")); !strings.HasSuffix(have, "worker: worker-logs 1, worker: news") {
		t.Errorf("followed: %s", have)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 130 {
		t.Errorf("the end: %v", err)
	}

	// Credentials of another account read nothing. (What the interrupted command has sent may still arrive.)
	stranger := awstest.NewAccount()
	w.env = append(w.env, "AWS_ACCESS_KEY_ID="+awstest.AccessKey(stranger))
	if out := w.refusal("logs"); !strings.Contains(out, "these credentials lead to") {
		t.Errorf("elsewhere: %s", out)
	}
	for _, call := range cloud.Calls() {
		if call.Account == stranger && call.Operation == "FilterLogEvents" {
			t.Errorf("elsewhere: %v", call)
		}
	}
}

// refusal runs a command that is refused, and gives what it says.
func (w *world) refusal(args ...string) string {
	w.t.Helper()
	p := w.start("athanor", args...)
	p.end(1)
	return p.errs.String()
}

// texts are lines of --json as "address: text".
func texts(t *testing.T, lines string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		var l struct{ Type, Address, Text string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Type != "log" {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, l.Address+": "+l.Text)
	}
	return strings.Join(all, ", ")
}
