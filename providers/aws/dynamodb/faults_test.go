package dynamodb

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	props := tuned()
	delete(props, "name")
	out := w.Settled(t, props, nil)
	want := []string{
		"DynamoDB.CreateTable", "DynamoDB.UpdateTimeToLive", "DynamoDB.UpdateContinuousBackups", "DynamoDB.UpdateContributorInsights",
		"DynamoDB.UpdateContributorInsights", "DynamoDB.EnableKinesisStreamingDestination",
	}
	if have := w.Wrote(); !slices.Equal(have, want) {
		t.Errorf("a creation with everything makes %v, want %v", have, want)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 {
		t.Errorf("unchanged, and %v are made", have)
	}
	if n := len(w.Server.Calls()); n != 8 {
		t.Errorf("a look at everything makes %d calls, want 8", n)
	}
	plain := newWorld(t)
	out = plain.Settled(t, obj{"partitionKey": "id"}, nil)
	plain.Server.Reset()
	plain.Settled(t, obj{"partitionKey": "id"}, &out)
	if n := len(plain.Server.Calls()); n != 6 {
		t.Errorf("a look at a plain table makes %d calls, want 6", n)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(tableKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one table, made by as few calls as can be.
func TestFaults(t *testing.T) {
	t.Parallel()
	awstest.Faults(t, newWorld, quick(), obj{"partitionKey": "id", "ttlAttribute": "until"}, (*world).tables, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: "DynamoDB.CreateTable", Kind: awstest.DropAnswer}, 2},
		{"the creation never arrives", awstest.Fault{Op: "DynamoDB.CreateTable", Kind: awstest.CutBefore}, 3},
		{"the creation is throttled twice", awstest.Fault{Op: "DynamoDB.CreateTable", Kind: awstest.Throttle, Times: 2}, 4},
		{"the creation meets an error of the service", awstest.Fault{Op: "DynamoDB.CreateTable", Kind: awstest.ServerError}, 3},
		{"reads are throttled", awstest.Fault{Op: "DynamoDB.Describe*", Kind: awstest.Throttle, Times: 2}, 2},
		{"an answer to a read is lost", awstest.Fault{Op: "DynamoDB.DescribeContinuousBackups", Kind: awstest.DropAnswer}, 2},
		{"the tags cannot be read at first", awstest.Fault{Op: "DynamoDB.ListTagsOfResource", Kind: awstest.ServerError}, 2},
		{"the items cannot be read at first", awstest.Fault{Op: "DynamoDB.Scan", Kind: awstest.ServerError}, 2},
		{"the table is not shown at first", awstest.Fault{Op: "DynamoDB.DescribeTable", Kind: awstest.Stale, Nth: 2, Times: 2}, 2},
		{"its tags are not shown at first", awstest.Fault{Op: "DynamoDB.ListTagsOfResource", Kind: awstest.Stale}, 3},
		{"the time to live is lost", awstest.Fault{Op: "DynamoDB.UpdateTimeToLive", Kind: awstest.DropAnswer}, 2},
		{"the time to live is throttled", awstest.Fault{Op: "DynamoDB.UpdateTimeToLive", Kind: awstest.Throttle}, 3},
	})
}

func TestDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newWorld, obj{"partitionKey": "id"},
		"DynamoDB.DescribeTable", "DynamoDB.CreateTable", "DynamoDB.ListTagsOfResource", "DynamoDB.Scan", "DynamoDB.GetResourcePolicy")
}

// TestSlow is about a table that is CREATING, UPDATING and DELETING for a while: nothing is asked of it meanwhile.
func TestSlow(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), tableKind.Erase()
	w.like.slow = 3
	var notes []string
	props := obj{"partitionKey": "id", "ttlAttribute": "until"}
	out, err := kind.Settle(t.Context(), w.Job(t, kind, props, nil), reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }})
	if err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); len(have) != 2 || !slices.Contains(notes, "the table is CREATING") {
		t.Errorf("wrote %v, told %q", have, notes)
	}
	w.Server.Reset()
	job := w.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"DynamoDB.DeleteTable"}) || len(w.tables(t)) != 0 {
		t.Errorf("wrote %v, tables %v", have, w.tables(t))
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), tableKind.Erase()
	props := obj{"partitionKey": "id", "deletionProtection": true, "contributorInsights": "THROTTLED_KEYS"}
	out := w.Settled(t, props, nil)
	job := w.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) || !strings.Contains(err.Error(), "deletion protection") {
		t.Errorf("a protected table deleted without leave: %v", err)
	}
	delete(props, "deletionProtection")
	out = w.Settled(t, props, &out)
	if out.Holds {
		t.Error("an empty table holds data")
	}
	if _, err := w.Others.PutItem(t.Context(), &sdk.PutItemInput{TableName: new("shop-test-orders"), Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "x"}}}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, props, &out))
	if err != nil || !look.Holds {
		t.Errorf("a table with an item that is not counted yet holds data: %v, %v", look.Holds, err)
	}
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("deleted without leave: %v", err)
	}
	props["deletionProtection"] = true
	out = w.Settled(t, props, &out)
	job = w.Job(t, kind, nil, &out)
	job.MayDelete = true
	w.Server.Reset()
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	// The rules of insights would outlive the table.
	if have, want := w.Wrote(), []string{"DynamoDB.UpdateTable", "DynamoDB.UpdateContributorInsights", "DynamoDB.DeleteTable"}; !slices.Equal(have, want) {
		t.Errorf("wrote %v, want %v", have, want)
	}
	job.MayDelete = false
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}

// TestStream is about a stream of another type: the one goes, the other comes with an ARN of its own.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out := w.Settled(t, obj{"partitionKey": "id", "streamViewType": "KEYS_ONLY"}, nil)
	first, _ := out.Attrs["streamArn"].(string)
	w.like.slow = 1
	w.Server.Reset()
	out = w.Settled(t, obj{"partitionKey": "id", "streamViewType": "NEW_IMAGE"}, &out)
	second, _ := out.Attrs["streamArn"].(string)
	if have := w.Wrote(); len(have) != 2 || first == "" || second == "" || first == second {
		t.Errorf("wrote %v, and stream %q became %q", have, first, second)
	}
	out = w.Settled(t, obj{"partitionKey": "id"}, &out)
	if out.Attrs["streamArn"] != "" {
		t.Errorf("there is no stream, and it is %v", out.Attrs["streamArn"])
	}
}

// TestTTL is about changes that DynamoDB takes once in an hour.
func TestTTL(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), tableKind.Erase()
	out := w.Settled(t, obj{"partitionKey": "id", "ttlAttribute": "one"}, nil)
	w.Server.Reset()
	out = w.Settled(t, obj{"partitionKey": "id", "ttlAttribute": "two"}, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"DynamoDB.UpdateTimeToLive", "DynamoDB.UpdateTimeToLive"}) {
		t.Errorf("wrote %v", have)
	}
	w.Server.Inject(awstest.Fault{Op: "DynamoDB.UpdateTimeToLive", Kind: awstest.Refuse, Code: "ValidationException"})
	_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"partitionKey": "id"}, &out), reconcile.Hooks{})
	if hints := reconcile.Hints(err); w.Cloud.Classify(err) != reconcile.Invalid || len(hints) != 1 || !strings.Contains(hints[0], "an hour") {
		t.Errorf("%v with %q", err, hints)
	}
	// Which is being turned off is waited for, and not asked of again.
	op := setTTL(TableProps{TTLAttribute: "two"})
	place, _ := w.Cloud.Place(t.Context())
	w.Server.Reset()
	err = op.Do(t.Context(), reconcile.Update[liveTable]{Facts: reconcile.Facts{Cloud: w.Cloud, Location: place}, Live: liveTable{ttl: types.TimeToLiveStatusDisabling}})
	if w.Cloud.Classify(err) != reconcile.Busy || len(w.Wrote()) > 0 {
		t.Errorf("%v, and %v were made", err, w.Wrote())
	}
}

// TestBilling goes to a capacity and back: one call each, with that of all indexes.
func TestBilling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	index := obj{"owner": obj{"partitionKey": list{"owner"}}, "place": obj{"partitionKey": list{"place"}}}
	out := w.Settled(t, obj{"partitionKey": "id", "globalSecondaryIndexes": index}, nil)
	with := obj{"partitionKey": "id", "provisionedThroughput": units(3, 4), "globalSecondaryIndexes": obj{
		"owner": obj{"partitionKey": list{"owner"}, "provisionedThroughput": units(1, 1)}, "place": obj{"partitionKey": list{"place"}},
	}}
	w.Server.Reset()
	out = w.Settled(t, with, &out)
	if have := w.updates(); !slices.Equal(have, []string{"Update owner and Update place"}) {
		t.Errorf("calls %q", have)
	}
	// An index alone, and then only that.
	with["globalSecondaryIndexes"].(obj)["place"].(obj)["provisionedThroughput"] = units(9, 9)
	w.Server.Reset()
	out = w.Settled(t, with, &out)
	if have := w.updates(); !slices.Equal(have, []string{"Update place"}) {
		t.Errorf("calls %q", have)
	}
	w.Server.Reset()
	w.Settled(t, obj{"partitionKey": "id", "globalSecondaryIndexes": index}, &out)
	if have := w.updates(); !slices.Equal(have, []string{""}) {
		t.Errorf("calls %q", have)
	}
}

// TestWarm raises what is less, and leaves alone what is more.
func TestWarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	warm := func(reads, writes int64) obj {
		heat := obj{"readUnitsPerSecond": reads, "writeUnitsPerSecond": writes}
		return obj{"partitionKey": "id", "warmThroughput": heat, "globalSecondaryIndexes": obj{"owner": obj{"partitionKey": list{"owner"}, "warmThroughput": heat}}}
	}
	out := w.Settled(t, warm(13000, 5000), nil)
	for _, c := range []struct {
		reads, writes int64
		calls         int
	}{{13000, 5000, 0}, {12000, 4000, 0}, {14000, 5000, 1}, {14000, 6000, 1}} {
		w.Server.Reset()
		out = w.Settled(t, warm(c.reads, c.writes), &out)
		if have := w.Wrote(); len(have) != c.calls {
			t.Errorf("%d and %d: wrote %v, want %d calls", c.reads, c.writes, have, c.calls)
		}
	}
}

// TestKeyOutOfReach: DynamoDB archives a table whose key it cannot use, and until somebody helps nothing can be done.
func TestKeyOutOfReach(t *testing.T) {
	t.Parallel()
	live := liveTable{status: "INACCESSIBLE_ENCRYPTION_CREDENTIALS"}
	if live.busy() != "" || !strings.Contains(live.waiting(), "enable the key") {
		t.Errorf("busy %q, waiting %q", live.busy(), live.waiting())
	}
	if live.reads(); !live.items {
		t.Error("what cannot be seen is taken for empty")
	}
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	awstest.Elsewhere(t, newWorld, obj{"partitionKey": "id"}, "arn:aws:dynamodb:eu-west-1:"+account+":table/shop-test-orders",
		func(string) []string { return []string{"shop-test-orders"} })
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	awstest.Discovered(t, newWorld, Service(), obj{"partitionKey": "id", "streamViewType": "KEYS_ONLY"}, "shop-test-orders")
	for _, other := range []string{arn("x") + "/stream/2026", arn("x") + "/index/y", "arn:aws:dynamodb::1:global-table/x"} {
		if _, _, _, ok := Service().Match(aws.ARN(other)); ok {
			t.Errorf("%s counts as a table", other)
		}
	}
}

// TestOtherBases is about props that only some tables can have: each is changed alone, there and back, and cut.
func TestOtherBases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base     obj
		variants []kindtest.Variant
		silent   map[tree.Path]string
	}{
		"typed": {
			obj{"partitionKey": "id", "sortKey": "line", "attributes": obj{"when": "N"}, "globalSecondaryIndexes": obj{"index": obj{"partitionKey": list{"when"}}}},
			[]kindtest.Variant{{Name: "retyped", Props: obj{
				"partitionKey": "id", "sortKey": "line", "attributes": obj{"when": "B"}, "globalSecondaryIndexes": obj{"index": obj{"partitionKey": list{"when"}}},
			}}},
			nil,
		},
		"local": {
			obj{"partitionKey": "id", "sortKey": "line", "localSecondaryIndexes": obj{"local": obj{"sortKey": "state"}}},
			[]kindtest.Variant{
				{Name: "other", Props: obj{"partitionKey": "id", "sortKey": "line", "localSecondaryIndexes": obj{"local": obj{"sortKey": "state", "projection": "KEYS_ONLY"}}}},
				{Name: "none", Props: obj{"partitionKey": "id", "sortKey": "line"}},
			},
			nil,
		},
		"backed up": {
			obj{"partitionKey": "id", "pointInTimeRecovery": true},
			[]kindtest.Variant{{Name: "for a week", Props: obj{"partitionKey": "id", "pointInTimeRecovery": true, "recoveryPeriod": "168h"}}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tableSuite()
			s.Base, s.Variants, s.Silent = c.base, c.variants, c.silent
			kindtest.RunOnly(t, s, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset, kindtest.Crashes, kindtest.Unknown)
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	with := func(more obj) obj {
		p := obj{"partitionKey": "id", "sortKey": "line"}
		maps.Copy(p, more)
		return p
	}
	index := func(more obj) obj {
		x := obj{"partitionKey": list{"owner"}}
		maps.Copy(x, more)
		return with(obj{"globalSecondaryIndexes": obj{"by-owner": x}})
	}
	kindtest.Refuses(t, tableKind.Erase(), kindtest.Refusals{
		{obj{}, "partitionKey: is required"},
		{with(obj{"name": "a"}), "want 3 to 255"},
		{with(obj{"name": "a b c"}), "want 3 to 255"},
		{with(obj{"sortKey": "id"}), "another attribute than the partition key"},
		{with(obj{"attributes": obj{"other": "S"}}), "no key of the table"},
		{with(obj{"attributes": obj{"id": "X"}}), "want S for text"},
		{index(obj{"projection": "INCLUDE"}), "INCLUDE needs attributes"},
		{index(obj{"projection": "ALL", "nonKeyAttributes": list{"a"}}), "INCLUDE needs attributes"},
		{index(obj{"partitionKey": list{"a", "b", "c", "d", "e"}}), "one to four"},
		{index(obj{"sortKey": list{"a", "b", "c", "d", "e"}}), "at most four"},
		{index(obj{"provisionedThroughput": units(1, 1)}), "billed by request"},
		{index(obj{"onDemandThroughput": obj{}}), "maxReadRequestUnits, maxWriteRequestUnits or both"},
		{with(obj{"provisionedThroughput": units(1, 1), "onDemandThroughput": obj{"maxReadRequestUnits": int64(1)}}), "not billed by request"},
		{with(obj{"globalSecondaryIndexes": obj{"x": obj{"partitionKey": list{"a"}}}}), "want a name of 3"},
		{obj{"partitionKey": "id", "localSecondaryIndexes": obj{"loc": obj{"sortKey": "a"}}}, "no sort key"},
		{with(obj{"localSecondaryIndexes": obj{"loc": obj{"sortKey": "line"}}}), "sort key of the table"},
		{with(obj{"recoveryPeriod": "36h"}), "whole days"},
		{with(obj{"recoveryPeriod": "36d"}), "recoveryPeriod"},
		{with(obj{"kmsKeyArn": "alias/x"}), "want the ARN of a key"},
		{with(obj{"kmsKeyArn": key("x"), "awsManagedKey": true}), "either"},
		{with(obj{"streamViewType": "ALL"}), "want one of"},
		{with(obj{"tags": obj{"aws:x": "x"}}), "not for authors"},
		{tuned(), ""},
	})
}
