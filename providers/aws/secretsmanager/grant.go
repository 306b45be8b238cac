package secretsmanager

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a secret: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. A secret with a key of KMS of one's own also needs leave to use the key.
const (
	// Read the value.
	Read Access = "secretsmanager:DescribeSecret secretsmanager:GetSecretValue"
	// Write another value.
	Write Access = "secretsmanager:PutSecretValue secretsmanager:UpdateSecretVersionStage"
)

// Grant allows a role, or what runs as one, to use the secret.
//
//	secret.Grant(fn, secretsmanager.Read)
func (s Secret) Grant(to aws.Grantee, access ...Access) { aws.Grant(to, aws.Actions(access...), s.ARN) }
