package iam

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
)

// RoleProps declare a role. Defaults and limits are those of
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
type RoleProps struct {
	// Name of the role: up to 64 letters, digits and _+=,.@- characters, one in the account whatever the case and the
	// path. Default: none, a name is generated. Changing it replaces the role.
	Name string
	// Path groups roles, and is part of the ARN: it begins and ends with /. Default: none, which is /. Changing it
	// replaces the role.
	Path string
	// TrustPolicy says who may take on the role: a document (see aws.Policy and iam.ServiceTrust), or JSON text.
	TrustPolicy any `prop:"required"`
	// Description of the role: up to 1000 characters. Default: none.
	Description string
	// MaxSessionDuration is how long those who take on the role may keep it at a time, in whole seconds from an hour to
	// 12 hours. Default: 1h.
	MaxSessionDuration *time.Duration `prop:"min=1h,max=12h"`
	// PermissionsBoundary is a managed policy that bounds what the role can be allowed. Default: none.
	PermissionsBoundary aws.ARN
	// ManagedPolicies are attached to the role, and no others: what somebody else attaches is detached. Default: none.
	ManagedPolicies []aws.ARN
	// Inline are policies in the role itself, by their names, and no others: what somebody else puts there is taken
	// away. Each is a document, or JSON text. Default: none.
	Inline map[string]any
	// Bindings are what the role is granted (orders.Grant(role, sqs.Send) in Go adds one): statements that allow
	// actions on resources. They are one more inline policy, named athanor-grants, which is there while there is any.
	// Default: none.
	Bindings []aws.Statement
	// Tags of the role, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Role is what others may refer to of a role. It can be granted what services offer.
type Role struct {
	// ARN of the role.
	ARN aws.ARN
	// Name of the role.
	Name string
	// ID is unique: a role that is made again under the same name has another one.
	ID string

	stack *athanor.Stack // that declares it
}
