package stacks_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/cognito"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/scheduler"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

type (
	properties = cloudcontrol.Props
	items      = []any
)

// generic declares a resource of a type of the registry.
func generic(s *athanor.Stack, name, typ string, p properties, opts ...athanor.Option) athanor.Resource {
	return cloudcontrol.NewResource(s, name, "AWS::"+typ, p, opts...)
}

var (
	role  = aws.ARN("arn:aws:iam::000000000000:role/caller")
	queue = aws.ARN("arn:aws:sqs:eu-central-1:000000000000:jobs")
	// signed is an origin access control of a name.
	signed = properties{"OriginAccessControlConfig": properties{
		"Name": "site", "OriginAccessControlOriginType": "s3", "SigningBehavior": "always", "SigningProtocol": "sigv4",
	}}
	pass = properties{"StartAt": "a", "States": properties{"a": properties{"Type": "Pass", "End": true}}}
)

// overlapping are two resources of one stack that each decide the same setting at AWS, and the words of the refusal.
var overlapping = map[string]struct {
	program func(*athanor.Stack)
	words   []string
	hint    string
}{
	"an alias of a key that states its aliases": {func(s *athanor.Stack) {
		one := kms.NewKey(s, "one", kms.KeyProps{})
		generic(s, "two", "KMS::Alias", properties{"AliasName": "alias/shop", "TargetKeyId": one.ID})
	}, []string{"two", "one states all of its aliases"}, "declare it in aliases of one"},
	"an alias of two keys": {func(s *athanor.Stack) {
		kms.NewKey(s, "one", kms.KeyProps{Aliases: []string{"alias/shop"}})
		kms.NewKey(s, "two", kms.KeyProps{Aliases: []string{"alias/store", "alias/shop"}})
	}, []string{"two", "one declares AWS::KMS::Alias alias/shop too"}, ""},
	"an alias of a key and of another one": {func(s *athanor.Stack) {
		kms.NewKey(s, "one", kms.KeyProps{Aliases: []string{"alias/shop"}})
		generic(s, "two", "KMS::Alias", properties{"AliasName": "alias/shop", "TargetKeyId": "0d8f"})
	}, []string{"two", "one declares AWS::KMS::Alias alias/shop too"}, ""},
	"an attachment to a secret with a value": {func(s *athanor.Stack) {
		one := secretsmanager.NewSecret(s, "one", secretsmanager.SecretProps{Value: token.Secret("hunter2")})
		generic(s, "two", "SecretsManager::SecretTargetAttachment",
			properties{"SecretId": one.ARN, "TargetId": "db", "TargetType": "AWS::RDS::DBInstance"})
	}, []string{"two", "one states all of its value"}, "ignoreChanges: [value]"},
	"a route of an API": {func(s *athanor.Stack) {
		one := apigatewayv2.NewHTTPAPI(s, "one", apigatewayv2.HTTPAPIProps{})
		generic(s, "two", "ApiGatewayV2::Route", properties{"ApiId": one.ID, "RouteKey": "GET /"})
	}, []string{"two", "one states all of its routes"}, "declare it in routes of one"},
	"an integration of an API": {func(s *athanor.Stack) {
		one := apigatewayv2.NewHTTPAPI(s, "one", apigatewayv2.HTTPAPIProps{})
		generic(s, "two", "ApiGatewayV2::Integration", properties{"ApiId": one.ID, "IntegrationType": "HTTP_PROXY"})
	}, []string{"two", "one states all of its routes"}, ""},
	"a stage of an API": {func(s *athanor.Stack) {
		one := apigatewayv2.NewHTTPAPI(s, "one", apigatewayv2.HTTPAPIProps{})
		generic(s, "two", "ApiGatewayV2::Stage", properties{"ApiId": one.ID, "StageName": "beta"})
	}, []string{"two", "one states all of its stages"}, ""},
	"an authorizer of an API that states some": {func(s *athanor.Stack) {
		one := apigatewayv2.NewHTTPAPI(s, "one", apigatewayv2.HTTPAPIProps{Authorizers: map[string]apigatewayv2.Authorizer{
			"people": {Issuer: "https://login.example", Audience: []string{"shop"}},
		}})
		generic(s, "two", "ApiGatewayV2::Authorizer", properties{"ApiId": one.ID, "AuthorizerType": "JWT", "Name": "more"})
	}, []string{"two", "one states all of its authorizers"}, ""},
	"a rule of a security group that states its rules": {func(s *athanor.Stack) {
		one := generic(s, "one", "EC2::SecurityGroup", properties{
			"GroupDescription": "web", "SecurityGroupIngress": items{properties{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0"}},
		})
		generic(s, "two", "EC2::SecurityGroupIngress",
			properties{"GroupId": one.Attr("GroupId"), "IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "0.0.0.0/0"})
	}, []string{"two", "one states all of its SecurityGroupIngress"}, "declare it in SecurityGroupIngress of one"},
	"a policy of a user that states its policies, by name": {func(s *athanor.Stack) {
		generic(s, "one", "IAM::User", properties{"UserName": "ci", "Policies": items{}})
		generic(s, "two", "IAM::UserPolicy", properties{"UserName": "ci", "PolicyName": "push", "PolicyDocument": properties{}})
	}, []string{"two", "one states all of its Policies"}, ""},
	"two policies of one name of a user": {func(s *athanor.Stack) {
		user := generic(s, "user", "IAM::User", properties{})
		generic(s, "one", "IAM::UserPolicy", properties{"UserName": user.Attr("UserName"), "PolicyName": "push", "PolicyDocument": properties{}})
		generic(s, "two", "IAM::UserPolicy", properties{"UserName": user.Attr("UserName"), "PolicyName": "push"})
	}, []string{"two", "one declares AWS::IAM::UserPolicy push|${user.UserName} too"}, ""},
	"two transformers of a log group that is still to be created": {func(s *athanor.Stack) {
		group := generic(s, "group", "EC2::VPC", properties{"CidrBlock": "10.0.0.0/16"}) // an attribute that is known later
		for _, name := range []string{"one", "two"} {
			generic(s, name, "Logs::Transformer", properties{"LogGroupIdentifier": group.Attr("VpcId"), "TransformerConfig": items{properties{}}})
		}
	}, []string{"two", "one declares AWS::Logs::Transformer ${group.VpcId} too"}, ""},
	"a schedule of two kinds": {func(s *athanor.Stack) {
		scheduler.NewSchedule(s, "one", scheduler.ScheduleProps{Name: "nightly", Expression: "rate(1 day)", Target: queue, Role: role})
		generic(s, "two", "Scheduler::Schedule", properties{
			"Name": "nightly", "ScheduleExpression": "rate(2 days)", "FlexibleTimeWindow": properties{"Mode": "OFF"},
			"Target": properties{"Arn": string(queue), "RoleArn": string(role)},
		})
	}, []string{"two", "one declares AWS::Scheduler::Schedule default|nightly too"}, ""},
	"a table of two kinds": {func(s *athanor.Stack) {
		dynamodb.NewTable(s, "one", dynamodb.TableProps{Name: "orders", PartitionKey: "id"})
		generic(s, "two", "DynamoDB::GlobalTable", properties{"TableName": "orders", "Replicas": items{properties{"Region": "eu-central-1"}}})
	}, []string{"two", "one declares AWS::DynamoDB::GlobalTable orders too"}, ""},
	"an alias of two kinds": {func(s *athanor.Stack) {
		const function = aws.ARN("arn:aws:lambda:eu-central-1:000000000000:function:web")
		lambda.NewAlias(s, "one", lambda.AliasProps{Function: function, Name: "live", Version: "1"})
		generic(s, "two", "Lambda::Alias", properties{"FunctionName": string(function), "Name": "live", "FunctionVersion": "2"})
	}, []string{"two", "one declares AWS::Lambda::Alias arn:aws:lambda:eu-central-1:000000000000:function:web|live too"}, ""},
	"a repository of two kinds": {func(s *athanor.Stack) {
		ecr.NewRepository(s, "one", ecr.RepositoryProps{Name: "shop"})
		generic(s, "two", "ECR::Repository", properties{"RepositoryName": "shop"})
	}, []string{"two", "one declares AWS::ECR::Repository shop too"}, ""},
	"a state machine of two kinds": {func(s *athanor.Stack) {
		sfn.NewStateMachine(s, "one", sfn.StateMachineProps{Name: "orders", Role: role, Definition: pass})
		generic(s, "two", "StepFunctions::StateMachine", properties{"StateMachineName": "orders", "RoleArn": string(role), "Definition": pass})
	}, []string{"two", "one declares AWS::StepFunctions::StateMachine orders too"}, ""},
	"an origin access control of two kinds": {func(s *athanor.Stack) {
		cloudfront.NewOriginAccessControl(s, "one", cloudfront.OriginAccessControlProps{Name: "site"})
		generic(s, "two", "CloudFront::OriginAccessControl", signed)
	}, []string{"two", "one declares AWS::CloudFront::OriginAccessControl site too"}, ""},
	"two origin access controls of one name": {func(s *athanor.Stack) {
		generic(s, "one", "CloudFront::OriginAccessControl", signed)
		generic(s, "two", "CloudFront::OriginAccessControl", signed)
	}, []string{"two", "one declares AWS::CloudFront::OriginAccessControl site too"}, ""},
}

// overlapped plans a program against a Cloud Control that refuses the operations of all other services.
func overlapped(t *testing.T, server *controltest.Server, program func(*athanor.Stack)) error {
	t.Helper()
	provider := aws.Provider(apigatewayv2.Service(), cloudcontrol.Service(), cloudfront.Service(), dynamodb.Service(), ecr.Service(),
		kms.Service(), lambda.Service(), scheduler.Service(), secretsmanager.Service(), sfn.Service())
	config := server.Config()
	config.Region = "us-east-1" // where objects of services for the whole account are
	cloud := aws.FromConfig(config)
	provider.Open = func(context.Context, any) (reconcile.Cloud, error) { return cloud, nil }
	catalog, err := reconcile.NewCatalog(provider)
	if err != nil {
		t.Fatal(err)
	}
	sealing, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	g, err := athanor.Evaluate(func(s *athanor.Stack) error { program(s); return nil }, athanor.Input{Stack: "shop", Stage: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine.Engine{Catalog: catalog, Store: mem.New(), Key: sealing, Cache: t.TempDir()}
	_, err = e.Plan(t.Context(), g, engine.PlanOptions{})
	return err
}

// TestOverlapping plans two resources that would undo each other's work: the plan refuses them and names both.
func TestOverlapping(t *testing.T) {
	server := controltest.Start(t, controltest.Load(t))
	for what, test := range overlapping {
		t.Run(what, func(t *testing.T) {
			err := overlapped(t, server, test.program)
			if err == nil {
				t.Fatal("planned")
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v: without %q", err, word)
				}
			}
			if hint := strings.Join(reconcile.Hints(err), "\n"); !strings.Contains(hint, test.hint) {
				t.Errorf("hint %q: without %q", hint, test.hint)
			}
		})
	}
}

// TestBeside plans what looks alike and does not meet. None of it is refused before something is read.
func TestBeside(t *testing.T) {
	server := controltest.Start(t, controltest.Load(t))
	err := overlapped(t, server, func(s *athanor.Stack) {
		one := kms.NewKey(s, "one", kms.KeyProps{}, athanor.IgnoreChanges("aliases"))
		generic(s, "two", "KMS::Alias", properties{"AliasName": "alias/shop", "TargetKeyId": one.ID})
		made := secretsmanager.NewSecret(s, "made", secretsmanager.SecretProps{Generate: &secretsmanager.Generate{}})
		generic(s, "attached", "SecretsManager::SecretTargetAttachment",
			properties{"SecretId": made.ARN, "TargetId": "db", "TargetType": "AWS::RDS::DBInstance"})
		web := generic(s, "web", "EC2::SecurityGroup", properties{"GroupDescription": "web"})
		for _, name := range []string{"http", "https"} {
			generic(s, name, "EC2::SecurityGroupIngress", properties{"GroupId": web.Attr("GroupId"), "IpProtocol": "tcp", "CidrIp": "0.0.0.0/0"})
		}
		group := generic(s, "group", "EC2::VPC", properties{"CidrBlock": "10.0.0.0/16"})
		for _, name := range []string{"first", "second"} { // their names are generated
			generic(s, name, "Logs::MetricFilter", properties{
				"LogGroupName": group.Attr("VpcId"), "FilterPattern": "", "MetricTransformations": items{properties{"MetricName": "a", "MetricNamespace": "b", "MetricValue": "1"}},
			})
		}
		scheduler.NewSchedule(s, "nightly", scheduler.ScheduleProps{Name: "nightly", Expression: "rate(1 day)", Target: queue, Role: role})
		generic(s, "other", "Scheduler::Schedule", properties{
			"Name": "nightly", "GroupName": "other", "ScheduleExpression": "rate(2 days)", "FlexibleTimeWindow": properties{"Mode": "OFF"},
			"Target": properties{"Arn": string(queue), "RoleArn": string(role)},
		})
		scheduler.NewSchedule(s, "named", scheduler.ScheduleProps{Expression: "rate(1 day)", Target: queue, Role: role})
		scheduler.NewSchedule(s, "renamed", scheduler.ScheduleProps{Expression: "rate(1 day)", Target: queue, Role: role})
	})
	if refused, ok := errors.AsType[*engine.GraphError](err); ok {
		t.Errorf("%v", refused)
	}
}

// services are those whose kinds stand for types of the registry.
var services = []aws.Service{
	acm.Service(), apigatewayv2.Service(), cloudfront.Service(), cognito.Service(), dynamodb.Service(), ecr.Service(), ecs.Service(), eventbridge.Service(), iam.Service(),
	kms.Service(), lambda.Service(), logs.Service(), route53.Service(), s3.Service(), scheduler.Service(), secretsmanager.Service(), sfn.Service(), sns.Service(),
	sqs.Service(), ssm.Service(),
}

// beside are kinds of this provider that leave their type usable.
var beside = map[string]string{
	"AWS::ApiGatewayV2::Api": "aws.apigatewayv2.HTTPAPI", "AWS::CertificateManager::Certificate": "aws.acm.Certificate",
	"AWS::CloudFront::Distribution": "aws.cloudfront.Distribution", "AWS::Cognito::UserPool": "aws.cognito.UserPool",
	"AWS::Cognito::UserPoolClient": "aws.cognito.UserPoolClient", "AWS::ECR::Repository": "aws.ecr.Repository", "AWS::ECS::Cluster": "aws.ecs.Cluster", "AWS::ECS::Service": "aws.ecs.Service", "AWS::KMS::Key": "aws.kms.Key",
	"AWS::Lambda::Alias": "aws.lambda.Alias", "AWS::Lambda::LayerVersion": "aws.lambda.Layer", "AWS::Lambda::Version": "aws.lambda.Version",
	"AWS::Scheduler::Schedule": "aws.scheduler.Schedule", "AWS::StepFunctions::StateMachine": "aws.sfn.StateMachine",
}

// apart are types that refer to an object and are no part of what its resource states, with the reason. The pairs are derived from
// the schemas: a type that AWS adds needs a decision.
var apart = map[string]map[string]string{
	"aws.apigatewayv2.DomainName": {
		"AWS::ApiGatewayV2::ApiMapping":  "mappings are stated by APIs",
		"AWS::ApiGatewayV2::RoutingRule": "a domain states how it is routed, no rules",
	},
	"aws.apigatewayv2.HTTPAPI": {
		"AWS::ApiGatewayV2::ApiGatewayManagedOverrides": "it changes what a quick creation made, which these APIs do not use",
		"AWS::ApiGatewayV2::ApiMapping":                 "mappings of domains that the API does not name are left alone",
		"AWS::ApiGatewayV2::Deployment":                 "deployments are not stated",
		"AWS::ApiGatewayV2::IntegrationResponse":        webSocket,
		"AWS::ApiGatewayV2::Model":                      webSocket,
		"AWS::ApiGatewayV2::RouteResponse":              webSocket,
	},
	"aws.cloudfront.Distribution": {
		"AWS::CloudFront::DistributionTenant":     "tenants are not stated",
		"AWS::CloudFront::MonitoringSubscription": "monitoring is not stated",
	},
	"aws.cognito.UserPool":       inPool("UserPoolClient"),
	"aws.cognito.UserPoolClient": inPool(), // they name the pool as it does
	"aws.dynamodb.Table":         {"AWS::DynamoDB::GlobalTable": sameName},
	"aws.ecr.Repository":         {"AWS::ECR::PublicRepository": "public repositories have names of their own"},
	"aws.ecs.Cluster":            inCluster("CapacityProvider", "Daemon", "Service"),
	"aws.ecs.Service":            inCluster(), // which name the cluster as it does
	"aws.iam.Role": {
		"AWS::IAM::GroupPolicy": "it is of a group", "AWS::IAM::UserPolicy": "it is of a user",
	},
	"aws.lambda.Function": {
		"AWS::Lambda::Alias": "aliases are not stated", "AWS::Lambda::Version": "versions are not stated",
		"AWS::Lambda::WebFunction": webFunction, "AWS::Lambda::WebFunctionEndpoint": webFunction, "AWS::Lambda::WebFunctionRevision": webFunction,
	},
	"aws.lambda.Layer": {"AWS::Lambda::LayerVersionPermission": "who else may use it is not stated"},
	"aws.lambda.Permission": {
		"AWS::Lambda::Alias": "it is of a function", "AWS::Lambda::Version": "it is of a function",
		"AWS::Lambda::WebFunction": webFunction, "AWS::Lambda::WebFunctionEndpoint": webFunction, "AWS::Lambda::WebFunctionRevision": webFunction,
	},
	"aws.logs.LogGroup": {
		"AWS::Logs::LogStream": "streams are not stated", "AWS::Logs::MetricFilter": "filters are not stated",
		"AWS::Logs::SubscriptionFilter": "filters are not stated", "AWS::Logs::Transformer": "transformers are not stated",
	},
	"aws.route53.HostedZone": {
		"AWS::Route53::DNSSEC": "signing is not stated", "AWS::Route53::KeySigningKey": "signing is not stated",
		"AWS::Route53::QueryLoggingConfig":    "logging of queries is not stated",
		"AWS::Route53::TrafficPolicyInstance": "records are resources of their own",
	},
	"aws.s3.Bucket": {"AWS::S3::AccessPoint": "access points are not stated"},
	"aws.sfn.StateMachine": {
		"AWS::StepFunctions::StateMachineAlias": "aliases are not stated", "AWS::StepFunctions::StateMachineVersion": "versions are not stated",
	},

	"AWS::ApiGatewayV2::ApiGatewayManagedOverrides": {
		"AWS::ApiGatewayV2::Integration": override, "AWS::ApiGatewayV2::Route": override, "AWS::ApiGatewayV2::Stage": override,
	},
	"AWS::EKS::Addon":          {"AWS::EKS::PodIdentityAssociation": "those of an add-on belong to it, others to the cluster"},
	"AWS::EKS::Cluster":        {"AWS::EKS::CertificateAuthority": "the cluster shows its own, others are added"},
	"AWS::MediaConnect::Flow":  {"AWS::MediaConnect::FlowSource": "the flow states its first source, others are added"},
	"AWS::QuickSight::Topic":   {"AWS::QuickSight::DataSet": "a topic refers to data sets"},
	"AWS::QuickSight::TopicV2": {"AWS::QuickSight::DataSet": "a topic refers to data sets"},
}

const (
	webSocket   = "it is for WebSocket APIs alone"
	webFunction = "web functions are objects of their own"
	override    = "it changes one route, stage or integration of a quick creation, and makes none"
	sameName    = "it is not a part of the table, but the table: see aws.Declares"
)

// inCluster are the types that name a cluster: neither a cluster nor a service states any of it.
func inCluster(more ...string) map[string]string {
	all := map[string]string{}
	for _, typ := range append(more, "ClusterCapacityProviderAssociations", "ExpressGatewayService", "GatewayClusterAssociations", "PrimaryTaskSet", "TaskSet") {
		all["AWS::ECS::"+typ] = "it is beside the services of the kind, and no setting of them"
	}
	return all
}

// inPool are the types of what is in a user pool: neither a pool nor a client states any of it.
func inPool(more ...string) map[string]string {
	all := map[string]string{}
	for _, typ := range append(more, "LogDeliveryConfiguration", "ManagedLoginBranding", "Terms", "UserPoolDomain", "UserPoolGroup", "UserPoolIdentityProvider",
		"UserPoolRegionalConfigurationAttachment", "UserPoolReplica", "UserPoolResourceServer", "UserPoolRiskConfigurationAttachment",
		"UserPoolUICustomizationAttachment", "UserPoolUser", "UserPoolUserToGroupAttachment") {
		all["AWS::Cognito::"+typ] = "it is in the pool, and no setting of it"
	}
	return all
}

// TestPartsOfTypes derives from the schemas which types could be a part of an object that another resource states: those that
// refer to it. Each is declared to be one, or is apart for a reason.
func TestPartsOfTypes(t *testing.T) {
	refused, exact, known := map[string]bool{}, maps.Clone(beside), map[string]reconcile.Any{}
	for _, s := range services {
		for typ, kind := range s.Registry {
			refused[typ], exact[typ] = true, kind
		}
		for _, k := range s.Kinds {
			known[k.Spec().Type] = k
		}
	}
	found, declared := map[string]map[string]string{}, 0
	decide := func(whole string, part *registry.Type, states string) {
		at, ok := known[part.Name]
		if !ok {
			var err error
			if at, err = cloudcontrol.Kind(part.Name); err != nil {
				t.Fatal(err)
			}
			known[part.Name] = at
		}
		if slices.ContainsFunc(at.Spec().Parts, func(p reconcile.Part) bool { return p.Kind == whole && (states == "" || string(p.States) == states) }) {
			declared++
			return
		}
		if found[whole] == nil {
			found[whole] = map[string]string{}
		}
		if found[whole][part.Name] = apart[whole][part.Name]; found[whole][part.Name] == "" {
			t.Errorf("%s refers to %s %s: is it a part of it?", part.Name, whole, states)
		}
	}
	by := byService(t)
	for _, types := range by {
		for _, whole := range types {
			for _, part := range types {
				switch {
				case part == whole || refused[part.Name] || !refers(part, whole):
					continue
				case exact[whole.Name] != "":
					decide(exact[whole.Name], part, "")
				}
				for _, prop := range states(whole, part) {
					if !refused[whole.Name] {
						decide(whole.Name, part, prop)
					}
				}
			}
		}
	}
	if declared != 16 || !maps.EqualFunc(found, apart, maps.Equal) {
		t.Errorf("%d are declared, and apart are\n%v, not\n%v", declared, found, apart)
	}
	for _, k := range known {
		for _, p := range k.Spec().Parts {
			has(t, k, p.Prop)
			whole := known[p.Kind]
			if whole == nil {
				var err error
				if whole, err = cloudcontrol.Kind(p.Kind); err != nil {
					t.Fatal(err)
				}
			}
			has(t, whole, p.States)
		}
	}
}

// has fails the test unless a kind has a prop.
func has(t *testing.T, k reconcile.Any, at tree.Path) {
	t.Helper()
	all, _, err := k.Spec().Shape()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(f props.Field) bool { return f.Path == at }) {
		t.Errorf("%s has no prop %s", k.Spec().Type, at)
	}
}

// byService are all types of the registry.
func byService(t *testing.T) map[string][]*registry.Type {
	t.Helper()
	names, err := registry.Names()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]*registry.Type{}
	for _, name := range names {
		typ, err := registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		service, _, _ := strings.Cut(strings.TrimPrefix(name, cloudcontrol.Prefix), "::")
		by[service] = append(by[service], typ)
	}
	return by
}

// refers reports whether one type has a property that is named after another type, or after what identifies that.
func refers(part, whole *registry.Type) bool {
	last := whole.Name[strings.LastIndex(whole.Name, ":")+1:]
	all := map[string]bool{}
	for _, suffix := range []string{"", "Id", "Arn", "ARN", "Name", "Identifier"} {
		all[last+suffix], all["Target"+last+suffix] = true, true
	}
	for prop := range whole.Root.Properties {
		if p := tree.Path("").Key(prop); whole.ReadOnlyAt(p) || slices.Contains(whole.ID, p) {
			all[prop] = !slices.Contains([]string{"Id", "Arn", "Name", "Type", "Status", "State"}, prop)
		}
	}
	for prop := range part.Root.Properties {
		if all[prop] && !part.ReadOnlyAt(tree.Path("").Key(prop)) {
			return true
		}
	}
	return false
}

// states are the properties of one type that are named after another type, and hold what it declares.
func states(whole, part *registry.Type) (all []string) {
	last, name := whole.Name[strings.LastIndex(whole.Name, ":")+1:], part.Name[strings.LastIndex(part.Name, ":")+1:]
	for prop, n := range whole.Root.Properties {
		if n = whole.Follow(n); n.Items != nil {
			n = whole.Follow(n.Items)
		}
		if whole.ReadOnlyAt(tree.Path("").Key(prop)) || !n.Is('o') {
			continue
		}
		one := strings.TrimSuffix(prop, "s")
		if stem, ok := strings.CutSuffix(prop, "ies"); ok {
			one = stem + "y"
		}
		if slices.ContainsFunc([]string{prop, one, last + prop, last + one}, func(s string) bool { return s == name }) {
			all = append(all, prop)
		}
	}
	return all
}
