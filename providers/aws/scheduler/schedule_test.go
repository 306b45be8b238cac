package scheduler

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const (
	queueOne, queueTwo = "arn:aws:sqs:us-east-1:111122223333:one", "arn:aws:sqs:us-east-1:111122223333:two.fifo"
	roleOne, roleTwo   = "arn:aws:iam::111122223333:role/one", "arn:aws:iam::111122223333:role/two"
	keyOne             = "arn:aws:kms:us-east-1:111122223333:key/11111111-1111-1111-1111-111111111111"
)

// world is moto as it is.
type world struct{ awstest.World[aws.Cloud] }

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, server.Direct(), connect, scheduleKind.Erase(), "nightly")}
	w.Located(t, server.Account)
	if err := service().Rest(t.Context(), w.Others, "CreateScheduleGroup", http.MethodPost, "/schedule-groups/jobs", nil, obj{}, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, method, path string, query url.Values, in any) obj {
	t.Helper()
	out := obj{}
	if err := service().Rest(context.Background(), w.Others, "Ask", method, path, query, in, &out); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// schedules are all as others see them.
func (w *world) schedules(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, http.MethodGet, "/schedules", nil, nil)["Schedules"].([]any) {
		shown := w.ask(t, http.MethodGet, pathOf(item.(obj)["Name"].(string)), url.Values{"groupName": {item.(obj)["GroupName"].(string)}}, nil)
		maps.DeleteFunc(shown, func(name string, _ any) bool {
			return name == "Name" || name == "Arn" || name == "CreationDate" || name == "LastModificationDate"
		})
		text, err := json.Marshal(shown)
		if err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, json.RawMessage(text))
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServerException")(class)
}

// hands write the whole schedule as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, http.MethodDelete, pathOf(to.Attrs["name"].(string)), url.Values{"groupName": {to.Attrs["group"].(string)}}, nil)
			return nil
		}),
	}
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		p := kindtest.PropsOf(t, scheduleTable, to.Props)
		scheduleTable.Default(&p)
		target := obj{"Arn": p.Target, "RoleArn": p.Role, "RetryPolicy": obj{"MaximumRetryAttempts": *p.Retries, "MaximumEventAgeInSeconds": int(p.MaxAge.Seconds())}}
		if p.Input != nil {
			target["Input"] = *aws.Text(p.Input)
		}
		if p.MessageGroup != "" {
			target["SqsParameters"] = obj{"MessageGroupId": p.MessageGroup}
		}
		if p.DeadLetter != "" {
			target["DeadLetterConfig"] = obj{"Arn": p.DeadLetter}
		}
		body := obj{
			"GroupName": to.Attrs["group"], "ScheduleExpression": p.Expression, "ScheduleExpressionTimezone": *p.Timezone, "Target": target,
			"State": map[bool]string{true: "DISABLED", false: "ENABLED"}[p.Disabled], "FlexibleTimeWindow": obj{"Mode": "OFF"},
		}
		if p.Window > 0 {
			body["FlexibleTimeWindow"] = obj{"Mode": "FLEXIBLE", "MaximumWindowInMinutes": int(p.Window.Minutes())}
		}
		if p.Description != "" {
			body["Description"] = p.Description
		}
		if p.KMSKey != "" {
			body["KmsKeyArn"] = p.KMSKey
		}
		w.ask(t, http.MethodPut, pathOf(to.Attrs["name"].(string)), nil, body)
		return nil
	})
	for _, path := range []tree.Path{
		"expression", "timezone", "window", "disabled", "description", "kmsKey", "target", "role", "input", "messageGroup", "deadLetter", "retries", "maxAge",
	} {
		hands[path] = whole
	}
	return hands
}

func TestSchedule(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(scheduleTable, kindtest.Suite{
		Kind:  scheduleKind.Erase(),
		World: ws.Make(newWorld, (*world).schedules),
		Base:  obj{"expression": "rate(5 minutes)", "target": queueOne, "role": roleOne},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"expression": "cron(0 8 ? * MON-FRI *)", "timezone": "Europe/Stockholm", "window": "15m", "disabled": true, "description": "works & sleeps",
				"kmsKey": keyOne, "target": queueTwo, "role": roleTwo, "input": obj{"full": true}, "messageGroup": "jobs", "deadLetter": queueOne,
				"retries": int64(3), "maxAge": "1h",
			}},
			{Name: "named", Props: obj{"name": "night.ly", "group": "jobs", "expression": "at(2030-01-01T00:00:00)", "target": queueOne, "role": roleOne, "input": "now"}},
		},
		Hands: hands(ws),
		Others: map[tree.Path][]any{
			"expression": {"rate(1 hour)"}, "timezone": {"Asia/Tokyo"}, "window": {"30m"}, "target": {queueTwo}, "role": {roleTwo}, "input": {obj{"full": false}},
		},
		Steady: map[tree.Path]string{"name": "a schedule keeps its name for life", "group": "a schedule keeps its group for life"},
	}))
}

// TestFaults breaks each call of a creation: there is one schedule in the end.
func TestFaults(t *testing.T) {
	declared := obj{"name": "nightly", "expression": "rate(5 minutes)", "target": queueOne, "role": roleOne}
	awstest.Faults(t, newWorld, kindtest.Quick(scheduleKind, 300*time.Millisecond), declared, (*world).schedules, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "Scheduler.POST /schedules/*", Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "Scheduler.POST /schedules/*", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "a read fails", Fault: awstest.Fault{Op: "Scheduler.GET /schedules/*", Kind: awstest.ServerError}, Wrote: 1},
	})
}

// TestRestStays: what is not managed is kept when the rest is changed, since an update sets the whole.
func TestRestStays(t *testing.T) {
	w := newWorld(t)
	declared := obj{"name": "nightly", "expression": "rate(5 minutes)", "target": queueOne, "role": roleOne}
	out := w.Settled(t, declared, nil)
	end := time.Now().Add(240 * time.Hour).Unix()
	w.ask(t, http.MethodPut, pathOf("nightly"), nil, obj{
		"GroupName": "default", "ScheduleExpression": "rate(5 minutes)", "ScheduleExpressionTimezone": "UTC", "State": "ENABLED", "EndDate": end,
		"FlexibleTimeWindow": obj{"Mode": "OFF"}, "Target": obj{"Arn": queueOne, "RoleArn": roleOne, "KinesisParameters": obj{"PartitionKey": "k"}},
	})
	declared["description"] = "ends"
	w.Settled(t, declared, &out)
	shown := w.ask(t, http.MethodGet, pathOf("nightly"), nil, nil)
	key, _ := tree.Get(shown, "Target.KinesisParameters.PartitionKey")
	if shown["EndDate"] != float64(end) || shown["Description"] != "ends" || key != "k" {
		t.Errorf("%v, want an end at %d", shown, end)
	}
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{"name": "nightly", "expression": "rate(5 minutes)", "target": queueOne, "role": roleOne},
		"arn:aws:scheduler:eu-west-9:111122223333:schedule/default/nightly", func(string) []string { return []string{"nightly"} })
}

// TestRefused finds what the Scheduler would refuse, before any call.
func TestRefused(t *testing.T) {
	for name, p := range map[string]ScheduleProps{
		"no form": {Expression: "every day"}, "an open form": {Expression: "rate(1 day"}, "half a minute": {Expression: "rate(1 day)", Window: 30 * time.Second},
	} {
		if checkSchedule(p) == nil {
			t.Errorf("%s: it is not refused", name)
		}
	}
	if err := checkSchedule(ScheduleProps{Expression: "rate(1 day)", Window: time.Minute}); err != nil {
		t.Error(err)
	}
}

// TestGolden has the members of https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html as it shows them:
// ages count seconds, windows minutes.
func TestGolden(t *testing.T) {
	declared := obj{
		"group": "jobs", "expression": "rate(5 minutes)", "timezone": "Europe/Stockholm", "description": "x", "kmsKey": keyOne, "target": queueTwo, "role": roleOne,
		"input": obj{"full": true}, "messageGroup": "jobs", "deadLetter": queueOne, "retries": int64(3), "maxAge": "1h",
	}
	target := obj{
		"Arn": queueTwo, "RoleArn": roleOne, "Input": `{"full":true}`, "SqsParameters": obj{"MessageGroupId": "jobs"}, "DeadLetterConfig": obj{"Arn": queueOne},
		"RetryPolicy": obj{"MaximumRetryAttempts": int64(3), "MaximumEventAgeInSeconds": int64(3600)},
	}
	body := kind.Document{
		"GroupName": "jobs", "ScheduleExpression": "rate(5 minutes)", "ScheduleExpressionTimezone": "Europe/Stockholm", "Description": "x", "KmsKeyArn": keyOne, "Target": target,
	}
	kindtest.Golden(t, scheduleTable, declared, kind.Document{}, body)
	m := awstest.LoadModel(t, "scheduler")
	members := m.Shapes[m.Operations["CreateSchedule"].Input.Shape].Members
	for name := range body {
		if _, ok := members[name]; !ok {
			t.Errorf("CreateSchedule takes no %s", name)
		}
	}
	for name := range target {
		if _, ok := m.Shapes[members["Target"].Shape].Members[name]; !ok {
			t.Errorf("a target has no %s", name)
		}
	}
	p := kindtest.PropsOf(t, scheduleTable, declared)
	p.Window, p.Disabled = 15*time.Minute, true
	whole, err := sent(p, nil)
	if err != nil || whole["State"] != "DISABLED" || whole.Get("FlexibleTimeWindow.Mode") == nil && whole["FlexibleTimeWindow"] == nil {
		t.Errorf("%v, %v", whole, err)
	}
	if window, _ := whole["FlexibleTimeWindow"].(kind.Document); window["MaximumWindowInMinutes"] != int64(15) {
		t.Errorf("window %v", window)
	}
}
