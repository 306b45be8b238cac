// Package sfn offers state machines of AWS Step Functions, and access to them.
//
// It knows a machine's definition as a document, its role, logging, tracing and key. It does not know what the states of a
// definition mean, nor versions, aliases, activities and executions; how calls are made and judged is the business of package aws.
package sfn

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

//go:embed machine.go
var source embed.FS

const machineType = "aws.sfn.StateMachine"

// Service is what this package offers. State machines through Cloud Control, AWS::StepFunctions::StateMachine, stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{machineKind.Erase()},
		Constructs: map[string]athanor.Construct{
			machineType: aws.Usable(StateMachine.declaredWith, StateMachine.Grant, map[string]Access{"start": Start, "read": Read, "stop": Stop}),
		},
		Filters: []string{"states:stateMachine"},
		Also:    map[string]string{"AWS::StepFunctions::StateMachine": machineType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			name, ok = strings.CutPrefix(p.Resource, "stateMachine:")
			return machineType, string(arn), name, ok && p.Service == "states" && !strings.Contains(name, ":")
		},
	}
}

// NewStateMachine declares a state machine.
func NewStateMachine(s *athanor.Stack, name string, p StateMachineProps, opts ...athanor.Option) StateMachine {
	return athanor.Declare(s, machineKind, name, p, opts...).declaredWith(p)
}

// ReadStateMachine uses a state machine that the stack does not own: by its name or ARN, or by StateMachineProps that name it.
func ReadStateMachine(s *athanor.Stack, name string, by any) StateMachine {
	return athanor.Read(s, machineKind, name, by)
}

// StateMachineProps declare a state machine. Defaults and limits are those of
// https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
type StateMachineProps struct {
	// Name of the machine: up to 80 letters, digits and - _. Default: none, a name is generated. Changing it replaces the machine.
	Name string
	// Definition is what the machine does: a document in the Amazon States Language, with references to other resources where it
	// names them, or JSON text. Executions that are running go on with the definition that they began with.
	Definition any `prop:"required" wire:"definition,document"`
	// Role is the ARN of the role that executions run as, which states.amazonaws.com may assume. Setting it needs iam:PassRole
	// on it.
	Role aws.ARN `prop:"required,maxlen=256" wire:"roleArn"`
	// Kind of the machine: executions that last for up to a year and run once, or for up to five minutes and at least once.
	Type *string `prop:"enum=STANDARD|EXPRESS,default=STANDARD,immutable" wire:"type"`
	// Tracing sends what executions do to X-Ray.
	Tracing bool `prop:"default=false" wire:"tracingConfiguration.enabled"`
	// LogLevel says which events of executions are logged.
	LogLevel *string `prop:"enum=OFF|ALL|ERROR|FATAL,default=OFF" wire:"loggingConfiguration.level"`
	// LogData logs the input and output of states too.
	LogData bool `prop:"default=false" wire:"loggingConfiguration.includeExecutionData"`
	// LogGroup is the ARN of the log group that they are logged in. Default: none, with the level OFF alone.
	LogGroup aws.ARN `wire:"-"`
	// KMSKey is the key of KMS that definitions and executions are encrypted with, by its ARN. Default: none, a key of the service.
	KMSKey aws.ARN `prop:"maxlen=2048" wire:"encryptionConfiguration.kmsKeyId"`
	// KeyReuse is how long a data key is used again, in whole seconds, with kmsKey.
	KeyReuse *time.Duration `prop:"min=60s,max=900s,default=300s,with=kmsKey" wire:"encryptionConfiguration.kmsDataKeyReusePeriodSeconds"`
	// Tags of the machine, beside the owner tags. Default: none.
	Tags map[string]string
}

// StateMachine is what others may refer to of a state machine.
type StateMachine struct {
	// ARN of the machine: what starts executions is given it.
	ARN aws.ARN `attr:"early"`
	// ExecutionsARN stands for all executions of the machine, as policies need it that allow reading and stopping them.
	ExecutionsARN aws.ARN `attr:"early"`
	// Name of the machine.
	Name string `attr:"early"`

	key aws.ARN // that encrypts it, as declared: grants allow its use
}

// declaredWith is the machine with what grants need of its props.
func (m StateMachine) declaredWith(p StateMachineProps) StateMachine {
	m.key = p.KMSKey
	return m
}

// liveMachine is an observed state machine.
type liveMachine struct {
	attrs StateMachine
	have  StateMachineProps
	tags  map[string]string
	// isDeleting: its deletion was asked for, and executions are still running.
	isDeleting bool
}

type site = kind.Site[StateMachineProps, StateMachine]

var machineTable = kind.TableOf[StateMachineProps](kind.Codec{
	Name: "document", Form: aws.Document,
	Write: func(document any) (any, error) { return aws.DocumentText(document) },
})

var machineKind = &kind.Kind[StateMachineProps, liveMachine, StateMachine]{
	Type: machineType,
	Doc: "A state machine of AWS Step Functions with its definition, role, logging, tracing, key and tags. Versions, aliases and executions " +
		"are not managed: when a machine is deleted, executions that are running come to their end, and their history goes with it.",

	Observe:    observeMachine,
	Create:     createMachine,
	Compare:    compareMachine,
	Attributes: func(live liveMachine) StateMachine { return live.attrs },
	Delete:     deleteMachine,
	Identity:   func(m StateMachine) string { return string(m.ARN) },

	Props: machineTable,
	Check: checkMachine,
	Unique: func(want StateMachineProps) []string {
		return aws.Declares("AWS::StepFunctions::StateMachine", want.Name)
	},
	Named: &kind.Named[StateMachineProps, liveMachine]{
		Given: func(want StateMachineProps) string { return want.Name },
		Rule:  func(StateMachineProps) kind.NameRule { return kind.NameRule{Max: 80, Marks: "-_"} },
		Live:  func(live liveMachine) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want StateMachineProps) map[string]string { return want.Tags },
		func(live liveMachine) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	Status: func(live liveMachine) kind.Status {
		if live.isDeleting {
			return kind.Busy("it is being deleted, once its executions have ended")
		}
		return kind.Ready()
	},
	// An execution may run for a year.
	Deletion: kind.Later[liveMachine](func(live liveMachine) bool { return live.isDeleting }),
	List:     listMachines,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("SFN", "states", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeStateMachine", "ListTagsForResource"},
		List:    []string{"ListStateMachines"},
		Create:  []string{"CreateStateMachine", "TagResource"},
		Update:  []string{"UpdateStateMachine", "TagResource", "UntagResource"},
		Delete:  []string{"DeleteStateMachine"},
		Resource: func(location kind.Location, name string) []string {
			return aws.On("states", "stateMachine:")(location, name)
		},
		Depends: []kind.Dependence{
			aws.PassRole("states.amazonaws.com", false, []string{"CreateStateMachine", "UpdateStateMachine"}, "role"),
			// https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
			aws.UseKey(0, []string{"CreateStateMachine", "UpdateStateMachine"}, []string{"kms:DescribeKey", "kms:GenerateDataKey", "kms:Decrypt"}, "kmsKey"),
			aws.UseKey(reconcile.Observing, nil, []string{"kms:Decrypt"}, "kmsKey"),
		},
	}),
}

// service returns Step Functions as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{Name: "SFN", Signing: "states", Host: "states", Target: "AWSStepFunctions", Version: "1.0"}
}

func arnOf(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "states", "stateMachine:"+name)
}

func machineOf(location kind.Location, name string) StateMachine {
	return StateMachine{ARN: arnOf(location, name), ExecutionsARN: aws.ARNIn(location, "states", "execution:"+name+":*"), Name: name}
}

// checkMachine finds what Step Functions would refuse, beyond what the table says.
func checkMachine(want StateMachineProps) error {
	var problems props.Errors
	logs := want.LogLevel != nil && *want.LogLevel != "OFF"
	switch {
	case want.LogGroup != "" && !logs:
		problems.Wrong("logGroup", "it counts with a logLevel other than OFF alone")
	case want.LogGroup == "" && logs && !token.Has(*want.LogLevel):
		problems.Wrong("logGroup", "a logLevel other than OFF needs a group")
	}
	return problems.OrNil()
}

func observeMachine(ctx context.Context, s site) (live liveMachine, err error) {
	name, err := aws.NameOf(s, aws.Names[StateMachine]{
		Of:  func(m StateMachine) string { return m.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "stateMachine:") },
		ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	live.attrs = machineOf(s.Location, name)
	shown, tags := kind.Document{}, struct {
		Tags []aws.LowerTag `json:"tags"`
	}{}
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) error {
		return service().Call(ctx, s.Cloud, "DescribeStateMachine", kind.Document{"stateMachineArn": live.attrs.ARN}, &shown)
	}, func(ctx context.Context) error {
		return service().Call(ctx, s.Cloud, "ListTagsForResource", kind.Document{"resourceArn": live.attrs.ARN}, &tags)
	})
	if err != nil {
		return live, err
	}
	live.tags = aws.MapOfTags(tags.Tags)
	live.isDeleting = shown.Get("status") == "DELETING"
	if seconds, ok := shown.Get("encryptionConfiguration.kmsDataKeyReusePeriodSeconds").(float64); ok {
		shown.Set("encryptionConfiguration.kmsDataKeyReusePeriodSeconds", int64(seconds))
	}
	if live.have, err = machineTable.Read(shown); err != nil {
		return live, err
	}
	live.have.LogGroup = groupIn(shown)
	return live, nil
}

// groupIn is the log group that a machine logs in: Step Functions names what is in it, by an ARN with :* at its end.
func groupIn(shown kind.Document) aws.ARN {
	list, _ := shown.Get("loggingConfiguration.destinations").([]any)
	for _, item := range list {
		if d, ok := item.(map[string]any); ok {
			arn, _ := kind.Document(d).Get("cloudWatchLogsLogGroup.logGroupArn").(string)
			return aws.ARN(strings.TrimSuffix(arn, ":*"))
		}
	}
	return ""
}

// configured is all that a creation and an update have in common. An update leaves as it is what it is not told.
func configured(want StateMachineProps, body kind.Document) (kind.Document, error) {
	if err := machineTable.Created(want, body); err != nil {
		return nil, err
	}
	destinations := []any{}
	if want.LogGroup != "" {
		group := strings.TrimSuffix(string(want.LogGroup), ":*") + ":*"
		destinations = append(destinations, kind.Document{"cloudWatchLogsLogGroup": kind.Document{"logGroupArn": group}})
	}
	body.Set("loggingConfiguration.destinations", destinations)
	if body.Set("encryptionConfiguration.type", "AWS_OWNED_KEY"); want.KMSKey != "" {
		body.Set("encryptionConfiguration.type", "CUSTOMER_MANAGED_KMS_KEY")
	}
	return body, nil
}

// createMachine carries everything.
func createMachine(ctx context.Context, s site) (StateMachine, error) {
	body, err := configured(s.Want, kind.Document{"name": s.Name, "tags": aws.JSONTags[aws.LowerTag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner))})
	if err != nil {
		return StateMachine{}, err
	}
	return machineOf(s.Location, s.Name), propagating(s.Cloud, service().Call(ctx, s.Cloud, "CreateStateMachine", body, nil))
}

// propagating waits for a role that Step Functions does not know yet, or that does not have its permissions yet.
func propagating(cloud kind.Cloud, err error) error {
	if aws.HasCode(err, "AccessDeniedException") && aws.PermissionsArrive(cloud) {
		return aws.Busy(err)
	}
	return aws.Propagating(cloud, err)
}

func listMachines(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	in := kind.Document{"maxResults": 1000}
	for {
		var page struct {
			StateMachines []struct {
				Name string `json:"name"`
			} `json:"stateMachines"`
			NextToken string `json:"nextToken"`
		}
		if err := service().Call(ctx, scope.Cloud, "ListStateMachines", in, &page); err != nil {
			return nil, err
		}
		for _, m := range page.StateMachines {
			if strings.HasPrefix(m.Name, scope.Prefix) {
				all = append(all, kind.Found{Kind: machineType, Place: scope.Place, Identity: string(arnOf(scope.Place, m.Name)), Name: m.Name})
			}
		}
		if in["nextToken"] = page.NextToken; page.NextToken == "" {
			return all, nil
		}
	}
}

// compareMachine states every aspect; one call sets all.
func compareMachine(d *kind.Diff[liveMachine], want StateMachineProps, live liveMachine) {
	update := kind.Set("UpdateStateMachine", func(ctx context.Context, u kind.Update[liveMachine]) error {
		body, err := configured(want, kind.Document{})
		if err != nil {
			return err
		}
		delete(body, "type")
		body["stateMachineArn"] = u.Live.attrs.ARN
		return aws.NotYet(propagating(u.Cloud, service().Call(ctx, u.Cloud, "UpdateStateMachine", body, nil)))
	})
	want.LogGroup = aws.ARN(strings.TrimSuffix(string(want.LogGroup), ":*"))
	kind.Compare(d, machineTable, want, live.have, update)
}

func deleteMachine(ctx context.Context, s site) error {
	return service().Call(ctx, s.Cloud, "DeleteStateMachine", kind.Document{"stateMachineArn": s.Last.ARN}, nil)
}

func putTags(ctx context.Context, u kind.Update[liveMachine], tags map[string]string) error {
	return service().Call(ctx, u.Cloud, "TagResource", kind.Document{"resourceArn": u.Live.attrs.ARN, "tags": aws.JSONTags[aws.LowerTag](tags)}, nil)
}

func dropTags(ctx context.Context, u kind.Update[liveMachine], keys []string) error {
	return service().Call(ctx, u.Cloud, "UntagResource", kind.Document{"resourceArn": u.Live.attrs.ARN, "tagKeys": keys}, nil)
}
