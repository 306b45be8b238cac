package iam

import "github.com/athanor-dev/athanor/providers/aws"

// PolicyProps declare a managed policy. Defaults and limits are those of
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicy.html
type PolicyProps struct {
	// Name of the policy: up to 128 letters, digits and _+=,.@- characters, one in the account whatever the case and the
	// path. Default: none, a name is generated. Changing it replaces the policy.
	Name string
	// Path groups policies, and is part of the ARN: it begins and ends with /. Default: none, which is /. Changing it
	// replaces the policy.
	Path string
	// Description of the policy: up to 1000 characters. Default: none. Changing it replaces the policy.
	Description string
	// Document says what is allowed: a document (see aws.Policy), or JSON text. A change makes a version that is the
	// default from then on. IAM keeps five; the oldest that is not the default goes when room is needed.
	Document any `prop:"required"`
	// Tags of the policy, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Policy is what others may refer to of a managed policy.
type Policy struct {
	// ARN of the policy, for roles to have it attached or to be bounded by it.
	ARN aws.ARN
	// Name of the policy.
	Name string
	// ID is unique: a policy that is made again under the same name has another one.
	ID string
}
