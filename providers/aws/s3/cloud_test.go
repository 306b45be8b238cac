package s3

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
)

// openCloud is the provider's handle on the account of the test, which knows its place already.
func openCloud(t *testing.T, server *awstest.Server, front *awstest.Front) reconcile.Cloud {
	t.Helper()
	cloud := aws.FromConfig(front.Observed(t))
	if _, err := cloud.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Reset()
	return cloud
}
