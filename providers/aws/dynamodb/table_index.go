package dynamodb

import (
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// anew is what a plan says of an index whose keys or projection change.
const anew = "the index is deleted and made again, the table stays; queries of the index fail until it is filled"

// compareGlobalIndexes states which indexes there are, with keys and projection. All that go, or go to come again, go
// before others come: an attribute has one type in all of them.
func compareGlobalIndexes(d *tableDiff, want, have TableProps) {
	drops := map[string]*tableOp{}
	for name := range have.GlobalSecondaryIndexes {
		note := ""
		if _, wanted := want.GlobalSecondaryIndexes[name]; wanted {
			note = anew
		}
		drops[name] = dropIndex(name, note)
	}
	compareTypes(d, want, have, func(attribute string) *tableOp {
		for _, name := range slices.Sorted(maps.Keys(have.GlobalSecondaryIndexes)) {
			if x := have.GlobalSecondaryIndexes[name]; slices.Contains(slices.Concat(x.PartitionKey, x.SortKey), attribute) {
				return drops[name]
			}
		}
		return nil // none but those of indexes come here
	})
	for _, name := range names(want.GlobalSecondaryIndexes, have.GlobalSecondaryIndexes) {
		path := tree.Path("globalSecondaryIndexes").Key(name)
		w, wanted := want.GlobalSecondaryIndexes[name]
		h, there := have.GlobalSecondaryIndexes[name]
		h.WarmThroughput = nil // it is as it is
		switch {
		case there && !wanted:
			reconcile.Value(d, path, nil, &h, drops[name])
		case there:
			compareIndex(d, path, w, h, drops[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.GlobalSecondaryIndexes)) {
		if _, there := have.GlobalSecondaryIndexes[name]; !there {
			w := want.GlobalSecondaryIndexes[name]
			reconcile.Value(d, tree.Path("globalSecondaryIndexes").Key(name), &w, nil, makeIndex(want, name))
		}
	}
}

// compareIndex states keys and projection. What else differs of an index that is made anew comes with it.
func compareIndex(d *tableDiff, path tree.Path, w, h GlobalSecondaryIndex, call *tableOp) {
	reconcile.List(d, path.Key("partitionKey"), w.PartitionKey, h.PartitionKey, call)
	reconcile.List(d, path.Key("sortKey"), w.SortKey, h.SortKey, call)
	reconcile.Value(d, path.Key("projection"), *w.Projection, *h.Projection, call)
	reconcile.List(d, path.Key("nonKeyAttributes"), unordered(w.NonKeyAttributes), unordered(h.NonKeyAttributes), call)
	if !remade(d, path, w, h) {
		return
	}
	if w.ProvisionedThroughput != nil && h.ProvisionedThroughput != nil {
		reconcile.Value(d, path.Key("provisionedThroughput"), w.ProvisionedThroughput, h.ProvisionedThroughput, call)
	}
	if w.ProvisionedThroughput == nil {
		reconcile.Value(d, path.Key("onDemandThroughput"), w.OnDemandThroughput, h.OnDemandThroughput, call)
	}
	reconcile.Value(d, path.Key("contributorInsights"), aws.OrNil(w.ContributorInsights), aws.OrNil(h.ContributorInsights), call)
}

// remade reports an index that must be made anew for sure.
func remade(d *tableDiff, path tree.Path, w, h GlobalSecondaryIndex) bool {
	differs := func(name string, want, have []string) bool {
		list := make([]any, len(want))
		for i, w := range want {
			list[i] = w
		}
		return !d.Unknown(path.Key(name), list) && !slices.Equal(want, have)
	}
	return differs("partitionKey", w.PartitionKey, h.PartitionKey) || differs("sortKey", w.SortKey, h.SortKey) ||
		differs("projection", []string{*w.Projection}, []string{*h.Projection}) ||
		differs("nonKeyAttributes", unordered(w.NonKeyAttributes), unordered(h.NonKeyAttributes))
}

func dropIndex(name, note string) *tableOp {
	return ofIndex(name, update(note, func(in *sdk.UpdateTableInput, _ tableOn) {
		in.GlobalSecondaryIndexUpdates = []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &name}}}
	}))
}

// ofIndex says of an operation that it changes the whole index: one that is deleted is created again, one that was created
// gets its settings.
func ofIndex(name string, op *tableOp) *tableOp {
	op.Affects = []tree.Path{tree.Path("globalSecondaryIndexes").Key(name)}
	return op
}

// makeIndex defines the keys of the index and of what is there beside it: DynamoDB wants them all, and no others.
func makeIndex(want TableProps, name string) *tableOp {
	return ofIndex(name, update("", func(in *sdk.UpdateTableInput, on tableOn) {
		x, used := want.GlobalSecondaryIndexes[name], keysOf(on.Live.have)
		for _, key := range slices.Concat(x.PartitionKey, x.SortKey) {
			used[key] = typeIn(want, key)
		}
		in.AttributeDefinitions = definitions(used)
		in.GlobalSecondaryIndexUpdates = []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: &name, KeySchema: schema(x.PartitionKey, x.SortKey), Projection: projection(x.Projection, x.NonKeyAttributes),
			ProvisionedThroughput: provisioned(capacityOf(want, on.Live.have, x)), OnDemandThroughput: boundsOrNone(x.OnDemandThroughput),
			WarmThroughput: warmth(x.WarmThroughput),
		}}}
	}))
}

// capacityOf: an index has a capacity exactly when the table has one now.
func capacityOf(want, have TableProps, x GlobalSecondaryIndex) *ProvisionedThroughput {
	switch {
	case have.ProvisionedThroughput == nil:
		return nil
	case x.ProvisionedThroughput != nil:
		return x.ProvisionedThroughput
	case want.ProvisionedThroughput != nil:
		return want.ProvisionedThroughput
	}
	return have.ProvisionedThroughput
}

func boundsOrNone(o *OnDemandThroughput) *types.OnDemandThroughput {
	if o == nil {
		return nil
	}
	return bounds(o)
}

func projection(of *string, attributes []string) *types.Projection {
	return &types.Projection{ProjectionType: types.ProjectionType(*of), NonKeyAttributes: attributes}
}
