package aws

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// quota is how often operations of a service may be called together, by an account in a region.
type quota struct {
	service string
	// operations have the quota together. None: all operations of the service that no row before has.
	operations []string
	// rate is calls a second. burst is how many may come at once, 0 for those of a second.
	rate, burst float64
	// source is the page that says so.
	source string
}

// quotas are those that AWS publishes for operations of the kinds. Where AWS publishes none (IAM, SQS, DynamoDB's tables,
// Cloud Control, CloudFront, the tagging service, repositories of ECR), and where an account has another, the limiter finds what is allowed.
func quotas() []quota {
	const (
		lambda  = "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html#api-requests"
		logs    = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html"
		sns     = "https://docs.aws.amazon.com/general/latest/gr/sns.html#limits_sns"
		secrets = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html"
		keys    = "https://docs.aws.amazon.com/kms/latest/developerguide/requests-per-second.html"
		certs   = "https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html"
		states  = "https://docs.aws.amazon.com/step-functions/latest/dg/limits-overview.html"
		images  = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/service-quotas.html"
		tasks   = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html"
		users   = "https://docs.aws.amazon.com/cognito/latest/developerguide/quotas.html#category_operations"
	)
	all := slices.Concat(
		single("KMS", keys, 5, 0, "CancelKeyDeletion", "CreateAlias", "CreateKey", "DisableKey", "DisableKeyRotation", "EnableKey", "UntagResource",
			"UpdateAlias", "UpdateKeyDescription"),
		single("KMS", keys, 10, 0, "TagResource"),
		single("KMS", keys, 15, 0, "DeleteAlias", "EnableKeyRotation", "PutKeyPolicy", "ScheduleKeyDeletion"),
		single("KMS", keys, 500, 0, "ListAliases", "ListKeys"),
		single("KMS", keys, 1000, 0, "GetKeyPolicy", "GetKeyRotationStatus"),
		single("KMS", keys, 2000, 0, "DescribeKey", "ListResourceTags"),
		single("ACM", certs, 5, 0, "AddTagsToCertificate", "RemoveTagsFromCertificate", "RequestCertificate"),
		single("ACM", certs, 8, 0, "ListCertificates"),
		single("ACM", certs, 10, 0, "DeleteCertificate", "DescribeCertificate", "ListTagsForCertificate"),
		single("SFN", states, 1, 100, "CreateStateMachine", "DeleteStateMachine", "ListTagsForResource", "UpdateStateMachine"),
		single("SFN", states, 1, 200, "TagResource", "UntagResource"),
		single("SFN", states, 5, 100, "ListStateMachines"),
		single("SFN", states, 20, 200, "DescribeStateMachine"),
		single("ECR", images, 10, 0, "PutImage"),
		single("ECR", images, 500, 0, "GetAuthorizationToken"),
		single("ECR", images, 2000, 0, "BatchGetImage"),
		// The quota of one pool: an account has 15 for the reads, and 15 for the others.
		single("Cognito", users, 5, 0, "CreateUserPoolClient", "DeleteUserPoolClient", "DescribeUserPoolClient", "ListUserPoolClients", "UpdateUserPoolClient"),
	)
	return append(all, []quota{
		{service: "Cognito", operations: []string{"DescribeUserPool", "ListUserPools"}, rate: 15, source: users},
		{service: "Cognito", operations: []string{"CreateUserPool", "DeleteUserPool", "UpdateUserPool"}, rate: 15, source: users},
		{service: "Cognito", operations: []string{"GetUserPoolMfaConfig"}, rate: 20, source: users},
		{service: "Cognito", operations: []string{"AddCustomAttributes", "SetUserPoolMfaConfig", "TagResource", "UntagResource"}, rate: 15, source: users},
		{service: "Cognito", operations: []string{"ListUsers"}, rate: 30, source: users},
		{service: "ECS", operations: []string{"CreateCluster", "DeleteCluster", "UpdateClusterSettings"}, rate: 1, burst: 20, source: tasks},
		{service: "ECS", operations: []string{"DescribeClusters", "ListClusters"}, rate: 20, burst: 50, source: tasks},
		{service: "ECS", operations: []string{"DeregisterTaskDefinition", "RegisterTaskDefinition"}, rate: 1, burst: 20, source: tasks},
		{service: "ECS", operations: []string{"DescribeTaskDefinition", "ListTaskDefinitions"}, rate: 20, burst: 50, source: tasks},
		{service: "ECS", operations: []string{"TagResource", "UntagResource"}, rate: 10, burst: 20, source: tasks},
		{service: "ECS", operations: []string{"DescribeTasks", "ListTasks"}, rate: 20, burst: 100, source: tasks},
		{service: "ECS", operations: []string{"CreateService", "DeleteService", "UpdateService"}, rate: 5, burst: 50, source: tasks},
		{service: "ECS", operations: []string{"DescribeServices", "ListServices"}, rate: 20, burst: 100, source: tasks},
		{service: "Lambda", operations: []string{"GetFunction"}, rate: 100, source: lambda},
		{service: "Lambda", operations: []string{"GetPolicy"}, rate: 15, source: lambda},
		{service: "Lambda", rate: 15, source: lambda},
		{service: "Route53", rate: 5, source: "https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html#limits-api-requests"},
		{service: "Logs", operations: []string{"CreateLogGroup"}, rate: 10, source: logs},
		{service: "Logs", operations: []string{"DeleteLogGroup"}, rate: 10, source: logs},
		{service: "Logs", operations: []string{"DescribeLogGroups"}, rate: 10, source: logs},
		{service: "Logs", operations: []string{"DescribeLogStreams"}, rate: 25, source: logs},
		{
			service: "SSM", operations: []string{"GetParameter", "GetParameters", "GetParametersByPath"}, rate: 40,
			source: "https://docs.aws.amazon.com/general/latest/gr/ssm.html#limits_ssm",
		},
		{service: "ApiGatewayV2", rate: 10, burst: 40, source: "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html"},
		{service: "EventBridge", rate: 50, source: "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"},
		{service: "SNS", operations: []string{"ListTopics"}, rate: 30, source: sns},
		{service: "SNS", operations: []string{"ListSubscriptionsByTopic"}, rate: 30, source: sns},
		{service: "SNS", operations: []string{"Subscribe"}, rate: 100, source: sns},
		{service: "SNS", operations: []string{"Unsubscribe"}, rate: 100, source: sns},
		{service: "SNS", operations: []string{"ListTagsForResource"}, rate: 10, source: sns},
		{service: "SNS", operations: []string{"TagResource"}, rate: 10, source: sns},
		{service: "SNS", operations: []string{"UntagResource"}, rate: 10, source: sns},
		{service: "SecretsManager", operations: []string{"CreateSecret"}, rate: 50, source: secrets},
		{service: "SecretsManager", operations: []string{"DeleteSecret"}, rate: 50, source: secrets},
		{service: "SecretsManager", operations: []string{"ListSecrets"}, rate: 100, source: secrets},
		{
			service: "SecretsManager", rate: 50, source: secrets,
			operations: []string{"DeleteResourcePolicy", "GetResourcePolicy", "PutResourcePolicy", "ValidateResourcePolicy"},
		},
		{
			service: "SecretsManager", rate: 50, source: secrets,
			operations: []string{"PutSecretValue", "RemoveRegionsFromReplication", "ReplicateSecretToRegions", "UpdateSecret"},
		},
		{service: "SecretsManager", operations: []string{"RestoreSecret"}, rate: 50, source: secrets},
		{service: "SecretsManager", operations: []string{"RotateSecret", "CancelRotateSecret"}, rate: 50, source: secrets},
		{service: "SecretsManager", operations: []string{"TagResource", "UntagResource"}, rate: 50, source: secrets},
	}...)
}

// single are quotas of operations that each have one of their own, all of the same size.
func single(service, source string, rate, burst float64, operations ...string) []quota {
	all := make([]quota, len(operations))
	for i, operation := range operations {
		all[i] = quota{service: service, operations: []string{operation}, rate: rate, burst: burst, source: source}
	}
	return all
}

// quotaOf is what is known of the limit that a call counts against before the first one, and the name of that limit among
// those of its service.
func quotaOf(call reconcile.Call) (q rate.Quota, name string) {
	for _, row := range quotas() {
		if row.service == call.Service && (len(row.operations) == 0 || slices.Contains(row.operations, call.Operation)) {
			q = rate.Quota{Rate: row.rate, Burst: max(row.burst, row.rate), Published: true}
			if len(row.operations) > 0 {
				name = row.operations[0]
			}
			return q, name
		}
	}
	if call.Mutates {
		name = "changes"
	}
	if call.Service == "S3" { // https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
		q = rate.Quota{Rate: 1000, Burst: 100} // it is made for more, and counts by prefix
	}
	return q, name
}
