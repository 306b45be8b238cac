package cloudcontrol

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
	"github.com/athanor-dev/athanor/reconcile"
)

const (
	vpcType    = "AWS::EC2::VPC"
	secretType = "AWS::SecretsManager::Secret"
)

func vpc() obj { return obj{"CidrBlock": "10.0.0.0/16"} }

func count(calls []string, op string) int {
	n := 0
	for _, c := range calls {
		if c == op {
			n++
		}
	}
	return n
}

// TestLostAnswer: a creation whose answer is lost is the same request again, and makes one resource, though no look sees
// the first yet.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t)
	w.server.Refuse(controltest.Refusal{Op: "CreateResource", Lost: true})
	w.settled(t, vpcType, vpc(), nil)
	if made := w.server.Find(vpcType); len(made) != 1 {
		t.Errorf("%d were made", len(made))
	}
}

// TestFailedBefore: how a creation went that failed is told once. The next one of the same intent is another request.
func TestFailedBefore(t *testing.T) {
	w := newWorld(t)
	w.server.Refuse(controltest.Refusal{Op: "CreateResource", Code: "ServiceLimitExceeded", Late: true})
	k, job := w.job(t, vpcType, vpc(), nil)
	_, err := k.Settle(t.Context(), job, reconcile.Hooks{})
	handler, ok := errors.AsType[*HandlerError](err)
	if !ok || handler.Code != "ServiceLimitExceeded" || w.cloud.Classify(err) != reconcile.Quota {
		t.Fatalf("%v", err)
	}
	for _, m := range w.server.Find(vpcType) { // what a failed creation leaves is the service's affair
		w.server.Vanish(vpcType, m["VpcId"].(string))
	}
	w.settled(t, vpcType, vpc(), nil)
	if made := w.server.Find(vpcType); len(made) != 1 {
		t.Errorf("%d were made", len(made))
	}
}

// TestBornWhileRunning: the identity is stored while the request runs. A run that is cut there goes on waiting for that
// request, and does not take the half-made object for one that is as declared.
func TestBornWhileRunning(t *testing.T) {
	w := newWorld(t)
	k, job := w.job(t, vpcType, vpc(), nil)
	cut := errors.New("cut")
	var rec reconcile.Outcome
	_, err := k.Settle(t.Context(), job, reconcile.Hooks{Born: func(_ context.Context, id string, attrs map[string]any) error {
		rec.Identity, rec.Attrs = id, attrs
		return cut
	}})
	if !errors.Is(err, cut) || rec.Identity == "" || rec.Attrs[requestKey] == nil {
		t.Fatalf("%+v, %v", rec, err)
	}
	_, job = w.job(t, vpcType, vpc(), &rec)
	var notes []string
	out, err := k.Settle(t.Context(), job, reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }})
	if err != nil || out.Created || out.Identity != rec.Identity {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, left := out.Attrs[requestKey]; left {
		t.Error("the request is over and still among the attributes")
	}
	if count(w.server.Calls(), "CreateResource") != 1 {
		t.Errorf("%v", w.server.Calls())
	}
}

// TestWaitsOut: throttling, a concurrent operation and a lost question about a request are waited out.
func TestWaitsOut(t *testing.T) {
	w := newWorld(t)
	for _, r := range []controltest.Refusal{
		{Op: "CreateResource", Code: "ThrottlingException"},
		{Op: "CreateResource", Code: "ConcurrentOperationException"},
		{Op: "GetResourceRequestStatus", Code: "ThrottlingException"},
		{Op: "GetResourceRequestStatus", Lost: true},
		{Op: "UpdateResource", Code: "ConcurrentOperationException"},
	} {
		w.server.Refuse(r)
	}
	out := w.settled(t, vpcType, vpc(), nil)
	want := vpc()
	want["EnableDnsHostnames"] = true
	w.settled(t, vpcType, want, &out)
	if made := w.server.Find(vpcType); len(made) != 1 || made[0]["EnableDnsHostnames"] != true {
		t.Errorf("%v", made)
	}
}

// TestTaken: a name that somebody else has ends the creation at once where no look would ever find that one.
func TestTaken(t *testing.T) {
	w := newWorld(t)
	w.server.Refuse(controltest.Refusal{Op: "CreateResource", Code: "AlreadyExistsException", Times: -1})
	k, job := w.job(t, secretType, obj{"Name": "taken"}, nil)
	_, err := k.Settle(t.Context(), job, reconcile.Hooks{})
	if err == nil || !aws.IsExists(err) || len(reconcile.Hints(err)) == 0 {
		t.Errorf("%v", err)
	}
}

// TestNotUpdatable: where only the service knows that a change needs a new one, the error says how to ask for it.
func TestNotUpdatable(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, vpcType, vpc(), nil)
	w.server.Refuse(controltest.Refusal{Op: "UpdateResource", Code: "NotUpdatable", Late: true})
	want := vpc()
	want["InstanceTenancy"] = "dedicated"
	k, job := w.job(t, vpcType, want, &out)
	_, err := k.Settle(t.Context(), job, reconcile.Hooks{})
	if hints := reconcile.Hints(err); err == nil || len(hints) == 0 || !strings.Contains(hints[0], "replaceOn: [InstanceTenancy]") {
		t.Errorf("%v, %q", err, hints)
	}
}

// TestWriteOnlyGoesAlong: what can only be written is sent with every other change, or the handler would take it away.
func TestWriteOnlyGoesAlong(t *testing.T) {
	w := newWorld(t)
	declared := obj{"SecretString": "one", "Description": "a"}
	out := w.settled(t, secretType, declared, nil)
	k, job := w.job(t, secretType, obj{"SecretString": "one", "Description": "b"}, &out)
	job.Had, job.Written = declared, out.Written
	if _, err := k.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if made := w.server.Find(secretType); made[0]["SecretString"] != "one" || made[0]["Description"] != "b" {
		t.Errorf("%v", made)
	}
}

// TestHoldsData: what keeps users' data is not deleted without leave.
func TestHoldsData(t *testing.T) {
	w := newWorld(t)
	out := w.settled(t, secretType, obj{}, nil)
	k, job := w.job(t, secretType, nil, &out)
	look, err := k.Look(t.Context(), job)
	if err != nil || !look.Holds {
		t.Errorf("%+v, %v", look, err)
	}
	if err := k.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("%v", err)
	}
	job.MayDelete = true
	if err := k.Delete(t.Context(), job); err != nil || len(w.server.Find(secretType)) != 0 {
		t.Errorf("%v, %v", err, w.server.Find(secretType))
	}
}

// TestSameOwnerTag checks that the other generation with the same owner tag does not count while one is made.
func TestSameOwnerTag(t *testing.T) {
	w := newWorld(t)
	w.settled(t, vpcType, vpc(), nil)
	k, job := w.job(t, vpcType, vpc(), nil)
	job.Mark.Generation = 2
	look, err := k.Look(t.Context(), job)
	if err != nil || !look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
	job.Nonce = "" // no intent: every object with the owner tag is ours
	if look, err = k.Look(t.Context(), job); err != nil || look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestAmbiguous: two that nothing tells apart are refused.
func TestAmbiguous(t *testing.T) {
	w := newWorld(t)
	typ, props := "AWS::EC2::SubnetRouteTableAssociation", obj{"SubnetId": "subnet-1", "RouteTableId": "rtb-1"}
	w.server.Put(typ, props)
	k, job := w.job(t, typ, props, nil)
	if look, err := k.Look(t.Context(), job); err != nil || look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
	w.server.Put(typ, props)
	if _, err := k.Look(t.Context(), job); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("%v", err)
	}
}

// TestNoCallForNothing checks that a first read costs one call where the owner tag finds objects, and one where the
// name does.
func TestNoCallForNothing(t *testing.T) {
	w := newWorld(t)
	for typ, want := range map[string][]string{vpcType: {"GetResources"}, "AWS::ECS::Cluster": {"GetResource"}} {
		w.server.Reset()
		k, job := w.job(t, typ, obj{}, nil)
		job.Name = "shop-test-thing"
		if look, err := k.Look(t.Context(), job); err != nil || !look.Absent {
			t.Errorf("%s: %+v, %v", typ, look, err)
		}
		if calls := w.server.Calls(); !slices.Equal(calls, want) {
			t.Errorf("%s: %v, want %v", typ, calls, want)
		}
	}
}

// TestMatch: what discovery finds by its ARN.
func TestMatch(t *testing.T) {
	for arn, want := range map[aws.ARN][2]string{
		"arn:aws:ec2:eu-north-1:111122223333:vpc/vpc-1":                   {vpcType, "vpc-1"},
		"arn:aws:ec2:eu-north-1:111122223333:security-group/sg-1":         {"AWS::EC2::SecurityGroup", "sg-1"},
		"arn:aws:ecs:eu-north-1:111122223333:cluster/shop":                {"AWS::ECS::Cluster", "shop"},
		"arn:aws:ec2:eu-north-1:111122223333:elastic-ip/eipalloc-1":       {"", ""}, // half of its identity
		"arn:aws:nothing:eu-north-1:111122223333:thing/one":               {"", ""},
		"arn:aws:rds:eu-north-1:111122223333:subgrp:shop":                 {"AWS::RDS::DBSubnetGroup", "shop"},
		"arn:aws:secretsmanager:eu-north-1:111122223333:secret:shop-AbCd": {secretType, "arn:aws:secretsmanager:eu-north-1:111122223333:secret:shop-AbCd"},
	} {
		kind, identity, _, ok := match(arn)
		if kind != want[0] || identity != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %s %s %v", arn, kind, identity, ok)
		}
	}
}
