package sfn

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const keyOne, keyTwo = "arn:aws:kms:us-east-1:111122223333:key/11111111-1111-1111-1111-111111111111",
	"arn:aws:kms:us-east-1:111122223333:key/22222222-2222-2222-2222-222222222222"

// world is moto as it is: nobody else has a client of the SDK either.
type world struct{ awstest.World[aws.Cloud] }

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, server.Direct(), connect, machineKind.Erase(), "checkout")}
	w.Located(t, server.Account)
	return w
}

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in obj) obj {
	t.Helper()
	out := obj{}
	if err := service().Call(context.Background(), w.Others, operation, in, &out); err != nil && !aws.IsAbsent(err) {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

// machines are all as others see them.
func (w *world) machines(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "ListStateMachines", obj{})["stateMachines"].([]any) {
		arn := item.(obj)["stateMachineArn"]
		m := w.ask(t, "DescribeStateMachine", obj{"stateMachineArn": arn})
		all = append(all, obj{
			"definition": json.RawMessage(tree.Canonical(aws.Document(m["definition"]))), "role": m["roleArn"], "type": m["type"], "tracing": m["tracingConfiguration"],
			"logging": m["loggingConfiguration"], "encryption": m["encryptionConfiguration"], "tags": awstest.Owned(w.tags(t, arn)),
		})
	}
	return all
}

func (w *world) tags(t kindtest.T, arn any) map[string]string {
	t.Helper()
	tags := map[string]string{}
	for _, x := range w.ask(t, "ListTagsForResource", obj{"resourceArn": arn})["tags"].([]any) {
		tags[x.(obj)["key"].(string)] = x.(obj)["value"].(string)
	}
	return tags
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "ServiceUnavailable")(class)
}

// hands change each aspect of a machine as somebody else would: by an update of that aspect alone.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	update := func(member string, value func(StateMachineProps) any) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "UpdateStateMachine", obj{"stateMachineArn": to.Attrs["arn"], member: value(kindtest.PropsOf(t, machineTable, to.Props))})
			return nil
		})
	}
	logging := update("loggingConfiguration", func(p StateMachineProps) any {
		level, list := "OFF", []any{}
		if p.LogLevel != nil {
			level = *p.LogLevel
		}
		if p.LogGroup != "" {
			list = append(list, obj{"cloudWatchLogsLogGroup": obj{"logGroupArn": string(p.LogGroup) + ":*"}})
		}
		return obj{"level": level, "includeExecutionData": p.LogData, "destinations": list}
	})
	encryption := update("encryptionConfiguration", func(p StateMachineProps) any {
		if p.KMSKey == "" {
			return obj{"type": "AWS_OWNED_KEY"}
		}
		reuse := 300
		if p.KeyReuse != nil {
			reuse = int(p.KeyReuse.Seconds())
		}
		return obj{"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": p.KMSKey, "kmsDataKeyReusePeriodSeconds": reuse}
	})
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "DeleteStateMachine", obj{"stateMachineArn": to.Attrs["arn"]})
			return nil
		}),
		"definition": update("definition", func(p StateMachineProps) any { return *aws.Text(p.Definition) }),
		"role":       update("roleArn", func(p StateMachineProps) any { return p.Role }),
		"tracing":    update("tracingConfiguration", func(p StateMachineProps) any { return obj{"enabled": p.Tracing} }),
		"logLevel":   logging, "logData": logging, "logGroup": logging,
		"kmsKey": encryption, "keyReuse": encryption,
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn := to.Attrs["arn"]
			return awstest.Retag(w.tags(t, arn), to, func(keys []string) error {
				w.ask(t, "UntagResource", obj{"resourceArn": arn, "tagKeys": keys})
				return nil
			}, func(tags map[string]string) error {
				w.ask(t, "TagResource", obj{"resourceArn": arn, "tags": aws.JSONTags[aws.LowerTag](tags)})
				return nil
			})
		}),
	}
}
