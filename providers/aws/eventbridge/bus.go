package eventbridge

import (
	"context"
	"slices"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// EventBusProps declare a bus. Defaults and limits are those of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_CreateEventBus.html
type EventBusProps struct {
	// Name of the bus: up to 256 letters, digits, -, _ and dots, and not "default". Default: none, a name is
	// generated. Changing it replaces the bus.
	Name string
	// Description of the bus, up to 512 characters. Default: none.
	Description string `prop:"maxlen=512" wire:"Description"`
	// KMSKeyARN is the key of KMS that encrypts events, as an ARN. Its policy must allow EventBridge to use it. Default:
	// none, a key that AWS owns.
	KMSKeyARN aws.ARN `prop:"maxlen=2048" wire:"KmsKeyIdentifier"`
	// DeadLetter is the queue that gets the events which cannot be encrypted or decrypted with that key. Default: none.
	DeadLetter aws.ARN `prop:"deferrable,maxlen=1600" wire:"DeadLetterConfig.Arn"`
	// LogLevel says how much of what happens to events is logged. Where the lines go is not managed here: deliveries of
	// CloudWatch Logs take them (AWS::Logs::Delivery).
	LogLevel *string `prop:"enum=OFF|ERROR|INFO|TRACE,default=OFF" wire:"LogConfig.Level"`
	// LogDetail says whether lines hold the event itself.
	LogDetail *string `prop:"enum=NONE|FULL,default=NONE" wire:"LogConfig.IncludeDetail"`
	// Policy says which other accounts may send to the bus or make rules on it: a document (see aws.Policy), or JSON text.
	// Default: none, the account alone.
	Policy any `prop:"deferrable" wire:"-,policy,call=PutPermission"`
	// Tags of the bus, beside the owner tags. Default: none.
	Tags map[string]string
}

// EventBus is what others may refer to of a bus.
type EventBus struct {
	// ARN of the bus, for policies, and for targets of rules on other buses.
	ARN aws.ARN `attr:"early"`
	// Name of the bus, for rules on it.
	Name string `attr:"early"`
}

// liveBus is an observed bus.
type liveBus struct {
	attrs EventBus
	have  EventBusProps
	tags  map[string]string
}

type busSite = kind.Site[EventBusProps, EventBus]

var busTable = kind.TableOf[EventBusProps](aws.PolicyCodec()).
	For(kind.In(sdk.UpdateEventBusInput{}), kind.Out(sdk.DescribeEventBusOutput{}))

var busKind = &kind.Kind[EventBusProps, liveBus, EventBus]{
	Type: busType,
	Doc: "A bus of Amazon EventBridge with its policy, key, logging and tags. Its rules are kinds of their own. Buses of partner " +
		"event sources and the account's default bus are not managed: read those (ReadEventBus, `read`).",

	Observe:    observeBus,
	Create:     createBus,
	Compare:    compareBus,
	Attributes: func(live liveBus) EventBus { return live.attrs },
	Delete: func(ctx context.Context, s busSite) error {
		_, err := clientOf(s.Cloud).DeleteEventBus(ctx, &sdk.DeleteEventBusInput{Name: &s.Last.Name})
		return err
	},
	Identity: func(b EventBus) string { return string(b.ARN) },

	Props: busTable,
	Check: checkBus,
	Named: &kind.Named[EventBusProps, liveBus]{
		Given: func(want EventBusProps) string { return want.Name },
		Rule:  func(EventBusProps) kind.NameRule { return nameRule(256) },
		Live:  func(live liveBus) string { return live.attrs.Name },
	},
	Owner: tagged(
		func(want EventBusProps) map[string]string { return want.Tags },
		func(live liveBus) (map[string]string, aws.ARN) { return live.tags, live.attrs.ARN }),
	List: func(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
		for bus, err := range buses(ctx, scope) {
			if err != nil {
				return nil, err
			}
			if name := sdkaws.ToString(bus.Name); name != defaultBus {
				all = append(all, kind.Found{Kind: busType, Place: scope.Place, Identity: sdkaws.ToString(bus.Arn), Name: name})
			}
		}
		return all, nil
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("EventBridge", "events", source, kind.Permissions{
		Observe: []string{"DescribeEventBus", "ListTagsForResource"},
		List:    []string{"ListEventBuses"},
		Create:  []string{"CreateEventBus", "PutPermission", "TagResource"},
		Update:  []string{"UpdateEventBus", "PutPermission", "RemovePermission", "TagResource", "UntagResource"},
		Delete:  []string{"DeleteEventBus"},
		Resource: func(location kind.Location, name string) []string {
			return []string{string(busARN(location, name))}
		},
		Only: map[string][]tree.Path{"PutPermission": {"policy"}},
		// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-encryption-key-policy.html
		Depends: []kind.Dependence{
			aws.UseKey(0, []string{"UpdateEventBus"}, []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"}, "kmsKeyArn"),
		},
	}),
}

// busARN is how EventBridge names a bus.
func busARN(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "events", "event-bus/"+name)
}

// checkBus finds what EventBridge would refuse, beyond what the table says.
func checkBus(want EventBusProps) error {
	var problems props.Errors
	if want.Name == defaultBus {
		problems.Wrong("name", "every account has that bus already: read it instead")
	}
	if key := want.KMSKeyARN; key != "" && !token.Has(string(key)) {
		if p, ok := key.Parse(); !ok || p.Service != "kms" {
			problems.Wrong("kmsKeyArn", "want the ARN of a key, and not its id or alias")
		}
	}
	return problems.OrNil()
}

func observeBus(ctx context.Context, s busSite) (live liveBus, err error) {
	name, err := aws.NameOf(s, aws.Names[EventBus]{
		Of: func(b EventBus) string { return b.Name }, In: busName, Bare: busName, ARN: busARN,
	})
	if err != nil {
		return live, err
	}
	var out *sdk.DescribeEventBusOutput
	var tags map[string]string
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		out, err = clientOf(s.Cloud).DescribeEventBus(ctx, &sdk.DescribeEventBusInput{Name: &name})
		return err
	}, func(ctx context.Context) (err error) {
		tags, err = readTags(ctx, s.Cloud, new(string(busARN(s.Location, name))))
		return err
	})
	if err != nil {
		return live, err
	}
	live.attrs = EventBus{ARN: aws.ARN(sdkaws.ToString(out.Arn)), Name: sdkaws.ToString(out.Name)}
	if live.have, err = busTable.Read(kind.Struct(out)); err != nil {
		return live, err
	}
	live.have.Policy = sdkaws.ToString(out.Policy)
	live.tags = tags
	return live, nil
}

// createBus makes the bus, and fails where there is one of that name. Its policy is put when it is there.
func createBus(ctx context.Context, s busSite) (EventBus, error) {
	in := &sdk.CreateEventBusInput{Name: &s.Name, Tags: tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner))}
	if err := busTable.Created(s.Want, kind.Struct(in)); err != nil {
		return EventBus{}, err
	}
	if *s.Want.LogLevel == "OFF" && *s.Want.LogDetail == "NONE" {
		in.LogConfig = nil
	}
	if _, err := clientOf(s.Cloud).CreateEventBus(ctx, in); err != nil {
		return EventBus{}, err
	}
	return EventBus{ARN: busARN(s.Location, s.Name), Name: s.Name}, nil
}

// compareBus states every aspect. One call writes all but the policy and the tags: a key or a queue that it does not name is
// taken away, and only a description stays. What is not to be changed keeps its live value.
func compareBus(d *kind.Diff[liveBus], want EventBusProps, live liveBus) {
	update := kind.Set("UpdateEventBus", func(ctx context.Context, u kind.Update[liveBus]) error {
		in := &sdk.UpdateEventBusInput{Name: &u.Live.attrs.Name}
		if err := busTable.Created(busTable.Merged(want, u.Live.have, u.Changed), kind.Struct(in)); err != nil {
			return err
		}
		aws.OrDefault(&in.Description, "")
		if !slices.Contains(u.Changed, "logLevel") && !slices.Contains(u.Changed, "logDetail") && *u.Live.have.LogLevel == "OFF" {
			in.LogConfig = nil
		}
		_, err := clientOf(u.Cloud).UpdateEventBus(ctx, in)
		return aws.NotYet(err)
	})
	permit := kind.Set("PutPermission", func(ctx context.Context, u kind.Update[liveBus]) error {
		client, name, policy := clientOf(u.Cloud), &u.Live.attrs.Name, aws.Text(want.Policy)
		if *policy == "" {
			_, err := client.RemovePermission(ctx, &sdk.RemovePermissionInput{EventBusName: name, RemoveAllPermissions: true})
			return aws.NotYet(err)
		}
		_, err := client.PutPermission(ctx, &sdk.PutPermissionInput{EventBusName: name, Policy: policy})
		return aws.NotYet(err)
	})
	kind.Compare(d, busTable, want, live.have, update, permit)
}
