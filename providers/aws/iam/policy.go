package iam

import (
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// livePolicy is a managed policy as it was seen.
type livePolicy struct {
	arn         aws.ARN
	name, path  string
	id          string
	description string
	document    string // of the default version
	tags        map[string]string
}

type (
	policySite = reconcile.Site[PolicyProps, Policy]
	policyDiff = reconcile.Diff[livePolicy]
	policyOn   = reconcile.On[livePolicy]
)

var policyKind = &reconcile.Kind[PolicyProps, livePolicy, Policy]{
	Type: policyType,
	Doc: "A managed policy of AWS IAM, for roles to have attached. Policies are the account's, in all regions. One that is " +
		"attached to anything is not deleted: roles of the stack let go of it first, and whatever else uses it is named. " +
		"Versions that are not the default are not managed.",

	Observe:  observePolicy,
	Create:   createPolicy,
	Compare:  comparePolicy,
	Attrs:    policyAttrs,
	Delete:   deletePolicy,
	Identity: func(p Policy) string { return string(p.ARN) },
	Home:     aws.Global,

	Naming: func(PolicyProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 128, Allowed: nameRune}
	},
	Given:    func(want PolicyProps) string { return want.Name },
	Defaults: policyDefaults,
	Check:    checkPolicy,
	AtBirth:  []string{"arn", "name", "id"},

	Owner: func(live livePolicy) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listPolicies,

	Visibility: time.Minute, // as of roles
	// A policy in use is waited for as long as IAM may be behind, and no longer.
	Timeouts: reconcile.Timeouts{Delete: time.Minute},

	Source: aws.Source(source),
	Calls: []string{
		"IAM.GetPolicy", "IAM.GetPolicyVersion", "IAM.ListPolicies", "IAM.CreatePolicy", "IAM.DeletePolicy", "IAM.TagPolicy",
		"IAM.UntagPolicy", "IAM.ListPolicyVersions", "IAM.CreatePolicyVersion", "IAM.DeletePolicyVersion", "IAM.ListEntitiesForPolicy",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"iam:GetPolicy", "iam:GetPolicyVersion"},
		List:    []string{"iam:ListPolicies"},
		Create:  []string{"iam:CreatePolicy", "iam:TagPolicy"},
		Update: []string{
			"iam:ListPolicyVersions", "iam:CreatePolicyVersion", "iam:DeletePolicyVersion", "iam:TagPolicy", "iam:UntagPolicy",
		},
		Delete: []string{"iam:DeletePolicy", "iam:ListPolicyVersions", "iam:DeletePolicyVersion", "iam:ListEntitiesForPolicy"},
		Resource: func(place reconcile.Place, name string) []string {
			return []string{string(arnOf(place, "policy/"+name)), string(arnOf(place, "policy/*/"+name))}
		},
		Anywhere: []string{"iam:ListPolicies"},
	},
}

func policyAttrs(live livePolicy) Policy { return Policy{ARN: live.arn, Name: live.name, ID: live.id} }

func policyDefaults(want PolicyProps) PolicyProps {
	if want.Path == "" {
		want.Path = "/"
	}
	return want
}

// checkPolicy finds what IAM would refuse.
func checkPolicy(want PolicyProps) error {
	problems := aws.CheckTags(want.Tags)
	checkNamed(want.Name, 128, want.Path, want.Description, problems.Wrong)
	return problems.OrNil()
}
