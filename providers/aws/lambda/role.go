package lambda

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/logs"
)

// ownRole declares the role of a function that was given none, and its log group where it was given none: NAME/role and
// NAME/logs. The role may write to that group; and, where the props ask for it, be in a network, send what failed, and
// sample calls. Its group is a thing of its own, so that its name is known before the function's. Both are
// renamed with the function, whose options are opts.
func ownRole(s *athanor.Stack, name string, p *FunctionProps, opts []athanor.Option) {
	role := iam.NewRole(s, name+"/role", iam.RoleProps{
		TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"), Bindings: p.needs(),
		Description: "What the function " + s.Address(name) + " may do.",
	}, athanor.Along("/role", opts...))
	p.Role = role.ARN
	if p.Logging == nil || p.Logging.Group == "" {
		group := logs.NewLogGroup(s, name+"/logs", logs.LogGroupProps{}, athanor.AllowDelete(), athanor.Along("/logs", opts...))
		group.Grant(role, logs.Write)
		l := orZero(p.Logging)
		l.Group = group.Name
		p.Logging = &l
	}
}

// needs are the statements that a function's own settings call for.
func (p FunctionProps) needs() []aws.Statement {
	var all []aws.Statement
	if p.Logging != nil && p.Logging.Group != "" {
		all = append(all, aws.Statement{
			Sid: "WriteLogs", Actions: []string{"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
			// Its account and region are those of the function, which runs in no other.
			Resources: []string{"arn:*:logs:*:*:log-group:" + p.Logging.Group, "arn:*:logs:*:*:log-group:" + p.Logging.Group + ":*"},
		})
	}
	if p.VPC != nil {
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
		all = append(all, aws.Statement{
			Sid: "JoinNetwork", Resources: []string{"*"}, Actions: []string{
				"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
				"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses",
			},
		})
	}
	if p.Tracing != nil && *p.Tracing == "Active" {
		all = append(all, aws.Statement{
			Sid: "Trace", Actions: []string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, Resources: []string{"*"},
		})
	}
	return all
}
