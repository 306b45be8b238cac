package logs

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a log group: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Write events, and make streams for them as they are needed.
	Write Access = "logs:CreateLogStream logs:PutLogEvents"
	// Read events.
	Read Access = "logs:DescribeLogStreams logs:FilterLogEvents logs:GetLogEvents"
)

// Grant allows a role, or what runs as one, to use what is in the group.
//
//	group.Grant(fn, logs.Write)
func (g LogGroup) Grant(to aws.Grantee, access ...Access) {
	aws.Grant(to, aws.Actions(access...), g.StreamsARN)
}
