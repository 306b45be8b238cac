package ssm

import "github.com/athanor-dev/athanor/providers/aws"

// Access is what a grant on a parameter allows.
type Access string

// What a grant allows: to read the parameter, with its value in clear; to write another value. A key of KMS of one's own
// must allow its use as well.
const (
	Read  Access = "read"
	Write Access = "write"
)

var actions = map[Access][]string{
	Read:  {"ssm:GetParameter", "ssm:GetParameters", "ssm:GetParameterHistory"},
	Write: {"ssm:PutParameter"},
}

// Grant allows one way, or more, of using the parameter.
//
//	param.Grant(fn, ssm.Read)
func (p Parameter) Grant(to aws.Grantee, access ...Access) {
	for _, a := range access {
		aws.Grant(to, actions[a], p.ARN)
	}
}
