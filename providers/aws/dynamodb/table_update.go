package dynamodb

import (
	"context"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// update is one call of UpdateTable, of which DynamoDB takes the next only when the table is ACTIVE again: see
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
func update(note string, fill func(in *sdk.UpdateTableInput, on tableOn)) *tableOp {
	op := kind.Set("UpdateTable", func(ctx context.Context, on tableOn) error {
		in := &sdk.UpdateTableInput{TableName: &on.Live.have.Name}
		fill(in, on)
		_, err := clientOf(on.Cloud).UpdateTable(ctx, in)
		return aws.NotYet(err)
	})
	op.Note, op.Alone = note, true
	return op
}

// setCapacity sets what differs of the table and of its indexes at once: DynamoDB refuses what is as it is, and the
// change of the billing mode wants the capacity of all.
func setCapacity(want TableProps) *tableOp {
	return update("", func(in *sdk.UpdateTableInput, on tableOn) {
		have := on.Live.have
		changes := func(path tree.Path) bool { return slices.Contains(on.Changed, path) }
		toProvisioned := false
		if changes("provisionedThroughput") {
			in.ProvisionedThroughput = provisioned(want.ProvisionedThroughput)
			switch {
			case want.ProvisionedThroughput == nil:
				in.BillingMode = types.BillingModePayPerRequest
			case have.ProvisionedThroughput == nil:
				in.BillingMode, toProvisioned = types.BillingModeProvisioned, true
			}
		}
		if changes("onDemandThroughput") {
			in.OnDemandThroughput = bounds(want.OnDemandThroughput)
		}
		for _, name := range names(nil, have.GlobalSecondaryIndexes) {
			path, w := tree.Path("globalSecondaryIndexes").Key(name), want.GlobalSecondaryIndexes[name]
			action := &types.UpdateGlobalSecondaryIndexAction{IndexName: &name}
			if toProvisioned || changes(path.Key("provisionedThroughput")) {
				if w.ProvisionedThroughput == nil {
					w.ProvisionedThroughput = want.ProvisionedThroughput // the index goes next
				}
				action.ProvisionedThroughput = provisioned(w.ProvisionedThroughput)
			}
			if changes(path.Key("onDemandThroughput")) {
				action.OnDemandThroughput = bounds(w.OnDemandThroughput)
			}
			if action.ProvisionedThroughput != nil || action.OnDemandThroughput != nil {
				in.GlobalSecondaryIndexUpdates = append(in.GlobalSecondaryIndexUpdates, types.GlobalSecondaryIndexUpdate{Update: action})
			}
		}
	})
}

// setWarm raises what is less than it should be.
func setWarm(want TableProps) *tableOp {
	return update("", func(in *sdk.UpdateTableInput, on tableOn) {
		if slices.Contains(on.Changed, "warmThroughput") {
			in.WarmThroughput = warmth(want.WarmThroughput)
		}
		for _, name := range names(nil, want.GlobalSecondaryIndexes) {
			if slices.Contains(on.Changed, tree.Path("globalSecondaryIndexes").Key(name).Key("warmThroughput")) {
				in.GlobalSecondaryIndexUpdates = append(in.GlobalSecondaryIndexUpdates, types.GlobalSecondaryIndexUpdate{
					Update: &types.UpdateGlobalSecondaryIndexAction{IndexName: &name, WarmThroughput: warmth(want.GlobalSecondaryIndexes[name].WarmThroughput)},
				})
			}
		}
	})
}

// setStream turns the stream on, or off: a stream of another type must go before, and the next look asks for the new one.
func setStream(want TableProps) *tableOp {
	return update("", func(in *sdk.UpdateTableInput, on tableOn) {
		if on.Live.have.StreamViewType != "" {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: new(false)}
			return
		}
		in.StreamSpecification = streaming(want)
	})
}

func streaming(want TableProps) *types.StreamSpecification {
	if want.StreamViewType == "" {
		return nil
	}
	return &types.StreamSpecification{StreamEnabled: new(true), StreamViewType: types.StreamViewType(want.StreamViewType)}
}

// encryption is nil for a key that DynamoDB owns, which is what a new table has; off asks for it.
func encryption(want TableProps, off bool) *types.SSESpecification {
	switch {
	case want.KMSKeyARN != "":
		return &types.SSESpecification{Enabled: new(true), SSEType: types.SSETypeKms, KMSMasterKeyId: new(string(want.KMSKeyARN))}
	case want.AWSManagedKey:
		return &types.SSESpecification{Enabled: new(true), SSEType: types.SSETypeKms}
	case off:
		return &types.SSESpecification{Enabled: new(false)}
	}
	return nil
}

func provisioned(p *ProvisionedThroughput) *types.ProvisionedThroughput {
	if p == nil {
		return nil
	}
	return &types.ProvisionedThroughput{
		ReadCapacityUnits: new(int64(p.ReadCapacityUnits)), WriteCapacityUnits: new(int64(p.WriteCapacityUnits)),
	}
}

// bounds: -1 takes a bound away.
func bounds(o *OnDemandThroughput) *types.OnDemandThroughput {
	bound := func(n *int) *int64 {
		if n == nil {
			return new(int64(-1))
		}
		return new(int64(*n))
	}
	if o == nil {
		o = new(OnDemandThroughput)
	}
	return &types.OnDemandThroughput{MaxReadRequestUnits: bound(o.MaxReadRequestUnits), MaxWriteRequestUnits: bound(o.MaxWriteRequestUnits)}
}

func warmth(w *WarmThroughput) *types.WarmThroughput {
	if w == nil {
		return nil
	}
	return &types.WarmThroughput{ReadUnitsPerSecond: new(int64(w.ReadUnitsPerSecond)), WriteUnitsPerSecond: new(int64(w.WriteUnitsPerSecond))}
}
