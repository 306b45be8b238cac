package ssm

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a parameter: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. A SecureString with a key of KMS of one's own also needs leave to use the key.
const (
	// Read the parameter, with its value in clear.
	Read Access = "ssm:GetParameter ssm:GetParameters ssm:GetParameterHistory"
	// Write another value.
	Write Access = "ssm:PutParameter"
)

// Grant allows a role, or what runs as one, to use the parameter.
//
//	param.Grant(fn, ssm.Read)
func (p Parameter) Grant(to aws.Grantee, access ...Access) {
	aws.Grant(to, aws.Actions(access...), p.ARN)
}
