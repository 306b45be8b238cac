package awstest_test

import (
	"context"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// A call whose caller went away while it was under way has had its effect, or never will, once it is quiet.
func TestQuiet(t *testing.T) {
	for kind, effect := range map[awstest.Kind]bool{awstest.Hold: false, awstest.HoldAnswer: true} {
		t.Run(string(kind), func(t *testing.T) {
			cloud := awstest.Start(t)
			th := things(cloud)["SQS"]
			armed := cloud.Inject(awstest.Fault{Op: th.create, Kind: kind})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			cfg := cloud.ObservedConfig(t)
			go func() { ended <- th.make(ctx, cfg) }()
			<-armed.Reached()
			cancel()
			if err := <-ended; err == nil {
				t.Fatal("the call was answered")
			}
			cloud.Quiet(t)
			if have := exists(t, cloud, th); have != effect {
				t.Errorf("it exists: %t, want %t", have, effect)
			}
			if c := only(t, cloud.Calls()); c.Forwarded != effect || effect && c.Status != 200 {
				t.Errorf("recorded: forwarded %t, status %d", c.Forwarded, c.Status)
			}
		})
	}
}
