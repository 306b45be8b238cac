// Package kinds has one small stack for each kind that was written by hand, in Go here and in YAML beside it, each under the
// name of its kind. The site shows both on the page of the kind; a test holds them to one graph and deploys them.
//
// It knows what each kind is for. It does not know every prop: `athanor kinds KIND` does.
package kinds

import "github.com/athanor-dev/athanor"

// Example is the stack of one kind.
type Example struct {
	// Kind is the name of the kind, and with .yaml that of the file that declares the same.
	Kind string
	// Declare is the program.
	Declare func(*athanor.Stack) error
}

// Examples are the stacks of all kinds that were written by hand, by name.
func Examples() []Example {
	return []Example{
		{"aws.Website", site},
		{"aws.acm.Certificate", certificate},
		{"aws.apigatewayv2.DomainName", domainName},
		{"aws.apigatewayv2.HTTPAPI", httpAPI},
		{"aws.cloudfront.Distribution", distribution},
		{"aws.cloudfront.OriginAccessControl", originAccessControl},
		{"aws.cognito.UserPool", userPool},
		{"aws.cognito.UserPoolClient", userPoolClient},
		{"aws.dynamodb.Table", table},
		{"aws.ecr.Image", image},
		{"aws.ecr.Repository", repository},
		{"aws.ecs.Cluster", cluster},
		{"aws.ecs.Service", service},
		{"aws.eventbridge.EventBus", eventBus},
		{"aws.eventbridge.Rule", rule},
		{"aws.iam.Policy", policy},
		{"aws.iam.Role", role},
		{"aws.kms.Key", key},
		{"aws.lambda.Alias", alias},
		{"aws.lambda.EventSourceMapping", eventSourceMapping},
		{"aws.lambda.Function", function},
		{"aws.lambda.Layer", layer},
		{"aws.lambda.Permission", permission},
		{"aws.lambda.Version", published},
		{"aws.logs.LogGroup", logGroup},
		{"aws.route53.HostedZone", hostedZone},
		{"aws.route53.Record", record},
		{"aws.s3.Bucket", bucket},
		{"aws.s3.Object", object},
		{"aws.scheduler.Schedule", schedule},
		{"aws.secretsmanager.Secret", secret},
		{"aws.sfn.StateMachine", stateMachine},
		{"aws.sns.Subscription", subscription},
		{"aws.sns.Topic", topic},
		{"aws.sqs.Queue", queue},
		{"aws.ssm.Parameter", parameter},
		{"cloudflare.APIToken", apiToken},
		{"cloudflare.Container", container},
		{"cloudflare.D1Database", d1Database},
		{"cloudflare.DNSRecord", dnsRecord},
		{"cloudflare.Hyperdrive", hyperdriveConfig},
		{"cloudflare.KVNamespace", kvNamespace},
		{"cloudflare.Queue", cloudflareQueue},
		{"cloudflare.QueueConsumer", queueConsumer},
		{"cloudflare.R2Bucket", r2Bucket},
		{"cloudflare.Ruleset", ruleset},
		{"cloudflare.UserToken", userToken},
		{"cloudflare.Website", cloudflareWebsite},
		{"cloudflare.Worker", worker},
		{"cloudflare.WorkerDomain", workerDomain},
		{"cloudflare.WorkerRoute", workerRoute},
		{"cloudflare.Workflow", workflow},
		{"cloudflare.Zone", zone},
		{"cloudflare.ZoneSetting", zoneSetting},
		{"local.Command", command},
		{"local.Directory", directory},
		{"local.File", file},
		{"local.Process", process},
		{"local.Value", value},
		{"random.ID", id},
		{"random.Password", password},
	}
}
