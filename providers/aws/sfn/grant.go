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

// Grant allows a role, or what runs as one, to use the machine and its executions.
//
//	checkout.Grant(fn, sfn.Start)
func (m StateMachine) Grant(to aws.Grantee, access ...Access) {
	aws.Grant(to, aws.Actions(access...), m.ARN, m.ExecutionsARN)
}
