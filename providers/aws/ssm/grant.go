package ssm

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a parameter: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Read the parameter, with its value in clear.
	Read Access = "ssm:GetParameter ssm:GetParameters ssm:GetParameterHistory"
	// Write another value.
	Write Access = "ssm:PutParameter"
)

// keyUse is what the actions take of the key of a SecureString:
// https://docs.aws.amazon.com/kms/latest/developerguide/services-parameter-store.html
func keyUse() aws.KeyUse {
	return aws.KeyUse{
		"ssm:GetParameter": "kms:Decrypt", "ssm:GetParameters": "kms:Decrypt", "ssm:GetParameterHistory": "kms:Decrypt",
		"ssm:PutParameter": "kms:Encrypt kms:GenerateDataKey",
	}
}

// Grant allows a role, or what runs as one, to use the parameter, and the key that its declaration names.
//
//	param.Grant(fn, ssm.Read)
func (p Parameter) Grant(to aws.Grantee, access ...Access) {
	actions := aws.Actions(access...)
	aws.Grant(to, actions, p.ARN)
	keyUse().Grant(to, p.key, actions)
}
