package stacks_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdks3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	sdksqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// tagged is a queue and a bucket under settings.
func tagged(name string, settings ...aws.Setting) athanor.Program {
	return func(s *athanor.Stack) error {
		in := aws.In(s, settings...)
		sqs.NewQueue(in, "orders", sqs.QueueProps{Name: name, Tags: map[string]string{"env": "test"}})
		s3.NewBucket(in, "files", s3.BucketProps{Name: name})
		return nil
	}
}

// TestDefaultTags deploys with tags in the settings: objects get them, an own tag wins, plans show what is missing and what
// somebody changed, and tags that are ignored stay, in a bucket too, whose tags are set whole.
func TestDefaultTags(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	name := server.Name("tagged")
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	store, dir := mem.New(), t.TempDir()
	plan := func(settings ...aws.Setting) (*engine.Engine, *engine.Plan) {
		t.Helper()
		catalog, err := reconcile.NewCatalog(aws.Provider(sqs.Service(), s3.Service()))
		if err != nil {
			t.Fatal(err)
		}
		e := &engine.Engine{Catalog: catalog, Store: store, Key: key, Cache: dir}
		g, err := athanor.Evaluate(tagged(name, settings...), athanor.Input{Stack: "shop", Stage: "test", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Plan(t.Context(), g, engine.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return e, p
	}
	deploy := func(settings ...aws.Setting) {
		t.Helper()
		e, p := plan(settings...)
		if r, err := e.Apply(t.Context(), p, engine.ApplyOptions{Command: "deploy"}); err != nil || len(r.Failures) > 0 {
			t.Fatalf("%v, %+v", err, r)
		}
	}
	// steps are the paths that a plan changes, with the address before them.
	steps := func(settings ...aws.Setting) (paths []string) {
		t.Helper()
		_, p := plan(settings...)
		for _, a := range p.Actions {
			for _, r := range a.Reasons {
				paths = append(paths, a.Address+" "+string(r.Path))
			}
		}
		slices.Sort(paths)
		return paths
	}
	want := func(what string, have []string, want ...string) {
		t.Helper()
		if !slices.Equal(have, want) {
			t.Errorf("%s: the plan changes %q, want %q", what, have, want)
		}
	}
	queue, bucket := sdksqs.NewFromConfig(server.Config(t)), sdks3.NewFromConfig(server.Config(t), func(o *sdks3.Options) { o.UsePathStyle = true })
	address, err := "", error(nil)
	ofQueue := func() map[string]string {
		t.Helper()
		out, err := queue.ListQueueTags(t.Context(), &sdksqs.ListQueueTagsInput{QueueUrl: &address})
		if err != nil {
			t.Fatal(err)
		}
		return out.Tags
	}
	ofBucket := func() map[string]string {
		t.Helper()
		out, err := bucket.GetBucketTagging(t.Context(), &sdks3.GetBucketTaggingInput{Bucket: &name})
		if err != nil {
			t.Fatal(err)
		}
		return aws.TagMap(out.TagSet, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
	}
	given := aws.WithTags(map[string]string{"team": "shop", "env": "any"})

	deploy(given)
	out, err := queue.GetQueueUrl(t.Context(), &sdksqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	address = sdk.ToString(out.QueueUrl)
	if have := ofQueue(); have["team"] != "shop" || have["env"] != "test" {
		t.Errorf("tags of the queue %v", have)
	}
	if have := ofBucket(); have["team"] != "shop" || have["env"] != "any" {
		t.Errorf("tags of the bucket %v", have)
	}
	want("unchanged", steps(given))
	want("other tags", steps(aws.WithTags(map[string]string{"team": "web", "env": "any"})), "files tags.team", "orders tags.team")
	want("none any more", steps(), "files tags.env", "files tags.team", "orders tags.team")

	if _, err := queue.TagQueue(t.Context(), &sdksqs.TagQueueInput{QueueUrl: &address, Tags: map[string]string{"team": "else", "cost/center": "7"}}); err != nil {
		t.Fatal(err)
	}
	all := ofBucket()
	all["cost/center"], all["by"] = "7", "hand"
	set := aws.TagList(all, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
	if _, err := bucket.PutBucketTagging(t.Context(), &sdks3.PutBucketTaggingInput{Bucket: &name, Tagging: &types.Tagging{TagSet: set}}); err != nil {
		t.Fatal(err)
	}
	want("changed manually", steps(given), `files tags.by`, `files tags["cost/center"]`, "orders tags.team", `orders tags["cost/center"]`)
	ignored := aws.LeaveTags("cost/*")
	want("ignored", steps(given, ignored), `files tags.by`, "orders tags.team")
	deploy(given, ignored)
	want("deployed", steps(given, ignored))
	for what, have := range map[string]map[string]string{"queue": ofQueue(), "bucket": ofBucket()} {
		if _, by := have["by"]; have["cost/center"] != "7" || have["team"] != "shop" || by {
			t.Errorf("tags of the %s %v", what, have)
		}
	}
	want("declared and ignored", steps(aws.WithTags(map[string]string{"team": "shop", "env": "any", "cost/center": "8"}), ignored),
		`files tags["cost/center"]`, `orders tags["cost/center"]`)
}

// TestSettingsRefused refuses settings that could not mean what they say, before any call.
func TestSettingsRefused(t *testing.T) {
	for name, s := range map[string]*aws.Settings{
		"an owner tag":         {Tags: map[string]string{"athanor:stack": "x"}},
		"a tag of AWS":         {Tags: map[string]string{"aws:x": "x"}},
		"owner tags ignored":   {IgnoreTags: []string{"athanor:*"}},
		"all tags ignored":     {IgnoreTags: []string{"*"}},
		"a star in the middle": {IgnoreTags: []string{"a*b"}},
		"no role":              {AssumeRole: &aws.AssumeRole{ARN: "arn:aws:iam::123456789012:user/x"}},
		"a session's name":     {AssumeRole: &aws.AssumeRole{ARN: "arn:aws:iam::123456789012:role/x", SessionName: "a b"}},
	} {
		if _, err := aws.Provider().Open(t.Context(), s); err == nil || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tokens is a proxy in front of an emulator that remembers what was asked of STS.
type tokens struct {
	mu    sync.Mutex
	asked []url.Values
}

// before starts one, and makes it the endpoint.
func before(t *testing.T, server *awstest.Server) *tokens {
	t.Helper()
	to, err := url.Parse(server.Env()["AWS_ENDPOINT_URL"])
	if err != nil {
		t.Fatal(err)
	}
	s, through := &tokens{}, httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") == "AssumeRole" {
			s.mu.Lock()
			s.asked = append(s.asked, form)
			s.mu.Unlock()
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Setenv("AWS_ENDPOINT_URL", front.URL)
	t.Setenv("AWS_ENDPOINT_URL_STS", front.URL) // the SDK asks for the roles of profiles there alone
	return s
}

const otherRole = "arn:aws:iam::210987654321:role/deploy"

// TestAssumeRole makes all calls as a role of another account, whose name, id and length of session the settings say.
func TestAssumeRole(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	seen := before(t, server)
	role := &aws.AssumeRole{ARN: otherRole, ExternalID: "partner", SessionName: "ci-7", Duration: new(30 * time.Minute)}
	place, err := open(t, &aws.Settings{AssumeRole: role}).Place(t.Context())
	if err != nil || place.Account != "210987654321" {
		t.Errorf("place %v, %v", place, err)
	}
	want := map[string]string{"RoleArn": otherRole, "ExternalId": "partner", "RoleSessionName": "ci-7", "DurationSeconds": "1800"}
	if len(seen.asked) != 1 {
		t.Fatalf("%d roles were assumed", len(seen.asked))
	}
	for name, v := range want {
		if have := seen.asked[0].Get(name); have != v {
			t.Errorf("%s is %q, want %q", name, have, v)
		}
	}
	// Of another account than the settings allow nothing is called.
	_, err = open(t, &aws.Settings{AssumeRole: role, AccountID: server.Account}).Place(t.Context())
	if refused, ok := errors.AsType[*aws.AccountError](err); !ok || refused.Have != "210987654321" {
		t.Errorf("another account: %v", err)
	}
}

// TestRoleDenied says which role may not be assumed, and what to do.
func TestRoleDenied(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	server.Inject(awstest.Fault{Op: "STS.AssumeRole", Kind: awstest.Deny, Times: -1})
	cloud := open(t, &aws.Settings{AssumeRole: &aws.AssumeRole{ARN: otherRole}})
	_, err := cloud.Place(t.Context())
	if _, ok := errors.AsType[*aws.CredentialsError](err); !ok || cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), otherRole) {
		t.Errorf("%v", err)
	}
	if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "trust policy") {
		t.Errorf("hints %q", hints)
	}
	if n := server.Count("STS.GetCallerIdentity"); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// profiles are a configuration file, which alone says who asks.
func profiles(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": file, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true", "ATHANOR_UNTRUSTED": "", "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
}

// TestDevice asks for the code of a device once, however many regions are reached, and fails at once where nobody can be asked.
func TestDevice(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	seen := before(t, server)
	profiles(t, "[profile ops]\nrole_arn = "+otherRole+"\nsource_profile = me\nmfa_serial = arn:aws:iam::"+server.Account+":mfa/me\n"+
		"[profile me]\naws_access_key_id = "+awstest.AccessKey(server.Account)+"\naws_secret_access_key = secret\n")
	settings := func(region string) *aws.Settings { return &aws.Settings{Profile: new("ops"), Region: &region} }

	cloud := open(t, settings("eu-west-1"))
	_, err := cloud.Place(t.Context())
	if !errors.Is(err, reconcile.ErrNobody) || cloud.Classify(err) != reconcile.Denied || len(seen.asked) != 0 {
		t.Errorf("nobody can be asked: %v", err)
	}
	if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "export-credentials") {
		t.Errorf("hints %q", hints)
	}

	var questions []string
	ctx := reconcile.WithPrompt(t.Context(), func(question string) (string, error) {
		questions = append(questions, question)
		return "123456", nil
	})
	provider := aws.Provider()
	for _, region := range []string{"eu-west-1", "us-east-1"} {
		cloud, err := provider.Open(ctx, settings(region))
		if err != nil {
			t.Fatal(err)
		}
		if place, err := cloud.Place(ctx); err != nil || place.Account != "210987654321" || place.Region != region {
			t.Errorf("place %v, %v", place, err)
		}
	}
	if len(questions) != 1 || !strings.Contains(questions[0], "mfa/me") || !strings.Contains(questions[0], otherRole) {
		t.Errorf("it asks %q", questions)
	}
	if len(seen.asked) != 1 || seen.asked[0].Get("TokenCode") != "123456" || seen.asked[0].Get("DurationSeconds") != "3600" {
		t.Errorf("it sends %v", seen.asked)
	}
}

// TestSignedOut names the command that signs in where a session of single sign-on has ended or never began.
func TestSignedOut(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	profiles(t, "[profile team]\nsso_session = corp\nsso_account_id = 210987654321\nsso_role_name = Dev\n"+
		"[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.example/start\n")
	cloud := open(t, &aws.Settings{Profile: new("team")})
	_, err := cloud.Place(t.Context())
	if _, ok := errors.AsType[*aws.CredentialsError](err); !ok || cloud.Classify(err) != reconcile.Denied {
		t.Errorf("%v", err)
	}
	if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "`aws sso login --profile team`") {
		t.Errorf("hints %q of %v", hints, err)
	}
	if n := len(server.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestGoAndYAMLSettings: what Go declares is what YAML would, to the same form.
func TestGoAndYAMLSettings(t *testing.T) {
	g, err := athanor.Evaluate(tagged("x", aws.Assume(aws.AssumeRole{ARN: otherRole, Duration: new(time.Hour)}), aws.LeaveTags("a", "b*"),
		aws.WithTags(map[string]string{"team": "shop"})), athanor.Input{Stack: "shop", Stage: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	settings := g.Resources[0].Settings
	if keys := slices.Sorted(maps.Keys(settings)); !slices.Equal(keys, []string{"assumeRole", "ignoreTags", "tags"}) {
		t.Fatalf("%v", settings)
	}
	if role, _ := settings["assumeRole"].(map[string]any); role["arn"] != otherRole || role["duration"] != "1h" || len(role) != 2 {
		t.Errorf("%v", settings["assumeRole"])
	}
}
