package lambda

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

func TestFunctionCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	props := plainFunction()
	out := w.Settled(t, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"Lambda.POST /2015-03-31/functions"}) {
		t.Errorf("a creation makes %v", have)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 {
		t.Errorf("unchanged, and %v are made", have)
	}
	if n := len(w.Server.Calls()); n != 3 {
		t.Errorf("a look makes %d calls, want 3", n)
	}
	props["memory"], props["timeout"], props["env"], props["code"] = "256MiB", "5s", obj{"STAGE": "prod"}, obj{"directory": "other"}
	w.Server.Reset()
	w.Settled(t, props, &out)
	name := "shop-test-worker"
	want := []string{"Lambda.PUT /2015-03-31/functions/" + name + "/configuration", "Lambda.PUT /2015-03-31/functions/" + name + "/code"}
	if have := w.Wrote(); !slices.Equal(have, want) {
		t.Errorf("configuration and code changed, and %v are made", have)
	}
}

func quickMapping() reconcile.Any { return kindtest.Quick(mappingKind, 300*time.Millisecond) }

func quick() reconcile.Any { return kindtest.Quick(functionKind, 300*time.Millisecond) }

// TestFunctionFaults breaks one call of a creation at a time. In the end there is one function, created by as few calls as
// can be.
func TestFunctionFaults(t *testing.T) {
	t.Parallel()
	const create, look = "Lambda.POST /*/functions", "Lambda.GET /*/functions/shop-test-worker"
	awstest.Faults(t, newWorld, quick(), plainFunction(), (*world).functions, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: create, Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: create, Kind: awstest.CutBefore}, 2},
		{"the creation is throttled twice", awstest.Fault{Op: create, Kind: awstest.Throttle, Times: 2}, 3},
		{"the creation meets an error of the service", awstest.Fault{Op: create, Kind: awstest.ServerError}, 2},
		{"the role is not known to Lambda yet", awstest.Fault{Op: create, Kind: awstest.Refuse, Code: "InvalidParameterValueException", Times: 2}, 3},
		{"reads are throttled", awstest.Fault{Op: look, Kind: awstest.Throttle, Times: 2}, 1},
		{"the URL cannot be read at first", awstest.Fault{Op: look + "/url", Kind: awstest.ServerError}, 1},
		{"the function is not shown at first", awstest.Fault{Op: look, Kind: awstest.Stale, Nth: 2}, 1},
	})
}

// aged gives the role of these tests an older birth: IAM has known it for long.
type aged struct{ calls int }

// Enter refuses nothing; the look at the role is what it counts.
func (a *aged) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	if call.String() == "IAM.GetRole" {
		a.calls++
	}
	return func(error) {}, nil
}

// TestMistakes is about the code that stands for a role that is too new and for every mistake: with an older role it fails at
// once, and without one, when there has been time enough.
func TestMistakes(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	w.like.ages = time.Hour
	job := w.Job(t, kind, plainFunction(), nil)
	w.Server.Inject(awstest.Fault{Op: "Lambda.POST /*/functions", Kind: awstest.Refuse, Code: "InvalidParameterValueException", Times: -1})
	gate := &aged{}
	_, err := kind.Settle(reconcile.WithGate(t.Context(), gate), job, reconcile.Hooks{})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "InvalidParameterValueException" || w.Cloud.Classify(err) != reconcile.Invalid {
		t.Errorf("a mistake: %v", err)
	}
	if gate.calls != 1 || len(w.Wrote()) != 1 {
		t.Errorf("the role was looked at %d times, and wrote %v", gate.calls, w.Wrote())
	}
	for _, c := range []struct {
		since   time.Duration
		granted bool
		want    reconcile.Class
	}{{0, true, reconcile.Busy}, {time.Minute, true, reconcile.Invalid}, {0, false, reconcile.Invalid}} {
		l := lag{w.Cloud, aws.ARN(role("worker")), time.Now().Add(-c.since), c.granted}
		if have := w.Cloud.Classify(l.of(t.Context(), err)); have != c.want {
			t.Errorf("after %s, granted %v: %s, want %s", c.since, c.granted, have, c.want)
		}
	}
	// A role that IAM does not show either: not yet, and then a mistake.
	for since, want := range map[time.Duration]reconcile.Class{0: reconcile.Busy, time.Minute: reconcile.Invalid} {
		l := lag{w.Cloud, aws.ARN(role("none")), time.Now().Add(-since), false}
		if have := w.Cloud.Classify(l.of(t.Context(), err)); have != want {
			t.Errorf("no role after %s: %s, want %s", since, have, want)
		}
	}
}

// TestRoleComesLate is about a role that is made while the function waits for it: what the emulator refuses is what Lambda
// refuses.
func TestRoleComesLate(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	job := w.Job(t, kind, with(plainFunction(), obj{"role": role("late")}), nil)
	var notes []string
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Note: func(text string) {
		if notes = append(notes, text); len(notes) == 1 {
			if _, err := iam.NewFromConfig(w.out).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: new("late"), AssumeRolePolicyDocument: new("{}")}); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || len(notes) == 0 {
		t.Errorf("told %q: %v", notes, err)
	}
}

// TestBusy is about a function that is being made, or changed: nothing is done to it until that has ended.
func TestBusy(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	w.like.looks(obj{"State": "Pending", "StateReason": "interfaces are made"}, obj{"LastUpdateStatus": "InProgress"})
	var notes []string
	job := w.Job(t, kind, with(plainFunction(), obj{"reservedConcurrency": int64(1)}), nil)
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }}); err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "not ready: interfaces are made") || !strings.Contains(notes[1], "under way") {
		t.Errorf("told %q", notes)
	}
}

// TestFailedUpdate is about what Lambda begins and cannot do: it is asked once more, and then the error says why.
func TestFailedUpdate(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), quick()
	out := w.Settled(t, plainFunction(), nil)
	failed := obj{"LastUpdateStatus": "Failed", "LastUpdateStatusReason": "The subnets are full.", "LastUpdateStatusReasonCode": "SubnetOutOfIPAddresses"}
	w.Server.Reset()
	w.like.looks(failed)
	if _, err := kind.Settle(t.Context(), w.Job(t, kind, plainFunction(), &out), reconcile.Hooks{}); err != nil || len(w.Wrote()) != 1 {
		t.Errorf("failed once: %v, wrote %v", err, w.Wrote())
	}
	w.Server.Reset()
	w.like.looks(slices.Repeat([]obj{failed}, 20)...) // for longer than reads may be behind
	_, err := kind.Settle(t.Context(), w.Job(t, kind, plainFunction(), &out), reconcile.Hooks{})
	if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "The subnets are full.") || len(w.Wrote()) != 1 {
		t.Errorf("failed for good: %v, wrote %v", err, w.Wrote())
	}
	w.Server.Reset()
	w.like.mu.Lock()
	w.like.show = nil
	w.like.mu.Unlock()
	w.like.looks(obj{"LastUpdateStatus": "Failed", "LastUpdateStatusReasonCode": "InvalidZipFileException"})
	w.Settled(t, plainFunction(), &out)
	if have := w.Wrote(); len(have) != 1 || !strings.HasSuffix(have[0], "/code") {
		t.Errorf("the code failed, and %v are made", have)
	}
}

// TestHiddenErrors is about errors inside of answers that succeed: what could not be read is not nothing.
func TestHiddenErrors(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	out := w.Settled(t, plainFunction(), nil)
	for _, members := range []obj{
		{"Environment": obj{"Error": obj{"ErrorCode": "AccessDeniedException", "Message": "no leave to decrypt"}}},
		{"ImageConfigResponse": obj{"Error": obj{"ErrorCode": "AccessDeniedException", "Message": "no leave to decrypt"}}},
	} {
		w.like.looks(members)
		_, err := kind.Look(t.Context(), w.Job(t, kind, plainFunction(), &out))
		if w.Cloud.Classify(err) != reconcile.Denied || !strings.Contains(err.Error(), "no leave to decrypt") {
			t.Errorf("%v: %v", members, err)
		}
	}
}

// TestMappingWaits is about a mapping that is on its way: it is as declared when Lambda reads the source, and deleted
// when Lambda no longer shows it.
func TestMappingWaits(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), quickMapping()
	w.withFunctions(t)
	w.like.looks(obj{"State": "Creating"}, obj{"State": "Enabling"})
	var notes []string
	note := reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }}
	out, err := kind.Settle(t.Context(), w.Job(t, kind, plainMapping(nil), nil), note)
	if err != nil || !slices.Equal(notes, []string{"the mapping is creating", "the mapping is enabling"}) {
		t.Fatalf("told %q: %v", notes, err)
	}
	w.Server.Reset()
	w.like.looks(obj{"State": "Enabled"}, obj{"State": "Deleting"})
	stale := w.Server.Inject(awstest.Fault{Op: "Lambda.GET /*/event-source-mappings/*", Kind: awstest.Stale, Nth: 2})
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	calls := w.Server.Calls()
	if last := calls[len(calls)-1]; !strings.Contains(last.URI, "/event-source-mappings/") || last.Status != http.StatusNotFound {
		t.Errorf("the deletion ends with %s, which is answered %d", last.URI, last.Status)
	}
	if have := w.Wrote(); len(have) != 1 || stale.Fired() != 1 || len(w.mappings(t)) != 0 {
		t.Errorf("wrote %v, mappings %v", have, w.mappings(t))
	}
}

// TestMappingFaults breaks the creation of a mapping, which has no name and no token: it is found by its function and source.
func TestMappingFaults(t *testing.T) {
	t.Parallel()
	const create = "Lambda.POST /*/event-source-mappings"
	awstest.Faults(t, having((*world).withFunctions), quickMapping(), plainMapping(nil), (*world).mappings, awstest.Broken{
		{"the answer is lost", awstest.Fault{Op: create, Kind: awstest.DropAnswer}, 1},
		{"it never arrives", awstest.Fault{Op: create, Kind: awstest.CutBefore}, 2},
		{"the role has not its grants yet", awstest.Fault{Op: create, Kind: awstest.Refuse, Code: "InvalidParameterValueException", Times: 2}, 3},
		{"another one is just being deleted", awstest.Fault{Op: create, Kind: awstest.Refuse, Code: "ResourceConflictException", Status: 409}, 2},
	})
}

// TestSeveralMappings is about two of the same function and source: the owner tag tells which is ours, and without one
// nothing does.
func TestSeveralMappings(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), quickMapping()
	w.withFunctions(t)
	props := with(obj{}, kafka(nil))
	if _, err := kind.Settle(t.Context(), w.Job(t, kind, props, nil), reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	var want EventSourceMappingProps
	out, err := kind.Look(t.Context(), w.Job(t, kind, props, nil))
	if err != nil {
		t.Fatal(err)
	}
	want = EventSourceMappingProps{
		Function: aws.ARN(functionNamed("theirs")), Servers: []string{"a.example:9092", "b.example:9092"}, Topics: []string{"orders"}, ConsumerGroupID: "shop",
		StartingPosition: new("TRIM_HORIZON"),
	}
	mappingTable.Default(&want)
	for range 2 {
		in, err := creation(want)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Others.CreateEventSourceMapping(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, props, nil))
	if err != nil || look.Identity != out.Identity {
		t.Errorf("found %s, want %s: %v", look.Identity, out.Identity, err)
	}
	if _, err := w.Others.DeleteEventSourceMapping(t.Context(), &sdk.DeleteEventSourceMappingInput{UUID: new(idOf(out.Identity))}); err != nil {
		t.Fatal(err)
	}
	if _, err := kind.Look(t.Context(), w.Job(t, kind, props, nil)); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("two of others: %v", err)
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	awstest.Elsewhere(t, newWorld, plainFunction(), "arn:aws:lambda:eu-west-1:"+account+":function:worker",
		func(string) []string { return []string{"shop-test-worker"} })
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	awstest.Discovered(t, newWorld, Service(), plainFunction(), "shop-test-worker")
}
