package secretsmanager

import (
	"context"
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
	out := w.Settled(t, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.CreateSecret", "SecretsManager.PutResourcePolicy"}) {
		t.Errorf("a creation with everything makes %v", have)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 || len(w.Server.Calls()) != 3 {
		t.Errorf("unchanged, and %v are made, %d calls in all", have, len(w.Server.Calls()))
	}
	version := out.Attrs["versionId"]
	props["value"], props["description"], props["kmsKeyId"] = "canary-three", "of the new shop", "alias/new"
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.UpdateSecret"}) || out.Attrs["versionId"] == version {
		t.Errorf("value, description and key changed, and %v are made for version %v", have, out.Attrs["versionId"])
	}
	props["tags"] = obj{"team": "another"}
	w.Server.Reset()
	w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.TagResource", "SecretsManager.UntagResource"}) {
		t.Errorf("one tag changed and one dropped, and %v are made", have)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(secretKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one secret with one version, whose value was
// made up once.
func TestFaults(t *testing.T) {
	one := func(w *world, t kindtest.T) []any {
		seen, err := w.Others.DescribeSecret(context.Background(), &sdk.DescribeSecretInput{SecretId: new("shop-test-password")})
		if err != nil || len(seen.VersionIdsToStages) != 1 {
			t.Errorf("versions %+v, %v", seen, err)
		}
		return w.secrets(t, false)
	}
	awstest.Faults(t, newWorld, quick(), obj{"generate": obj{}}, one, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.CutBefore}, 2},
		{"the creation is throttled twice", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Throttle, Times: 2}, 3},
		{"the name of a deleted secret is not free yet", awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Refuse, Code: "InvalidRequestException"}, 2},
		{"no password is made up at first", awstest.Fault{Op: "SecretsManager.GetRandomPassword", Kind: awstest.ServerError}, 1},
		{"reads are throttled", awstest.Fault{Op: "SecretsManager.DescribeSecret", Kind: awstest.Throttle, Times: 2}, 1},
		{"the policy cannot be read at first", awstest.Fault{Op: "SecretsManager.GetResourcePolicy", Kind: awstest.DropAnswer}, 1},
		{"the secret is not shown at first", awstest.Fault{Op: "SecretsManager.DescribeSecret", Kind: awstest.Stale, Nth: 2, Times: 2}, 1},
	})
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{"value": "canary"}, "SecretsManager.DescribeSecret", "SecretsManager.CreateSecret",
		"SecretsManager.GetResourcePolicy", "SecretsManager.GetSecretValue")
}

// TestGeneratedOnce: what was made up stays, whatever is changed, forgotten or adopted, and is never read.
func TestGeneratedOnce(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"generate": obj{"length": int64(40), "excludePunctuation": true}}, nil)
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
		w.Settled(t, c.props, c.last)
		if have := w.value(t, id); have != value {
			t.Errorf("%s: the value became %q", name, have)
		}
	}
	if n := w.Server.Count("SecretsManager.GetSecretValue"); n != 0 {
		t.Errorf("the value was read %d times", n)
	}
	if n := w.Server.Count("SecretsManager.GetRandomPassword"); n != 1 {
		t.Errorf("%d passwords were made up", n)
	}
}

func TestTemplate(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"generate": obj{"template": `{"username":"app"}`, "key": "password", "length": int64(20)}}, nil)
	var value map[string]string
	if err := json.Unmarshal([]byte(w.value(t, new(out.Identity))), &value); err != nil || value["username"] != "app" || len(value["password"]) != 20 {
		t.Errorf("%v, %v", value, err)
	}
}

// TestWithoutValue is about a secret that somebody made without a value: one is made up for it when it is taken.
func TestWithoutValue(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"external": true}, nil)
	if out.Attrs["versionId"] != "" {
		t.Errorf("it has version %v", out.Attrs["versionId"])
	}
	w.Server.Reset()
	out = w.Settled(t, obj{"generate": obj{}, "rotation": rotation("rate(4 hours)")}, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.PutSecretValue", "SecretsManager.RotateSecret"}) || w.value(t, new(out.Identity)) == "" {
		t.Errorf("wrote %v", have)
	}
}

// TestRecovery is about a secret that is deleted without leave, and declared again: it is the same one, with its value.
func TestRecovery(t *testing.T) {
	w, kind := newWorld(t), secretKind.Erase()
	props := obj{"generate": obj{}, "recoveryWindow": "7d", "replicas": list{obj{"region": "eu-west-1"}}}
	out := w.Settled(t, props, nil)
	value := w.value(t, new(out.Identity))
	w.Server.Reset()
	gone := w.Job(t, kind, nil, &out)
	for range 2 {
		if err := kind.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.RemoveRegionsFromReplication", "SecretsManager.DeleteSecret"}) {
		t.Errorf("deleted twice by %v", have)
	}
	if body := string(w.Server.Mutations()[1].Body); !strings.Contains(body, `"RecoveryWindowInDays":7`) || strings.Contains(body, "Force") {
		t.Errorf("deleted by %s", body)
	}
	if look, err := kind.Look(t.Context(), w.Job(t, kind, props, &out)); err != nil || !look.Absent {
		t.Errorf("still there: %v, %v", look, err)
	}
	w.Server.Reset()
	again := w.Settled(t, props, nil)
	if again.Identity != out.Identity || w.value(t, new(again.Identity)) != value {
		t.Errorf("it came back as %s, and was %s", again.Identity, out.Identity)
	}
	// The creation that says so is refused before it is counted.
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.RestoreSecret", "SecretsManager.ReplicateSecretToRegions"}) {
		t.Errorf("restored by %v", have)
	}
	gone = w.Job(t, kind, nil, &again)
	gone.MayDelete = true
	if err := kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Others.DescribeSecret(t.Context(), &sdk.DescribeSecretInput{SecretId: new(out.Identity)}); !aws.IsAbsent(err) {
		t.Errorf("deleted with leave, and %v", err)
	}
}

// TestScheduledAndNotOurs is about a name that somebody else's secret still holds.
func TestScheduledAndNotOurs(t *testing.T) {
	w, kind := newWorld(t), secretKind.Erase()
	if _, err := w.Others.CreateSecret(t.Context(), &sdk.CreateSecretInput{Name: new("shop-test-password"), SecretString: new("theirs")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Others.DeleteSecret(t.Context(), &sdk.DeleteSecretInput{SecretId: new("shop-test-password")}); err != nil {
		t.Fatal(err)
	}
	_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"value": "ours"}, nil), reconcile.Hooks{})
	if !errors.Is(err, errScheduled) || !strings.Contains(strings.Join(reconcile.Hints(err), ""), "restore-secret") {
		t.Errorf("%v, %v", err, reconcile.Hints(err))
	}
	if have := w.Wrote(); slices.Contains(have, "SecretsManager.RestoreSecret") {
		t.Errorf("wrote %v", have)
	}
}

// TestNotCopied is about a copy that does not come about: it is tried once more, and the service's word is told.
func TestNotCopied(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.like.failing = true
	_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"value": "a", "replicas": list{obj{"region": "eu-west-1"}}}, nil), reconcile.Hooks{})
	if !errors.Is(err, errNotCopied) || !strings.Contains(err.Error(), "there is one of this name") {
		t.Errorf("%v", err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"SecretsManager.CreateSecret", "SecretsManager.RemoveRegionsFromReplication", "SecretsManager.ReplicateSecretToRegions"}) {
		t.Errorf("wrote %v", have)
	}
}

// TestCopyOfAnother is about a name under which there is a copy of a secret of another region, owner tag and all.
func TestCopyOfAnother(t *testing.T) {
	w, kind := newWorld(t), secretKind.Erase()
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
	job := w.Job(t, kind, obj{"value": "ours"}, nil)
	if look, err := kind.Look(t.Context(), job); err != nil || !look.Absent {
		t.Errorf("the copy is taken for the secret: %+v, %v", look, err)
	}
	w.Server.Inject(awstest.Fault{Op: "SecretsManager.CreateSecret", Kind: awstest.Refuse, Code: "ResourceExistsException", Times: -1})
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, errCopy) {
		t.Errorf("%v", err)
	}
}

// TestRotation: what a rotation makes is not put right, and its rules are not set again.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	props := obj{"value": "canary-first", "rotation": rotation("rate(30 days)")}
	out := w.Settled(t, props, nil)
	id := new(out.Identity)
	if err := edits["value"](t.Context(), edited{w.Others, id}, SecretProps{Value: "canary-rotated"}); err != nil {
		t.Fatal(err)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if w.value(t, id) != "canary-rotated" || len(w.Wrote()) > 0 || w.Server.Count("SecretsManager.GetSecretValue") != 0 {
		t.Errorf("the value is %s, and %v were made", w.value(t, id), w.Wrote())
	}
	quiet := rotation("rate(10 days)")
	quiet["rotateImmediately"] = false
	w.Settled(t, obj{"value": "canary-first", "rotation": quiet}, &out)
	if w.like.rotated != 1 {
		t.Errorf("rotated at once %d times", w.like.rotated)
	}
}

// TestScheduleInDays is about a rotation that was set by days: it is the same schedule.
func TestScheduleInDays(t *testing.T) {
	have := rotationIn(&sdk.DescribeSecretOutput{
		RotationEnabled: new(true), RotationLambdaARN: new("f"), RotationRules: &types.RotationRulesType{AutomaticallyAfterDays: new(int64(30))},
	})
	if have.ScheduleExpression != "rate(30 days)" {
		t.Errorf("%v", have)
	}
}

// TestTokens: a token is the same for the same request, another for the next, and tells nothing of the value.
func TestTokens(t *testing.T) {
	var seen []string
	for _, value := range []string{"canary-one", "canary-two"} {
		w := newWorld(t)
		out := w.Settled(t, obj{"value": value}, nil)
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
	awstest.Elsewhere(t, newWorld, obj{"value": "a"}, "arn:aws:secretsmanager:eu-west-1:"+account+":secret:shop-test-password-abcdef",
		func(string) []string { return []string{"shop-test-password"} })
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
	awstest.Discovered(t, newWorld, Service(), obj{"value": "a"}, "shop-test-password")
}

func TestCheck(t *testing.T) {
	kindtest.Refuses(t, secretKind.Erase(), kindtest.Refusals{
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
	})
}
