package secretsmanager

import "github.com/athanor-dev/athanor/providers/aws"

// Access is what a grant on a secret allows.
type Access string

// What a grant allows: to read the value; to put another one. A key of KMS of one's own must allow its use as well.
const (
	Read  Access = "read"
	Write Access = "write"
)

var actions = map[Access][]string{
	Read:  {"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"},
	Write: {"secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage"},
}

// Grant allows one way, or more, of using the secret.
//
//	secret.Grant(fn, secretsmanager.Read)
func (s Secret) Grant(to aws.Grantee, access ...Access) {
	for _, a := range access {
		aws.Grant(to, actions[a], s.ARN)
	}
}
