package eventbridge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveBus is a bus as it was seen, in the shape of its props.
type liveBus struct {
	arn  aws.ARN
	have EventBusProps
	// tags are all of them: the author's, the mark, and those of AWS.
	tags map[string]string
}

type (
	busSite = reconcile.Site[EventBusProps, EventBus]
	busDiff = reconcile.Diff[liveBus]
	busOn   = reconcile.On[liveBus]
)

var busKind = &reconcile.Kind[EventBusProps, liveBus, EventBus]{
	Type: busType,
	Doc: "A bus of Amazon EventBridge with its policy, key, logging and tags. Its rules are kinds of their own. Buses of partner " +
		"event sources and the account's default bus are not managed: read those (ReadEventBus, `read`).",

	Observe:  observeBus,
	Create:   createBus,
	Compare:  compareBus,
	Attrs:    func(live liveBus) EventBus { return EventBus{ARN: live.arn, Name: live.have.Name} },
	Delete:   deleteBus,
	Identity: func(b EventBus) string { return string(b.ARN) },

	Naming: func(EventBusProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 256, Allowed: nameRune}
	},
	Given: func(want EventBusProps) string { return want.Name },
	Defaults: func(want EventBusProps) EventBusProps {
		aws.OrDefault(&want.LogLevel, "OFF")
		aws.OrDefault(&want.LogDetail, "NONE")
		return want
	},
	Check:   checkBus,
	Late:    []tree.Path{"policy", "deadLetter"},
	AtBirth: []string{"arn", "name"},

	Owner: func(live liveBus) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listBuses,

	Source: source,
	Calls: []string{
		"EventBridge.CreateEventBus", "EventBridge.DescribeEventBus", "EventBridge.UpdateEventBus", "EventBridge.DeleteEventBus",
		"EventBridge.ListEventBuses", "EventBridge.PutPermission", "EventBridge.RemovePermission",
		"EventBridge.ListTagsForResource", "EventBridge.TagResource", "EventBridge.UntagResource",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"events:DescribeEventBus", "events:ListTagsForResource"},
		List:    []string{"events:ListEventBuses"},
		Create:  []string{"events:CreateEventBus", "events:PutPermission", "events:TagResource"},
		Update:  []string{"events:UpdateEventBus", "events:PutPermission", "events:RemovePermission", "events:TagResource", "events:UntagResource"},
		Delete:  []string{"events:DeleteEventBus"},
		Resource: func(place reconcile.Place, name string) []string {
			return []string{string(busARN(place, name))}
		},
		Anywhere: []string{"events:ListEventBuses"},
	},
}

// busARN is how EventBridge names a bus.
func busARN(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "events", "event-bus/"+name)
}

// checkBus finds what EventBridge would refuse.
func checkBus(want EventBusProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	foreign := func(r rune) bool { return !nameRune(r) }
	switch name := want.Name; {
	case name == defaultBus:
		wrong("name", "every account has that bus already: read it instead")
	case !token.Has(name) && (len(name) > 256 || strings.ContainsFunc(name, foreign)):
		wrong("name", "want up to 256 letters, digits, -, _ and dots")
	}
	if key := want.KMSKeyARN; key != "" && !token.Has(string(key)) {
		if p, ok := key.Parse(); !ok || p.Service != "kms" {
			wrong("kmsKeyArn", "want the ARN of a key, and not its id or alias")
		}
	}
	return problems.OrNil()
}

func busNames() aws.Names[EventBus] {
	return aws.Names[EventBus]{
		Of:   func(b EventBus) string { return b.Name },
		In:   busName,
		Bare: busName,
		ARN:  busARN,
	}
}

func observeBus(ctx context.Context, site busSite) (liveBus, error) {
	name, err := aws.NameOf(site, busNames())
	if err != nil {
		return liveBus{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveBus{}, err
	}
	out, err := client.DescribeEventBus(ctx, &sdk.DescribeEventBusInput{Name: &name})
	if err != nil {
		return liveBus{}, aws.Absent(err)
	}
	live := liveBus{arn: aws.ARN(sdkaws.ToString(out.Arn)), have: EventBusProps{
		Name: sdkaws.ToString(out.Name), Description: sdkaws.ToString(out.Description), KMSKeyARN: aws.ARN(sdkaws.ToString(out.KmsKeyIdentifier)),
		LogLevel: new("OFF"), LogDetail: new("NONE"), Policy: sdkaws.ToString(out.Policy),
	}}
	if out.DeadLetterConfig != nil {
		live.have.DeadLetter = aws.ARN(sdkaws.ToString(out.DeadLetterConfig.Arn))
	}
	if l := out.LogConfig; l != nil && l.Level != "" {
		live.have.LogLevel = new(string(l.Level))
	}
	if l := out.LogConfig; l != nil && l.IncludeDetail != "" {
		live.have.LogDetail = new(string(l.IncludeDetail))
	}
	live.tags, err = readTags(ctx, client, out.Arn)
	return live, err
}

// createBus makes the bus, and fails where there is one of that name. Its policy is put when it is there.
func createBus(ctx context.Context, site busSite) (EventBus, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return EventBus{}, err
	}
	want := site.Want
	in := &sdk.CreateEventBusInput{
		Name: &site.Name, Description: aws.OrNil(want.Description), KmsKeyIdentifier: aws.OrNil(string(want.KMSKeyARN)),
		DeadLetterConfig: want.deadLetters(), Tags: tagList(aws.Tags(want.Tags, site.Mark)),
	}
	if *want.LogLevel != "OFF" || *want.LogDetail != "NONE" {
		in.LogConfig = want.logging()
	}
	if _, err := client.CreateEventBus(ctx, in); err != nil {
		return EventBus{}, err
	}
	return EventBus{ARN: busARN(site.Place, site.Name), Name: site.Name}, nil
}

func (p EventBusProps) deadLetters() *types.DeadLetterConfig {
	if p.DeadLetter == "" {
		return nil
	}
	return &types.DeadLetterConfig{Arn: new(string(p.DeadLetter))}
}

func (p EventBusProps) logging() *types.LogConfig {
	return &types.LogConfig{Level: types.Level(*p.LogLevel), IncludeDetail: types.IncludeDetail(*p.LogDetail)}
}

// compareBus states every aspect. One call sets all but the policy and the tags.
func compareBus(d *busDiff, want EventBusProps, live liveBus) {
	have := live.have
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, have.Name)
	}
	set := updateBus(want)
	reconcile.Value(d, "description", aws.OrNil(want.Description), aws.OrNil(have.Description), set)
	reconcile.Value(d, "kmsKeyArn", aws.OrNil(want.KMSKeyARN), aws.OrNil(have.KMSKeyARN), set)
	reconcile.Value(d, "deadLetter", aws.OrNil(want.DeadLetter), aws.OrNil(have.DeadLetter), set)
	reconcile.Value(d, "logLevel", *want.LogLevel, *have.LogLevel, set)
	reconcile.Value(d, "logDetail", *want.LogDetail, *have.LogDetail, set)
	reconcile.Value(d, "policy", aws.CanonicalPolicy(want.Policy), aws.CanonicalPolicy(have.Policy), putPermission(want))
	compareTags(d, want.Tags, live.tags, live.arn)
}

// updateBus writes a bus whole: a key or a queue that a call does not name is taken away, and only a description stays.
// What is not to be changed keeps its live value.
func updateBus(want EventBusProps) *reconcile.Operation[liveBus] {
	return &reconcile.Operation[liveBus]{Name: "UpdateEventBus", Do: func(ctx context.Context, on busOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		have := on.Live.have
		keep(on.Changed, "description", &want.Description, have.Description)
		keep(on.Changed, "kmsKeyArn", &want.KMSKeyARN, have.KMSKeyARN)
		keep(on.Changed, "deadLetter", &want.DeadLetter, have.DeadLetter)
		keep(on.Changed, "logLevel", &want.LogLevel, have.LogLevel)
		keep(on.Changed, "logDetail", &want.LogDetail, have.LogDetail)
		in := &sdk.UpdateEventBusInput{
			Name: &have.Name, Description: &want.Description, KmsKeyIdentifier: aws.OrNil(string(want.KMSKeyARN)), DeadLetterConfig: want.deadLetters(),
		}
		if slices.Contains(on.Changed, "logLevel") || slices.Contains(on.Changed, "logDetail") || *have.LogLevel != "OFF" {
			in.LogConfig = want.logging()
		}
		_, err = client.UpdateEventBus(ctx, in)
		return aws.NotYet(err)
	}}
}

// putPermission sets the policy as a whole.
func putPermission(want EventBusProps) *reconcile.Operation[liveBus] {
	return &reconcile.Operation[liveBus]{Name: "PutPermission", Do: func(ctx context.Context, on busOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		policy, err := aws.DocumentText(want.Policy)
		if err != nil {
			return fmt.Errorf("policy: %w", err)
		}
		if policy == "" {
			_, err = client.RemovePermission(ctx, &sdk.RemovePermissionInput{EventBusName: &on.Live.have.Name, RemoveAllPermissions: true})
			return aws.NotYet(err)
		}
		_, err = client.PutPermission(ctx, &sdk.PutPermissionInput{EventBusName: &on.Live.have.Name, Policy: &policy})
		return aws.NotYet(err)
	}}
}

func deleteBus(ctx context.Context, site busSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	_, err = client.DeleteEventBus(ctx, &sdk.DeleteEventBusInput{Name: &site.Last.Name})
	return err
}

func listBuses(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	err := eachBus(ctx, scope, func(bus types.EventBus) error {
		if name := sdkaws.ToString(bus.Name); name != defaultBus {
			all = append(all, reconcile.Found{Kind: busType, Place: scope.Place, Identity: sdkaws.ToString(bus.Arn), Name: name})
		}
		return nil
	})
	return all, err
}
