package secretsmanager

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

func TestCalls(t *testing.T) {
	w := newWorld(t)
	props := tuned()
	out := w.settled(t, props, nil)
	if have := w.wrote(); !slices.Equal(have, []string{"CreateSecret", "PutResourcePolicy"}) {
		t.Errorf("a creation with everything makes %v", have)
	}
	w.server.Reset()
	out = w.settled(t, props, &out)
	if have := w.wrote(); len(have) > 0 || len(w.server.Calls()) != 3 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.server.Calls()))
	}
	version := out.Attrs["versionId"]
	props["value"], props["description"], props["kmsKeyId"] = "canary-three", "of the new shop", "alias/new"
	w.server.Reset()
	out = w.settled(t, props, &out)
	if have := w.wrote(); !slices.Equal(have, []string{"UpdateSecret"}) || out.Attrs["versionId"] == version {
		t.Errorf("value, description and key changed, and %v are made for version %v", have, out.Attrs["versionId"])
	}
	props["tags"] = obj{"team": "another"}
	w.server.Reset()
	w.settled(t, props, &out)
	if have := w.wrote(); !slices.Equal(have, []string{"TagResource", "UntagResource"}) {
		t.Errorf("one tag changed and one dropped, and %v are made", have)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(secretKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one secret with one version, whose value was
// made up once.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault awstest.Fault
		wrote int
	}{
		{"the answer of the creation is lost", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.CutBefore}, 2},
		{"the creation is throttled twice", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Throttle, Times: 2}, 3},
		{"the name of a deleted secret is not free yet", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Refuse, Code: "InvalidRequestException"}, 2},
		{"no password is made up at first", awstest.Fault{Op: "SecretsManager.GetRandomPassword", Kind: awstest.ServerError}, 1},
		{"reads are throttled", awstest.Fault{Op: "SecretsManager.DescribeSecret", Kind: awstest.Throttle, Times: 2}, 1},
		{"the policy cannot be read at first", awstest.Fault{Op: "SecretsManager.GetResourcePolicy", Kind: awstest.DropAnswer}, 1},
		{"the secret is not shown at first", awstest.Fault{Op: "SecretsManager.DescribeSecret", Kind: awstest.Stale, Nth: 2, Times: 2}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, kind := newWorld(t), quick()
			armed := w.server.Inject(c.fault)
			out, err := kind.Settle(t.Context(), w.job(t, kind, obj{"generate": obj{}}, nil), reconcile.Hooks{})
			if err != nil {
				t.Fatal(err)
			}
			if armed.Fired() == 0 {
				t.Error("the fault never came")
			}
			if have := w.wrote(); len(have) != c.wrote {
				t.Errorf("wrote %v, want %d calls", have, c.wrote)
			}
			seen, err := w.others.DescribeSecret(t.Context(), &sdk.DescribeSecretInput{SecretId: new(out.Identity)})
			if err != nil || len(seen.VersionIdsToStages) != 1 || len(w.secrets(t, false)) != 1 {
				t.Errorf("versions %v, secrets %v, %v", seen.VersionIdsToStages, w.secrets(t, false), err)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	for _, op := range []string{"SecretsManager.DescribeSecret", "SecretsManager.CreateSecret", "SecretsManager.GetResourcePolicy", "SecretsManager.GetSecretValue"} {
		w, kind := newWorld(t), reconcile.Erase(secretKind)
		w.server.Inject(awstest.Fault{Op: op, Kind: awstest.Deny, Times: -1})
		_, err := kind.Settle(t.Context(), w.job(t, kind, obj{"value": "canary"}, nil), reconcile.Hooks{})
		if w.cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), "not authorized") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s denied: %v", op, err)
		}
		if n := w.server.Count(op); n != 1 {
			t.Errorf("%s denied, and asked %d times", op, n)
		}
	}
}

// TestGeneratedOnce: what was made up stays, whatever is changed, forgotten or adopted, and is never read.
func TestGeneratedOnce(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, obj{"generate": obj{"length": int64(40), "excludePunctuation": true}}, nil)
	id := new(out.Identity)
	value := w.value(t, id)
	if len(value) != 40 || strings.ContainsAny(value, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") {
		t.Fatalf("made up %q", value)
	}
	for name, c := range map[string]struct {
		props obj
		last  *reconcile.Outcome
	}{
		"longer":      {obj{"generate": obj{"length": int64(50)}}, &out},
		"described":   {obj{"generate": obj{}, "description": "of the shop"}, &out},
		"forgotten":   {obj{"generate": obj{}}, nil},
		"given away":  {obj{"external": true}, &out},
		"taken again": {obj{"generate": obj{}}, &out},
	} {
		w.settled(t, c.props, c.last)
		if have := w.value(t, id); have != value {
			t.Errorf("%s: the value became %q", name, have)
		}
	}
	if n := w.server.Count("SecretsManager.GetSecretValue"); n != 0 {
		t.Errorf("the value was read %d times", n)
	}
	if n := w.server.Count("SecretsManager.GetRandomPassword"); n != 1 {
		t.Errorf("%d passwords were made up", n)
	}
}

func TestTemplate(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, obj{"generate": obj{"template": `{"username":"app"}`, "key": "password", "length": int64(20)}}, nil)
	var value map[string]string
	if err := json.Unmarshal([]byte(w.value(t, new(out.Identity))), &value); err != nil || value["username"] != "app" || len(value["password"]) != 20 {
		t.Errorf("%v, %v", value, err)
	}
}

// TestWithoutValue is about a secret that somebody made without a value: one is made up for it when it is taken.
func TestWithoutValue(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, obj{"external": true}, nil)
	if out.Attrs["versionId"] != "" {
		t.Errorf("it has version %v", out.Attrs["versionId"])
	}
	w.server.Reset()
	out = w.settled(t, obj{"generate": obj{}, "rotation": rotation("rate(4 hours)")}, &out)
	if have := w.wrote(); !slices.Equal(have, []string{"PutSecretValue", "RotateSecret"}) || w.value(t, new(out.Identity)) == "" {
		t.Errorf("wrote %v", have)
	}
}

// TestRecovery is about a secret that is deleted without leave, and declared again: it is the same one, with its value.
func TestRecovery(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(secretKind)
	props := obj{"generate": obj{}, "recoveryWindow": "7d", "replicas": list{obj{"region": "eu-west-1"}}}
	out := w.settled(t, props, nil)
	value := w.value(t, new(out.Identity))
	w.server.Reset()
	gone := w.job(t, kind, nil, &out)
	for range 2 {
		if err := kind.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if have := w.wrote(); !slices.Equal(have, []string{"RemoveRegionsFromReplication", "DeleteSecret"}) {
		t.Errorf("deleted twice by %v", have)
	}
	if body := string(w.server.Mutations()[1].Body); !strings.Contains(body, `"RecoveryWindowInDays":7`) || strings.Contains(body, "Force") {
		t.Errorf("deleted by %s", body)
	}
	if look, err := kind.Look(t.Context(), w.job(t, kind, props, &out)); err != nil || !look.Absent {
		t.Errorf("still there: %v, %v", look, err)
	}
	w.server.Reset()
	again := w.settled(t, props, nil)
	if again.Identity != out.Identity || w.value(t, new(again.Identity)) != value {
		t.Errorf("it came back as %s, and was %s", again.Identity, out.Identity)
	}
	// The creation that says so is refused before it is counted.
	if have := w.wrote(); !slices.Equal(have, []string{"RestoreSecret", "ReplicateSecretToRegions"}) {
		t.Errorf("restored by %v", have)
	}
	gone = w.job(t, kind, nil, &again)
	gone.MayDelete = true
	if err := kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := w.others.DescribeSecret(t.Context(), &sdk.DescribeSecretInput{SecretId: new(out.Identity)}); !aws.IsAbsent(err) {
		t.Errorf("deleted with leave, and %v", err)
	}
}

// TestScheduledAndNotOurs is about a name that somebody else's secret still holds.
func TestScheduledAndNotOurs(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(secretKind)
	if _, err := w.others.CreateSecret(t.Context(), &sdk.CreateSecretInput{Name: new("shop-test-password"), SecretString: new("theirs")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.others.DeleteSecret(t.Context(), &sdk.DeleteSecretInput{SecretId: new("shop-test-password")}); err != nil {
		t.Fatal(err)
	}
	_, err := kind.Settle(t.Context(), w.job(t, kind, obj{"value": "ours"}, nil), reconcile.Hooks{})
	if !errors.Is(err, errScheduled) || !strings.Contains(strings.Join(reconcile.Hints(err), ""), "restore-secret") {
		t.Errorf("%v, %v", err, reconcile.Hints(err))
	}
	if have := w.wrote(); slices.Contains(have, "RestoreSecret") {
		t.Errorf("wrote %v", have)
	}
}

// TestNotCopied is about a copy that does not come about: it is tried once more, and the service's word is told.
func TestNotCopied(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.like.failing = true
	_, err := kind.Settle(t.Context(), w.job(t, kind, obj{"value": "a", "replicas": list{obj{"region": "eu-west-1"}}}, nil), reconcile.Hooks{})
	if !errors.Is(err, errNotCopied) || !strings.Contains(err.Error(), "there is one of this name") {
		t.Errorf("%v", err)
	}
	if have := w.wrote(); !slices.Equal(have, []string{"CreateSecret", "RemoveRegionsFromReplication", "ReplicateSecretToRegions"}) {
		t.Errorf("wrote %v", have)
	}
}

// TestCopyOfAnother is about a name under which there is a copy of a secret of another region, mark and all.
func TestCopyOfAnother(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(secretKind)
	far := w.front.Outside(t)
	far.Region = "eu-west-1"
	var tags []types.Tag
	for k, v := range map[string]string{"athanor:stack": "shop", "athanor:stage": "test", "athanor:id": "password"} {
		tags = append(tags, types.Tag{Key: &k, Value: &v})
	}
	if _, err := sdk.NewFromConfig(far).CreateSecret(t.Context(), &sdk.CreateSecretInput{
		Name: new("shop-test-password"), SecretString: new("theirs"), Tags: tags, AddReplicaRegions: []types.ReplicaRegionType{{Region: new("us-east-1")}},
	}); err != nil {
		t.Fatal(err)
	}
	job := w.job(t, kind, obj{"value": "ours"}, nil)
	if look, err := kind.Look(t.Context(), job); err != nil || !look.Absent {
		t.Errorf("the copy is taken for the secret: %+v, %v", look, err)
	}
	w.server.Inject(awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Refuse, Code: "ResourceExistsException", Times: -1})
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, errCopy) {
		t.Errorf("%v", err)
	}
}

// TestRotation: what a rotation makes is not put right, and its rules are not set again.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	props := obj{"value": "canary-first", "rotation": rotation("rate(30 days)")}
	out := w.settled(t, props, nil)
	id := new(out.Identity)
	if err := edits["value"](t.Context(), edited{w.others, id}, SecretProps{Value: "canary-rotated"}); err != nil {
		t.Fatal(err)
	}
	w.server.Reset()
	out = w.settled(t, props, &out)
	if w.value(t, id) != "canary-rotated" || len(w.wrote()) > 0 || w.server.Count("SecretsManager.GetSecretValue") != 0 {
		t.Errorf("the value is %s, and %v were made", w.value(t, id), w.wrote())
	}
	quiet := rotation("rate(10 days)")
	quiet["rotateImmediately"] = false
	w.settled(t, obj{"value": "canary-first", "rotation": quiet}, &out)
	if w.like.rotated != 1 {
		t.Errorf("rotated at once %d times", w.like.rotated)
	}
}

// TestScheduleInDays is about a rotation that was set by days: it is the same schedule.
func TestScheduleInDays(t *testing.T) {
	live := liveSecret{DescribeSecretOutput: &sdk.DescribeSecretOutput{
		RotationEnabled: new(true), RotationLambdaARN: new("f"), RotationRules: &types.RotationRulesType{AutomaticallyAfterDays: new(int64(30))},
	}}
	if have, _ := live.rotation().(map[string]any); have["scheduleExpression"] != "rate(30 days)" {
		t.Errorf("%v", have)
	}
}

// TestTokens: a token is the same for the same request, another for the next, and tells nothing of the value.
func TestTokens(t *testing.T) {
	var seen []string
	for _, value := range []string{"canary-one", "canary-two"} {
		w := newWorld(t)
		out := w.settled(t, obj{"value": value}, nil)
		seen = append(seen, out.Attrs["versionId"].(string))
	}
	if seen[0] != seen[1] || len(seen[0]) != 64 {
		t.Errorf("tokens %q", seen)
	}
	live := liveSecret{DescribeSecretOutput: &sdk.DescribeSecretOutput{ARN: new("a")}}
	first := live.next("value")
	live.VersionIdsToStages = map[string][]string{first: {"AWSCURRENT"}}
	if live.next("value") == first || live.next("rotation") == live.next("value") {
		t.Error("a request has no token of its own")
	}
}

func TestElsewhere(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(secretKind)
	job := w.job(t, kind, obj{"value": "a"}, nil)
	job.ID = "arn:aws:secretsmanager:eu-west-1:" + account + ":secret:shop-test-password-abcdef"
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("looked at in another region: %v", err)
	}
	if n := len(w.server.Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
	out := w.settled(t, obj{"value": "a"}, nil)
	for _, id := range []string{out.Identity, "shop-test-password"} {
		job.ID = id
		if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != out.Identity {
			t.Errorf("%s leads to %s, %v", id, look.Identity, err)
		}
	}
}

func TestKeys(t *testing.T) {
	place := reconcile.Place{Provider: "aws", Account: account, Region: "us-east-1"}
	for key, want := range map[string]string{
		"": "", ownKey: "", "alias/shop": "alias/shop", "1234": "1234",
		"arn:aws:kms:us-east-1:" + account + ":key/1234":       "1234",
		"arn:aws:kms:us-east-1:" + account + ":alias/shop":     "alias/shop",
		"arn:aws:kms:us-east-1:999999999999:key/1234":          "arn:aws:kms:us-east-1:999999999999:key/1234",
		"arn:aws:kms:us-east-1:" + account + ":" + ownKey + "": "",
	} {
		if have := keyOf(place, key); have != want {
			t.Errorf("%s is %s, want %s", key, have, want)
		}
	}
}

func TestDiscover(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, obj{"value": "a"}, nil)
	place, _ := w.cloud.Place(t.Context())
	found, err := aws.Provider(Service()).Discover(t.Context(), reconcile.Scope{Cloud: w.cloud, Place: place, Mark: reconcile.Mark{Stack: "shop", Stage: "test"}})
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	f := found[0]
	if f.Kind != secretType || f.Identity != out.Identity || f.Name != "shop-test-password" || f.Mark == nil || f.Mark.Address != "password" {
		t.Errorf("found %+v with %+v, want %s", f, f.Mark, out.Identity)
	}
}

func TestCheck(t *testing.T) {
	kind := reconcile.Erase(secretKind)
	for _, c := range []struct {
		props obj
		want  string
	}{
		{obj{}, "want one of"},
		{obj{"value": "a", "external": true}, "want one of"},
		{obj{"value": "a", "generate": obj{}}, "want one of"},
		{obj{"generate": obj{"template": obj{}}}, "go together"},
		{obj{"generate": obj{"key": "a"}}, "go together"},
		{obj{"generate": obj{"length": int64(3)}}, "4"},
		{obj{"value": "a", "name": "a b"}, "want up to 512"},
		{obj{"value": "a", "recoveryWindow": "6d"}, "7d"},
		{obj{"value": "a", "recoveryWindow": "180h"}, "whole days"},
		{obj{"value": "a", "replicas": list{obj{"region": "eu-west-1"}, obj{"region": "eu-west-1"}}}, "already"},
		{obj{"value": "a", "rotation": obj{"lambdaArn": "f"}}, "scheduleExpression"},
		{obj{"value": "a", "description": strings.Repeat("a", 2049)}, "2048"},
		{obj{"value": "a", "tags": obj{"athanor:recovery-days": "7"}}, "not for authors"},
		{tuned(), ""},
		{generated(), ""},
	} {
		err := kind.Decode(&reconcile.Job{Props: c.props})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80v: %v, want %q", c.props, err, c.want)
		}
	}
}
