package terraform

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestSensitiveNumbers keeps a number that is secret at Pulumi, or a parameter of CloudFormation that is shown to nobody, out of the stack.
func TestSensitiveNumbers(t *testing.T) {
	_, text := pulumiStack(t, exported(t, pulumiObject("aws:sqs/queue:Queue", "q", "https://sqs/q", map[string]any{
		"arn": "arn:aws:sqs:eu-north-1:123456789012:q", "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/q", "name": "q",
		"delaySeconds": map[string]any{pulumiSig: pulumiSecret, "plaintext": "77"},
	})), from.Options{})
	if !strings.Contains(text, "ignoreChanges:\n        - delay\n") || strings.Contains(text, "77") || strings.Contains(text, "1m17s") {
		t.Error(text)
	}
	const template = `{"Parameters": {"Wait": {"Type": "Number", "NoEcho": true}},
		"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "DelaySeconds": {"Ref": "Wait"}}}}}`
	for name, value := range map[string]string{"shown": "77", "hidden": "****"} {
		d := stackDraft(t, deployedStack(template, map[string]string{"Wait": value}, "Q=https://sqs.eu-north-1.amazonaws.com/123456789012/q"))
		live := map[string]any{"name": "q", "delay": "1m17s"}
		for _, observed := range []map[string]from.Observed{nil, {"Q": {Props: live, Differs: []tree.Path{"delay"}}}} {
			s := d.Stack(observed)
			if text := textOfStack(t, s); strings.Contains(text, "77") || strings.Contains(text, "1m17s") || observed != nil && !strings.Contains(text, "- delay\n") {
				t.Errorf("%s: %s", name, text)
			}
			if len(s.Drifts) != 0 {
				t.Errorf("%s: %+v", name, s.Drifts)
			}
		}
	}
}
