//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// bootstrapped is what `cdk bootstrap` makes of an account as far as the template needs it: the parameter with its version, and the bucket
// with the code of the function, at the key that the template names.
func bootstrapped(t *testing.T, server *awstest.Server, template []byte) {
	t.Helper()
	var doc struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				Code struct{ S3Key string }
			}
		}
	}
	if err := json.Unmarshal(template, &doc); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/cdk/app.py")
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	archive := zip.NewWriter(&code)
	f, err := archive.Create("app.py")
	if err == nil {
		_, err = f.Write(source)
	}
	if err != nil || archive.Close() != nil {
		t.Fatal(err)
	}
	cfg := server.Config(t)
	buckets, assets := s3.NewFromConfig(cfg), "cdk-hnb659fds-assets-"+server.Account+"-"+server.Region
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &assets}); err != nil {
		t.Fatal(err)
	}
	for _, r := range doc.Resources {
		if r.Properties.Code.S3Key == "" {
			continue
		}
		if _, err := buckets.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &assets, Key: &r.Properties.Code.S3Key, Body: bytes.NewReader(code.Bytes())}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ssm.NewFromConfig(cfg).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: new("/cdk-bootstrap/hnb659fds/version"), Value: new("21"), Type: ssmtypes.ParameterTypeString,
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAdoptCDK takes over a project by the template that the real CDK has made of it (tools/cdk.sh), which the emulator's CloudFormation deployed.
func TestAdoptCDK(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile("testdata/cdk/Shop.template.json")
	if err != nil {
		t.Fatal(err)
	}
	server := awstest.Start(t)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	bootstrapped(t, server, template)
	deployStack(t, server, "Shop", string(template), map[string]string{"ApiToken": "tok-very-secret-1"})
	w.write("Shop.template.json", string(template))
	if said := w.run(0, "adopt", "--from", "Shop.template.json", "--no-observe", "--json"); !strings.Contains(said, `"source":"cdk"`) {
		t.Errorf("the template is not recognised: %s", said)
	}

	p := &adoptedProject{
		world: w, from: []string{"cdk:Shop", "--out", "."}, mapped: 7, folded: 1, mutations: func() int { return len(server.Mutations()) }, tagged: []string{`tags["athanor:`},
		unmapped: 1, drift: []string{"Files versioning", "Worker/ServiceRole managedPolicies"}, // the emulator gives the permission no id, and leaves these out
	}
	p.take()
	for _, want := range []string{"Orders/Dead:", "deadLetter: ${Orders/Dead.arn}", "role: ${Worker/ServiceRole.arn}", "API_TOKEN: ${secret.", "TABLE: ${Table.name}", "QUEUE: ${Orders/Queue.name}", "Worker.arn}", "kind: aws.eventbridge.Rule"} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %s in\n%s", want, p.yaml)
		}
	}
	if strings.Contains(p.yaml, "tok-very-secret-1") {
		t.Error("a secret is shown")
	}
	queues := sqs.NewFromConfig(server.Config(t))
	left, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(left.QueueUrls) != 2 {
		t.Fatal(left, err)
	}
	for _, url := range left.QueueUrls {
		if _, err := queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "45"}}); err != nil {
			t.Fatal(err)
		}
	}
	found := p.planned(2)
	for _, address := range []string{"Orders/Dead", "Orders/Queue"} {
		if !shows(found[address], "visibilityTimeout") {
			t.Errorf("%s is no drift: %v", address, found)
		}
	}
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	if left, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(left.QueueUrls) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
