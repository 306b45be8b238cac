package dynamodb

import (
	"slices"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
)

// described is what DescribeTable tells, in the shape of the props.
func described(of *types.TableDescription) liveTable {
	live := liveTable{
		arn: aws.ARN(sdkaws.ToString(of.TableArn)), status: string(of.TableStatus), items: sdkaws.ToInt64(of.ItemCount) > 0,
	}
	have := &live.have
	have.Name, have.DeletionProtection = sdkaws.ToString(of.TableName), sdkaws.ToBool(of.DeletionProtectionEnabled)
	partition, sort := keys(of.KeySchema)
	have.PartitionKey, have.SortKey = one(partition), one(sort)
	propsTable.Default(have)
	if c := of.TableClassSummary; c != nil && c.TableClass != "" {
		have.TableClass = new(string(c.TableClass))
	}
	have.OnDemandThroughput = onDemand(of.OnDemandThroughput)
	provisioned := of.BillingModeSummary == nil || of.BillingModeSummary.BillingMode != types.BillingModePayPerRequest
	if provisioned {
		have.ProvisionedThroughput = capacity(of.ProvisionedThroughput)
	}
	if w := of.WarmThroughput; w != nil {
		have.WarmThroughput = warm(w.ReadUnitsPerSecond, w.WriteUnitsPerSecond)
	}
	if s := of.StreamSpecification; s != nil && sdkaws.ToBool(s.StreamEnabled) {
		have.StreamViewType, live.stream = string(s.StreamViewType), aws.ARN(sdkaws.ToString(of.LatestStreamArn))
	}
	live.encryption(of.SSEDescription)
	live.localIndexes(of.LocalSecondaryIndexes)
	live.globalIndexes(of.GlobalSecondaryIndexes, provisioned)
	used := keysOf(live.have)
	for _, a := range of.AttributeDefinitions {
		// What a deleted index has left is no key, and is passed over.
		if _, is := used[sdkaws.ToString(a.AttributeName)]; is {
			if have.Attributes == nil {
				have.Attributes = map[string]string{}
			}
			have.Attributes[*a.AttributeName] = string(a.AttributeType)
		}
	}
	return live
}

// encryption: a key that DynamoDB owns is not shown at all. Which of two keys of KMS there is, its ARN alone tells.
func (l *liveTable) encryption(of *types.SSEDescription) {
	if of == nil {
		return
	}
	switch of.Status {
	case types.SSEStatusEnabled:
		l.have.KMSKeyARN = aws.ARN(sdkaws.ToString(of.KMSMasterKeyArn))
	case types.SSEStatusEnabling, types.SSEStatusDisabling, types.SSEStatusUpdating:
		l.moving = append(l.moving, "the encryption is "+string(of.Status))
	case types.SSEStatusDisabled:
	}
}

func (l *liveTable) localIndexes(all []types.LocalSecondaryIndexDescription) {
	for _, x := range all {
		_, sort := keys(x.KeySchema)
		projection, attributes := projected(x.Projection)
		if l.have.LocalSecondaryIndexes == nil {
			l.have.LocalSecondaryIndexes = map[string]LocalSecondaryIndex{}
		}
		l.have.LocalSecondaryIndexes[sdkaws.ToString(x.IndexName)] = LocalSecondaryIndex{
			SortKey: one(sort), Projection: projection, NonKeyAttributes: attributes,
		}
	}
}

func (l *liveTable) globalIndexes(all []types.GlobalSecondaryIndexDescription, provisioned bool) {
	for _, x := range all {
		name := sdkaws.ToString(x.IndexName)
		if x.IndexStatus != types.IndexStatusActive {
			l.moving = append(l.moving, "the index "+name+" is "+string(x.IndexStatus))
		}
		partition, sort := keys(x.KeySchema)
		projection, attributes := projected(x.Projection)
		index := GlobalSecondaryIndex{
			PartitionKey: partition, SortKey: sort, Projection: projection, NonKeyAttributes: attributes,
			OnDemandThroughput: onDemand(x.OnDemandThroughput),
		}
		if provisioned {
			index.ProvisionedThroughput = capacity(x.ProvisionedThroughput)
		}
		if w := x.WarmThroughput; w != nil {
			index.WarmThroughput = warm(w.ReadUnitsPerSecond, w.WriteUnitsPerSecond)
		}
		if l.have.GlobalSecondaryIndexes == nil {
			l.have.GlobalSecondaryIndexes = map[string]GlobalSecondaryIndex{}
		}
		l.have.GlobalSecondaryIndexes[name] = index
	}
}

func keys(of []types.KeySchemaElement) (partition, sort []string) {
	for _, k := range of {
		if k.KeyType == types.KeyTypeHash {
			partition = append(partition, sdkaws.ToString(k.AttributeName))
		} else {
			sort = append(sort, sdkaws.ToString(k.AttributeName))
		}
	}
	return partition, sort
}

func one(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// projected: the order of what is copied does not count.
func projected(p *types.Projection) (projection *string, attributes []string) {
	if p == nil {
		return new("ALL"), nil
	}
	return new(string(p.ProjectionType)), slices.Sorted(slices.Values(p.NonKeyAttributes))
}

func capacity(of *types.ProvisionedThroughputDescription) *ProvisionedThroughput {
	if of == nil {
		return nil
	}
	return &ProvisionedThroughput{
		ReadCapacityUnits: int(sdkaws.ToInt64(of.ReadCapacityUnits)), WriteCapacityUnits: int(sdkaws.ToInt64(of.WriteCapacityUnits)),
	}
}

// onDemand: DynamoDB shows -1 where there is no bound.
func onDemand(of *types.OnDemandThroughput) *OnDemandThroughput {
	if of == nil {
		return nil
	}
	bound := func(n *int64) *int {
		if n == nil || *n < 0 {
			return nil
		}
		return new(int(*n))
	}
	out := OnDemandThroughput{MaxReadRequestUnits: bound(of.MaxReadRequestUnits), MaxWriteRequestUnits: bound(of.MaxWriteRequestUnits)}
	if out.MaxReadRequestUnits == nil && out.MaxWriteRequestUnits == nil {
		return nil
	}
	return &out
}

func warm(reads, writes *int64) *WarmThroughput {
	return &WarmThroughput{ReadUnitsPerSecond: int(sdkaws.ToInt64(reads)), WriteUnitsPerSecond: int(sdkaws.ToInt64(writes))}
}
