package ecs

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// tasks is the service that runs as the roles of tasks.
const tasks = "ecs-tasks.amazonaws.com"

var errTwoRoles = errors.New("it has roles of its own, and executionRole names another one")

// NewService declares a service. One that names neither role nor executionRole gets roles of its own, NAME/role and NAME/execution, and a log
// group, NAME/logs, unless logging names one.
//
//	web := ecs.NewService(s, "web", ecs.ServiceProps{
//		Cluster: shop.Name, Subnets: []string{"subnet-0123456789abcdef0"},
//		Containers: map[string]ecs.Container{"web": {Image: "public.ecr.aws/nginx/nginx:1.29", Ports: []int{80}}},
//	})
//	orders.Grant(web, sqs.Send)
func NewService(s *athanor.Stack, name string, p ServiceProps, opts ...athanor.Option) FargateService {
	if p.Role == "" && p.ExecutionRole == "" {
		p = ownRoles(s, name, p, opts)
		if p.Logging == nil {
			p = ownGroup(s, name, p, opts)
		}
	}
	return declared(s, name, p, opts)
}

func declared(s *athanor.Stack, name string, p ServiceProps, opts []athanor.Option) FargateService {
	service := athanor.Declare(s, serviceKind, name, p, opts...)
	service.stack, service.role = s, p.Role
	return service
}

// ownRoles declares both roles of a service.
func ownRoles(s *athanor.Stack, name string, p ServiceProps, opts []athanor.Option) ServiceProps {
	var run []aws.Statement
	if p.ExecuteCommand {
		// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html#ecs-exec-required-iam-permissions
		run = append(run, aws.Statement{Sid: "ExecuteCommands", Resources: []string{"*"}, Actions: []string{
			"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
		}})
	}
	role := iam.NewRole(s, athanor.Inner(name, "role"), iam.RoleProps{
		TrustPolicy: iam.ServiceTrust(tasks), Bindings: run, Description: "What the containers of " + s.Address(name) + " may do.",
	}, athanor.Along("role", opts...))
	execution := iam.NewRole(s, athanor.Inner(name, "execution"), iam.RoleProps{
		TrustPolicy: iam.ServiceTrust(tasks), Bindings: p.starts(), Description: "What it takes to start the tasks of " + s.Address(name) + ".",
	}, athanor.Along("execution", opts...))
	p.Role, p.ExecutionRole = role.ARN, execution.ARN
	return p
}

// ownGroup declares the log group of a service, to which the role that its tasks are started with may write where the stack declares
// it.
func ownGroup(s *athanor.Stack, name string, p ServiceProps, opts []athanor.Option) ServiceProps {
	group := logs.NewLogGroup(s, athanor.Inner(name, "logs"), logs.LogGroupProps{}, athanor.AllowDelete(), athanor.Along("logs", opts...))
	if token.Has(string(p.ExecutionRole)) {
		group.Grant(FargateService{stack: s, role: p.ExecutionRole}, logs.Write)
	}
	p.Logging = &Logging{Group: group.Name}
	return p
}

// starts are the statements that it takes to start tasks.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html
func (p ServiceProps) starts() []aws.Statement {
	all := []aws.Statement{
		{Sid: "SignIn", Actions: []string{"ecr:GetAuthorizationToken"}, Resources: []string{"*"}},
		{
			Sid: "PullImages", Resources: []string{"arn:*:ecr:*:*:repository/*"},
			Actions: []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
		},
	}
	if p.Logging != nil {
		all = append(all, aws.Statement{
			Sid: "WriteLogs", Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"},
			Resources: []string{"arn:*:logs:*:*:log-group:" + p.Logging.Group + ":*"},
		})
	}
	var secrets []string
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		for _, variable := range slices.Sorted(maps.Keys(p.Containers[name].Secrets)) {
			secrets = append(secrets, secretOf(p.Containers[name].Secrets[variable]))
		}
	}
	slices.Sort(secrets)
	if secrets = slices.Compact(secrets); len(secrets) > 0 {
		all = append(all, aws.Statement{Sid: "ReadSecrets", Actions: []string{"secretsmanager:GetSecretValue", "ssm:GetParameters"}, Resources: secrets})
	}
	return all
}

// secretOf is the secret or parameter that a variable is read from, as policies name it: without the key, the stage and the version
// that may follow the ARN of a secret.
func secretOf(from string) string {
	if !token.Has(from) && !strings.HasPrefix(from, "arn:") {
		return "arn:*:ssm:*:*:parameter/" + strings.TrimPrefix(from, "/")
	}
	rest := from
	for range 3 {
		i := strings.LastIndexByte(rest, ':')
		if i < 0 || strings.ContainsAny(rest[i:], "/${}") {
			return from
		}
		rest = rest[:i]
	}
	if p, ok := aws.ARN(rest).Parse(); token.Has(rest) || ok && strings.HasPrefix(p.Resource, "secret:") {
		return rest
	}
	return from
}

// serviceConstruct is what YAML uses of services.
func serviceConstruct() athanor.Construct {
	return athanor.Construct{
		Of: func(s *athanor.Stack, name string, of any) any {
			service := athanor.Attributes[FargateService](s, name)
			if p, ok := of.(*ServiceProps); ok {
				service.stack, service.role = s, p.Role
			}
			return service
		},
		Declare: func(s *athanor.Stack, name string, of any, own athanor.Own, opts ...athanor.Option) {
			p := *of.(*ServiceProps)
			if own.Role && p.ExecutionRole != "" {
				s.Fail(reconcile.WithHint(errTwoRoles, "leave executionRole out, or name a role beside the props in place of own"))
			}
			if own.Role {
				p = ownRoles(s, name, p, opts)
			}
			if own.LogGroup {
				p = ownGroup(s, name, p, opts)
			}
			declared(s, name, p, opts)
		},
		Parts: func(own athanor.Own) map[string]string {
			parts := map[string]string{}
			if own.Role {
				parts["role"], parts["execution"] = "aws.iam.Role", "aws.iam.Role"
			}
			if own.LogGroup {
				parts["logs"] = "aws.logs.LogGroup"
			}
			return parts
		},
	}
}
