package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Settings say where objects live and who asks. All are optional: the SDK's usual chain of environment,
// configuration files and roles answers what they leave open, with AWS_PROFILE, AWS_REGION,
// AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SQS and its like, and AWS_CA_BUNDLE.
type Settings struct {
	// Region is where the objects live, such as "eu-west-1". Default: that of AWS_REGION, or of the profile.
	Region *string
	// Profile names a profile of the shared configuration files. Default: AWS_PROFILE, or "default".
	Profile *string
	// Endpoint is the URL that all services are reached by, for emulators and private gateways. Default: AWS's own.
	Endpoint *string
	// AccountID is the only account that is allowed, twelve digits: with credentials of another nothing is
	// called. Default: none, every account.
	AccountID string
	// AssumeRole is the role that all calls are made as, assumed with the credentials of the profile. Default: none.
	AssumeRole *AssumeRole
	// Tags are given to every object that can have tags. A tag of the same key on a resource wins. Plans show them, and they are
	// part of drift. Default: none.
	Tags map[string]string
	// IgnoreTags are the keys of tags that others set, and that stay as they are: whole, or the beginning of keys with a * after
	// it. What the program declares itself, in tags of a resource or of these settings, is managed all the same. Default: none.
	IgnoreTags []string
}

// AssumeRole is a role of IAM that is assumed for all calls.
type AssumeRole struct {
	// ARN names the role, such as "arn:aws:iam::123456789012:role/deploy". Its account is where objects live.
	ARN string `prop:"required"`
	// ExternalID is what the role's owner asks of others' accounts. Default: none.
	ExternalID string
	// SessionName is who CloudTrail says it was: 2 to 64 letters, digits and =,.@_+-. Default: "athanor".
	SessionName string
	// Duration is for how long a session lasts, 15 minutes to 12 hours and no longer than the role allows; a longer run assumes
	// the role again. A role that was assumed by a role lasts for an hour at most. Default: one hour.
	Duration *time.Duration `prop:"min=15m,max=12h"`
}

// Setting is one change of [Settings].
type Setting func(map[string]any)

// Region is where objects live, such as "eu-west-1".
func Region(name string) Setting { return setting("region", name) }

// Profile names a profile of the shared configuration files.
func Profile(name string) Setting { return setting("profile", name) }

// Endpoint is the URL that all services are reached by.
func Endpoint(url string) Setting { return setting("endpoint", url) }

// Account is the only account that is allowed, twelve digits.
func Account(id string) Setting { return setting("accountId", id) }

// Assume is the role that all calls are made as.
func Assume(role AssumeRole) Setting { return func(m map[string]any) { m["assumeRole"] = role } }

// WithTags are given to every object that can have tags, in place of those given outside.
func WithTags(tags map[string]string) Setting { return func(m map[string]any) { m["tags"] = tags } }

// LeaveTags are the keys of tags that others set, in place of those given outside; "team/*" is all that begin with "team/".
func LeaveTags(keys ...string) Setting { return func(m map[string]any) { m["ignoreTags"] = keys } }

func setting(name, value string) Setting { return func(m map[string]any) { m[name] = value } }

// In is a handle of the stack whose kinds of AWS live where the settings say; what they leave open stays
// as it is outside.
//
//	eu := aws.In(s, aws.Region("eu-west-1"))
//	sqs.NewQueue(eu, "orders", sqs.QueueProps{})
func In(s *athanor.Stack, opts ...Setting) *athanor.Stack {
	settings := map[string]any{}
	for _, o := range opts {
		o(settings)
	}
	return s.With("aws", settings)
}

// Service is what one service of AWS offers.
type Service struct {
	// Kinds are its kinds.
	Kinds []reconcile.Any
	// Constructs are what YAML uses of its kinds beside their props, by kind.
	Constructs map[string]athanor.Construct
	// Filters are its resource types in the tagging service, such as "sqs" or "sns:topic".
	Filters []string
	// Everything: objects of all types may be its own, so that discovery asks for all.
	Everything bool
	// Registry are the types of the public registry that its kinds stand for, with the kind of each.
	Registry map[string]string
	// Also are further types of the public registry whose objects its kinds can manage, with the kind of each: a program may declare
	// either.
	Also map[string]string
	// Family are further kinds, made when they are asked for. At most one service has some.
	Family *reconcile.Family
	// Match says which kind an ARN belongs to, with its identity and name; ok is false for other ARNs.
	Match func(arn ARN) (kind, identity, name string, ok bool)
}

// Provider is the family aws with the kinds of these services.
func Provider(services ...Service) reconcile.Provider {
	limits := newLimits()
	p := reconcile.Provider{
		Name:     "aws",
		Settings: new(Settings),
		Open: func(_ context.Context, settings any) (reconcile.Cloud, error) {
			return open(limits, settings)
		},
		Discover: func(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
			return discover(ctx, scope, services)
		},
		Permissions: reconcile.Permissions{Observe: []string{"sts:GetCallerIdentity"}, List: []string{"tag:GetResources"}},
	}
	for _, s := range services {
		p.Kinds = append(p.Kinds, s.Kinds...)
		if s.Family != nil {
			p.Family = family(*s.Family, services)
		}
	}
	return p
}

// family is kinds of the registry without those that a service has a kind of its own for.
func family(of reconcile.Family, services []Service) *reconcile.Family {
	own := map[string]string{}
	for _, s := range services {
		maps.Copy(own, s.Registry)
	}
	types, kind := of.Types, of.Kind
	of.Types = func() ([]string, error) {
		names, err := types()
		return slices.DeleteFunc(names, func(name string) bool { return own[name] != "" }), err
	}
	of.Kind = func(name string) (reconcile.Any, error) {
		if better := own[name]; better != "" {
			return nil, reconcile.WithHint(fmt.Errorf("%s has a kind of its own", name), "use %s; `athanor kinds %s` documents it", better, better)
		}
		return kind(name)
	}
	return &of
}

var regionName = props.Pattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)

var accountID = props.Pattern(`^[0-9]{12}$`)

func open(limits *limits, settings any) (*Cloud, error) {
	s, ok := settings.(*Settings)
	if !ok {
		return nil, fmt.Errorf("settings of aws: have %T", settings)
	}
	if s == nil {
		s = new(Settings)
	}
	if s.Region != nil && !regionName().MatchString(*s.Region) { // it becomes part of a host's name
		return nil, reconcile.WithHint(fmt.Errorf("settings of aws: region %q", *s.Region), "a region is such as eu-west-1")
	}
	if s.AccountID != "" && !accountID().MatchString(s.AccountID) {
		return nil, reconcile.WithHint(fmt.Errorf("settings of aws: accountId %q", s.AccountID), "an account is twelve digits")
	}
	if err := s.check(); err != nil {
		return nil, reconcile.WithHint(fmt.Errorf("settings of aws: %w", err), "`athanor schema` says what they take")
	}
	return newCloud(limits, *s, nil), nil
}

var (
	roleARN     = props.Pattern(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\x21-\x7e]+$`)
	sessionName = props.Pattern(`^[A-Za-z0-9_=,.@+-]{2,64}$`)
)

// check finds what is wrong with the role and the tags.
func (s *Settings) check() error {
	if role := s.AssumeRole; role != nil {
		switch {
		case !roleARN().MatchString(role.ARN):
			return fmt.Errorf("assumeRole.arn: %q is not the ARN of a role", role.ARN)
		case role.SessionName != "" && !sessionName().MatchString(role.SessionName):
			return fmt.Errorf("assumeRole.sessionName: %q is not 2 to 64 letters, digits and =,.@_+-", role.SessionName)
		}
	}
	if err := CheckTags(s.Tags).OrNil(); err != nil {
		return err
	}
	for _, key := range s.IgnoreTags {
		prefix := strings.TrimSuffix(key, "*")
		switch {
		case strings.Contains(prefix, "*"):
			return fmt.Errorf("ignoreTags: %q: a * stands at the end alone", key)
		case prefix == "":
			return fmt.Errorf("ignoreTags: %q names no tag", key)
		case adopt.IsMark(prefix):
			return fmt.Errorf("ignoreTags: %q: tags that begin with athanor: are owner tags", key)
		}
	}
	return nil
}
