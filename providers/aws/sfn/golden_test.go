package sfn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

const roleOne, roleTwo = "arn:aws:iam::111122223333:role/one", "arn:aws:iam::111122223333:role/two"

// TestGolden has the members of https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html as it
// shows them: the definition is JSON in text, and a data key is used again for seconds.
func TestGolden(t *testing.T) {
	declared := obj{
		"definition": passes("end"), "role": roleOne, "type": "EXPRESS", "tracing": true, "logLevel": "ERROR", "logData": true, "kmsKey": keyOne, "keyReuse": "10m",
	}
	body := kind.Document{
		"definition": `{"StartAt":"end","States":{"end":{"End":true,"Type":"Pass"}}}`, "roleArn": roleOne, "type": "EXPRESS",
		"tracingConfiguration": obj{"enabled": true}, "loggingConfiguration": obj{"level": "ERROR", "includeExecutionData": true},
		"encryptionConfiguration": obj{"kmsKeyId": keyOne, "kmsDataKeyReusePeriodSeconds": int64(600)},
	}
	kindtest.Golden(t, machineTable, declared, kind.Document{}, body)
	// Each member of a creation is one of the call, by the service's own description.
	declared["logGroup"] = groupOne
	sent, err := configured(kindtest.PropsOf(t, machineTable, declared), kind.Document{})
	if err != nil {
		t.Fatal(err)
	}
	m := awstest.LoadModel(t, "stepfunctions")
	conforms(t, m, m.Operations["CreateStateMachine"].Input.Shape, "", sent)
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{
		`"destinations":[{"cloudWatchLogsLogGroup":{"logGroupArn":"` + groupOne + `:*"}}]`, `"type":"CUSTOMER_MANAGED_KMS_KEY"`,
	} {
		if !strings.Contains(string(text), member) {
			t.Errorf("%s is not in %s", member, text)
		}
	}
}
