package main

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// policy is what `plan --iam` prints.
type policy struct {
	Version   string
	Statement []struct {
		Effect           string
		Action, Resource []string
	}
}

// allows reports whether an action on a resource is allowed; on nothing in particular means on everything.
func (p policy) allows(action, on string) bool {
	for _, s := range p.Statement {
		if s.Effect == "Allow" && slices.Contains(s.Action, action) && slices.ContainsFunc(s.Resource, func(pattern string) bool {
			ok, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(on, "/", "|"))
			return err == nil && ok || pattern == "*"
		}) {
			return true
		}
	}
	return false
}

// generated are names that end in a hash, of the account too.
var generated = regexp.MustCompile(`(shop-test-[a-z]+)-[a-z0-9]{8}`)

// objectActions are the actions of IAM for operations of S3 that have another name:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
var objectActions = map[string]string{
	"HeadBucket": "ListBucket", "ListObjectsV2": "ListBucket", "ListBuckets": "ListAllMyBuckets", "ListObjectVersions": "ListBucketVersions",
	"ListMultipartUploads": "ListBucketMultipartUploads", "HeadObject": "GetObject", "DeleteObjects": "DeleteObject",
	"GetBucketCors": "GetBucketCORS", "PutBucketCors": "PutBucketCORS", "DeleteBucketCors": "PutBucketCORS", "DeleteBucketTagging": "PutBucketTagging",
	"GetBucketEncryption": "GetEncryptionConfiguration", "PutBucketEncryption": "PutEncryptionConfiguration",
	"GetBucketLifecycleConfiguration": "GetLifecycleConfiguration", "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
	"DeleteBucketLifecycle":            "PutLifecycleConfiguration",
	"GetPublicAccessBlock":             "GetBucketPublicAccessBlock",
	"PutPublicAccessBlock":             "PutBucketPublicAccessBlock",
	"DeletePublicAccessBlock":          "PutBucketPublicAccessBlock",
	"GetBucketAccelerateConfiguration": "GetAccelerateConfiguration", "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
	"GetBucketNotificationConfiguration": "GetBucketNotification", "PutBucketNotificationConfiguration": "PutBucketNotification",
	"GetObjectLockConfiguration": "GetBucketObjectLockConfiguration", "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
}

// asked are the actions and the resource that IAM would check for a call, told from the wire alone.
func asked(t *testing.T, c awstest.Call) (actions []string, on string) {
	t.Helper()
	in := func(service, name string) string {
		return "arn:aws:" + service + ":" + c.Region + ":" + c.Account + ":" + name
	}
	switch c.Service {
	case "STS":
		return []string{"sts:" + c.Operation}, "*"
	case "Tagging":
		return []string{"tag:" + c.Operation}, "*"
	case "S3":
		action := c.Operation
		if other, ok := objectActions[action]; ok {
			action = other
		}
		actions = []string{"s3:" + action}
		if c.Operation == "CreateBucket" && strings.Contains(string(c.Body), "<Tag>") {
			actions = append(actions, "s3:TagResource")
		}
		if c.Operation == "PutObject" { // which carries the owner tag, in a header
			actions = append(actions, "s3:PutObjectTagging")
		}
		return actions, "arn:aws:s3:::" + c.Resource
	case "SQS":
		var body struct {
			QueueName, QueueURL string
			Tags                map[string]string
		}
		if err := json.Unmarshal(c.Body, &body); err != nil {
			t.Fatal(err)
		}
		actions = []string{"sqs:" + c.Operation}
		if c.Operation == "CreateQueue" && len(body.Tags) > 0 {
			actions = append(actions, "sqs:TagQueue")
		}
		return actions, in("sqs", body.QueueName+body.QueueURL[strings.LastIndexByte(body.QueueURL, '/')+1:])
	case "SNS":
		form, err := url.ParseQuery(string(c.Body))
		if err != nil {
			t.Fatal(err)
		}
		actions = []string{"sns:" + c.Operation}
		if form.Has("Tags.member.1.Key") {
			actions = append(actions, "sns:TagResource")
		}
		if name := form.Get("Name"); name != "" {
			return actions, in("sns", name)
		}
		return actions, form.Get("TopicArn") + form.Get("ResourceArn")
	}
	t.Fatalf("a call of %s", c.Name())
	return nil, ""
}

// TestLeastPolicy deploys, changes, mends, takes up again and takes down, and holds every call that reaches the cloud
// to the policy that was printed before: nothing is done that it does not allow.
func TestLeastPolicy(t *testing.T) {
	s := newShop(t)
	t.Parallel() // what is built is built once
	all := map[string]bool{}
	step := func(name string, args ...string) policy {
		t.Helper()
		plan := append([]string{"plan", "--iam"}, args...)
		text, errs, code := s.Run(plan...)
		if code != 2 {
			t.Fatalf("%s: exit %d\n%s", name, code, errs)
		}
		if again, _, _ := s.Run(plan...); again != text {
			t.Errorf("%s: two plans, two policies", name)
		}
		var p policy
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		s.Cloud.Reset()
		s.Do(append([]string{"deploy"}, args...)...)
		calls := s.Cloud.Calls()
		if len(calls) < 10 {
			t.Fatalf("%s: only %d calls", name, len(calls))
		}
		for _, c := range calls {
			actions, on := asked(t, c)
			for _, action := range actions {
				all[action] = true
				if !p.allows(action, on) {
					t.Errorf("%s: %s asks for %s on %s, which the policy does not allow", name, c.Name(), action, on)
				}
			}
		}
		if name == "first deploy" {
			s.Golden("iam.golden", generated.ReplaceAllString(text, "$1-HASH"), *update)
		}
		return p
	}
	first := step("first deploy")
	if first.allows("sqs:DeleteQueue", "*") || first.allows("s3:DeleteBucket", "*") {
		t.Error("a first deploy may delete")
	}
	var last programtest.Counts
	out, _, _ := s.Run("output", "--json")
	if err := json.Unmarshal([]byte(out), &last.Outputs); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.drift(last)
	mended := step("repair and change", "--config", "retention=2d")
	if mended.allows("sqs:CreateQueue", "*") || mended.allows("s3:CreateBucket", "*") {
		t.Error("a change may create")
	}
	s.Lose()
	step("after a lost record", "--config", "retention=3d")
	step("down to the queue", "--replace", "orders", "--config", "retention=3d")
	for _, action := range []string{"sqs:CreateQueue", "sqs:SetQueueAttributes", "sqs:DeleteQueue", "s3:PutBucketCORS", "sns:Subscribe", "tag:GetResources"} {
		if !all[action] {
			t.Errorf("%s was never asked for: the steps are not what they are meant to be", action)
		}
	}
}
