package stacks_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestRejectedCredentials: what AWS says of credentials has one reason, whatever service says it and of which operation; what it
// says of an object has none.
func TestRejectedCredentials(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	cloud := open(t, &aws.Settings{})
	topics, err := aws.Client(cloud, sns.ServiceID, sns.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := aws.Client(cloud, s3.ServiceID, s3.NewFromConfig)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"SQS": func() error { _, err := queues(t, cloud).ListQueues(t.Context(), nil); return err },
		"SNS": func() error { _, err := (*sns.Client)(topics).ListTopics(t.Context(), nil); return err },
		"S3":  func() error { _, err := (*s3.Client)(buckets).ListBuckets(t.Context(), nil); return err },
	}
	for code, want := range map[string]string{
		"ExpiredToken": "the session has expired", "InvalidAccessKeyId": "the access key is not accepted", "AccessDenied": "", "NoSuchThing": "",
	} {
		for name, call := range calls {
			server.Inject(awstest.Fault{Op: name + ".*", Kind: awstest.Refuse, Code: code, Status: 403})
			err := call()
			if err == nil {
				t.Fatalf("%s is not refused", name)
			}
			if why, hint := reconcile.Common(err); why != want || (hint != "") != (want != "") {
				t.Errorf("%s, %s: %q, %q", name, code, why, hint)
			}
		}
	}
}
