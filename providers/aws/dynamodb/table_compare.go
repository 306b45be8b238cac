package dynamodb

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareTable states every aspect: those that have calls of their own first, then those of UpdateTable, of which
// DynamoDB takes one at a time. Of indexes, what is to go goes before something comes.
func compareTable(d *tableDiff, want TableProps, live liveTable) {
	have := live.have
	compareKeys(d, want, have)
	compareLocalIndexes(d, want.LocalSecondaryIndexes, have.LocalSecondaryIndexes)
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putTags, dropTags)
	compareSettings(d, want, live)
	compareUpdates(d, want, have)
	compareGlobalIndexes(d, want, have)
}

// compareUpdates states what UpdateTable changes, beside indexes.
func compareUpdates(d *tableDiff, want, have TableProps) {
	reconcile.Value(d, "deletionProtection", want.DeletionProtection, have.DeletionProtection, update("", func(in *sdk.UpdateTableInput, _ tableOn) {
		in.DeletionProtectionEnabled = &want.DeletionProtection
	}))
	capacity := setCapacity(want)
	for _, name := range slices.Sorted(maps.Keys(have.GlobalSecondaryIndexes)) { // one that is to be deleted changes with the table, too
		capacity.Affects = append(capacity.Affects, tree.Path("globalSecondaryIndexes").Key(name))
	}
	reconcile.Value(d, "provisionedThroughput", want.ProvisionedThroughput, have.ProvisionedThroughput, capacity)
	if want.ProvisionedThroughput == nil {
		reconcile.Value(d, "onDemandThroughput", want.OnDemandThroughput, have.OnDemandThroughput, capacity)
	}
	// An index's own is changed by the same call. It has one when the table has, and gets it with the table.
	for name, w := range both(want.GlobalSecondaryIndexes, have.GlobalSecondaryIndexes) {
		h, path := have.GlobalSecondaryIndexes[name], tree.Path("globalSecondaryIndexes").Key(name)
		if remade(d, path, w, h) {
			continue
		}
		if want.ProvisionedThroughput != nil && have.ProvisionedThroughput != nil {
			reconcile.Value(d, path.Key("provisionedThroughput"), w.ProvisionedThroughput, h.ProvisionedThroughput, capacity)
		}
		if want.ProvisionedThroughput == nil {
			reconcile.Value(d, path.Key("onDemandThroughput"), w.OnDemandThroughput, h.OnDemandThroughput, capacity)
		}
	}
	reconcile.Value(d, "tableClass", *want.TableClass, *have.TableClass, update("", func(in *sdk.UpdateTableInput, _ tableOn) {
		in.TableClass = types.TableClass(*want.TableClass)
	}))
	compareEncryption(d, want, have)
	reconcile.Value(d, "streamViewType", aws.OrNil(want.StreamViewType), aws.OrNil(have.StreamViewType), setStream(want))
	compareWarm(d, want, have)
}

// compareEncryption states whether there is a key of KMS, and which where that can be told.
func compareEncryption(d *tableDiff, want, have TableProps) {
	set := update("", func(in *sdk.UpdateTableInput, _ tableOn) { in.SSESpecification = encryption(want, true) })
	if want.AWSManagedKey {
		reconcile.Value(d, "awsManagedKey", true, have.KMSKeyARN != "", set)
		if before, _ := d.Had()["kmsKeyArn"].(string); before != "" && before == string(have.KMSKeyARN) {
			reconcile.Dropped(d, "kmsKeyArn", before, set)
		}
		return
	}
	reconcile.Value(d, "kmsKeyArn", aws.OrNil(want.KMSKeyARN), aws.OrNil(have.KMSKeyARN), set)
}

// compareWarm states where less is prepared than is wanted. What is more is left alone: it cannot be lowered.
func compareWarm(d *tableDiff, want, have TableProps) {
	set := setWarm(want)
	if lacks(want.WarmThroughput, have.WarmThroughput) {
		reconcile.Value(d, "warmThroughput", want.WarmThroughput, have.WarmThroughput, set)
	}
	for name, w := range both(want.GlobalSecondaryIndexes, have.GlobalSecondaryIndexes) {
		h, path := have.GlobalSecondaryIndexes[name], tree.Path("globalSecondaryIndexes").Key(name)
		if !remade(d, path, w, h) && lacks(w.WarmThroughput, h.WarmThroughput) {
			reconcile.Value(d, path.Key("warmThroughput"), w.WarmThroughput, h.WarmThroughput, set)
		}
	}
}

func lacks(want, have *WarmThroughput) bool {
	return want != nil && (have == nil || want.ReadUnitsPerSecond > have.ReadUnitsPerSecond || want.WriteUnitsPerSecond > have.WriteUnitsPerSecond)
}

// compareLocalIndexes: nothing changes them once the table is there.
func compareLocalIndexes(d *tableDiff, want, have map[string]LocalSecondaryIndex) {
	for _, name := range names(want, have) {
		path := tree.Path("localSecondaryIndexes").Key(name)
		w, wanted := want[name]
		h, there := have[name]
		if !wanted || !there {
			reconcile.Fixed(d, path, pointer(w, wanted), pointer(h, there))
			continue
		}
		reconcile.Fixed(d, path.Key("sortKey"), w.SortKey, h.SortKey)
		reconcile.Fixed(d, path.Key("projection"), *w.Projection, *h.Projection)
		reconcile.Fixed(d, path.Key("nonKeyAttributes"), unordered(w.NonKeyAttributes), unordered(h.NonKeyAttributes))
	}
}

// both are the indexes that are there and wanted, as they are wanted, in order.
func both[X any](want, have map[string]X) func(yield func(string, X) bool) {
	return func(yield func(string, X) bool) {
		for _, name := range names(want, have) {
			w, wanted := want[name]
			if _, there := have[name]; wanted && there && !yield(name, w) {
				return
			}
		}
	}
}

func names[X any](want, have map[string]X) []string {
	all := slices.Sorted(maps.Keys(want))
	for name := range have {
		if _, wanted := want[name]; !wanted {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func pointer[X any](x X, is bool) *X {
	if !is {
		return nil
	}
	return &x
}

// unordered is a list whose order does not count, nil when it is empty.
func unordered(list []string) []string { return slices.Sorted(slices.Values(list)) }

func putTags(ctx context.Context, on reconcile.Update[liveTable], add map[string]string) error {
	t := targetOf(on.Cloud, on.Location, on.Live.have.Name)
	_, err := t.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: t.arn, Tags: tagList(add)})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.Update[liveTable], gone []string) error {
	t := targetOf(on.Cloud, on.Location, on.Live.have.Name)
	_, err := t.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: t.arn, TagKeys: gone})
	return aws.NotYet(err)
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
