package stacks_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/cognito"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/scheduler"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestReadsAreBeside holds how many calls the read of one unchanged object makes, and how many of them one after another: what state or
// the name of the object says already is not waited for. Each call takes as long, on the clock of the bubble.
func TestReadsAreBeside(t *testing.T) {
	const latency = 50 * time.Millisecond
	cases := map[string]struct {
		declare       func(s *athanor.Stack)
		calls, rounds int
	}{
		"bucket":      {func(s *athanor.Stack) { s3.NewBucket(s, "a", s3.BucketProps{}) }, 14, 2},
		"bus":         {func(s *athanor.Stack) { eventbridge.NewEventBus(s, "a", eventbridge.EventBusProps{}) }, 2, 1},
		"certificate": {func(s *athanor.Stack) { acm.NewCertificate(s, "a", acm.CertificateProps{Domain: "shop.example"}) }, 2, 2},
		"cluster":     {func(s *athanor.Stack) { ecs.NewCluster(s, "a", ecs.ClusterProps{}) }, 1, 1},
		"control": {func(s *athanor.Stack) {
			cloudfront.NewOriginAccessControl(s, "a", cloudfront.OriginAccessControlProps{})
		}, 1, 1},
		"distribution": {func(s *athanor.Stack) {
			cloudfront.NewDistribution(s, "a", cloudfront.DistributionProps{
				Origins: map[string]cloudfront.Origin{"shop": {Domain: "shop.example"}}, Default: cloudfront.Behavior{Origin: "shop"},
			})
		}, 2, 1},
		"key":       {func(s *athanor.Stack) { kms.NewKey(s, "a", kms.KeyProps{}) }, 5, 2},
		"log group": {func(s *athanor.Stack) { logs.NewLogGroup(s, "a", logs.LogGroupProps{}) }, 4, 2},
		"machine": {func(s *athanor.Stack) {
			sfn.NewStateMachine(s, "a", sfn.StateMachineProps{Role: role, Definition: pass})
		}, 2, 1},
		"parameter": {func(s *athanor.Stack) { ssm.NewParameter(s, "a", ssm.ParameterProps{Value: "a"}) }, 3, 1},
		"policy": {func(s *athanor.Stack) {
			iam.NewPolicy(s, "a", iam.PolicyProps{Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}]}`})
		}, 2, 2},
		"queue":      {func(s *athanor.Stack) { sqs.NewQueue(s, "a", sqs.QueueProps{}) }, 2, 1},
		"repository": {func(s *athanor.Stack) { ecr.NewRepository(s, "a", ecr.RepositoryProps{}) }, 5, 2},
		"role": {func(s *athanor.Stack) {
			iam.NewRole(s, "a", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
		}, 3, 1},
		"rule": {func(s *athanor.Stack) {
			eventbridge.NewRule(s, "a", eventbridge.RuleProps{ScheduleExpression: "rate(1 day)"})
		}, 3, 1},
		"schedule": {func(s *athanor.Stack) {
			scheduler.NewSchedule(s, "a", scheduler.ScheduleProps{Expression: "rate(1 day)", Target: queue, Role: role})
		}, 1, 1},
		"secret":    {func(s *athanor.Stack) { secretsmanager.NewSecret(s, "a", secretsmanager.SecretProps{External: true}) }, 2, 2},
		"table":     {func(s *athanor.Stack) { dynamodb.NewTable(s, "a", dynamodb.TableProps{PartitionKey: "id"}) }, 6, 2},
		"topic":     {func(s *athanor.Stack) { sns.NewTopic(s, "a", sns.TopicProps{}) }, 2, 1},
		"user pool": {func(s *athanor.Stack) { cognito.NewUserPool(s, "a", cognito.UserPoolProps{}) }, 2, 1},
		"zone":      {func(s *athanor.Stack) { route53.NewHostedZone(s, "a", route53.HostedZoneProps{Name: "shop.example"}) }, 2, 1},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if !proctest.Played(i, 3) {
			continue
		}
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			inStage(t, awstest.Documented{Latency: latency}, func(s *stage) {
				program := func(s *athanor.Stack) error { c.declare(s); return nil }
				s.apply(s.plan(program), "deploy")
				time.Sleep(time.Hour)
				s.server.Reset()
				began := time.Now()
				if p := s.plan(program); p.Pending() {
					s.Fatalf("the plan is not unchanged: %+v", p.Summary)
				}
				rounds := int(time.Since(began) / latency)
				_, calls := s.counted()
				for _, call := range s.server.Calls() {
					if call.Name() == "STS.GetCallerIdentity" {
						rounds-- // which one read of a plan waits for
					}
				}
				if calls != c.calls || rounds != c.rounds {
					s.Errorf("%d calls, %d after another, want %d, %d: %v", calls, rounds, c.calls, c.rounds, s.server.Calls())
				}
			})
		})
	}
}
