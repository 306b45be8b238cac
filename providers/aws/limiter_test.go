package aws

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

func TestLimitsAreShared(t *testing.T) {
	l := newLimits()
	call := reconcile.Call{Service: "SQS", Operation: "GetQueueUrl", Place: reconcile.Place{Account: "1", Region: "r"}}
	same, write, elsewhere := call, call, call
	same.Operation = "ListQueues"
	write.Mutates = true
	elsewhere.Place.Account = "2"
	if l.of(call) != l.of(same) || l.of(call) == l.of(write) || l.of(call) == l.of(elsewhere) {
		t.Error("reads of one service in one place share a limit, and nothing else does")
	}
}

// TestPublishedQuotas: calls that AWS counts together share a limit, and others of the service do not.
func TestPublishedQuotas(t *testing.T) {
	l := newLimits()
	of := func(service, operation string, mutates bool) any {
		return l.of(reconcile.Call{Service: service, Operation: operation, Mutates: mutates})
	}
	for _, c := range []struct {
		service, a, b string
		together      bool
	}{
		{"Lambda", "GetFunctionUrlConfig", "CreateFunction", true},
		{"Lambda", "GetFunction", "CreateFunction", false},
		{"Lambda", "GetFunction", "GetPolicy", false},
		{"Route53", "GetChange", "ChangeResourceRecordSets", true},
		{"SSM", "GetParameters", "GetParameter", true},
		{"SSM", "GetParameters", "PutParameter", false},
		{"SecretsManager", "PutSecretValue", "UpdateSecret", true},
		{"SecretsManager", "TagResource", "UntagResource", true},
		{"SecretsManager", "CreateSecret", "DeleteSecret", false},
		{"SSM", "GetParameters", "DescribeParameters", false},
		{"SQS", "GetQueueUrl", "CreateQueue", false},
	} {
		if have := of(c.service, c.a, false) == of(c.service, c.b, true); have != c.together {
			t.Errorf("%s: %s and %s count together: %t", c.service, c.a, c.b, have)
		}
	}
	for _, q := range quotas() {
		if q.rate <= 0 || !strings.HasPrefix(q.source, "https://docs.aws.amazon.com/") {
			t.Errorf("the quota of %s %v: %v calls a second, from %q", q.service, q.operations, q.rate, q.source)
		}
		for _, operation := range q.operations {
			if _, name := quotaOf(reconcile.Call{Service: q.service, Operation: operation}); name != q.operations[0] {
				t.Errorf("%s %s has the quota %q: a row before it has it too", q.service, operation, name)
			}
		}
	}
}
