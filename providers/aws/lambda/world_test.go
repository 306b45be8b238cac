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

type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
	out  sdkaws.Config
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
	w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, functionKind.Erase(), "worker"), like, like.Outside(t)}
	w.Located(t, account)
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

// having makes worlds with more in them.
func having(setup func(*world, *testing.T)) func(*testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		w := newWorld(t)
		setup(w, t)
		w.Server.Reset()
		return w
	}
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.Dir, filepath.FromSlash(name))
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
		if _, err := w.Others.PublishLayerVersion(t.Context(), &sdk.PublishLayerVersionInput{
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
		if _, err := w.Others.CreateFunction(t.Context(), &sdk.CreateFunctionInput{
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
	out, err := w.Others.ListFunctions(ctx, &sdk.ListFunctionsInput{})
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
	f, err := w.Others.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: name})
	must(err)
	url, err := w.Others.GetFunctionUrlConfig(ctx, &sdk.GetFunctionUrlConfigInput{FunctionName: name})
	must(err)
	async, err := w.Others.GetFunctionEventInvokeConfig(ctx, &sdk.GetFunctionEventInvokeConfigInput{FunctionName: name})
	must(err)
	policy, err := w.Others.GetPolicy(ctx, &sdk.GetPolicyInput{FunctionName: name})
	must(err)
	if f.Configuration.PackageType == types.PackageTypeImage {
		f.Configuration.CodeSha256 = nil // which moto makes of the URI, in which the account has another name
	}
	seen := obj{"function": plain(t, f.Configuration), "code": f.Code.ImageUri, "key": f.Code.SourceKMSKeyArn, "tags": awstest.Owned(f.Tags), "concurrency": plain(t, f.Concurrency)}
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

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "TooManyRequestsException", "ServiceException")(class)
}
