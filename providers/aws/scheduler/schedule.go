// Package scheduler offers schedules of Amazon EventBridge Scheduler.
//
// It knows when a schedule calls and what. It does not know groups of schedules, which are named here, nor the settings of targets
// that another service gives a meaning to; how calls are made and judged is the business of package aws.
package scheduler

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

//go:embed schedule.go
var source embed.FS

const scheduleType = "aws.scheduler.Schedule"

// Service is what this package offers. Schedules through Cloud Control, AWS::Scheduler::Schedule, stay usable.
func Service() aws.Service {
	return aws.Service{Kinds: []reconcile.Any{scheduleKind.Erase()}}
}

// NewSchedule declares a schedule.
func NewSchedule(s *athanor.Stack, name string, p ScheduleProps, opts ...athanor.Option) Schedule {
	return athanor.Declare(s, scheduleKind, name, p, opts...)
}

// ReadSchedule uses a schedule that the stack does not own: by its ARN, its name in the default group, or by ScheduleProps that name it.
func ReadSchedule(s *athanor.Stack, name string, by any) Schedule {
	return athanor.Read(s, scheduleKind, name, by)
}

// ScheduleProps declare a schedule. Defaults and limits are those of
// https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
type ScheduleProps struct {
	// Name of the schedule, one in its group: up to 64 letters, digits and - _ . characters. Default: none, a name is generated.
	// Changing it replaces the schedule.
	Name string
	// Group is the group that the schedule is in, which must be there.
	Group *string `prop:"default=default,maxlen=64,immutable" wire:"GroupName"`
	// Expression says when: rate(5 minutes), cron(0 8 ? * MON-FRI *), or once, at(2030-01-01T00:00:00).
	Expression string `prop:"required,maxlen=256" wire:"ScheduleExpression"`
	// Timezone is where cron and at are meant, by its name in the IANA database, such as Europe/Stockholm.
	Timezone *string `prop:"default=UTC,maxlen=50" wire:"ScheduleExpressionTimezone"`
	// Window lets a call come up to so much later, in whole minutes, so that many do not come at once. 0s is none.
	Window time.Duration `prop:"min=0s,max=24h,default=0s" wire:"-"`
	// Disabled: the schedule calls nothing.
	Disabled bool `prop:"default=false" wire:"-"`
	// Description of the schedule. Default: none.
	Description string `prop:"maxlen=512" wire:"Description"`
	// KMSKey is the ARN of the key of KMS that the schedule is encrypted with. Default: none, a key of the service.
	KMSKey aws.ARN `prop:"maxlen=2048" wire:"KmsKeyArn"`
	// Target is what is called: the ARN of a queue, a function, a state machine, a topic, or of any operation of AWS
	// (arn:aws:scheduler:::aws-sdk:SERVICE:OPERATION).
	Target aws.ARN `prop:"required,maxlen=1600" wire:"Target.Arn"`
	// Role is the ARN of the role that the call is made as, which scheduler.amazonaws.com may assume. Setting it needs
	// iam:PassRole on it.
	Role aws.ARN `prop:"required,maxlen=1600" wire:"Target.RoleArn"`
	// Input is what the target is given: text, or a document. Default: none, what the scheduler says of the call.
	Input any `wire:"Target.Input,document"`
	// MessageGroup is the group of the message for a queue that is FIFO. Default: none.
	MessageGroup string `prop:"maxlen=128" wire:"Target.SqsParameters.MessageGroupId"`
	// DeadLetter is the ARN of the queue for calls that failed. Default: none.
	DeadLetter aws.ARN `prop:"maxlen=1600" wire:"Target.DeadLetterConfig.Arn"`
	// Retries is how often a call that failed is made again.
	Retries *int `prop:"min=0,max=185,default=185" wire:"Target.RetryPolicy.MaximumRetryAttempts"`
	// MaxAge is for how long, in whole seconds.
	MaxAge *time.Duration `prop:"min=60s,max=24h,default=24h" wire:"Target.RetryPolicy.MaximumEventAgeInSeconds"`
}

// Schedule is what others may refer to of a schedule.
type Schedule struct {
	// ARN of the schedule, for policies that name who calls.
	ARN aws.ARN `attr:"early"`
	// Name of the schedule.
	Name string `attr:"early"`
	// Group that the schedule is in.
	Group string `attr:"early"`
}

// liveSchedule is an observed schedule.
type liveSchedule struct {
	attrs Schedule
	have  ScheduleProps
	// rest is what it has beside, see unmanaged.
	rest kind.Document
}

type site = kind.Site[ScheduleProps, Schedule]

var scheduleTable = kind.TableOf[ScheduleProps](kind.Codec{
	Name: "document", Form: aws.Document,
	Write: func(document any) (any, error) { return aws.DocumentText(document) },
})

var scheduleKind = &kind.Kind[ScheduleProps, liveSchedule, Schedule]{
	Type: scheduleType,
	Doc: "A schedule of EventBridge Scheduler with what it calls. It has no tags: its name alone says whose it is. Its beginning, its end and " +
		"what is done after the last call are not managed, and stay, as do the parameters of targets in ECS, Kinesis, SageMaker and on buses. Groups are not managed.",

	Observe:    observeSchedule,
	Create:     createSchedule,
	Compare:    compareSchedule,
	Attributes: func(live liveSchedule) Schedule { return live.attrs },
	Delete:     deleteSchedule,
	Identity:   func(s Schedule) string { return string(s.ARN) },

	Props: scheduleTable,
	Check: checkSchedule,
	Unique: func(want ScheduleProps) []string {
		return aws.Declares("AWS::Scheduler::Schedule", *want.Group, want.Name)
	},
	Named: &kind.Named[ScheduleProps, liveSchedule]{
		Given: func(want ScheduleProps) string { return want.Name },
		Rule:  func(ScheduleProps) kind.NameRule { return kind.NameRule{Max: 64, Marks: "-_."} },
		Live:  func(live liveSchedule) string { return live.attrs.Name },
	},
	List: listSchedules,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Scheduler", "scheduler", aws.Source(source), kind.Permissions{
		Observe: []string{"GetSchedule"},
		List:    []string{"ListSchedules"},
		Create:  []string{"CreateSchedule"},
		Update:  []string{"UpdateSchedule"},
		Delete:  []string{"DeleteSchedule"},
		Resource: func(location kind.Location, name string) []string {
			return []string{string(aws.ARNIn(location, "scheduler", "schedule/*/"+name))}
		},
		Depends: []kind.Dependence{
			aws.PassRole("scheduler.amazonaws.com", false, []string{"CreateSchedule", "UpdateSchedule"}, "role"),
			// https://docs.aws.amazon.com/scheduler/latest/UserGuide/encryption-rest.html
			aws.UseKey(0, []string{"CreateSchedule", "UpdateSchedule"}, []string{"kms:DescribeKey", "kms:GenerateDataKey", "kms:Decrypt"}, "kmsKey"),
			aws.UseKey(reconcile.Observing, nil, []string{"kms:Decrypt"}, "kmsKey"),
		},
	}),
}

// service returns the Scheduler as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{Name: "Scheduler", Signing: "scheduler", Host: "scheduler"}
}

func scheduleOf(location kind.Location, group, name string) Schedule {
	return Schedule{ARN: aws.ARNIn(location, "scheduler", "schedule/"+group+"/"+name), Name: name, Group: group}
}

func pathOf(name string) string { return "/schedules/" + url.PathEscape(name) }

// checkSchedule finds what the Scheduler would refuse, beyond what the table says.
func checkSchedule(want ScheduleProps) error {
	var problems props.Errors
	if want.Window%time.Minute != 0 {
		problems.Wrong("window", "want whole minutes")
	}
	form := strings.HasPrefix(want.Expression, "rate(") || strings.HasPrefix(want.Expression, "cron(") || strings.HasPrefix(want.Expression, "at(")
	if !token.Has(want.Expression) && (!form || !strings.HasSuffix(want.Expression, ")")) {
		problems.Wrong("expression", "want rate(…), cron(…) or at(…)")
	}
	return problems.OrNil()
}

// locate is the group and the name that a schedule is looked for by.
func locate(s site) (Schedule, error) {
	group := "default"
	if s.Want.Group != nil {
		group = *s.Want.Group
	}
	switch p, ok := aws.ARN(s.ID).Parse(); {
	case s.Last != nil:
		return *s.Last, nil
	case ok:
		in, name, both := strings.Cut(strings.TrimPrefix(p.Resource, "schedule/"), "/")
		if found := scheduleOf(s.Location, in, name); both && found.ARN == aws.ARN(s.ID) {
			return found, nil
		}
		return Schedule{}, aws.Foreign(s.ID, s.Location)
	}
	name := cmp.Or(s.ID, s.Name)
	if name == "" {
		return Schedule{}, fmt.Errorf("a schedule is found by its name, and has none")
	}
	return scheduleOf(s.Location, group, name), nil
}

func observeSchedule(ctx context.Context, s site) (live liveSchedule, err error) {
	if live.attrs, err = locate(s); err != nil {
		return live, err
	}
	shown := kind.Document{}
	err = service().Rest(ctx, s.Cloud, "GetSchedule", http.MethodGet, pathOf(live.attrs.Name), url.Values{"groupName": {live.attrs.Group}}, nil, &shown)
	if err != nil {
		return live, aws.Absent(err)
	}
	whole := func(name string) int64 {
		number, _ := shown.Get(name).(float64)
		return int64(number)
	}
	for _, name := range []string{"Target.RetryPolicy.MaximumRetryAttempts", "Target.RetryPolicy.MaximumEventAgeInSeconds"} {
		if shown.Get(name) != nil {
			shown.Set(name, whole(name))
		}
	}
	if live.have, err = scheduleTable.Read(shown); err != nil {
		return live, err
	}
	live.have.Disabled = shown.Get("State") == "DISABLED"
	live.have.Window = time.Duration(whole("FlexibleTimeWindow.MaximumWindowInMinutes")) * time.Minute
	live.rest = kind.Document{}
	for _, name := range unmanaged() {
		if v := shown.Get(name); v != nil {
			live.rest.Set(name, v)
		}
	}
	return live, nil
}

// unmanaged are the members that an update sends as they are.
func unmanaged() []string {
	return []string{
		"StartDate", "EndDate", "ActionAfterCompletion", "Target.EcsParameters", "Target.EventBridgeParameters", "Target.KinesisParameters",
		"Target.SageMakerPipelineParameters",
	}
}

// sent is a whole schedule as the Scheduler takes it: an update sets to its default what it is not told.
func sent(want ScheduleProps, rest kind.Document) (kind.Document, error) {
	body := kind.Document{"State": "ENABLED", "FlexibleTimeWindow": kind.Document{"Mode": "OFF"}}
	if want.Disabled {
		body["State"] = "DISABLED"
	}
	if want.Window > 0 {
		body["FlexibleTimeWindow"] = kind.Document{"Mode": "FLEXIBLE", "MaximumWindowInMinutes": int64(want.Window / time.Minute)}
	}
	for _, name := range unmanaged() {
		if v := rest.Get(name); v != nil {
			body.Set(name, v)
		}
	}
	return body, scheduleTable.Created(want, body)
}

func createSchedule(ctx context.Context, s site) (Schedule, error) {
	body, err := sent(s.Want, nil)
	if err != nil {
		return Schedule{}, err
	}
	err = service().Rest(ctx, s.Cloud, "CreateSchedule", http.MethodPost, pathOf(s.Name), nil, body, nil)
	return scheduleOf(s.Location, *s.Want.Group, s.Name), aws.Propagating(s.Cloud, err)
}

// compareSchedule states every aspect; one call sets all.
func compareSchedule(d *kind.Diff[liveSchedule], want ScheduleProps, live liveSchedule) {
	kind.Compare(d, scheduleTable, want, live.have, kind.Set("UpdateSchedule", func(ctx context.Context, u kind.Update[liveSchedule]) error {
		body, err := sent(want, u.Live.rest)
		if err != nil {
			return err
		}
		err = service().Rest(ctx, u.Cloud, "UpdateSchedule", http.MethodPut, pathOf(u.Live.attrs.Name), nil, body, nil)
		return aws.NotYet(aws.Propagating(u.Cloud, err))
	}))
}

func deleteSchedule(ctx context.Context, s site) error {
	return service().Rest(ctx, s.Cloud, "DeleteSchedule", http.MethodDelete, pathOf(s.Last.Name), url.Values{"groupName": {s.Last.Group}}, nil, nil)
}

func listSchedules(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	query := url.Values{"MaxResults": {"100"}}
	if scope.Prefix != "" {
		query.Set("NamePrefix", scope.Prefix)
	}
	for {
		var page struct {
			Schedules []struct{ Name, GroupName string }
			NextToken string
		}
		if err := service().Rest(ctx, scope.Cloud, "ListSchedules", http.MethodGet, "/schedules", query, nil, &page); err != nil {
			return nil, err
		}
		for _, s := range page.Schedules {
			if !strings.HasPrefix(s.Name, scope.Prefix) {
				continue
			}
			found := scheduleOf(scope.Place, s.GroupName, s.Name)
			all = append(all, kind.Found{Kind: scheduleType, Place: scope.Place, Identity: string(found.ARN), Name: s.Name})
		}
		if query.Set("NextToken", page.NextToken); page.NextToken == "" {
			return all, nil
		}
	}
}
