package sfn

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a state machine: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Start executions, one by one, or of an EXPRESS machine with the answer.
	Start Access = "states:StartExecution states:StartSyncExecution"
	// Read what executions do.
	Read Access = "states:DescribeExecution states:DescribeStateMachine states:GetExecutionHistory states:ListExecutions"
	// Stop executions.
	Stop Access = "states:StopExecution"
)

// keyUse is what the actions take of the key of an encrypted machine:
// https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html
func keyUse() aws.KeyUse {
	return aws.KeyUse{
		"states:StartExecution": "kms:Decrypt kms:GenerateDataKey", "states:StartSyncExecution": "kms:Decrypt kms:GenerateDataKey",
		"states:DescribeExecution": "kms:Decrypt", "states:DescribeStateMachine": "kms:Decrypt", "states:GetExecutionHistory": "kms:Decrypt",
	}
}

// Grant allows a role, or what runs as one, to use the machine and its executions, and the key that its declaration names.
//
//	checkout.Grant(fn, sfn.Start)
func (m StateMachine) Grant(to aws.Grantee, access ...Access) {
	actions := aws.Actions(access...)
	aws.Grant(to, actions, m.ARN, m.ExecutionsARN)
	keyUse().Grant(to, string(m.key), actions)
}
