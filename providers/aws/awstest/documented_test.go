package awstest_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// played runs a test in a bubble, with a cloud that behaves as AWS documents.
func played(t *testing.T, documented awstest.Documented, test func(t *testing.T, cloud *awstest.Documents)) {
	t.Helper()
	server := awstest.Start(t)
	cloud := server.Play(t, documented)
	synctest.Test(t, func(t *testing.T) { test(t, cloud) })
}

// posted makes one call of a service whose client is not linked, in the JSON protocol.
func posted(t *testing.T, cfg aws.Config, signing, version, target string, in string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *cfg.BaseEndpoint, strings.NewReader(in))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-"+version)
	req.Header.Set("X-Amz-Target", target)
	keys, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		return err
	}
	if err := v4.NewSigner().SignHTTP(t.Context(), keys, req, fmt.Sprintf("%x", sha256.Sum256([]byte(in))), signing, cfg.Region, time.Now()); err != nil {
		return err
	}
	resp, err := cfg.HTTPClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var out struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode == http.StatusOK {
		return err
	}
	return &smithy.GenericAPIError{Code: out.Type[strings.LastIndex(out.Type, "#")+1:], Message: out.Message}
}

// reads are one call of each service that publishes quotas, by the name that its calls have there.
func reads(cfg aws.Config) map[string]func(*testing.T) error {
	tags := 0
	return map[string]func(*testing.T) error{
		"ECR": func(t *testing.T) error { // whose quotas for reads are large
			const service = "AmazonEC2ContainerRegistry_V20150921."
			if tags++; tags == 1 {
				if err := posted(t, cfg, "ecr", "1.1", service+"CreateRepository", `{"repositoryName":"shop"}`); err != nil {
					return err
				}
			}
			const manifest = `{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"layers\":[]}`
			return posted(t, cfg, "ecr", "1.1", service+"PutImage", fmt.Sprintf(`{"repositoryName":"shop","imageTag":"t%d","imageManifest":"%s"}`, tags, manifest))
		},
		"Lambda": func(t *testing.T) error {
			_, err := lambda.NewFromConfig(cfg).ListFunctions(t.Context(), nil)
			return err
		},
		"Route53": func(t *testing.T) error {
			_, err := route53.NewFromConfig(cfg).ListHostedZones(t.Context(), nil)
			return err
		},
		"Logs": func(t *testing.T) error {
			_, err := cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(t.Context(), nil)
			return err
		},
		"SSM": func(t *testing.T) error {
			_, err := ssm.NewFromConfig(cfg).GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"none"}})
			return err
		},
		"apigateway": func(t *testing.T) error {
			_, err := apigatewayv2.NewFromConfig(cfg).GetApis(t.Context(), nil)
			return err
		},
		"Events": func(t *testing.T) error {
			_, err := eventbridge.NewFromConfig(cfg).ListRules(t.Context(), nil)
			return err
		},
		"SNS": func(t *testing.T) error {
			_, err := sns.NewFromConfig(cfg).ListTopics(t.Context(), nil)
			return err
		},
		"SecretsManager": func(t *testing.T) error {
			_, err := secretsmanager.NewFromConfig(cfg).ListSecrets(t.Context(), nil)
			return err
		},
		"KMS": func(t *testing.T) error { return posted(t, cfg, "kms", "1.1", "TrentService.CreateKey", "{}") },
		"ACM": func(t *testing.T) error {
			return posted(t, cfg, "acm", "1.1", "CertificateManager.ListCertificates", "{}")
		},
		"SFN": func(t *testing.T) error {
			return posted(t, cfg, "states", "1.0", "AWSStepFunctions.ListStateMachines", "{}")
		},
		"ECS": func(t *testing.T) error {
			return posted(t, cfg, "ecs", "1.1", "AmazonEC2ContainerServiceV20141113.ListClusters", "{}")
		},
		"Cognito": func(t *testing.T) error {
			return posted(t, cfg, "cognito-idp", "1.1", "AWSCognitoIdentityProviderService.ListUserPools", `{"MaxResults":1}`)
		},
	}
}

// TestQuotas calls each service as often as is published, once more, and again a second later. The refusal is one that the
// SDK knows as a throttled call, by its code, which says that the proxy spells it as the service does.
func TestQuotas(t *testing.T) {
	rate := map[string]int{
		"Lambda": 15, "Route53": 5, "Logs": 10, "SSM": 40, "apigateway": 40, "Events": 50, "SNS": 30, "SecretsManager": 100,
		"KMS": 5, "ACM": 8, "SFN": 100, "Cognito": 15, "ECR": 10, "ECS": 50,
	}
	played(t, awstest.Documented{Quotas: awstest.PublishedQuotas()}, func(t *testing.T, cloud *awstest.Documents) {
		all := reads(cloud.Observed(t))
		for _, q := range awstest.PublishedQuotas() {
			if all[q.Service] == nil || !strings.HasPrefix(q.Source, "https://docs.aws.amazon.com/") {
				t.Errorf("the quota of %s %v is not tested, or has no source", q.Service, q.Operations)
			}
		}
		for _, service := range slices.Sorted(maps.Keys(all)) {
			call := all[service]
			for i := range rate[service] {
				if err := call(t); err != nil {
					t.Fatalf("%s: call %d of %d: %v", service, i, rate[service], err)
				}
			}
			err := call(t)
			if retry.DefaultThrottles[0].IsErrorThrottle(err) != aws.TrueTernary {
				t.Errorf("%s: the SDK does not take this for a throttled call: %v", service, err)
			}
			time.Sleep(time.Second)
			if err := call(t); err != nil {
				t.Errorf("%s: a second later: %v", service, err)
			}
		}
		for name, n := range cloud.Throttled() {
			if n != 1 {
				t.Errorf("%s: throttled %d times", name, n)
			}
		}
	})
}

// TestHalfAQuota: somebody else uses the rest of it.
func TestHalfAQuota(t *testing.T) {
	played(t, awstest.Documented{Quotas: awstest.Part(0.5, awstest.PublishedQuotas())}, func(t *testing.T, cloud *awstest.Documents) {
		call := reads(cloud.Observed(t))["Route53"]
		for i := range 4 {
			if err := call(t); (err != nil) != (i > 1) {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

func queueURL(t *testing.T, client *sqs.Client) (string, error) {
	t.Helper()
	out, err := client.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: new("orders")})
	if err != nil {
		return "", err
	}
	return *out.QueueUrl, nil
}

// TestReadsAreBehind: for a time or a number of answers, a read shows what was there before, and somebody else sees the truth.
func TestReadsAreBehind(t *testing.T) {
	for name, lag := range map[string]awstest.Lag{"time": {For: 10 * time.Second}, "answers": {Answers: 3}} {
		t.Run(name, func(t *testing.T) {
			played(t, awstest.Documented{Behind: lag}, func(t *testing.T, cloud *awstest.Documents) {
				client, others := sqs.NewFromConfig(cloud.Observed(t)), sqs.NewFromConfig(cloud.Outside(t))
				absent := func() bool {
					_, err := queueURL(t, client)
					_, is := errors.AsType[*sqstypes.QueueDoesNotExist](err)
					return is
				}
				if !absent() {
					t.Fatal("there is a queue before one was made")
				}
				if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: new("orders")}); err != nil {
					t.Fatal(err)
				}
				if _, err := queueURL(t, others); err != nil {
					t.Errorf("somebody else does not see it: %v", err)
				}
				for i := range 3 {
					if !absent() {
						t.Errorf("answer %d shows the new queue", i)
					}
				}
				time.Sleep(lag.For)
				url, err := queueURL(t, client)
				if err != nil {
					t.Fatalf("it never shows: %v", err)
				}
				seen := func() string {
					out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
						QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"VisibilityTimeout"},
					})
					if err != nil {
						t.Fatal(err)
					}
					return out.Attributes["VisibilityTimeout"]
				}
				was := seen()
				if _, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
					QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "77"},
				}); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					if have := seen(); have != was {
						t.Errorf("answer %d shows %s", i, have)
					}
				}
				time.Sleep(lag.For)
				if have := seen(); have != "77" {
					t.Errorf("it shows %s at last", have)
				}
			})
		})
	}
}

// TestUnseenIdentity: what was just made is not found by the id that the service gave it, and others are.
func TestUnseenIdentity(t *testing.T) {
	played(t, awstest.Documented{Behind: awstest.Lag{For: 5 * time.Second}}, func(t *testing.T, cloud *awstest.Documents) {
		client := apigatewayv2.NewFromConfig(cloud.Observed(t))
		in := &apigatewayv2.CreateApiInput{Name: new("api"), ProtocolType: "HTTP"}
		before, err := apigatewayv2.NewFromConfig(cloud.Outside(t)).CreateApi(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		made, err := client.CreateApi(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.GetApi(t.Context(), &apigatewayv2.GetApiInput{ApiId: made.ApiId}); status(err) != http.StatusNotFound {
			t.Errorf("the new one: %v", err)
		}
		if _, err := client.GetApi(t.Context(), &apigatewayv2.GetApiInput{ApiId: before.ApiId}); err != nil {
			t.Errorf("the old one: %v", err)
		}
		time.Sleep(5 * time.Second)
		if _, err := client.GetApi(t.Context(), &apigatewayv2.GetApiInput{ApiId: made.ApiId}); err != nil {
			t.Errorf("the new one, later: %v", err)
		}
	})
}

// TestPropagation: Lambda refuses a role that is new, and a setting that needs what the role was allowed just now, with the
// code of every mistake; eight seconds later it takes both.
func TestPropagation(t *testing.T) {
	played(t, awstest.Documented{Propagation: 8 * time.Second}, func(t *testing.T, cloud *awstest.Documents) {
		roles, functions := iam.NewFromConfig(cloud.Observed(t)), lambda.NewFromConfig(cloud.Observed(t))
		made, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: new("worker"), AssumeRolePolicyDocument: new("{}")})
		if err != nil {
			t.Fatal(err)
		}
		create := func() error {
			_, err := functions.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
				FunctionName: new("worker"), Role: made.Role.Arn, Runtime: "python3.14", Handler: new("main.handler"),
				Code: &lambdatypes.FunctionCode{ZipFile: []byte("PK\x05\x06" + strings.Repeat("\x00", 18))},
			})
			return err
		}
		change := func() error {
			_, err := functions.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
				FunctionName: new("worker"), DeadLetterConfig: &lambdatypes.DeadLetterConfig{TargetArn: new("arn:aws:sqs:us-east-1:1:failed")},
			})
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if _, is := errors.AsType[*lambdatypes.InvalidParameterValueException](err); !is {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("a new role", create())
		time.Sleep(8 * time.Second)
		if err := create(); err != nil {
			t.Errorf("eight seconds later: %v", err)
		}
		refused("a role without the permission", change())
		if _, err := roles.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
			RoleName: new("worker"), PolicyName: new("send"),
			PolicyDocument: new(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:Send*", "Resource": "*"}]}`),
		}); err != nil {
			t.Fatal(err)
		}
		refused("a new permission", change())
		time.Sleep(8 * time.Second)
		if err := change(); err != nil {
			t.Errorf("eight seconds later: %v", err)
		}
	})
}

// TestTransitions: functions, tables and changes of hosted zones take their time, and refuse what AWS refuses meanwhile.
func TestTransitions(t *testing.T) {
	played(t, awstest.Documented{Pending: 30 * time.Second}, func(t *testing.T, cloud *awstest.Documents) {
		tables := dynamodb.NewFromConfig(cloud.Observed(t))
		if _, err := tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: new("orders"), BillingMode: "PAY_PER_REQUEST",
			AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: new("id"), AttributeType: "S"}},
			KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: new("id"), KeyType: "HASH"}},
		}); err != nil {
			t.Fatal(err)
		}
		state := func() dynamotypes.TableStatus {
			out, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: new("orders")})
			if err != nil {
				t.Fatal(err)
			}
			return out.Table.TableStatus
		}
		_, err := tables.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: new("orders")})
		if _, is := errors.AsType[*dynamotypes.ResourceInUseException](err); !is || state() != "CREATING" {
			t.Errorf("a table that is being created is %s, and deleting it: %v", state(), err)
		}

		zones := route53.NewFromConfig(cloud.Observed(t))
		zone, err := zones.CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{Name: new("shop.example"), CallerReference: new("1")})
		if err != nil {
			t.Fatal(err)
		}
		batch := func(n int) (*route53.ChangeResourceRecordSetsOutput, error) {
			change := route53types.Change{Action: "CREATE", ResourceRecordSet: &route53types.ResourceRecordSet{
				Name: new("www.shop.example"), Type: "A", TTL: new(int64(60)),
			}}
			for range n {
				change.ResourceRecordSet.ResourceRecords = append(change.ResourceRecordSet.ResourceRecords, route53types.ResourceRecord{Value: new("192.0.2.1")})
			}
			return zones.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{
				HostedZoneId: zone.HostedZone.Id, ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{change}},
			})
		}
		_, err = batch(1001)
		if _, is := errors.AsType[*route53types.InvalidChangeBatch](err); !is {
			t.Errorf("1,001 records: %v", err)
		}
		made, err := batch(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []route53types.ChangeStatus{"PENDING", "INSYNC"} {
			out, err := zones.GetChange(t.Context(), &route53.GetChangeInput{Id: made.ChangeInfo.Id})
			if err != nil || out.ChangeInfo.Status != want {
				t.Errorf("a change that is to be %s: %v, %v", want, out, err)
			}
			time.Sleep(30 * time.Second)
		}
		if have := state(); have != "ACTIVE" {
			t.Errorf("a minute later the table is %s", have)
		}
	})
}
