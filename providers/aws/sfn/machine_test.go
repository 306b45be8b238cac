package sfn

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const groupOne, groupTwo = "arn:aws:logs:us-east-1:111122223333:log-group:/one", "arn:aws:logs:us-east-1:111122223333:log-group:/two"

// passes is a definition of one state.
func passes(state string) obj {
	return obj{"StartAt": state, "States": obj{state: obj{"Type": "Pass", "End": true}}}
}

func TestStateMachine(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	logged := obj{"definition": passes("end"), "role": roleOne, "logLevel": "ERROR", "logGroup": groupOne, "kmsKey": keyOne, "keyReuse": "2m"}
	with := func(more obj) obj {
		all := maps.Clone(logged)
		maps.Copy(all, more)
		return all
	}
	kindtest.Run(t, kindtest.Derive(machineTable, kindtest.Suite{
		Kind:  machineKind.Erase(),
		World: ws.Make(newWorld, (*world).machines),
		Base:  with(obj{"tags": obj{"team": "shop"}}),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: with(obj{
				"definition": passes("stop"), "role": roleTwo, "tracing": true, "logLevel": "ALL", "logData": true, "logGroup": groupTwo,
				"kmsKey": keyTwo, "keyReuse": "10m", "tags": obj{"team": "web", "cost center": "42"},
			})},
			{Name: "named", Props: with(obj{"name": "Checkout_1", "type": "EXPRESS"})},
			{Name: "plain", Props: obj{"role": roleOne, "definition": `{"StartAt":"a","States":{"a":{"Type":"Succeed"}}}`}},
		},
		Hands:  hands(ws),
		Others: map[tree.Path][]any{"definition": {passes("other")}, "role": {"arn:aws:iam::111122223333:role/three"}, "logGroup": {groupTwo}, "kmsKey": {keyTwo}, "keyReuse": {"3m"}},
		Steady: map[tree.Path]string{"name": "a machine keeps its name for life", "type": "a machine keeps its type for life"},
	}))
}

// TestFaults breaks each call of a creation: there is one machine in the end.
func TestFaults(t *testing.T) {
	declared := obj{"name": "checkout", "definition": passes("end"), "role": roleOne, "tags": obj{"team": "shop"}}
	awstest.Faults(t, newWorld, kindtest.Quick(machineKind, 300*time.Millisecond), declared, (*world).machines, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "SFN.CreateStateMachine", Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "SFN.CreateStateMachine", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "a read fails", Fault: awstest.Fault{Op: "SFN.DescribeStateMachine", Kind: awstest.ServerError}, Wrote: 1},
		{Name: "tags are throttled", Fault: awstest.Fault{Op: "SFN.ListTagsForResource", Kind: awstest.Throttle}, Wrote: 1},
	})
}

// TestDenied fails at once, in the words of the service.
func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{"definition": passes("end"), "role": roleOne}, "SFN.CreateStateMachine", "SFN.DescribeStateMachine", "SFN.ListTagsForResource")
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{"name": "checkout", "definition": passes("end"), "role": roleOne},
		"arn:aws:states:eu-west-9:111122223333:stateMachine:checkout", func(string) []string { return []string{"checkout"} })
}

// TestMatch knows machines by their ARNs, and neither versions nor executions.
func TestMatch(t *testing.T) {
	if kind, _, name, ok := Service().Match("arn:aws:states:eu-west-1:111122223333:stateMachine:checkout"); !ok || kind != machineType || name != "checkout" {
		t.Errorf("%s %s %v", kind, name, ok)
	}
	for _, arn := range []aws.ARN{"arn:aws:states:eu-west-1:111122223333:stateMachine:checkout:3", "arn:aws:states:eu-west-1:111122223333:execution:checkout:x"} {
		if _, _, _, ok := Service().Match(arn); ok {
			t.Errorf("%s is none", arn)
		}
	}
}

// TestDeleting: a machine whose executions are still running counts as deleted, and cannot be changed.
func TestDeleting(t *testing.T) {
	live := liveMachine{isDeleting: true}
	if deleted := machineKind.Deletion.(kind.Later[liveMachine]); !deleted(live) || deleted(liveMachine{}) {
		t.Error("it counts as deleted once its deletion was asked for")
	}
	if machineKind.Status(live) == kind.Ready() || machineKind.Status(liveMachine{}) != kind.Ready() {
		t.Error("it cannot be changed while it is being deleted")
	}
}

// TestRefused finds what Step Functions would refuse, before any call.
func TestRefused(t *testing.T) {
	all := "ALL"
	if checkMachine(StateMachineProps{LogLevel: &all}) == nil || checkMachine(StateMachineProps{LogGroup: groupOne}) == nil {
		t.Error("a level and a group go together")
	}
	if err := checkMachine(StateMachineProps{LogLevel: &all, LogGroup: groupOne}); err != nil {
		t.Error(err)
	}
}

// conforms holds each member of a body to the service's description of it.
func conforms(t *testing.T, m *awstest.Model, shape, at string, body map[string]any) {
	t.Helper()
	for name, v := range body {
		member, ok := m.Shapes[shape].Members[name]
		if !ok {
			t.Errorf("%s has no member %s", strings.Trim(at+"."+shape, "."), name)
			continue
		}
		switch inner := v.(type) {
		case map[string]any:
			conforms(t, m, member.Shape, name, inner)
		case kind.Document:
			conforms(t, m, member.Shape, name, inner)
		}
	}
}
