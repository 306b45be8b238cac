package lambda

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ownRole declares the role of a function that was given none: NAME/role. It may write logs; and, where the props ask for it, be
// in a network, and sample calls. withGroup declares the function's log group too. opts are the options of the function,
// with which both are renamed.
func ownRole(s *athanor.Stack, name string, p FunctionProps, withGroup bool, opts []athanor.Option) FunctionProps {
	needs := p.needs()
	if !withGroup && (p.Logging == nil || p.Logging.Group == "") {
		needs = append(needs, writeLogs("/aws/lambda/*"))
	}
	role := iam.NewRole(s, athanor.Inner(name, "role"), iam.RoleProps{
		TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"), Bindings: needs,
		Description: "What the function " + s.Address(name) + " may do.",
	}, athanor.Along("role", opts...))
	p.Role = role.ARN
	if withGroup {
		p = ownGroup(s, name, p, opts)
	}
	return p
}

// ownGroup declares the log group of a function, NAME/logs, to which its role may write where the stack declares it. The group
// is a resource of its own, so that its name is known before the function's.
func ownGroup(s *athanor.Stack, name string, p FunctionProps, opts []athanor.Option) FunctionProps {
	group := logs.NewLogGroup(s, athanor.Inner(name, "logs"), logs.LogGroupProps{}, athanor.AllowDelete(), athanor.Along("logs", opts...))
	if token.Has(string(p.Role)) {
		group.Grant(Function{stack: s, role: p.Role}, logs.Write)
	}
	l := aws.OrZero(p.Logging)
	l.Group = group.Name
	p.Logging = &l
	return p
}

// NewFunctionWithoutLogs is [NewFunction] without a log group: Lambda creates /aws/lambda/NAME when the function is first called,
// and nobody deletes it. A role of its own may write there.
func NewFunctionWithoutLogs(s *athanor.Stack, name string, p FunctionProps, opts ...athanor.Option) Function {
	if p.Role == "" {
		p = ownRole(s, name, p, false, opts)
	}
	return NewFunction(s, name, p, opts...)
}

// NewFunctionWithLogs is [NewFunction] with a log group of its own, NAME/logs, beside a role that is given. The role may write
// to the group where the stack declares it.
func NewFunctionWithLogs(s *athanor.Stack, name string, p FunctionProps, opts ...athanor.Option) Function {
	if p.Role != "" {
		p = ownGroup(s, name, p, opts)
	}
	return NewFunction(s, name, p, opts...)
}

// needs are the statements that a function's own settings call for.
func (p FunctionProps) needs() []aws.Statement {
	var all []aws.Statement
	if p.Logging != nil && p.Logging.Group != "" {
		all = append(all, writeLogs(p.Logging.Group))
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

// writeLogs allows to write to a log group that the stack does not declare. Its account and region are those of the function,
// which runs in no other.
func writeLogs(group string) aws.Statement {
	return aws.Statement{
		Sid: "WriteLogs", Actions: []string{"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"},
		Resources: []string{"arn:*:logs:*:*:log-group:" + group, "arn:*:logs:*:*:log-group:" + group + ":*"},
	}
}

var errNoSource = errors.New("nothing that a function is called with: a queue, or a table with a stream")

// functionConstruct is what YAML uses of functions.
func functionConstruct() athanor.Construct {
	return athanor.Construct{
		Of: func(s *athanor.Stack, name string, of any) any {
			fn := athanor.Attributes[Function](s, name)
			if p, ok := of.(*FunctionProps); ok {
				fn.stack, fn.role = s, p.Role
			}
			return fn
		},
		Props: func() (any, string) { return new(EventSourceMappingProps), "function" },
		Consume: func(s *athanor.Stack, consumer, source, of any) error {
			from, ok := source.(Source)
			if !ok {
				return fmt.Errorf("%T is %w", source, errNoSource)
			}
			Consume(s, consumer.(Function), from, With(*of.(*EventSourceMappingProps)))
			return nil
		},
		Declare: func(s *athanor.Stack, name string, of any, own athanor.Own, opts ...athanor.Option) {
			p := *of.(*FunctionProps)
			if own.Role {
				p.Role = ""
			}
			if own.LogGroup {
				NewFunctionWithLogs(s, name, p, opts...)
			} else {
				NewFunctionWithoutLogs(s, name, p, opts...)
			}
		},
		Parts: func(own athanor.Own) map[string]string {
			parts := map[string]string{}
			if own.Role {
				parts["role"] = "aws.iam.Role"
			}
			if own.LogGroup {
				parts["logs"] = "aws.logs.LogGroup"
			}
			return parts
		},
	}
}
