// Package iam offers roles and managed policies of AWS Identity and Access Management.
//
// It knows which call reads and sets each aspect of a role, what hangs on a role and must go before it can, how
// versions of a managed policy come and go, and that all of this is one for the whole account, whatever the region. It
// does not know what actions mean; packages of services do, and grant them (see [aws.Grant]). When two policies say
// the same is the business of package aws.
package iam

import (
	"embed"
	"net/url"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed role.go role_props.go policy.go policy_props.go
var source embed.FS

const (
	roleType   = "aws.iam.Role"
	policyType = "aws.iam.Policy"
)

// Service is what this package offers. The tagging service shows no roles, and policies in one region alone: both are
// found by their names.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(roleKind), reconcile.Erase(policyKind)},
		Filters:  []string{"iam:policy"},
		Registry: map[string]string{"AWS::IAM::Role": roleType, "AWS::IAM::RolePolicy": roleType, "AWS::IAM::ManagedPolicy": policyType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			switch what, _, _ := strings.Cut(p.Resource, "/"); {
			case !ok || p.Service != "iam":
			case what == "role":
				return roleType, string(arn), nameIn(p.Resource), true
			case what == "policy":
				return policyType, string(arn), nameIn(p.Resource), true
			}
			return "", "", "", false
		},
	}
}

// NewRole declares a role.
func NewRole(s *athanor.Stack, name string, p RoleProps, opts ...athanor.Option) Role {
	r := athanor.Declare(s, roleKind, name, p, opts...)
	r.stack = s
	return r
}

// ReadRole uses a role that the stack does not own: by its ARN or name, or by RoleProps that name it. It cannot be
// granted anything: what it may do is its owner's affair.
func ReadRole(s *athanor.Stack, name string, by any) Role {
	r := athanor.Read(s, roleKind, name, by)
	r.stack = s
	return r
}

// Granted is the stack that declares the role, and the role; see [aws.Grant].
func (r Role) Granted() (*athanor.Stack, aws.ARN) { return r.stack, r.ARN }

// NewPolicy declares a managed policy.
func NewPolicy(s *athanor.Stack, name string, p PolicyProps, opts ...athanor.Option) Policy {
	return athanor.Declare(s, policyKind, name, p, opts...)
}

// ReadPolicy uses a managed policy that the stack does not own: by its ARN, those of AWS included, or by PolicyProps that
// name it.
func ReadPolicy(s *athanor.Stack, name string, by any) Policy {
	return athanor.Read(s, policyKind, name, by)
}

// ServiceTrust is the trust policy of a role that services of AWS run as, such as "lambda.amazonaws.com".
func ServiceTrust(services ...string) map[string]any {
	return aws.Policy(aws.Statement{
		Principals: map[string][]string{"Service": services},
		Actions:    []string{"sts:AssumeRole"},
	})
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}

// nameIn is the name at the end of a path.
func nameIn(resource string) string { return resource[strings.LastIndexByte(resource, '/')+1:] }

// documentIn is a policy as IAM shows it, which is encoded as in a URL.
func documentIn(shown *string) string {
	text := sdkaws.ToString(shown)
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_+=,.@-", r)
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
