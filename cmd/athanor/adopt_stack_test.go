//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	signer "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// cdkTemplate is a template in the form that `cdk synth` gives it, written by hand: paths of constructs in the metadata, generated
// logical ids, functions for every value of another resource.
const cdkTemplate = `
Parameters:
  Stage: {Type: String, Default: dev}
  ApiToken: {Type: String, NoEcho: true}
  CodeBucket: {Type: String}
Mappings:
  Sizes: {dev: {timeout: 30}, prod: {timeout: 60}}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
Resources:
  Dead0001:
    Type: AWS::SQS::Queue
    Properties: {MessageRetentionPeriod: 1209600}
    Metadata: {"aws:cdk:path": Shop/Orders/Dead/Resource}
  Orders0002:
    Type: AWS::SQS::Queue
    DeletionPolicy: Retain
    Properties:
      QueueName: !Sub "orders-${Stage}"
      VisibilityTimeout: 120
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead0001.Arn, maxReceiveCount: 3}
    Metadata: {"aws:cdk:path": Shop/Orders/Queue/Resource}
  Table0003:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
    Metadata: {"aws:cdk:path": Shop/Table/Resource}
  WorkerRole0004:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Action: "sts:AssumeRole", Principal: {Service: lambda.amazonaws.com}}]
    Metadata: {"aws:cdk:path": Shop/Worker/ServiceRole/Resource}
  WorkerPolicy0005:
    Type: AWS::IAM::Policy
    Properties:
      PolicyName: worker
      PolicyDocument:
        Version: "2012-10-17"
        Statement:
          - {Effect: Allow, Action: ["sqs:ReceiveMessage"], Resource: !GetAtt Orders0002.Arn}
          - {Effect: Allow, Action: ["dynamodb:PutItem"], Resource: [!GetAtt Table0003.Arn, !Join ["", [!GetAtt Table0003.Arn, "/index/*"]]]}
      Roles: [!Ref WorkerRole0004]
    Metadata: {"aws:cdk:path": Shop/Worker/ServiceRole/DefaultPolicy/Resource}
  Worker0006:
    Type: AWS::Lambda::Function
    DependsOn: [WorkerPolicy0005, WorkerRole0004]
    Properties:
      Code: {S3Bucket: !Ref CodeBucket, S3Key: worker.zip}
      Handler: app.handler
      Runtime: python3.13
      Timeout: !FindInMap [Sizes, !Ref Stage, timeout]
      MemorySize: !If [IsProd, 1024, 256]
      Role: !GetAtt WorkerRole0004.Arn
      Environment: {Variables: {TABLE: !Ref Table0003, QUEUE: !GetAtt Orders0002.QueueName, API_TOKEN: !Ref ApiToken}}
    Metadata: {"aws:cdk:path": Shop/Worker/Resource}
  Files0007:
    Type: AWS::S3::Bucket
    Metadata: {"aws:cdk:path": Shop/Files/Resource}
  Never0008:
    Type: AWS::SQS::Queue
    Condition: IsProd
    Metadata: {"aws:cdk:path": Shop/Never/Resource}
Outputs:
  QueueUrl: {Value: !Ref Orders0002}
`

// deployStack deploys a stack of CloudFormation in the emulator.
func deployStack(t *testing.T, server *awstest.Server, name, template string, parameters map[string]string) {
	t.Helper()
	form := url.Values{
		"Action": {"CreateStack"}, "Version": {"2010-05-15"}, "StackName": {name}, "TemplateBody": {template}, "Capabilities.member.1": {"CAPABILITY_IAM"},
	}
	n := 0
	for key, value := range parameters {
		n++
		at := "Parameters.member." + string(rune('0'+n)) + "."
		form.Set(at+"ParameterKey", key)
		form.Set(at+"ParameterValue", value)
	}
	body := form.Encode()
	cfg := server.Config(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	credentials, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(body))
	if err := signer.NewSigner().SignHTTP(t.Context(), credentials, request, hex.EncodeToString(sum[:]), "cloudformation", server.Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	response, err := cfg.HTTPClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, text)
	}
}

// TestAdoptStack takes over a project that the emulator's CloudFormation deployed.
func TestAdoptStack(t *testing.T) {
	t.Parallel()
	server := awstest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	f, err := archive.Create("app.py")
	if err == nil {
		_, err = f.Write([]byte("def handler(e, c): return 1\n"))
	}
	if err != nil || archive.Close() != nil {
		t.Fatal(err)
	}
	buckets, assets := s3.NewFromConfig(server.Config(t)), server.Name("assets")
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &assets}); err != nil {
		t.Fatal(err)
	}
	if _, err := buckets.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &assets, Key: new("worker.zip"), Body: bytes.NewReader(code.Bytes())}); err != nil {
		t.Fatal(err)
	}
	deployStack(t, server, "Shop", cdkTemplate, map[string]string{"ApiToken": "tok-very-secret-1", "CodeBucket": assets})
	queues := sqs.NewFromConfig(server.Config(t))
	queue, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: new("orders-dev")})
	if err != nil {
		t.Fatal(err)
	}
	change := func(visibility string) {
		t.Helper()
		_, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: queue.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": visibility}})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("180") // the template says two minutes

	w.follow("from-cdk.md")
	if err := os.RemoveAll(filepath.Join(w.dir, "shop")); err != nil {
		t.Fatal(err)
	}
	var r adoption
	printed := w.run(0, "adopt", "--from", "cdk:Shop", "--out", ".", "--json")
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	r.YAML = w.read("athanor.yaml")
	if r.Counts.Mapped != 6 || r.Counts.Folded != 1 || r.Counts.Unmapped+r.Counts.Ambiguous != 0 {
		t.Errorf("%+v\n%s", r.Counts, printed)
	}
	if strings.Contains(printed, "tok-very-secret-1") {
		t.Error("a secret is shown")
	}
	if len(r.Drift) != 1 || r.Drift[0].Address != "Orders/Queue" || r.Drift[0].Path != "visibilityTimeout" {
		t.Errorf("what was changed by hand is the drift of the source: %+v", r.Drift)
	}
	for _, want := range []string{
		"stack: shop\n", "Orders/Dead:", "role: ${Worker/ServiceRole.arn}", "QUEUE: ${Orders/Queue.name}", "zip: Worker.zip", "TABLE: ${Table.name}", "API_TOKEN: ${secret.",
		"deadLetter: ${Orders/Dead.arn}", "visibilityTimeout: 3m", "- ${Table.arn}/index/*", "QueueUrl: ${Orders/Queue.url}",
	} {
		if !strings.Contains(r.YAML, want) {
			t.Errorf("there is no %s in\n%s", want, r.YAML)
		}
	}
	if retain := strings.Index(printed, "RemovalPolicy.RETAIN"); retain < 0 || retain > strings.Index(printed, "delete-stack") || strings.Contains(r.YAML, "Never") {
		t.Errorf("objects are retained before the stack goes: %s", printed)
	}
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
	if s := w.summary(0, "deploy", "--adopt", "--yes"); s["adopted"] != 6.0 || s["created"] != 0.0 || s["updated"] != 0.0 {
		t.Errorf("%v", s)
	}
	w.run(0, "adopt", "--finish")
	before := len(server.Mutations())
	w.run(0, "deploy", "--yes")
	if after := server.Mutations(); len(after) != before {
		t.Errorf("a second deploy changes something: %v", after[before:])
	}
	change("45")
	if out := w.run(2, "drift"); !strings.Contains(out, "visibilityTimeout") {
		t.Error(out)
	}
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	if left, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(left.QueueUrls) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if w.printedError("adopt", "--from", "cloudformation:Missing") == "" {
		t.Error("a stack that is not there is an error")
	}
}

// printedError runs a command that fails with code 1, and gives what it printed on standard error.
func (w *world) printedError(args ...string) string {
	w.t.Helper()
	p := w.start("athanor", args...)
	p.end(1)
	return p.errs.String()
}
