package stacks_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
)

// dependent has what needs more than the operation that is called: keys, roles, networks, archives.
func dependent(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		const key = aws.ARN("arn:aws:kms:us-east-1:111111111111:key/0f2c1a52-0000-4000-8000-000000000001")
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com", "events.amazonaws.com", "sns.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"kms:Decrypt", "ec2:CreateNetworkInterface"}, Resources: []string{"*"}}},
		})
		lambda.NewFunction(s, "worker", lambda.FunctionProps{
			Code: lambda.Code{Zip: "code.zip"}, Role: role.ARN, Runtime: new("python3.14"), Handler: new("main.handler"), Description: word,
			KMSKey: key, VPC: &lambda.VPC{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}},
		})
		ssm.NewParameter(s, "word", ssm.ParameterProps{
			SecureValue: s.Secret("word", athanor.FromEnv("WORD_OF_TEST")), KeyID: new(string(key)), Description: word,
		})
		dynamodb.NewTable(s, "items", dynamodb.TableProps{PartitionKey: "id", KMSKeyARN: key, Tags: map[string]string{"word": word}})
		secretsmanager.NewSecret(s, "secret", secretsmanager.SecretProps{
			Generate: &secretsmanager.Generate{}, KMSKeyID: string(key), Description: word, ForceDelete: true,
		}, athanor.AllowDelete())
		bucket := s3.NewBucket(s, "files", s3.BucketProps{ForceDestroy: true, Encryption: &s3.Encryption{Algorithm: "aws:kms", KMSKey: string(key)}})
		s3.NewObject(s, "file", s3.ObjectProps{
			Bucket: bucket.Name, Key: "word.txt", Content: &word, Encryption: &s3.ObjectEncryption{Algorithm: "aws:kms", KMSKey: string(key)},
		})
		queue := sqs.NewQueue(s, "jobs", sqs.QueueProps{KMSMasterKeyID: string(key), Delay: time.Duration(len(word)) * time.Second})
		sns.NewTopic(s, "events", sns.TopicProps{
			KMSMasterKeyID: string(key), DisplayName: word,
		})
		eventbridge.NewRule(s, "rule", eventbridge.RuleProps{
			EventPattern: map[string]any{"source": []any{word}},
			Targets:      map[string]eventbridge.Target{"work": {ARN: queue.ARN, RoleARN: role.ARN}},
		})
		return nil
	}
}

// spare are the actions that a policy has although a run may end well without them, with when they are called.
var spare = map[string]string{
	"iam:GetAccountAuthorizationDetails": "several roles are read together", "iam:ListRoles": "roles without state are read together",
	"ssm:GetParameters": "several parameters are read together", "events:ListRules": "several rules are read together",
	"ssm:GetParameter": "a parameter is read by itself", "iam:GetRole": "Lambda refuses a role",
	"lambda:GetFunctionConfiguration": "Lambda refuses a role", "lambda:ListEventSourceMappings": "a mapping is searched for",
	"lambda:GetEventSourceMapping": "a mapping is found at a function that is destroyed",
	"lambda:ListTags":              "a function shows its tags to those who may list them",
	"route53:GetChange":            "a change is pending", "route53:ListHostedZones": "a zone is searched for",
	"route53:ListHostedZonesByName": "a zone is searched for", "route53:ListTagsForResources": "a zone is searched for",
	"s3:ListBucket":                "an object is missing: S3 says so only to those who may list",
	"secretsmanager:RestoreSecret": "the name belongs to a deleted secret", "sns:ListSubscriptionsByTopic": "a subscription is searched for",
	"sns:ListTopics": "several topics are read together", "sqs:GetQueueUrl": "a queue is read by itself",
	"sqs:ListQueueTags": "the tagging service is behind", "ssm:ListTagsForResource": "the tagging service is behind",
	"s3:GetBucketObjectLockConfiguration": "a bucket keeps versions",
	"ssm:DescribeParameters":              "several parameters are read together", "tag:GetResources": "several objects are read together",
	"iam:DeletePolicyVersion": "a policy has older versions", "iam:ListEntitiesForPolicy": "a policy is in use",
	"iam:RemoveRoleFromInstanceProfile": "a role is in an instance profile", "s3:AbortMultipartUpload": "an upload is unfinished",
	"s3:DeleteObjectVersion": "a bucket is not empty", "s3:DeleteObject": "a bucket is not empty", "s3:ListBucketMultipartUploads": "a bucket is not empty",
	"kms:UpdateAlias": "an alias leads to an earlier key", "kms:UntagResource": "a key is deleted whose tags are the owner's",
	"cloudfront:ListDistributions":        "distributions without state are read together",
	"cloudfront:ListOriginAccessControls": "a control is searched for by its name",
	"cloudfront:GetInvalidation":          "content is being removed from caches",
	"acm:ListCertificates":                "a record is removed", "acm:ListTagsForCertificate": "the tagging service is behind",
	"cognito-idp:ListUserPools": "a pool is searched for by its name", "cognito-idp:ListUserPoolClients": "a client is searched for by its name",
	"ecr:BatchDeleteImage": "an image loses a tag", "ecr:BatchGetImage": "an image gets a tag", "ecr:ListImages": "a repository is deleted without permission to delete images",
	"cognito-idp:ListUsers": "a pool is deleted without permission to delete users",
	"ecs:ListServices":      "a service is searched for in all clusters", "ecs:ListTasks": "tasks of a deployment have failed", "ecs:DescribeTasks": "tasks of a deployment have failed",
	"lambda:DeleteFunction": "older versions of a function go", "iam:DeleteRolePolicy": "a role loses a policy", "iam:DetachRolePolicy": "a role loses a policy",
}

// lists are the actions that describe one object and all: a policy has them on everything.
var lists = map[string]bool{"ecr:DescribeRepositories": true}

// TestExactlyThePolicy deploys, plans unchanged, changes and destroys stacks under exactly the policies that plans print.
// Nothing is refused, and no policy has an action that is not asked for.
func TestExactlyThePolicy(t *testing.T) {
	t.Setenv("WORD_OF_TEST", "a word that nobody knows")
	for name, program := range map[string]func(string) athanor.Program{"every kind": every, "dependent": dependent, "protected": protected, "scheduled": scheduled, "retagged": retagged, "content": content, "published": published, "signed in": signedIn, "tasks": tasks, "pushed": pushed} {
		t.Run(name, func(t *testing.T) {
			server, documented := awstest.Start, awstest.Documented{Latency: 50 * time.Millisecond}
			if name == "tasks" { // of which moto makes no deployments
				server, documented.Pending = awstest.StartMinistack, 10*time.Second
			}
			inStageOf(t, server(t), documented, func(s *stage) {
				for _, step := range []struct {
					what string
					plan func() *engine.Plan
				}{
					{"deploy", func() *engine.Plan { return s.plan(program("first")) }},
					{"unchanged", func() *engine.Plan { return s.plan(program("first")) }},
					{"update", func() *engine.Plan { return s.plan(program("second")) }},
					{"destroy", s.planDestroy},
				} {
					policy := aws.LeastPolicy(engine.Needs(s.Context(), step.plan()))
					if err := s.played.Allow(policy); err != nil {
						s.Fatal(err)
					}
					p := step.plan()
					r, err := s.engine.Apply(s.Context(), p, engine.ApplyOptions{Command: "deploy"})
					asked, denied := s.played.Asked()
					if err != nil || len(denied) > 0 || len(r.Failures) > 0 || r.Summary.Blocked > 0 {
						s.Fatalf("%s: %v, refused %v, failed %v, %+v", step.what, err, denied, r.Failures, r.Summary)
					}
					s.unused(step.what, policy, asked)
					if err := s.played.Allow(nil); err != nil {
						s.Fatal(err)
					}
				}
			})
		})
	}
}

// unused fails for actions of a policy that no call asked for, and for actions on everything that need not be.
func (s *stage) unused(what string, policy map[string]any, asked map[awstest.Right]bool) {
	s.Helper()
	needed := map[string]bool{}
	everywhere := map[string]bool{}
	for right := range asked {
		needed[right.Action] = true
		everywhere[right.Action] = everywhere[right.Action] || right.Resource == "*"
	}
	printed := map[string]bool{}
	for _, statement := range policy["Statement"].([]any) {
		m := statement.(map[string]any)
		for _, action := range m["Action"].([]string) {
			printed[action] = true
			if slices.Contains(m["Resource"].([]string), "*") && needed[action] && !everywhere[action] && !lists[action] {
				s.Errorf("%s: %s is allowed on everything", what, action)
			}
			if action == "iam:PassRole" && !strings.Contains(fmt.Sprint(m["Condition"]), "iam:PassedToService") {
				s.Errorf("%s: roles may be handed to any service", what)
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(printed)) {
		if !needed[action] && spare[action] == "" {
			s.Errorf("%s: %s is allowed, and nothing asks for it", what, action)
		}
	}
	s.Logf("%s: %d actions", what, len(printed))
}
