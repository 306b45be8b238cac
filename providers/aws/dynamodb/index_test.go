package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// before and after are a table whose indexes change all at once: three come, one changes, one goes.
func before() obj {
	return obj{"partitionKey": "id", "attributes": obj{"when": "N"}, "globalSecondaryIndexes": obj{
		"kept":    obj{"partitionKey": list{"owner"}},
		"changed": obj{"partitionKey": list{"owner"}, "sortKey": list{"when"}},
		"dropped": obj{"partitionKey": list{"place"}},
	}}
}

func after() obj {
	return obj{"partitionKey": "id", "attributes": obj{"day": "N", "when": "N"}, "globalSecondaryIndexes": obj{
		"kept":    obj{"partitionKey": list{"owner"}},
		"changed": obj{"partitionKey": list{"owner"}, "sortKey": list{"when"}, "projection": "KEYS_ONLY"},
		"one":     obj{"partitionKey": list{"day"}},
		"two":     obj{"partitionKey": list{"day"}, "sortKey": list{"when"}, "nonKeyAttributes": list{"total"}},
		"three":   obj{"partitionKey": list{"shop", "day"}},
	}}
}

// updates are what each UpdateTable that reached the proxy asked of indexes: "Create one".
func (w *world) updates() []string {
	var all []string
	for _, c := range w.Server.Mutations() {
		var in struct {
			GlobalSecondaryIndexUpdates []map[string]struct{ IndexName string }
		}
		if err := json.Unmarshal(c.Body, &in); err != nil {
			panic(err)
		}
		var asks []string
		for _, u := range in.GlobalSecondaryIndexUpdates {
			for what, index := range u {
				asks = append(asks, what+" "+index.IndexName)
			}
		}
		if c.Operation == "UpdateTable" {
			all = append(all, strings.Join(asks, " and "))
		} else {
			all = append(all, c.Operation)
		}
	}
	return all
}

// filled is a table with items, and when it was made.
func (w *world) filled(t *testing.T, props obj) (reconcile.Outcome, time.Time) {
	t.Helper()
	out := w.Settled(t, props, nil)
	for n := range 3 {
		if _, err := w.Others.PutItem(t.Context(), &sdk.PutItemInput{TableName: new("shop-test-orders"), Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: fmt.Sprint(n)}, "owner": &types.AttributeValueMemberS{Value: "me"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return out, w.made(t)
}

func (w *world) made(t *testing.T) time.Time {
	t.Helper()
	out, err := w.Others.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: new("shop-test-orders")})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Table.CreationDateTime
}

// kept fails the test unless it is the same table, with the same items.
func (w *world) kept(t *testing.T, made time.Time) {
	t.Helper()
	out, err := w.Others.Scan(t.Context(), &sdk.ScanInput{TableName: new("shop-test-orders")})
	if err != nil || out.Count != 3 {
		t.Errorf("%d items of 3 (%v)", out.Count, err)
	}
	if now := w.made(t); !now.Equal(made) {
		t.Errorf("the table was made at %s, and it was at %s", now, made)
	}
}

var oneAtATime = []string{"Delete changed", "Delete dropped", "Create changed", "Create one", "Create three", "Create two"}

// TestIndexes is the story of one deploy: each index is one call, made when the one before it is done, and the table and
// its items are what they were.
func TestIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, made := w.filled(t, before())
	w.like.slow = 2
	w.Server.Reset()
	again := w.Settled(t, after(), &out)
	if have := w.updates(); !slices.Equal(have, oneAtATime) {
		t.Errorf("calls %q, want %q", have, oneAtATime)
	}
	for _, c := range w.Server.Calls() {
		if c.Status != 200 && c.Operation != "GetResourcePolicy" {
			t.Errorf("%s was answered with %d", c.Name(), c.Status)
		}
	}
	if again.Identity != out.Identity {
		t.Errorf("identity %s became %s", out.Identity, again.Identity)
	}
	w.kept(t, made)
	t.Logf("%d calls, %d of them reads", len(w.Server.Calls()), len(w.Server.Calls())-len(oneAtATime))

	calm := newWorld(t)
	calm.Settled(t, after(), nil)
	if have, want := text(w.tables(t)), text(calm.tables(t)); string(have) != string(want) {
		t.Errorf("the table is\n%s\nand made so at once\n%s", have, want)
	}
}

// TestIndexPlan is about what a plan says of it.
func TestIndexPlan(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), tableKind.Erase()
	out, _ := w.filled(t, before())
	look, err := kind.Look(t.Context(), w.Job(t, kind, after(), &out))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, s := range look.Steps {
		said = append(said, string(s.Path)+": "+s.Note)
		if s.Replaces {
			t.Errorf("%s replaces the table", s.Path)
		}
	}
	want := []string{
		"globalSecondaryIndexes.changed.projection: " + anew, "globalSecondaryIndexes.dropped: ", "globalSecondaryIndexes.one: ",
		"globalSecondaryIndexes.three: ", "globalSecondaryIndexes.two: ",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

// stopper cuts a run before or after one of its changing calls.
type stopper struct {
	left  int
	after bool
	cut   bool
}

var errCut = errors.New("cut")

func (s *stopper) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	if s.cut {
		return nil, &reconcile.StopError{Err: errCut}
	}
	if !call.Mutates {
		return func(error) {}, nil
	}
	if s.left--; s.left > 0 {
		return func(error) {}, nil
	}
	if !s.after {
		s.cut = true
		return nil, &reconcile.StopError{Err: errCut}
	}
	return func(error) { s.cut = true }, nil
}

// TestIndexesCut cuts that deploy at every call, before and after it in turns, and runs it again: every call is made once all the same.
func TestIndexesCut(t *testing.T) {
	t.Parallel()
	kind := tableKind.Erase()
	for at := 1; at <= len(oneAtATime); at++ {
		for _, after1 := range []bool{false, true} {
			if !proctest.Whole() && after1 != (at%2 == 0) {
				continue
			}
			w := newWorld(t)
			out, made := w.filled(t, before())
			w.like.slow = 1
			w.Server.Reset()
			gate := &stopper{left: at, after: after1}
			if _, err := kind.Settle(reconcile.WithGate(t.Context(), gate), w.Job(t, kind, after(), &out), reconcile.Hooks{}); !errors.Is(err, errCut) {
				t.Fatalf("cut at %d: %v", at, err)
			}
			w.Settled(t, after(), &out)
			if have := w.updates(); !slices.Equal(have, oneAtATime) {
				t.Errorf("cut at %d, after it %v: calls %q", at, after1, have)
			}
			w.kept(t, made)
		}
	}
}

// TestIndexFaults breaks the calls of that deploy on their way.
func TestIndexFaults(t *testing.T) {
	t.Parallel()
	calm := newWorld(t)
	calm.Settled(t, after(), nil)
	want := text(calm.tables(t))
	for _, kind := range awstest.Ways() {
		for nth := 1; nth <= len(oneAtATime); nth++ {
			if !awstest.Played(kind, nth) {
				continue
			}
			w := newWorld(t)
			out, made := w.filled(t, before())
			armed := w.Server.Inject(awstest.Fault{Op: "DynamoDB.UpdateTable", Kind: kind, Nth: nth})
			w.Settled(t, after(), &out)
			if armed.Fired() != 1 {
				t.Errorf("%s at %d did not happen", kind, nth)
			}
			if have := text(w.tables(t)); string(have) != string(want) {
				t.Errorf("%s at %d: the table is\n%s\nand not\n%s", kind, nth, have, want)
			}
			w.kept(t, made)
		}
	}
}

// TestIndexShownLate is about a change that reads do not show for a while: it is not made twice.
func TestIndexShownLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, made := w.filled(t, before())
	w.Server.Reset()
	stale := w.Server.Inject(awstest.Fault{Op: "DynamoDB.DescribeTable", Kind: awstest.Stale, Nth: 2, Times: 2})
	w.Settled(t, after(), &out)
	if have := w.updates(); !slices.Equal(have, oneAtATime) || stale.Fired() != 2 {
		t.Errorf("calls %q after %d old answers", have, stale.Fired())
	}
	w.kept(t, made)
}

// TestKeyType: an attribute that indexes alone have as a key gets another type by making them anew, all of them deleted
// before the first comes.
func TestKeyType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	props := obj{"partitionKey": "id", "attributes": obj{"when": "N"}, "globalSecondaryIndexes": obj{
		"one": obj{"partitionKey": list{"when"}}, "two": obj{"partitionKey": list{"owner"}, "sortKey": list{"when"}},
	}}
	out, made := w.filled(t, props)
	props["attributes"] = obj{"when": "S"}
	w.like.slow = 1
	w.Server.Reset()
	kindtest.Settled(t, quick(), w.Job(t, quick(), props, &out))
	if have, want := w.updates(), []string{"Delete one", "Delete two", "Create one", "Create two"}; !slices.Equal(have, want) {
		t.Errorf("calls %q, want %q", have, want)
	}
	w.kept(t, made)
}

// TestNeverByIndex: what replaces a table is its name, its keys, their types and its local indexes, and with items in it
// that needs leave.
func TestNeverByIndex(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), tableKind.Erase()
	base := func() obj {
		return obj{"partitionKey": "id", "sortKey": "line", "localSecondaryIndexes": obj{"by-state": obj{"sortKey": "state"}}}
	}
	out := w.Settled(t, base(), nil)
	for path, change := range map[string]func(obj){
		"partitionKey":          func(p obj) { p["partitionKey"] = "other" },
		"sortKey":               func(p obj) { p["sortKey"] = "other" },
		"attributes.id":         func(p obj) { p["attributes"] = obj{"id": "N"} },
		"attributes.state":      func(p obj) { p["attributes"] = obj{"state": "N"} },
		"localSecondaryIndexes": func(p obj) { delete(p, "localSecondaryIndexes") },
		"":                      func(p obj) { p["globalSecondaryIndexes"] = obj{"new": obj{"partitionKey": list{"state"}}} },
	} {
		props := base()
		change(props)
		look, err := kind.Look(t.Context(), w.Job(t, kind, props, &out))
		if err != nil {
			t.Fatal(err)
		}
		replaces := look.Replaces()
		if path == "" && (len(replaces) > 0 || len(look.Steps) != 1) {
			t.Errorf("an index replaces: %v of %v", replaces, look.Steps)
		}
		if path != "" && (len(replaces) != 1 || !strings.HasPrefix(string(replaces[0].Path), path)) {
			t.Errorf("%s replaces by %v", path, replaces)
		}
	}
}
