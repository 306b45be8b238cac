package stacks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func newRole(s *athanor.Stack, name string) iam.Role {
	return iam.NewRole(s, name, iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
}

func evaluated(t *testing.T, spelling athanor.Spelling, program func(*athanor.Stack)) (*engine.Graph, error) {
	t.Helper()
	return athanor.Evaluate(func(s *athanor.Stack) error { program(s); return nil },
		athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir(), Spelling: spelling})
}

// granted is what a role is granted: the actions and resources of each statement, sorted.
func granted(t *testing.T, g *engine.Graph, address string) (statements, sids []string) {
	t.Helper()
	i := slices.IndexFunc(g.Resources, func(r engine.Resource) bool { return r.Address == address })
	if i < 0 {
		t.Fatalf("no %s", address)
	}
	rows, _ := g.Resources[i].Props["bindings"].([]any)
	for _, row := range rows {
		fields := row.(map[string]any)
		sids = append(sids, fields["sid"].(string))
		shown := map[string]any{"on": fields["resources"], "do": fields["actions"]}
		if where, ok := fields["conditions"]; ok {
			shown["where"] = where
		}
		statements = append(statements, string(tree.Canonical(shown)))
	}
	slices.Sort(statements)
	return statements, sids
}

func TestGrants(t *testing.T) {
	for name, tt := range map[string]struct {
		grant func(s *athanor.Stack, to aws.Grantee)
		want  []string
	}{
		"send": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.NewQueue(s, "orders", sqs.QueueProps{}).Grant(to, sqs.Send)
		}, []string{`{"do":["sqs:SendMessage"],"on":["${orders.arn}"]}`}},
		"receive and purge in one": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.NewQueue(s, "orders", sqs.QueueProps{}).Grant(to, sqs.Receive, sqs.Purge, sqs.Receive)
		}, []string{`{"do":["sqs:ChangeMessageVisibility","sqs:DeleteMessage","sqs:GetQueueAttributes","sqs:PurgeQueue","sqs:ReceiveMessage"],"on":["${orders.arn}"]}`}},
		"twice": {func(s *athanor.Stack, to aws.Grantee) {
			q := sqs.NewQueue(s, "orders", sqs.QueueProps{})
			q.Grant(to, sqs.Send)
			q.Grant(to, sqs.Send)
		}, []string{`{"do":["sqs:SendMessage"],"on":["${orders.arn}"]}`}},
		"an action by its name": {func(s *athanor.Stack, to aws.Grantee) {
			sns.NewTopic(s, "events", sns.TopicProps{}).Grant(to, sns.Publish, "sns:GetTopicAttributes")
		}, []string{`{"do":["sns:GetTopicAttributes","sns:Publish"],"on":["${events.arn}"]}`}},
		"subscribe": {func(s *athanor.Stack, to aws.Grantee) {
			sns.NewTopic(s, "events", sns.TopicProps{}).Grant(to, sns.Subscribe)
		}, []string{`{"do":["sns:ListSubscriptionsByTopic","sns:Subscribe"],"on":["${events.arn}"]}`}},
		"what is in a log group": {func(s *athanor.Stack, to aws.Grantee) {
			logs.NewLogGroup(s, "app", logs.LogGroupProps{}).Grant(to, logs.Write)
		}, []string{`{"do":["logs:CreateLogStream","logs:PutLogEvents"],"on":["${app.streamsArn}"]}`}},
		"a parameter": {func(s *athanor.Stack, to aws.Grantee) {
			ssm.NewParameter(s, "domain", ssm.ParameterProps{Value: "shop.example"}).Grant(to, ssm.Read)
		}, []string{`{"do":["ssm:GetParameter","ssm:GetParameterHistory","ssm:GetParameters"],"on":["${domain.arn}"]}`}},
		"a secret": {func(s *athanor.Stack, to aws.Grantee) {
			secretsmanager.NewSecret(s, "password", secretsmanager.SecretProps{Generate: &secretsmanager.Generate{}}).Grant(to, secretsmanager.Read)
		}, []string{`{"do":["secretsmanager:DescribeSecret","secretsmanager:GetSecretValue"],"on":["${password.arn}"]}`}},
		"images, and signing in": {func(s *athanor.Stack, to aws.Grantee) {
			ecr.NewRepository(s, "images", ecr.RepositoryProps{}).Grant(to, ecr.Pull)
		}, []string{
			`{"do":["ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer"],"on":["${images.arn}"]}`,
			`{"do":["ecr:GetAuthorizationToken"],"on":["*"]}`,
		}},
		"a machine and its executions": {func(s *athanor.Stack, to aws.Grantee) {
			sfn.NewStateMachine(s, "checkout", sfn.StateMachineProps{Role: "arn:aws:iam::111122223333:role/x", Definition: "{}"}).Grant(to, sfn.Stop)
		}, []string{`{"do":["states:StopExecution"],"on":["${checkout.arn}","${checkout.executionsArn}"]}`}},
		"objects and their bucket": {func(s *athanor.Stack, to aws.Grantee) {
			s3.NewBucket(s, "assets", s3.BucketProps{}).Grant(to, s3.Read, s3.List)
		}, []string{`{"do":["s3:GetObject"],"on":["${assets.arn}/*"]}`, `{"do":["s3:ListBucket"],"on":["${assets.arn}"]}`}},
		"objects alone": {func(s *athanor.Stack, to aws.Grantee) {
			s3.NewBucket(s, "assets", s3.BucketProps{}).Grant(to, s3.Write, s3.Delete)
		}, []string{`{"do":["s3:AbortMultipartUpload","s3:DeleteObject","s3:PutObject"],"on":["${assets.arn}/*"]}`}},
		"what is read, to a role of another scope": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.ReadQueue(s.Scope("in"), "orders", "arn:aws:sqs:eu-west-1:111122223333:orders").Grant(to, sqs.Send)
		}, []string{`{"do":["sqs:SendMessage"],"on":["${in/orders.arn}"]}`}},
		"the key of a queue": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			sqs.NewQueue(s, "orders", sqs.QueueProps{KMSMasterKeyID: string(key.ARN)}).Grant(to, sqs.Receive)
		}, []string{
			`{"do":["kms:Decrypt"],"on":["${key.arn}"]}`,
			`{"do":["sqs:ChangeMessageVisibility","sqs:DeleteMessage","sqs:GetQueueAttributes","sqs:ReceiveMessage"],"on":["${orders.arn}"]}`,
		}},
		"the key of a source": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			sqs.NewQueue(s, "orders", sqs.QueueProps{KMSMasterKeyID: string(key.ARN)}).Feed(to)
		}, []string{
			`{"do":["kms:Decrypt"],"on":["${key.arn}"]}`,
			`{"do":["sqs:DeleteMessage","sqs:GetQueueAttributes","sqs:ReceiveMessage"],"on":["${orders.arn}"]}`,
		}},
		"a key by its id": {func(s *athanor.Stack, to aws.Grantee) {
			sns.NewTopic(s, "events", sns.TopicProps{KMSMasterKeyID: "1234"}).Grant(to, sns.Publish)
		}, []string{`{"do":["kms:Decrypt","kms:GenerateDataKey"],"on":["arn:*:kms:*:*:key/1234"]}`, `{"do":["sns:Publish"],"on":["${events.arn}"]}`}},
		"a key by a reference to its id": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			sns.NewTopic(s, "events", sns.TopicProps{KMSMasterKeyID: key.ID}).Grant(to, sns.Publish, sns.Subscribe)
		}, []string{
			`{"do":["kms:Decrypt","kms:GenerateDataKey"],"on":["arn:*:kms:*:*:key/⟦key.id⟧"]}`,
			`{"do":["sns:ListSubscriptionsByTopic","sns:Publish","sns:Subscribe"],"on":["${events.arn}"]}`,
		}},
		"a key by an alias": {func(s *athanor.Stack, to aws.Grantee) {
			ssm.NewParameter(s, "p", ssm.ParameterProps{SecureValue: "x", KeyID: new("alias/shop")}).Grant(to, ssm.Write)
		}, []string{
			`{"do":["kms:Encrypt","kms:GenerateDataKey"],"on":["arn:*:kms:*:*:key/*"],"where":{"ForAnyValue:StringEquals":{"kms:ResourceAliases":["alias/shop"]}}}`,
			`{"do":["ssm:PutParameter"],"on":["${p.arn}"]}`,
		}},
		"a key by the ARN of an alias": {func(s *athanor.Stack, to aws.Grantee) {
			secretsmanager.NewSecret(s, "p", secretsmanager.SecretProps{External: true, KMSKeyID: "arn:aws:kms:eu-west-1:111122223333:alias/shop"}).
				Grant(to, "secretsmanager:GetSecretValue")
		}, []string{
			`{"do":["kms:Decrypt"],"on":["arn:*:kms:*:*:key/*"],"where":{"ForAnyValue:StringEquals":{"kms:ResourceAliases":["alias/shop"]}}}`,
			`{"do":["secretsmanager:GetSecretValue"],"on":["${p.arn}"]}`,
		}},
		"a key of AWS": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.NewQueue(s, "orders", sqs.QueueProps{KMSMasterKeyID: "alias/aws/sqs"}).Grant(to, sqs.Send)
		}, []string{`{"do":["sqs:SendMessage"],"on":["${orders.arn}"]}`}},
		"what needs no key": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.NewQueue(s, "orders", sqs.QueueProps{KMSMasterKeyID: "1234"}).Grant(to, sqs.Purge)
		}, []string{`{"do":["sqs:PurgeQueue"],"on":["${orders.arn}"]}`}},
		"the key of a bucket": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			s3.NewBucket(s, "assets", s3.BucketProps{Encryption: &s3.Encryption{Algorithm: "aws:kms", KMSKey: string(key.ARN)}}).Grant(to, s3.Read, s3.List)
		}, []string{
			`{"do":["kms:Decrypt"],"on":["${key.arn}"]}`, `{"do":["s3:GetObject"],"on":["${assets.arn}/*"]}`,
			`{"do":["s3:ListBucket"],"on":["${assets.arn}"]}`,
		}},
		"the key of a table": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			dynamodb.NewTable(s, "orders", dynamodb.TableProps{PartitionKey: "id", KMSKeyARN: key.ARN}).Grant(to, "dynamodb:GetItem")
		}, []string{
			`{"do":["dynamodb:GetItem"],"on":["${orders.arn}","${orders.arn}/index/*"]}`, `{"do":["kms:Decrypt","kms:DescribeKey"],"on":["${key.arn}"]}`,
		}},
		"the key of a machine": {func(s *athanor.Stack, to aws.Grantee) {
			key := kms.NewKey(s, "key", kms.KeyProps{})
			sfn.NewStateMachine(s, "checkout", sfn.StateMachineProps{Role: "arn:aws:iam::111122223333:role/x", Definition: "{}", KMSKey: key.ARN}).
				Grant(to, "states:StartExecution")
		}, []string{
			`{"do":["kms:Decrypt","kms:GenerateDataKey"],"on":["${key.arn}"]}`,
			`{"do":["states:StartExecution"],"on":["${checkout.arn}","${checkout.executionsArn}"]}`,
		}},
		"two things with names alike": {func(s *athanor.Stack, to aws.Grantee) {
			sqs.NewQueue(s, "a-b", sqs.QueueProps{}).Grant(to, sqs.Send)
			sqs.NewQueue(s, "a_b", sqs.QueueProps{}).Grant(to, sqs.Send)
		}, []string{`{"do":["sqs:SendMessage"],"on":["${a-b.arn}"]}`, `{"do":["sqs:SendMessage"],"on":["${a_b.arn}"]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			program := func(s *athanor.Stack) { tt.grant(s, newRole(s, "worker")) }
			g, err := evaluated(t, athanor.Plain, program)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tt.want {
				tt.want[i] = strings.NewReplacer("${", "⟦", "rn}", "rn⟧").Replace(tt.want[i])
			}
			statements, sids := granted(t, g, "worker")
			if !slices.Equal(statements, tt.want) {
				t.Errorf("granted %s\nwant %s", statements, tt.want)
			}
			for _, sid := range sids {
				if strings.Trim(sid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
					t.Errorf("sid %q: want letters and digits", sid)
				}
			}
			if slices.Sort(sids); len(slices.Compact(sids)) != len(statements) {
				t.Errorf("sids %v of %d statements", sids, len(statements))
			}
			// Tokens in another spelling make the same graph.
			if shifted, err := evaluated(t, athanor.Shifted, program); err != nil {
				t.Error(err)
			} else if _, other := granted(t, shifted, "worker"); !slices.Equal(sids, sorted(other)) {
				t.Errorf("sids %v, and %v in another spelling", sids, other)
			}
		})
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

// plain runs as a role that the stack does not declare.
type plain struct {
	stack *athanor.Stack
	role  aws.ARN
}

func (p plain) Granted() (*athanor.Stack, aws.ARN) { return p.stack, p.role }

func TestGrantsThatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		grant      func(s *athanor.Stack, q sqs.Queue)
		says, hint string
	}{
		"a role by its ARN": {func(s *athanor.Stack, q sqs.Queue) {
			q.Grant(plain{s, "arn:aws:iam::111122223333:role/theirs"}, sqs.Send)
		}, "a grant to arn:aws:iam::111122223333:role/theirs, which this stack does not declare", "iam.NewRole"},
		"no role": {func(s *athanor.Stack, q sqs.Queue) { q.Grant(plain{s, ""}, sqs.Send) }, "something without a role", "iam.NewRole"},
		"nothing": {func(s *athanor.Stack, q sqs.Queue) { q.Grant(newRole(s, "r")) }, "a grant of nothing", ""},
		"a role that is read": {func(s *athanor.Stack, q sqs.Queue) {
			q.Grant(iam.ReadRole(s, "theirs", "arn:aws:iam::111122223333:role/theirs"), sqs.Send)
		}, `nothing is declared as "theirs"`, "only read"},
		"no role at all": {func(s *athanor.Stack, q sqs.Queue) { q.Grant(plain{s, q.ARN}, sqs.Send) }, "a aws.sqs.Queue takes no bindings", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evaluated(t, athanor.Plain, func(s *athanor.Stack) { tt.grant(s, sqs.NewQueue(s, "orders", sqs.QueueProps{})) })
			var wrong *engine.GraphError
			if !errors.As(err, &wrong) || len(wrong.Problems) != 1 || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(wrong.Problems[0].Source, "grant_test.go:") {
				t.Errorf("at %q", wrong.Problems[0].Source)
			}
			if hints := strings.Join(reconcile.Hints(err), " "); !strings.Contains(hints, tt.hint) {
				t.Errorf("hints %q", hints)
			}
		})
	}
}
