//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// adoption is what adopt --from prints with --json.
type adoption struct {
	YAML   string
	Counts struct{ Mapped, Folded, Ambiguous, Unmapped, Needless, ManagedPaths, IgnoredPaths int }
	Drift  []struct{ Address, Path string }
}

// TestAdoptRealStates adopts the states in $ATHANOR_TFSTATES, which real providers made: every object is counted, the stack is one,
// nothing that a provider calls sensitive stands in it or in the report, and of all paths that the stacks manage at most 2 % are ignored.
func TestAdoptRealStates(t *testing.T) {
	dir := os.Getenv("ATHANOR_TFSTATES")
	if dir == "" {
		t.Skip("$ATHANOR_TFSTATES names no folder with states")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.tfstate"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no states in %s: %v", dir, err)
	}
	managedPaths, ignoredPaths := 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tfstate"), func(t *testing.T) {
			w := newWorld(t, "")
			if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(w.dir, "work"), 0o700); err != nil { // states name files next to their folder
				t.Fatal(err)
			}
			w.write("athanor.yaml", "stack: outer\nresources: {}\n")
			w.write("work/s.tfstate", string(data))
			var r adoption
			printed := w.run(0, "adopt", "--from", "work/s.tfstate", "--no-observe", "--json")
			if err := json.Unmarshal([]byte(printed), &r); err != nil {
				t.Fatal(err)
			}
			managed, sensitive := contentsOf(t, data)
			n := r.Counts
			if sum := n.Mapped + n.Folded + n.Ambiguous + n.Unmapped + n.Needless; sum != managed {
				t.Errorf("%d of %d objects are accounted for: %+v", sum, managed, n)
			}
			values, ignored := pathsOf(t, r.YAML)
			if values != n.ManagedPaths || ignored != n.IgnoredPaths {
				t.Errorf("the stack has %d values and ignores %d paths, and the report says %+v", values, ignored, n)
			}
			managedPaths += values
			ignoredPaths += ignored
			if (n.Mapped+n.Folded+n.Ambiguous+n.Needless)*10 < managed*6 {
				t.Errorf("most objects are not adopted: %+v", n)
			}
			for _, secret := range sensitive {
				if len(secret) >= 8 && strings.Contains(printed, secret) {
					t.Errorf("something sensitive is shown: %d bytes", len(secret))
				}
			}
			w.write("athanor.yaml", r.YAML)
			w.run(0, "graph", "--json")
			t.Logf("%+v", n)
		})
	}
	if t.Logf("%d paths are managed, %d ignored", managedPaths, ignoredPaths); ignoredPaths*50 > managedPaths {
		t.Errorf("%d of %d paths are ignored", ignoredPaths, managedPaths)
	}
}

// pathsOf counts the values that the resources of a stack declare, and the paths that they ignore.
func pathsOf(t *testing.T, text string) (values, ignored int) {
	t.Helper()
	var doc struct {
		Resources map[string]struct {
			For, Props any
			Options    struct {
				IgnoreChanges []string `yaml:"ignoreChanges"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Resources {
		each := 1
		switch list := r.For.(type) {
		case attributes:
			each = len(list)
		case []any:
			each = len(list)
		}
		values += each * leavesOf(r.Props)
		ignored += each * len(r.Options.IgnoreChanges)
	}
	return values, ignored
}

func leavesOf(v any) int {
	n := 0
	switch v := v.(type) {
	case attributes:
		for _, x := range v {
			n += leavesOf(x)
		}
	case []any:
		for _, x := range v {
			n += leavesOf(x)
		}
	case nil:
	default:
		return 1
	}
	return n
}

// contentsOf counts the objects of a state, and gives the texts that its providers call sensitive.
func contentsOf(t *testing.T, data []byte) (managed int, sensitive []string) {
	t.Helper()
	var doc struct {
		Resources []struct {
			Mode      string
			Instances []struct {
				Attributes map[string]any
				Sensitive  [][]struct{ Value any } `json:"sensitive_attributes"`
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			if r.Mode == "managed" {
				managed++
			}
			for _, path := range i.Sensitive {
				if len(path) == 1 {
					name, _ := path[0].Value.(string)
					if text, ok := i.Attributes[name].(string); ok {
						sensitive = append(sensitive, text)
					}
				}
			}
		}
	}
	return managed, sensitive
}

// TestAdoptProject takes over a serverless project that was made outside athanor. No provider wrote its state: the attributes are
// those in the documentation of hashicorp/aws 5.
func TestAdoptProject(t *testing.T) {
	t.Parallel()
	server := awstest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.env = append(w.env, "ATHANOR_STAGE=prod") // the page's
	p := makeProject(t, server, w)
	var state struct{ Resources []attributes }
	if err := json.Unmarshal([]byte(p.state), &state); err != nil {
		t.Fatal(err)
	}
	w.write("shop.tfstate", stateFile(t, append(state.Resources,
		stateResource("", "aws_iam_access_key.ci", attributes{"id": "AKIAIOSFODNN7EXAMPLE", "user": "ci", "status": "Active", "secret": "ci-very-secret-2"}),
		stateResource("", "terraform_data.built", attributes{"id": "x", "input": nil}))...))

	var r adoption
	printed := w.run(0, "adopt", "--from", "shop.tfstate", "--json")
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if r.Counts.Mapped != 6 || r.Counts.Folded != 4 || r.Counts.Unmapped != 1 || r.Counts.Needless != 1 || r.Counts.Ambiguous != 0 {
		t.Errorf("%+v\n%s", r.Counts, r.YAML)
	}
	if strings.Contains(printed, "very-secret") {
		t.Error("a secret is shown")
	}
	if len(r.Drift) != 1 || r.Drift[0].Address != "jobs" || r.Drift[0].Path != "visibilityTimeout" {
		t.Errorf("what was changed by hand is the drift of the source: %+v", r.Drift)
	}
	for _, want := range []string{"role: ${iam_role-worker.arn}", "QUEUE: ${jobs.url}", "API_TOKEN: ${secret.", "visibilityTimeout: 2m", "- ${logs.arn}"} {
		if !strings.Contains(r.YAML, want) {
			t.Errorf("there is no %s in\n%s", want, r.YAML)
		}
	}
	w.write("athanor.yaml", r.YAML)

	var plan struct {
		Actions []struct {
			Address, Action string
			Reasons         []struct{ Path string }
		}
	}
	if err := json.Unmarshal([]byte(w.run(2, "plan", "--adopt", "--json")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, a := range plan.Actions {
		for _, reason := range a.Reasons {
			if a.Action != "adopt" || !strings.HasPrefix(reason.Path, `tags["athanor:`) {
				t.Errorf("%s: %s: %s", a.Address, a.Action, reason.Path)
			}
		}
	}
	w.follow("from-terraform.md")
	if text := w.read("athanor.yaml"); text != r.YAML {
		t.Errorf("the page writes another stack:\n%s", text)
	}
	w.run(0, "adopt", "--finish")
	if text := w.read("athanor.yaml"); strings.Contains(text, "adopt:") || !strings.Contains(text, "visibilityTimeout") {
		t.Error(text)
	}
	before := len(server.Mutations())
	w.run(0, "deploy", "--yes")
	if after := server.Mutations(); len(after) != before {
		t.Errorf("a second deploy changes something: %v", after[before:])
	}

	p.drifts(&adoptedProject{world: w, yaml: r.YAML}, server)
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	left, err := sqs.NewFromConfig(server.Config(t)).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || slices.Contains(left.QueueUrls, p.queue) {
		t.Errorf("%v, %v", left, err)
	}
}

// project is one that was made outside athanor.
type project struct {
	queue, state string
	changeQueue  func(visibility string)
	// what drifts needs to change the objects
	policy, bucket string
}

// drifts changes by hand each prop that is declared, and wants each to be drift. What is never changed identifies the object, or is what
// nothing but a replacement changes.
func (p project) drifts(adopted *adoptedProject, server *awstest.Server) {
	t := adopted.t
	t.Helper()
	ctx, cfg := t.Context(), server.Config(t)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	queues, roles, functions, buckets := sqs.NewFromConfig(cfg), iam.NewFromConfig(cfg), lambda.NewFromConfig(cfg), s3.NewFromConfig(cfg)
	const document = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"logs:*","Resource":"*"}]}`
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"edgelambda.amazonaws.com"}}]}`
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	f, err := archive.Create("app.py")
	must(f, err)
	must(f.Write([]byte("def handler(e, c): return 2\n")))
	must(nil, archive.Close())
	p.changeQueue("45")
	must(queues.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &p.queue, Tags: map[string]string{"team": "b"}}))
	must(queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &p.queue, Attributes: map[string]string{"MaximumMessageSize": "2048"}}))
	must(roles.CreatePolicyVersion(ctx, &iam.CreatePolicyVersionInput{PolicyArn: &p.policy, PolicyDocument: new(document), SetAsDefault: true}))
	must(roles.UpdateAssumeRolePolicy(ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: new("worker"), PolicyDocument: new(trust)}))
	must(roles.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: new("worker"), PolicyName: new("queue"), PolicyDocument: new(document)}))
	must(roles.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: new("worker"), PolicyArn: &p.policy}))
	must(functions.UpdateFunctionCode(ctx, &lambda.UpdateFunctionCodeInput{FunctionName: new("worker"), ZipFile: code.Bytes()}))
	must(functions.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
		FunctionName: new("worker"), Handler: new("app.other"), Runtime: lambdatypes.RuntimePython312, Timeout: new(int32(31)), MemorySize: new(int32(512)),
		Role: new("arn:aws:iam::" + server.Account + ":role/other"), Environment: &lambdatypes.Environment{Variables: map[string]string{"QUEUE": "other", "API_TOKEN": "tok-very-secret-1"}},
	}))
	must(buckets.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: &p.bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusSuspended}}))
	never := []string{"jobs name", "orders name", "orders partitionKey", "logs name", "logs path", "iam_role-worker name", "iam_role-worker path", "lambda_function-worker name", "in name"}
	found := adopted.planned(2)
	said := adopted.run(2, "drift")
	for address, props := range adopted.props() {
		if address != "orders" && !strings.Contains(said, address) { // of the table nothing but a replacement changes what is declared
			t.Errorf("%s is no drift:\n%s", address, said)
		}
		for prop := range props {
			if at := address + " " + prop; shows(found[address], prop) == slices.Contains(never, at) {
				t.Errorf("%s: a plan shows it, %t: %v", at, shows(found[address], prop), found[address])
			}
		}
	}
}

func makeProject(t *testing.T, server *awstest.Server, w *world) project {
	t.Helper()
	ctx, cfg := t.Context(), server.Config(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	account, region := server.Account, server.Region
	queues := sqs.NewFromConfig(cfg)
	made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: new("jobs"), Tags: map[string]string{"team": "a"}})
	must(err)
	url, arn := *made.QueueUrl, fmt.Sprintf("arn:aws:sqs:%s:%s:jobs", region, account)
	change := func(visibility string) {
		t.Helper()
		_, err := queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": visibility}})
		must(err)
	}
	change("120") // the state says a minute
	read, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqsAttribute{"All"}})
	must(err)

	table, err := dynamodb.NewFromConfig(cfg).CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: new("orders"), BillingMode: dynamotypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: new("id"), AttributeType: dynamotypes.ScalarAttributeTypeS}},
		KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: new("id"), KeyType: dynamotypes.KeyTypeHash}},
	})
	must(err)

	roles := iam.NewFromConfig(cfg)
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`
	const logs = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"logs:PutLogEvents","Resource":"*"}]}`
	inline := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"` + arn + `"}]}`
	role, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: new("worker"), AssumeRolePolicyDocument: new(trust)})
	must(err)
	policy, err := roles.CreatePolicy(ctx, &iam.CreatePolicyInput{PolicyName: new("logs"), PolicyDocument: new(logs)})
	must(err)
	_, err = roles.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: new("worker"), PolicyName: new("queue"), PolicyDocument: &inline})
	must(err)
	_, err = roles.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: new("worker"), PolicyArn: policy.Policy.Arn})
	must(err)

	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	f, err := archive.Create("app.py")
	must(err)
	_, err = f.Write([]byte("def handler(e, c): return 1\n"))
	must(err)
	must(archive.Close())
	w.write("app.zip", code.String())
	function, err := lambda.NewFromConfig(cfg).CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: new("worker"), Role: role.Role.Arn, Runtime: lambdatypes.RuntimePython313, Handler: new("app.handler"),
		Timeout: new(int32(30)), MemorySize: new(int32(256)), Code: &lambdatypes.FunctionCode{ZipFile: code.Bytes()},
		Environment: &lambdatypes.Environment{Variables: map[string]string{"QUEUE": url, "API_TOKEN": "tok-very-secret-1"}},
	})
	must(err)

	bucket := server.Name("jobs-in")
	buckets := s3.NewFromConfig(cfg)
	create := &s3.CreateBucketInput{Bucket: &bucket, ObjectOwnership: s3types.ObjectOwnershipBucketOwnerEnforced} // S3 makes it so by itself
	if region != "us-east-1" {                                                                                    // which is what no constraint means
		create.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(region)}
	}
	_, err = buckets.CreateBucket(ctx, create)
	must(err)
	_, err = buckets.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled},
	})
	must(err)
	_, err = buckets.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{Bucket: &bucket, PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{
		BlockPublicAcls: new(true), IgnorePublicAcls: new(true), BlockPublicPolicy: new(true), RestrictPublicBuckets: new(true),
	}})
	must(err)

	type attrs = map[string]any
	resource := func(typ, name string, a attrs, depends ...string) any {
		return attrs{
			"mode": "managed", "type": typ, "name": name, "provider": `provider["registry.terraform.io/hashicorp/aws"]`,
			"instances": []any{attrs{"schema_version": 0, "attributes": a, "sensitive_attributes": []any{}, "dependencies": depends}},
		}
	}
	state, err := json.Marshal(attrs{
		"version": 4, "terraform_version": "1.9.5", "serial": 7, "lineage": "x", "outputs": attrs{"queue": attrs{"value": url, "type": "string"}},
		"resources": []any{
			resource("aws_sqs_queue", "jobs", attrs{
				"id": url, "url": url, "arn": arn, "name": "jobs", "visibility_timeout_seconds": 60, "message_retention_seconds": 345600,
				"max_message_size": json.Number(read.Attributes["MaximumMessageSize"]), "delay_seconds": 0, "receive_wait_time_seconds": 0, "fifo_queue": false,
				"kms_data_key_reuse_period_seconds": 300, "sqs_managed_sse_enabled": true, "policy": "", "redrive_policy": "",
				"tags": attrs{"team": "a"}, "tags_all": attrs{"team": "a"},
			}),
			resource("aws_dynamodb_table", "orders", attrs{
				"id": "orders", "arn": *table.TableDescription.TableArn, "name": "orders", "hash_key": "id", "billing_mode": "PAY_PER_REQUEST",
				"attribute": []any{attrs{"name": "id", "type": "S"}}, "read_capacity": 0, "write_capacity": 0, "table_class": "STANDARD",
				"stream_enabled": false, "ttl": []any{attrs{"attribute_name": "", "enabled": false}},
				"point_in_time_recovery": []any{attrs{"enabled": false, "recovery_period_in_days": 0}},
			}),
			resource("aws_iam_policy", "logs", attrs{"id": *policy.Policy.Arn, "arn": *policy.Policy.Arn, "name": "logs", "path": "/", "policy": logs}),
			resource("aws_iam_role", "worker", attrs{
				"id": "worker", "arn": *role.Role.Arn, "name": "worker", "assume_role_policy": trust, "path": "/", "max_session_duration": 3600,
				"managed_policy_arns": []any{*policy.Policy.Arn}, "inline_policy": []any{attrs{"name": "queue", "policy": inline}},
			}),
			resource("aws_iam_role_policy", "queue", attrs{"id": "worker:queue", "role": "worker", "name": "queue", "policy": inline},
				"aws_iam_role.worker", "aws_sqs_queue.jobs"),
			resource("aws_iam_role_policy_attachment", "logs", attrs{"id": "worker-1", "role": "worker", "policy_arn": *policy.Policy.Arn},
				"aws_iam_policy.logs", "aws_iam_role.worker"),
			resource("aws_lambda_function", "worker", attrs{
				"id": "worker", "arn": *function.FunctionArn, "function_name": "worker", "role": *role.Role.Arn, "runtime": "python3.13",
				"handler": "app.handler", "filename": "app.zip", "timeout": 30, "memory_size": 256, "architectures": []any{"x86_64"},
				"ephemeral_storage": []any{attrs{"size": 512}}, "reserved_concurrent_executions": -1, "package_type": "Zip",
				"environment":    []any{attrs{"variables": attrs{"QUEUE": url, "API_TOKEN": "tok-very-secret-1"}}},
				"tracing_config": []any{attrs{"mode": "PassThrough"}}, "logging_config": []any{attrs{"log_format": "Text", "log_group": "/aws/lambda/worker"}},
			}, "aws_iam_role.worker", "aws_sqs_queue.jobs"),
			resource("aws_s3_bucket", "in", attrs{
				"id": bucket, "bucket": bucket, "arn": "arn:aws:s3:::" + bucket, "region": region, "force_destroy": false,
				"versioning": []any{attrs{"enabled": true, "mfa_delete": false}}, "request_payer": "BucketOwner",
			}),
			resource("aws_s3_bucket_versioning", "in", attrs{"id": bucket, "bucket": bucket, "versioning_configuration": []any{attrs{"status": "Enabled"}}}, "aws_s3_bucket.in"),
			resource("aws_s3_bucket_public_access_block", "in", attrs{
				"id": bucket, "bucket": bucket, "block_public_acls": true, "ignore_public_acls": true, "block_public_policy": true, "restrict_public_buckets": true,
			}, "aws_s3_bucket.in"),
		},
	})
	must(err)
	return project{queue: url, state: string(state), changeQueue: change, policy: *policy.Policy.Arn, bucket: bucket}
}
