package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
)

// retagged has one of each kind with tags. The second word takes the tag of the first away and gives none.
func retagged(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		var tags map[string]string
		if word == "first" {
			tags = map[string]string{"word": word}
		}
		queue := sqs.NewQueue(s, "jobs", sqs.QueueProps{Tags: tags})
		sns.NewTopic(s, "events", sns.TopicProps{Tags: tags})
		ssm.NewParameter(s, "word", ssm.ParameterProps{Value: "word", Tags: tags})
		logs.NewLogGroup(s, "lines", logs.LogGroupProps{Tags: tags}, athanor.AllowDelete())
		secretsmanager.NewSecret(s, "secret", secretsmanager.SecretProps{External: true, Tags: tags, ForceDelete: true}, athanor.AllowDelete())
		dynamodb.NewTable(s, "items", dynamodb.TableProps{PartitionKey: "id", Tags: tags}, athanor.AllowDelete())
		reading := aws.Statement{Actions: []string{"dynamodb:GetItem"}, Resources: []string{"*"}}
		policy := iam.NewPolicy(s, "reading", iam.PolicyProps{Document: aws.Policy(reading), Tags: tags})
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"), Tags: tags, ManagedPolicies: []aws.ARN{policy.ARN},
			Bindings: []aws.Statement{{Actions: []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, Resources: []string{string(queue.ARN)}}},
		})
		fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{
			Code: lambda.Code{Zip: "code.zip"}, Role: role.ARN, Runtime: new("python3.14"), Handler: new("main.handler"), Tags: tags,
		})
		lambda.NewEventSourceMapping(s, "consumed", lambda.EventSourceMappingProps{Function: fn.ARN, Source: queue.ARN, Tags: tags})
		bus := eventbridge.NewEventBus(s, "bus", eventbridge.EventBusProps{Tags: tags})
		eventbridge.NewRule(s, "rule", eventbridge.RuleProps{
			EventBusName: string(bus.Name), EventPattern: map[string]any{"source": []any{"shop"}}, Tags: tags,
			Targets: map[string]eventbridge.Target{"work": {ARN: queue.ARN}},
		})
		s3.NewBucket(s, "files", s3.BucketProps{Tags: tags, ForceDestroy: true})
		kms.NewKey(s, "key", kms.KeyProps{Tags: tags}, athanor.AllowDelete())
		zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example", ForceDestroy: true, Tags: tags}, athanor.AllowDelete())
		acm.NewCertificate(s, "cert", acm.CertificateProps{Domain: "shop.example", HostedZoneID: zone.ID, Tags: tags})
		return nil
	}
}
