package awstest_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// code returns the service's code of an error, "" for others.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// TestEnvironmentAlone proves that the SDK needs nothing but the environment,
// buckets and their names included, and that the developer's own settings do
// not get in.
func TestEnvironmentAlone(t *testing.T) {
	t.Setenv("AWS_PROFILE", "not-there")
	t.Setenv("AWS_SESSION_TOKEN", "stale")
	t.Setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:1")
	cloud := awstest.Start(t)
	cloud.Setenv(t)
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *identity.Account != cloud.Account {
		t.Errorf("account %s, want %s", *identity.Account, cloud.Account)
	}
	bucket := new(cloud.Name("shop"))
	objects := s3.NewFromConfig(cfg)
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: bucket, Key: new("a/b c"), Body: strings.NewReader("content"),
	}); err != nil {
		t.Fatal(err)
	}
	queue, err := sqs.NewFromConfig(cfg).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: new("orders")})
	if err != nil {
		t.Fatal(err)
	}
	if want := cloud.URL + "/" + cloud.Account + "/orders"; *queue.QueueUrl != want {
		t.Errorf("queue URL %s, want %s", *queue.QueueUrl, want)
	}
	for _, c := range cloud.Calls() {
		if c.Account != cloud.Account || c.Region != cloud.Region || c.Status != 200 || !c.Forwarded {
			t.Errorf("%s: account %s, region %s, status %d, forwarded %t", c.Name(), c.Account, c.Region, c.Status, c.Forwarded)
		}
	}
	if got := cloud.Count("S3.*"); got != 2 {
		t.Errorf("%d calls of S3, want 2", got)
	}
}

// TestAccounts proves that two tests do not see each other's objects, that one
// endpoint serves several accounts by their keys, and that another account's
// bucket is neither free nor readable.
func TestAccounts(t *testing.T) {
	mine, theirs := awstest.Start(t), awstest.Start(t)
	bucket := new(mine.Name("shop"))
	mySQS, theirSQS := sqs.NewFromConfig(mine.Config(t)), sqs.NewFromConfig(theirs.Config(t))
	mySNS, theirSNS := sns.NewFromConfig(mine.Config(t)), sns.NewFromConfig(theirs.Config(t))
	myS3, theirS3 := s3.NewFromConfig(mine.Config(t)), s3.NewFromConfig(theirs.Config(t))
	if _, err := mySQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: new("orders")}); err != nil {
		t.Fatal(err)
	}
	topic, err := mySNS.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: new("orders")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "arn:aws:sns:us-east-1:" + mine.Account + ":orders"; *topic.TopicArn != want {
		t.Errorf("topic %s, want %s", *topic.TopicArn, want)
	}
	if _, err := myS3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}

	if _, err := theirSQS.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: new("orders")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("another account's queue: %v", err)
	}
	if topics, err := theirSNS.ListTopics(t.Context(), nil); err != nil || len(topics.Topics) != 0 {
		t.Errorf("another account's topics: %v, %v", topics, err)
	}
	if buckets, err := theirS3.ListBuckets(t.Context(), nil); err != nil || len(buckets.Buckets) != 0 {
		t.Errorf("another account's buckets: %v, %v", buckets, err)
	}
	if _, err := theirS3.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: bucket}); code(err) != "AccessDenied" {
		t.Errorf("reading another account's bucket: %v", err)
	}
	if _, err := theirS3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket}); code(err) != "AccessDenied" {
		t.Errorf("creating another account's bucket: %v", err)
	}

	other := mine.Config(t)
	other.Credentials = credentials.NewStaticCredentialsProvider(awstest.AccessKey(theirs.Account), "secret", "")
	identity, err := sts.NewFromConfig(other).GetCallerIdentity(t.Context(), nil)
	if err != nil || *identity.Account != theirs.Account {
		t.Errorf("identity behind another key: %v, %v", identity, err)
	}
	if calls := mine.Calls(); len(calls) != 0 {
		t.Errorf("an outsider's calls are recorded: %v", calls)
	}
}

// TestAssumedRole proves that credentials made by the cloud lead to the
// account of their role.
func TestAssumedRole(t *testing.T) {
	cloud := awstest.Start(t)
	account := awstest.NewAccount()
	cfg := cloud.ObservedConfig(t)
	role, err := sts.NewFromConfig(cfg).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: new("arn:aws:iam::" + account + ":role/deployer"), RoleSessionName: new("test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := role.Credentials
	cfg.Credentials = credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)
	identity, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *identity.Account != account {
		t.Errorf("account %s, want %s", *identity.Account, account)
	}
	if topic, err := sns.NewFromConfig(cfg).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: new("jobs")}); err != nil ||
		!strings.Contains(aws.ToString(topic.TopicArn), account) {
		t.Errorf("topic of the role: %v, %v", topic, err)
	}
}

// TestMissing runs this test's binary where no moto_server can be found.
func TestMissing(t *testing.T) {
	if os.Getenv("AWSTEST_MISSING") != "" {
		awstest.Start(t)
		t.Fatal("started without moto_server")
	}
	const line = "moto_server not found: run `task moto` (needs Python 3)"
	for _, strict := range []bool{false, true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMissing$", "-test.v")
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"AWSTEST_MISSING=1", "PATH=" + cmd.Dir}
		want := "--- SKIP: TestMissing"
		if strict {
			cmd.Env = append(cmd.Env, "ATHANOR_NO_SKIP=1")
			want = "--- FAIL: TestMissing"
		}
		out, err := cmd.CombinedOutput()
		if (err != nil) != strict || strings.Count(string(out), line) != 1 || !strings.Contains(string(out), want) {
			t.Errorf("strict %t: %v\n%s", strict, err, out)
		}
	}
}
