package terraform

import (
	"maps"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// nativeObject is an object of Pulumi's provider aws-native: its outputs are its inputs and what Cloud Control shows besides. No provider
// wrote it: names and forms are those of https://www.pulumi.com/registry/packages/aws-native/api-docs/ and of the provider's conversion,
// https://github.com/pulumi/pulumi-aws-native/blob/master/provider/pkg/naming/convert.go
func nativeObject(token, name, id string, inputs, shown map[string]any, depends ...string) map[string]any {
	o := pulumiObject(nativePrefix+token, name, id, map[string]any{
		"__inputs": map[string]any{pulumiSig: pulumiSecret, "ciphertext": "v1:AAAA:AAAA"},
	}, depends...)
	o["inputs"] = inputs
	for _, all := range []map[string]any{inputs, shown} {
		maps.Copy(o["outputs"].(map[string]any), all)
	}
	o["provider"] = urns + "pulumi:providers:aws-native::default::0d6c2a9e-1c25-4b2b-9a0a-1a7f7c1f0a11"
	return o
}

// nativeStack is the stack of objects of aws-native, with the types of testdata/kinds.json.
func nativeStack(t *testing.T, objects ...any) (from.Stack, string) {
	t.Helper()
	provider := map[string]any{
		"urn": urns + "pulumi:providers:aws-native::default", "type": "pulumi:providers:aws-native", "custom": true,
		"id": "0d6c2a9e-1c25-4b2b-9a0a-1a7f7c1f0a11", "inputs": map[string]any{"region": "eu-north-1"},
	}
	types := func() ([]string, error) {
		return []string{
			"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::EIP", "AWS::SQS::Queue", "AWS::SQS::QueuePolicy",
			"AWS::IAM::Role", "AWS::Lambda::Function", "AWS::Lambda::Permission", "AWS::Events::Rule",
		}, nil
	}
	content := exported(t, append([]any{provider}, objects...)...)
	d, err := Pulumi{Find: kindsOf(t), Types: types, Fields: nativeFields(t)}.Draft(from.File{Name: "shop.json", Content: content}, from.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}

// nativeFields are those of types: of the kinds in testdata/kinds.json, and of types that have a kind of their own as far as the test needs
// them.
func nativeFields(t *testing.T) func(typ string) (settable, readable []props.Field, err error) {
	find := kindsOf(t)
	object := func(name string, fields ...string) props.Field {
		f := props.Field{Path: tree.Path("").Key(name), Type: "object"}
		for _, field := range fields {
			f.Fields = append(f.Fields, props.Field{Path: f.Path.Key(field), Type: "any"})
		}
		return f
	}
	variables := object("Environment", "Variables")
	variables.Fields[0].Type = "map of string"
	tags := object("Tags", "Key", "Value")
	tags.Type = "list of object"
	own := map[string][]props.Field{
		"AWS::SQS::Queue":         {tags},
		"AWS::Lambda::Function":   {variables, object("Code", "S3Bucket", "S3Key"), object("EphemeralStorage", "Size")},
		"AWS::SQS::QueuePolicy":   nil,
		"AWS::IAM::Role":          nil,
		"AWS::Lambda::Permission": nil,
		"AWS::Events::Rule":       nil,
	}
	for name := range strings.FieldsSeq(`QueueName VisibilityTimeout RedrivePolicy QueueUrl Arn Queues PolicyDocument Id RoleName AssumeRolePolicyDocument RoleId FunctionName Role
		Runtime Handler Action Principal Name EventBusName ScheduleExpression`) {
		for typ := range own {
			own[typ] = append(own[typ], props.Field{Path: tree.Path("").Key(name), Type: "any"})
		}
	}
	return func(typ string) (settable, readable []props.Field, err error) {
		if fields, ok := own[typ]; ok {
			return fields, fields, nil
		}
		kind, err := find(typ)
		if err != nil {
			return nil, nil, err
		}
		settable, _ = kind.Spec().Props()
		readable, err = kind.Spec().Attrs()
		return settable, readable, err
	}
}

// TestPulumiNative maps objects of aws-native by the rule that its names follow: to types of the registry, and to kinds of their own
// where there are any.
func TestPulumiNative(t *testing.T) {
	type obj = map[string]any
	const queue, queueARN = "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "arn:aws:sqs:eu-north-1:123456789012:jobs"
	const role, function = "arn:aws:iam::123456789012:role/worker", "arn:aws:lambda:eu-north-1:123456789012:function:worker"
	secret := obj{pulumiSig: pulumiSecret, "plaintext": `"tok-very-secret-1"`}
	trust := obj{"Version": "2012-10-17", "Statement": []any{obj{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": obj{"Service": "lambda.amazonaws.com"}}}}
	s, text := nativeStack(t,
		nativeObject("ec2:Vpc", "net", "vpc-00000001", obj{"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": false, "tags": []any{obj{"key": "Name", "value": "net"}}}, obj{"vpcId": "vpc-00000001", "defaultNetworkAcl": "acl-00000009"}),
		nativeObject("ec2:Subnet", "a", "subnet-00000001", obj{"vpcId": "vpc-00000001", "cidrBlock": "10.0.1.0/24", "mapPublicIpOnLaunch": false}, obj{"subnetId": "subnet-00000001"}, urns+"aws-native:ec2:Vpc::net"),
		nativeObject("ec2:RouteTable", "table", "rtb-00000001", obj{"vpcId": "vpc-00000001"}, obj{"routeTableId": "rtb-00000001"}, urns+"aws-native:ec2:Vpc::net"),
		nativeObject("ec2:Route", "out", "rtb-00000001|0.0.0.0/0", obj{"routeTableId": "rtb-00000001", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "igw-00000001"}, obj{"cidrBlock": "0.0.0.0/0"}, urns+"aws-native:ec2:RouteTable::table"),
		nativeObject("ec2:Eip", "ip", "192.0.2.7|eipalloc-00000001", obj{"domain": "vpc"}, obj{"publicIp": "192.0.2.7", "allocationId": "eipalloc-00000001"}),
		nativeObject("sqs:Queue", "jobs", queue, obj{"queueName": "jobs", "visibilityTimeout": 60, "redrivePolicy": obj{"deadLetterTargetArn": queueARN + "-dead", "maxReceiveCount": 3}, "tags": []any{obj{"key": "team", "value": "a"}}}, obj{"queueUrl": queue, "arn": queueARN}),
		nativeObject("sqs:QueuePolicy", "jobs", queue, obj{"queues": []any{queue}, "policyDocument": obj{"Version": "2012-10-17", "Statement": []any{obj{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queueARN}}}}, obj{"id": queue}, urns+"aws-native:sqs:Queue::jobs"),
		nativeObject("iam:Role", "worker", "worker", obj{"roleName": "worker", "assumeRolePolicyDocument": trust}, obj{"arn": role, "roleId": "AROA1"}),
		nativeObject("lambda:Function", "worker", "worker", obj{
			"functionName": "worker", "role": role, "runtime": "python3.13", "handler": "app.handler", "code": obj{"s3Bucket": "code", "s3Key": "worker.zip"},
			"environment": obj{"variables": obj{"logLevel": "debug", "TOKEN": secret, "QUEUE_URL": queue}}, "ephemeralStorage": obj{"size": 1024},
		}, obj{"arn": function}, urns+"aws-native:iam:Role::worker", urns+"aws-native:sqs:Queue::jobs"),
		nativeObject("lambda:Permission", "allow", "worker|allow", obj{"functionName": "worker", "action": "lambda:InvokeFunction", "principal": "sns.amazonaws.com"}, obj{"id": "allow"}, urns+"aws-native:lambda:Function::worker"),
		nativeObject("events:Rule", "nightly", "arn:aws:events:eu-north-1:123456789012:rule/shop/nightly", obj{"name": "nightly", "eventBusName": "shop", "scheduleExpression": "rate(1 day)"}, obj{"arn": "arn:aws:events:eu-north-1:123456789012:rule/shop/nightly"}),
		nativeObject("index:ExtensionResource", "other", "vpc-00000002", obj{"type": "AWS::EC2::VPC", "properties": obj{"CidrBlock": "10.9.0.0/16"}}, nil),
		nativeObject("medialive:Thing", "no", "t-1", obj{"name": "x"}, nil),
	)
	for _, want := range []string{
		"region: eu-north-1", "kind: AWS::EC2::VPC", "EnableDnsHostnames: false", "Value: net", "VpcId: ${net.VpcId}", "adopt: rtb-00000001|0.0.0.0/0", "adopt: 192.0.2.7|eipalloc-00000001",
		"kind: aws.sqs.Queue", "visibilityTimeout: 1m", "maxReceives: 3", "team: a", "adopt: " + queueARN, "kind: aws.iam.Role", "adopt: " + role, "kind: aws.lambda.Function",
		"logLevel: debug", "TOKEN: ${secret.", "QUEUE_URL: ${jobs.url}", "ephemeralStorage: 1GiB", "adopt: worker/allow", "eventBusName: shop", "CidrBlock: 10.9.0.0/16",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, "very-secret") || strings.Contains(text, "defaultNetworkAcl") {
		t.Error("a secret, or what nobody declared, is in it")
	}
	got := outcomes(s)
	for source, want := range map[string]from.Outcome{
		"medialive:Thing::no": from.Unmapped, "sqs:QueuePolicy::jobs": from.Folded, "ec2:Vpc::net": from.Mapped, "lambda:Permission::allow": from.Mapped,
		"events:Rule::nightly": from.Mapped, "index:ExtensionResource::other": from.Mapped,
	} {
		if got[urns+nativePrefix+source] != want {
			t.Errorf("%s: %s", source, got[urns+nativePrefix+source])
		}
	}
	if t.Failed() {
		t.Log(text)
		for _, e := range s.Entries {
			t.Log(e.Source, e.Outcome, e.Text)
		}
	}
}

// TestSSTState reads the state of an app of SST 3, in the forms in which its bucket has it and `sst state export` prints it: a checkpoint
// of Pulumi with its version and without. No SST wrote it: the forms are those of
// https://github.com/sst/sst/blob/dev/cmd/sst/state.go, functions export and (*PulumiWorkdir).Export.
func TestSSTState(t *testing.T) {
	const latest = `"latest":{"manifest":{"version":"v3.170.0"},"resources":[
		{"urn":"urn:pulumi:prod::shop::pulumi:pulumi:Stack::shop-prod","type":"pulumi:pulumi:Stack","custom":false},
		{"urn":"urn:pulumi:prod::shop::sst:aws:Queue::Jobs","type":"sst:aws:Queue","custom":false,"parent":"urn:pulumi:prod::shop::pulumi:pulumi:Stack::shop-prod"},
		{"urn":"urn:pulumi:prod::shop::sst:aws:Queue$aws:sqs/queue:Queue::JobsQueue","type":"aws:sqs/queue:Queue","custom":true,"id":"https://sqs.eu-north-1.amazonaws.com/123456789012/jobs",
		 "parent":"urn:pulumi:prod::shop::sst:aws:Queue::Jobs","outputs":{"arn":"arn:aws:sqs:eu-north-1:123456789012:jobs","url":"https://sqs.eu-north-1.amazonaws.com/123456789012/jobs","name":"jobs"}}]}`
	source := SST{Stacks: CloudFormation{Name: "sst", Find: kindsOf(t)}, States: Pulumi{Find: kindsOf(t)}}
	for name, content := range map[string]string{
		"export": `{"stack":"organization/shop/prod",` + latest + `}`, "bucket": `{"version":3,"checkpoint":{"stack":"organization/shop/prod",` + latest + `}}`,
	} {
		f := from.File{Name: "state.json", Content: []byte(content)}
		for _, s := range []from.Source{source, Pulumi{}, Source{}, Alchemy{}, CloudFormation{Name: "cdk"}} {
			if s.Recognizes(f) != (s.Kind() == "sst") {
				t.Errorf("%s: %s recognizes it, %t", name, s.Kind(), s.Recognizes(f))
			}
		}
		if stack, stage := source.Place(f); stack != "shop" || stage != "prod" {
			t.Errorf("%s: %s %s", name, stack, stage)
		}
		d, err := source.Draft(f, from.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		s := d.Stack(nil)
		if len(s.Resources) != 1 || s.Resources[0].Address != "Jobs/JobsQueue" || !strings.Contains(strings.Join(s.LetGo, "\n"), "sst state remove") {
			t.Errorf("%s: %+v %v", name, s.Resources, s.LetGo)
		}
	}
	template := from.File{Name: "t.json", Content: []byte(`{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"q"}}},"Metadata":{"sst:app":"shop"}}`)}
	if _, err := source.Draft(template, from.Options{}); err != nil || !source.Recognizes(template) {
		t.Errorf("a template of SST 2: %v", err)
	}
}
