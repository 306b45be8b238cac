package stacks_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdkdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	sdks3 "github.com/aws/aws-sdk-go-v2/service/s3"
	buckettypes "github.com/aws/aws-sdk-go-v2/service/s3/types"
	sdksqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
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
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// each is a program with so many resources, each declared by its address.
func each(n int, declare func(s *athanor.Stack, address string)) athanor.Program {
	return func(s *athanor.Stack) error {
		for i := range n {
			declare(s, fmt.Sprintf("one-%03d", i))
		}
		return nil
	}
}

// callsOf is a number that several calls which read ten each, and none of those which read more, are needed for.
var callsOf = flag.Int("calls", 30, "count the calls of so many resources of each kind; task aws:calls takes a hundred")

// TestCallsAreFew holds how many calls an unchanged plan of many resources of a kind makes, and their destroy with all its
// waits: a read for the plan, one right before the deletion, the deletion, and reads until the object is deleted. Where
// AWS has no call for several objects, each costs a call of its own:
//   - targets of rules: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_ListTargetsByRule.html
//   - headers and tags of objects, of which a head shows the number alone: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html
//   - state and reserved concurrency of functions: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html
//   - URLs and asynchronous invocation of functions: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctionUrlConfigs.html and
//     API_ListFunctionEventInvokeConfigs.html, which list those of one function
//   - task definitions, and the revisions of a family: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTaskDefinition.html
//   - settings and second factors of user pools, and settings of their clients:
//     https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_ListUserPools.html and API_ListUserPoolClients.html
func TestCallsAreFew(t *testing.T) {
	n, few := *callsOf, min(*callsOf, 10)
	cases := map[string]struct {
		program            athanor.Program
		unchanged, destroy int
	}{
		"parameters": {each(n, func(s *athanor.Stack, a string) { ssm.NewParameter(s, a, ssm.ParameterProps{Value: a}) }), n/10 + 5, 29*n/10 + 10},
		"roles": {each(n, func(s *athanor.Stack, a string) {
			iam.NewRole(s, a, iam.RoleProps{
				TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"),
				Bindings:    []aws.Statement{{Actions: []string{"s3:GetObject"}, Resources: []string{"*"}}},
			})
		}), 5, 7 * n},
		"rules": {each(n, func(s *athanor.Stack, a string) {
			eventbridge.NewRule(s, a, eventbridge.RuleProps{
				ScheduleExpression: "rate(1 day)", Targets: map[string]eventbridge.Target{"work": {ARN: "arn:aws:sqs:us-east-1:123456789012:work"}},
			})
		}), n + 5, 8 * n},
		"log groups": {each(n, func(s *athanor.Stack, a string) {
			logs.NewLogGroup(s, a, logs.LogGroupProps{Retention: 24 * time.Hour})
		}), 10, 15*n + 10},
		// Tags are read by one call for those that are asked for at the same time, on a busy machine by one each.
		"topics": {each(n, func(s *athanor.Stack, a string) { sns.NewTopic(s, a, sns.TopicProps{}) }), n + 5, 6*n + 20},
		"queues": {each(n, func(s *athanor.Stack, a string) { sqs.NewQueue(s, a, sqs.QueueProps{}) }), n + 5, 6 * n},
		// The role is read by three calls.
		"functions": {functions(n), 3*n + 5, 10 * n},
		// The bucket is read by fifteen.
		"objects": {func(s *athanor.Stack) error {
			bucket := s3.NewBucket(s, "bucket", s3.BucketProps{Name: "calls-are-few", ForceDestroy: true})
			return each(n, func(s *athanor.Stack, a string) {
				s3.NewObject(s, a, s3.ObjectProps{Bucket: bucket.Name, Key: a, Content: &a})
			})(s)
		}, 2*n + 20, 69*n/10 + 10},
		// Kinds of which each object is read by several calls, so that fewer of them show what each costs. The emulator's tagging
		// service does not show repositories and certificates.
		"tables": {each(few, func(s *athanor.Stack, a string) {
			dynamodb.NewTable(s, a, dynamodb.TableProps{PartitionKey: "id"}, athanor.AllowDelete())
		}), 4*few + 5, 20*few + 20},
		"repositories": {each(few, func(s *athanor.Stack, a string) { ecr.NewRepository(s, a, ecr.RepositoryProps{}) }), 3*few + 5, 17*few + 20},
		// The repository is read by three calls, and each image by one. Without permission to delete what is in the repository, it is listed.
		"images": {func(s *athanor.Stack) error {
			images := ecr.NewRepository(s, "images", ecr.RepositoryProps{})
			return each(few, func(s *athanor.Stack, a string) {
				ecr.NewImage(s, a, ecr.ImageProps{Repository: images.Name, Source: ecr.ImageSource{Layout: "first"}})
			})(s)
		}, few + 5, 5*few + 20},
		"machines": {each(few, func(s *athanor.Stack, a string) {
			sfn.NewStateMachine(s, a, sfn.StateMachineProps{Role: role, Definition: pass})
		}), 2*few + 5, 6*few + 20},
		"schedules": {each(few, func(s *athanor.Stack, a string) {
			scheduler.NewSchedule(s, a, scheduler.ScheduleProps{Expression: "rate(1 day)", Target: queue, Role: role})
		}), few + 5, 4*few + 20},
		"certificates": {func(s *athanor.Stack) error {
			zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example", ForceDestroy: true})
			return each(few, func(s *athanor.Stack, a string) {
				acm.NewCertificate(s, a, acm.CertificateProps{Domain: a + ".shop.example", HostedZoneID: zone.ID})
			})(s)
		}, 2*few + 5, 14 * few},
		"user pools": {each(few, func(s *athanor.Stack, a string) { cognito.NewUserPool(s, a, cognito.UserPoolProps{}) }), 2*few + 5, 9*few + 20},
		"clients of a pool": {func(s *athanor.Stack) error {
			pool := cognito.NewUserPool(s, "pool", cognito.UserPoolProps{})
			return each(few, func(s *athanor.Stack, a string) {
				cognito.NewUserPoolClient(s, a, cognito.UserPoolClientProps{UserPool: pool.ID})
			})(s)
		}, few + 5, 5*few + 20},
		"clusters": {each(few, func(s *athanor.Stack, a string) { ecs.NewCluster(s, a, ecs.ClusterProps{}) }), few/2 + 5, 5*few + 20},
		// Ten are described by one call, and each reads its task definition and the revisions of its family.
		"services of a cluster": {func(s *athanor.Stack) error {
			cluster := ecs.NewCluster(s, "cluster", ecs.ClusterProps{})
			return each(few, func(s *athanor.Stack, a string) { serviceOf(s, a, cluster.Name, a) })(s)
		}, 2*few + 10, 12*few + 20},
		"distributions": {each(few, func(s *athanor.Stack, a string) {
			cloudfront.NewDistribution(s, a, cloudfront.DistributionProps{
				Origins: map[string]cloudfront.Origin{"shop": {Domain: "shop.example"}}, Default: cloudfront.Behavior{Origin: "shop"},
			})
		}), 2*few + 5, 10 * few},
		"keys":    {each(few, func(s *athanor.Stack, a string) { kms.NewKey(s, a, kms.KeyProps{}, athanor.AllowDelete()) }), 3*few + 5, 19*few + 20},
		"buckets": {each(few, func(s *athanor.Stack, a string) { s3.NewBucket(s, a, s3.BucketProps{}) }), 12*few + 5, 45*few + 20},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if !proctest.Played(i, 3) {
			continue
		}
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			server := awstest.Start
			if name == "services of a cluster" { // of which moto makes no deployments
				server = awstest.StartMinistack
			}
			inStageOf(t, server(t), awstest.Documented{Latency: 50 * time.Millisecond}, func(s *stage) {
				s.deploy(c.program)
				time.Sleep(time.Hour)
				for _, step := range []struct {
					what string
					most int
					do   func()
				}{
					{"an unchanged plan", c.unchanged, func() {
						if p := s.plan(c.program); p.Pending() {
							s.Fatalf("the plan is not unchanged: %+v", p.Summary)
						}
					}},
					{"a destroy", c.destroy, func() { s.destroy() }},
				} {
					s.server.Reset()
					step.do()
					by := map[string]int{}
					for _, c := range s.server.Calls() {
						by[generated.ReplaceAllString(c.Name(), "*")]++
					}
					delete(by, "STS.GetCallerIdentity")
					all := 0
					for _, times := range by {
						all += times
					}
					s.Logf("%s: %d calls: %v", step.what, all, by)
					if all > step.most {
						s.Errorf("%s of %s makes %d calls, and at most %d are promised", step.what, name, all, step.most)
					}
				}
			})
		})
	}
}

// TestListingsProveNoAbsence: what is read together is believed where it shows what is expected, and read by itself where it does
// not, or may not be read together.
func TestListingsProveNoAbsence(t *testing.T) {
	const n = 5
	inStage(t, awstest.Documented{Latency: 50 * time.Millisecond}, func(s *stage) {
		program := each(n, func(s *athanor.Stack, a string) {
			sqs.NewQueue(s, a, sqs.QueueProps{Name: a})
			ssm.NewParameter(s, a+"-parameter", ssm.ParameterProps{Name: a, Value: a})
			iam.NewRole(s, a+"-role", iam.RoleProps{Name: a, TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
		})
		s.deploy(program)
		time.Sleep(time.Hour)
		for _, op := range []string{"Tagging.GetResources", "SSM.GetParameters", "IAM.GetAccountAuthorizationDetails"} {
			refused := s.server.Inject(awstest.Fault{Op: op, Kind: awstest.Deny})
			if p := s.plan(program); p.Pending() || refused.Fired() == 0 {
				s.Errorf("%s refused %d times: %+v", op, refused.Fired(), p.Summary)
			}
		}
		outside := sdksqs.NewFromConfig(s.played.Outside(s))
		url, err := outside.GetQueueUrl(s.Context(), &sdksqs.GetQueueUrlInput{QueueName: new("one-001")})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := outside.TagQueue(s.Context(), &sdksqs.TagQueueInput{QueueUrl: url.QueueUrl, Tags: map[string]string{"by": "hand"}}); err != nil {
			s.Fatal(err)
		}
		if p := s.plan(program); p.Summary.Updated != 1 || p.Summary.Unchanged != 3*n-1 {
			s.Errorf("a tag was added by hand: %+v", p.Summary)
		}
		if _, err := outside.DeleteQueue(s.Context(), &sdksqs.DeleteQueueInput{QueueUrl: url.QueueUrl}); err != nil {
			s.Fatal(err)
		}
		if p := s.plan(program); p.Summary.Created != 1 || p.Summary.Unchanged != 3*n-1 {
			s.Errorf("a queue was deleted by hand: %+v", p.Summary)
		}
	})
}

// TestWhatStaysIsNotAskedWhatItHolds: of several tables and buckets each setting is read that somebody may have changed, declared or
// not, and what is in them only where they would be replaced.
func TestWhatStaysIsNotAskedWhatItHolds(t *testing.T) {
	const n = 3
	inStage(t, awstest.Documented{Latency: 50 * time.Millisecond}, func(s *stage) {
		program := func(key string) athanor.Program {
			return each(n, func(s *athanor.Stack, a string) {
				dynamodb.NewTable(s, a, dynamodb.TableProps{PartitionKey: key})
				s3.NewBucket(s, a+"-files", s3.BucketProps{})
			})
		}
		s.deploy(program("id"))
		time.Sleep(time.Hour)
		s.server.Reset()
		if p := s.plan(program("id")); p.Pending() {
			s.Errorf("the plan is not unchanged: %+v", p.Summary)
		}
		for _, c := range s.server.Calls() {
			if c.Name() == "DynamoDB.Scan" || c.Name() == "S3.ListObjectVersions" || c.Name() == "S3.GetObjectLockConfiguration" {
				s.Errorf("an unchanged plan calls %s", c.Name())
			}
		}
		tables, buckets := sdkdynamodb.NewFromConfig(s.played.Outside(s)), sdks3.NewFromConfig(s.played.Outside(s), func(o *sdks3.Options) { o.UsePathStyle = true })
		named, err := tables.ListTables(s.Context(), &sdkdynamodb.ListTablesInput{})
		if err != nil {
			s.Fatal(err)
		}
		listed, err := buckets.ListBuckets(s.Context(), &sdks3.ListBucketsInput{})
		if err != nil {
			s.Fatal(err)
		}
		table, bucket := &named.TableNames[1], listed.Buckets[1].Name
		if _, err := tables.UpdateTimeToLive(s.Context(), &sdkdynamodb.UpdateTimeToLiveInput{
			TableName: table, TimeToLiveSpecification: &tabletypes.TimeToLiveSpecification{AttributeName: new("at"), Enabled: new(true)},
		}); err != nil {
			s.Fatal(err)
		}
		if _, err := buckets.PutBucketCors(s.Context(), &sdks3.PutBucketCorsInput{Bucket: bucket, CORSConfiguration: &buckettypes.CORSConfiguration{
			CORSRules: []buckettypes.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}},
		}}); err != nil {
			s.Fatal(err)
		}
		if p := s.plan(program("id")); p.Summary.Updated != 2 || p.Summary.Unchanged != 2*n-2 {
			s.Errorf("a table and a bucket were changed by hand: %+v", p.Summary)
		}
		if p := s.plan(program("other")); p.Summary.Replaced != n {
			s.Errorf("tables without items would be replaced: %+v", p.Summary)
		}
		if _, err := tables.PutItem(s.Context(), &sdkdynamodb.PutItemInput{
			TableName: table, Item: map[string]tabletypes.AttributeValue{"id": &tabletypes.AttributeValueMemberS{Value: "one"}},
		}); err != nil {
			s.Fatal(err)
		}
		if _, err := s.tryPlan(program("other")); !errors.Is(err, reconcile.ErrHoldsData) || strings.Count(err.Error(), "holds data") != 1 {
			s.Errorf("tables would be replaced, of which one has an item: %v", err)
		}
	})
}
