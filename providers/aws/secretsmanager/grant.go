package secretsmanager

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a secret: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Read the value.
	Read Access = "secretsmanager:DescribeSecret secretsmanager:GetSecretValue"
	// Write another value.
	Write Access = "secretsmanager:PutSecretValue secretsmanager:UpdateSecretVersionStage"
)

// keyUse is what the actions take of the key of a secret:
// https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html
func keyUse() aws.KeyUse {
	return aws.KeyUse{"secretsmanager:GetSecretValue": "kms:Decrypt", "secretsmanager:PutSecretValue": "kms:Decrypt kms:GenerateDataKey"}
}

// Grant allows a role, or what runs as one, to use the secret, and the key that its declaration names.
//
//	secret.Grant(fn, secretsmanager.Read)
func (s Secret) Grant(to aws.Grantee, access ...Access) {
	actions := aws.Actions(access...)
	aws.Grant(to, actions, s.ARN)
	keyUse().Grant(to, s.key, actions)
}
