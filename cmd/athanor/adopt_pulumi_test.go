//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// pulumiExport is what `pulumi stack export` prints of the project that a state of Terraform describes. No provider wrote it: names and
// forms of the outputs are those of the documentation of Pulumi's provider aws 6, and of
// https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/deployments.json.
func pulumiExport(t *testing.T, state string) string {
	t.Helper()
	var doc struct {
		Resources []struct {
			Type, Name string
			Instances  []struct{ Attributes map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(state), &doc); err != nil {
		t.Fatal(err)
	}
	type attrs = map[string]any
	of := func(typ, name, attr string) any {
		for _, r := range doc.Resources {
			if r.Type == typ && r.Name == name {
				return r.Instances[0].Attributes[attr]
			}
		}
		t.Fatalf("there is no %s.%s", typ, name)
		return nil
	}
	const prefix = "urn:pulumi:prod::shop::"
	stack := prefix + "pulumi:pulumi:Stack::shop-prod"
	component := prefix + "shop:index:Worker::work"
	provider := prefix + "pulumi:providers:aws::default_6_83_0::0d6c2a9e-1c25-4b2b-9a0a-1a7f7c1f0a11"
	resource := func(typ, name, parent string, id any, outputs attrs, depends ...string) attrs {
		urn := prefix + typ + "::" + name
		if parent == component {
			urn = prefix + "shop:index:Worker$" + typ + "::" + name
		}
		outputs["id"] = id
		return attrs{
			"urn": urn, "custom": true, "id": id, "type": typ, "inputs": attrs{"__defaults": []any{}}, "outputs": outputs, "parent": parent,
			"provider": provider, "dependencies": depends,
		}
	}
	queue, role, policy := prefix+"aws:sqs/queue:Queue::jobs", prefix+"shop:index:Worker$aws:iam/role:Role::worker", prefix+"aws:iam/policy:Policy::logs"
	bucket := prefix + "aws:s3/bucketV2:BucketV2::in"
	url, name := of("aws_sqs_queue", "jobs", "url"), of("aws_s3_bucket", "in", "bucket")
	secret := attrs{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": `"tok-very-secret-1"`}
	text, err := json.Marshal(attrs{"version": 3, "deployment": attrs{
		"manifest":          attrs{"time": "2026-05-01T10:00:00Z", "magic": "x", "version": "v3.170.0"},
		"secrets_providers": attrs{"type": "passphrase", "state": attrs{"salt": "v1:I+z7GGoIdXQ=:v1:oZT0IPjTj8W1uUb7:MQi/UkAB4MceFeXcEv1Pa9igzQuy7Q=="}},
		"resources": []any{
			attrs{"urn": stack, "custom": false, "type": "pulumi:pulumi:Stack", "outputs": attrs{"queue": url}},
			attrs{"urn": prefix + "pulumi:providers:aws::default_6_83_0", "custom": true, "id": "0d6c2a9e-1c25-4b2b-9a0a-1a7f7c1f0a11", "type": "pulumi:providers:aws", "parent": stack},
			attrs{"urn": component, "custom": false, "type": "shop:index:Worker", "parent": stack},
			resource("aws:sqs/queue:Queue", "jobs", stack, url, attrs{
				"url": url, "arn": of("aws_sqs_queue", "jobs", "arn"), "name": "jobs", "visibilityTimeoutSeconds": 60, "messageRetentionSeconds": 345600,
				"maxMessageSize": of("aws_sqs_queue", "jobs", "max_message_size"), "delaySeconds": 0, "receiveWaitTimeSeconds": 0, "fifoQueue": false,
				"kmsDataKeyReusePeriodSeconds": 300, "sqsManagedSseEnabled": true, "policy": "", "redrivePolicy": "", "tags": attrs{"team": "a"}, "tagsAll": attrs{"team": "a"},
			}),
			resource("aws:dynamodb/table:Table", "orders", stack, "orders", attrs{
				"arn": of("aws_dynamodb_table", "orders", "arn"), "name": "orders", "hashKey": "id", "billingMode": "PAY_PER_REQUEST",
				"attributes": []any{attrs{"name": "id", "type": "S"}}, "readCapacity": 0, "writeCapacity": 0, "tableClass": "STANDARD", "streamEnabled": false,
				"ttl": attrs{"attributeName": "", "enabled": false}, "pointInTimeRecovery": attrs{"enabled": false, "recoveryPeriodInDays": 0},
			}),
			resource("aws:iam/policy:Policy", "logs", stack, of("aws_iam_policy", "logs", "arn"), attrs{
				"arn": of("aws_iam_policy", "logs", "arn"), "name": "logs", "path": "/", "policy": of("aws_iam_policy", "logs", "policy"),
			}),
			resource("aws:iam/role:Role", "worker", component, "worker", attrs{
				"arn": of("aws_iam_role", "worker", "arn"), "name": "worker", "assumeRolePolicy": of("aws_iam_role", "worker", "assume_role_policy"),
				"path": "/", "maxSessionDuration": 3600, "managedPolicyArns": []any{of("aws_iam_policy", "logs", "arn")},
				"inlinePolicies": []any{attrs{"name": "queue", "policy": of("aws_iam_role_policy", "queue", "policy")}},
			}),
			resource("aws:iam/rolePolicy:RolePolicy", "queue", component, "worker:queue", attrs{
				"role": "worker", "name": "queue", "policy": of("aws_iam_role_policy", "queue", "policy"),
			}, role, queue),
			resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "logs", component, "worker-1", attrs{
				"role": "worker", "policyArn": of("aws_iam_policy", "logs", "arn"),
			}, policy, role),
			resource("aws:lambda/function:Function", "worker-function", component, "worker", attrs{
				"arn": of("aws_lambda_function", "worker", "arn"), "name": "worker", "role": of("aws_iam_role", "worker", "arn"), "runtime": "python3.13",
				"handler": "app.handler", "timeout": 30, "memorySize": 256, "architectures": []any{"x86_64"}, "packageType": "Zip",
				"code":             attrs{"4dabf18193072939515e22adb298388d": "0def7320c3a5731c473e5ecbe6d01bc7", "hash": "x", "path": "app.zip"},
				"ephemeralStorage": attrs{"size": 512}, "reservedConcurrentExecutions": -1, "environment": attrs{"variables": attrs{"QUEUE": url, "API_TOKEN": secret}},
				"tracingConfig": attrs{"mode": "PassThrough"}, "loggingConfig": attrs{"logFormat": "Text", "logGroup": "/aws/lambda/worker"},
			}, role, queue),
			resource("aws:s3/bucketV2:BucketV2", "in", stack, name, attrs{
				"bucket": name, "arn": of("aws_s3_bucket", "in", "arn"), "region": of("aws_s3_bucket", "in", "region"), "forceDestroy": false,
				"versionings": []any{attrs{"enabled": true, "mfaDelete": false}}, "requestPayer": "BucketOwner",
			}),
			resource("aws:s3/bucketVersioningV2:BucketVersioningV2", "in-versioning", stack, name, attrs{"bucket": name, "versioningConfiguration": attrs{"status": "Enabled"}}, bucket),
			resource("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "in-access", stack, name, attrs{
				"bucket": name, "blockPublicAcls": true, "ignorePublicAcls": true, "blockPublicPolicy": true, "restrictPublicBuckets": true,
			}, bucket),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// adoptPulumi takes over a project whose export stands in shop.json.
func adoptPulumi(t *testing.T, w *world, server *awstest.Server, p project) {
	t.Helper()
	var r adoption
	printed := w.run(0, "adopt", "--from", "shop.json", "--json")
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if r.Counts.Mapped != 6 || r.Counts.Folded != 4 || r.Counts.Unmapped+r.Counts.Ambiguous != 0 {
		t.Errorf("%+v\n%s", r.Counts, printed)
	}
	if strings.Contains(printed, "tok-very-secret-1") {
		t.Error("a secret is shown")
	}
	if len(r.Drift) != 1 || r.Drift[0].Address != "jobs" || r.Drift[0].Path != "visibilityTimeout" {
		t.Errorf("what was changed by hand is the drift of the source: %+v", r.Drift)
	}
	for _, want := range []string{"stack: shop\n", "role: ${work/worker.arn}", "QUEUE: ${jobs.url}", "API_TOKEN: ${secret.", "visibilityTimeout: 2m", "- ${logs.arn}", "queue: ${jobs.url}"} {
		if !strings.Contains(r.YAML, want) {
			t.Errorf("there is no %s in\n%s", want, r.YAML)
		}
	}
	for _, want := range []string{`"stage":"prod"`, `"pulumi state delete 'urn:pulumi:prod::shop::aws:s3/bucketV2:BucketV2::in'"`} {
		if !strings.Contains(printed, want) {
			t.Errorf("there is no %s in\n%s", want, printed)
		}
	}
	w.write("athanor.yaml", r.YAML)
	if s := w.summary(0, "deploy", "--adopt", "--yes", "--stage", "prod"); s["adopted"] != 6.0 || s["created"] != 0.0 || s["updated"] != 0.0 {
		t.Errorf("%v", s)
	}
	w.run(0, "adopt", "--finish", "--stage", "prod")
	before := len(server.Mutations())
	w.run(0, "deploy", "--yes", "--stage", "prod")
	if after := server.Mutations(); len(after) != before {
		t.Errorf("a second deploy changes something: %v", after[before:])
	}
	p.changeQueue("45")
	if out := w.run(2, "drift", "--stage", "prod"); !strings.Contains(out, "visibilityTimeout") {
		t.Error(out)
	}
	w.run(0, "destroy", "--yes", "--allow-delete", "*", "--stage", "prod")
}

// TestAdoptPulumiProject takes over the serverless project from a state of Pulumi.
func TestAdoptPulumiProject(t *testing.T) {
	server := awstest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	p := makeProject(t, server, w)
	w.write("shop.json", pulumiExport(t, p.state))
	w.follow("from-pulumi.md")
	adoptPulumi(t, w, server, p)
}
