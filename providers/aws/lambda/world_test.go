package lambda

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own with roles in it, seen by the kinds through one client and by others through another.
type world struct {
	server *awstest.Server
	like   *likeAWS
	others *sdk.Client
	out    sdkaws.Config
	cloud  *aws.Cloud
	dir    string
}

// sources are what the functions of these tests are made of.
var sources = map[string]string{
	"src/main.py": "def handler(event, context): return 1\n", "other/main.py": "def handler(event, context): return 2\n",
	"src/handler.ts": `export const handler = async () => "hello";`, "src/other.ts": `export const handler = async () => "bye";`,
	"go.mod": "module example.com/worker\n\ngo 1.26\n", "worker/main.go": "package main\n\nfunc main() { println(1) }\n",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, like: like, out: like.Outside(t), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	w.others = sdk.NewFromConfig(w.out)
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	for _, name := range []string{"worker", "other"} {
		_, err := iam.NewFromConfig(w.out).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: new("{}")})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range sources {
		w.write(t, name, text)
	}
	for name, text := range map[string]string{"one.zip": "1", "two.zip": "2"} {
		w.write(t, name, string(zipOf(t, text)))
	}
	server.Reset()
	return w
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withLayers makes what some functions need beside a role: layers, and an archive in S3.
func (w *world) withLayers(t *testing.T) {
	t.Helper()
	for _, name := range []string{"tools", "extra"} {
		if _, err := w.others.PublishLayerVersion(t.Context(), &sdk.PublishLayerVersionInput{
			LayerName: &name, Content: &types.LayerVersionContentInput{ZipFile: zipOf(t, name)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	client := s3.NewFromConfig(w.out, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: new("code-" + account)}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one.zip", "two.zip"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: new("code-" + account), Key: &key, Body: bytes.NewReader(zipOf(t, key)),
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// withFunctions makes functions and queues of others, for statements and mappings.
func (w *world) withFunctions(t *testing.T) {
	t.Helper()
	for _, name := range []string{"theirs", "another"} {
		if _, err := w.others.CreateFunction(t.Context(), &sdk.CreateFunctionInput{
			FunctionName: &name, Role: new(role("worker")), Runtime: "python3.14", Handler: new("main.handler"), Code: &types.FunctionCode{ZipFile: zipOf(t, name)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"orders", "stand-in"} {
		if _, err := sqs.NewFromConfig(w.out).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
	}
}

func zipOf(t kindtest.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	f, err := archive.Create("main.py")
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = archive.Close()
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes()
}

func role(name string) string { return "arn:aws:iam::" + account + ":role/" + name }

func layer(name string) string {
	return "arn:aws:lambda:us-east-1:" + account + ":layer:" + name + ":1"
}

func functionNamed(name string) string {
	return "arn:aws:lambda:us-east-1:" + account + ":function:" + name
}

func queue(name string) string { return "arn:aws:sqs:us-east-1:" + account + ":" + name }

// functions are all of the world as others see them.
func (w *world) functions(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	out, err := w.others.ListFunctions(ctx, &sdk.ListFunctionsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, f := range out.Functions {
		all = append(all, w.function(ctx, t, f.FunctionName))
	}
	return all
}

func (w *world) function(ctx context.Context, t kindtest.T, name *string) any {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil && !aws.IsAbsent(err) {
			t.Fatalf("%v", err)
		}
	}
	f, err := w.others.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: name})
	must(err)
	url, err := w.others.GetFunctionUrlConfig(ctx, &sdk.GetFunctionUrlConfigInput{FunctionName: name})
	must(err)
	async, err := w.others.GetFunctionEventInvokeConfig(ctx, &sdk.GetFunctionEventInvokeConfigInput{FunctionName: name})
	must(err)
	policy, err := w.others.GetPolicy(ctx, &sdk.GetPolicyInput{FunctionName: name})
	must(err)
	if f.Configuration.PackageType == types.PackageTypeImage {
		f.Configuration.CodeSha256 = nil // which moto makes of the URI, in which the account has another name
	}
	seen := obj{"function": plain(t, f.Configuration), "code": f.Code.ImageUri, "key": f.Code.SourceKMSKeyArn, "tags": untimed(f.Tags), "concurrency": plain(t, f.Concurrency)}
	if url != nil {
		seen["url"] = []any{url.AuthType, plain(t, url.Cors), strings.ToUpper(string(url.InvokeMode))}
	}
	if async != nil {
		seen["async"] = []any{async.MaximumRetryAttempts, async.MaximumEventAgeInSeconds, plain(t, async.DestinationConfig)}
	}
	if policy != nil {
		seen["policy"] = strings.ReplaceAll(sdkaws.ToString(policy.Policy), *name, "NAME")
	}
	text, err := json.Marshal(seen)
	must(err)
	var tree any
	must(json.Unmarshal(bytes.ReplaceAll(text, []byte(*name), []byte("NAME")), &tree))
	return tree
}

func untimed(tags map[string]string) obj {
	out := obj{}
	for k, v := range tags {
		if k != "athanor:generation" { // differs between two makings
			out[k] = v
		}
	}
	return out
}

// plain is what is set of a struct of the SDK: an empty member and none are the same, and times and ids are left out.
func plain(t kindtest.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("%v", err)
	}
	return without(tree)
}

func without(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := obj{}
		for k, e := range x {
			if e = without(e); e != nil && k != "LastModified" && k != "LastUpdateStatus" && k != "CodeSize" && k != "VpcId" &&
				k != "UUID" && k != "EventSourceMappingArn" && k != "LastProcessingResult" && k != "StateTransitionReason" && k != "ResultMetadata" {
				out[k] = e
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		if len(x) > 0 {
			return x
		}
		return nil
	case string:
		if x != "" && x != "None" && !strings.HasPrefix(x, logGroupOf("")) {
			return x
		}
		return nil
	case bool:
		if x {
			return x
		}
		return nil
	}
	return v
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(setup func(*world, *testing.T), objects func(*world, kindtest.T) []any) func(kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		w := newWorld(t.(*testing.T))
		setup(w, t.(*testing.T))
		w.server.Reset()
		ws[w.dir] = w
		return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return objects(w, t) }}
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "TooManyRequestsException", "ServiceException")(class)
}

// job is a thing as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := kindtest.Job(t, kind, w.cloud, "worker", props, last)
	job.Dir = w.dir
	if props == nil {
		return job
	}
	if err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: w.dir, Cache: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return job
}

// settled makes a function match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(functionKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Name())
	}
	return out
}
