package logs

import "github.com/athanor-dev/athanor/providers/aws"

// Access is what a grant on a log group allows.
type Access string

// What a grant allows: to write events, making streams as they are needed; to read events.
const (
	Write Access = "write"
	Read  Access = "read"
)

// actions are those of each access; they are allowed on what is in the group.
var actions = map[Access][]string{
	Write: {"logs:CreateLogStream", "logs:PutLogEvents"},
	Read:  {"logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"},
}

// Grant allows one way, or more, of using the group.
//
//	group.Grant(fn, logs.Write)
func (g LogGroup) Grant(to aws.Grantee, access ...Access) {
	for _, a := range access {
		aws.Grant(to, actions[a], g.StreamsARN)
	}
}
