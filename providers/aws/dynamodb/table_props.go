package dynamodb

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// TableProps declare a table. Defaults and limits are those of
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html and
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
type TableProps struct {
	// Name of the table: 3 to 255 letters, digits, -, _ and dots. Default: none, a name is generated. Changing it replaces
	// the table.
	Name string
	// PartitionKey is the attribute that every item is found by (the HASH key). Changing it replaces the table.
	PartitionKey string `prop:"required"`
	// SortKey is the attribute that orders items with the same partition key (the RANGE key). Default: none. Changing it
	// replaces the table.
	SortKey string
	// Attributes are the types of the attributes that are keys, of the table or of an index: S for text, N for
	// numbers, B for bytes. No other attribute has a type. Default: none, and every key that is not named is text.
	// Of a key of the table or of a local index: changing it replaces the table. Of a key of global indexes alone it
	// makes these anew.
	Attributes map[string]string
	// GlobalSecondaryIndexes are indexes with keys of their own, by name: up to 20. They come and go in place, one at a
	// time. Default: none.
	GlobalSecondaryIndexes map[string]GlobalSecondaryIndex
	// LocalSecondaryIndexes are indexes with the table's partition key and another sort key, by name: up to 5, and the
	// table needs a sort key. They are made with the table and never after it. Default: none. Changing it replaces
	// the table, an index that comes or goes included: a table with items is not replaced without leave.
	LocalSecondaryIndexes map[string]LocalSecondaryIndex
	// ProvisionedThroughput is the capacity that the table is billed for, used or not. Default: none, and the table is
	// billed by request (PAY_PER_REQUEST). DynamoDB takes few changes from one to the other in a day, and few
	// decreases.
	ProvisionedThroughput *ProvisionedThroughput
	// OnDemandThroughput are the most requests that a table billed by request takes in a second. Default: none, the
	// quotas of the account.
	OnDemandThroughput *OnDemandThroughput
	// WarmThroughput is the least that the table takes at once, prepared ahead of traffic. DynamoDB only ever raises it, by
	// itself too: what is more is not managed, and leaving it out lowers nothing. Default: none, what it is by itself.
	WarmThroughput *WarmThroughput
	// StreamViewType says what the table's stream shows of each change. Another type, which DynamoDB cannot set in
	// place, makes a new stream with an ARN of its own; the old one can be read for a day. Default: none, no stream.
	StreamViewType string `prop:"enum=KEYS_ONLY|NEW_IMAGE|OLD_IMAGE|NEW_AND_OLD_IMAGES"`
	// TTLAttribute is the attribute, a number of seconds since 1970, after which an item is deleted. DynamoDB takes one
	// change of it in an hour, and another attribute is two of them. Default: none, items stay.
	TTLAttribute string
	// PointInTimeRecovery keeps continuous backups, from which the table can be restored as it was. Default: false.
	PointInTimeRecovery bool
	// RecoveryPeriod is how far back it can be restored, in whole days from one to 35. It counts with
	// pointInTimeRecovery alone. Default: 35d.
	RecoveryPeriod *time.Duration `prop:"min=24h,max=840h"`
	// KMSKeyARN is the key of KMS that encrypts the table, as an ARN: DynamoDB shows the key, and not the alias that
	// somebody gave. Whoever sets it needs kms:DescribeKey and kms:CreateGrant, and whoever uses the table, looking at
	// it included, kms:Decrypt on it. Default: none, a key that DynamoDB owns.
	KMSKeyARN aws.ARN
	// AWSManagedKey encrypts the table with the account's key for DynamoDB, aws/dynamodb, instead. DynamoDB does not
	// show which of two keys of KMS that is: a change by hand from one to the other is not seen. Default: false.
	AWSManagedKey bool
	// TableClass is what storage and requests cost. DynamoDB takes two changes in 30 days. Default: STANDARD.
	TableClass *string `prop:"enum=STANDARD|STANDARD_INFREQUENT_ACCESS"`
	// DeletionProtection makes DynamoDB refuse the deletion of the table. Here it counts as holding data, so that
	// deleting it needs leave, with which the protection is taken off first. Default: false.
	DeletionProtection bool
	// ContributorInsights shows the keys that are used most in CloudWatch, or throttled most. It needs
	// cloudwatch:PutInsightRule, and cloudwatch:DeleteInsightRules to go. Default: none: it is off, or as somebody else left
	// it, since nobody asks for it then.
	ContributorInsights string `prop:"enum=ACCESSED_AND_THROTTLED_KEYS|THROTTLED_KEYS"`
	// KinesisStream gets every change of the table. It needs kinesis:DescribeStream and kinesis:PutRecords on the
	// stream. Default: none, or what somebody else has set, since nobody asks for it then.
	KinesisStream *KinesisStream
	// Policy says who else may use the table, its indexes included: a document (see aws.Policy), or JSON text. Default:
	// none.
	Policy any
	// Tags of the table, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// GlobalSecondaryIndex is an index with keys of its own. Keys and projection can only be changed by deleting the index and
// making it again, which is done in place: until it is filled, queries of it fail.
type GlobalSecondaryIndex struct {
	// PartitionKey are the attributes that items are found by, one to four.
	PartitionKey []string `prop:"required"`
	// SortKey are the attributes that order items, up to four. Default: none.
	SortKey []string
	// Projection says what is copied into the index beside the keys. Default: INCLUDE with nonKeyAttributes, ALL
	// without.
	Projection *string `prop:"enum=ALL|KEYS_ONLY|INCLUDE"`
	// NonKeyAttributes are what is copied, for INCLUDE. Default: none.
	NonKeyAttributes []string
	// ProvisionedThroughput is the index's own capacity, with that of the table alone. Default: as much as the
	// table.
	ProvisionedThroughput *ProvisionedThroughput
	// OnDemandThroughput are the most requests that the index takes in a second, billed by request. Default: none.
	OnDemandThroughput *OnDemandThroughput
	// WarmThroughput is the least that the index takes at once. It is only ever raised: what is more is not managed.
	// Default: none, what it is by itself.
	WarmThroughput *WarmThroughput
	// ContributorInsights shows the keys of the index that are used or throttled most. Default: none, it is off; asked for
	// where the table or one of its indexes declares it.
	ContributorInsights string `prop:"enum=ACCESSED_AND_THROTTLED_KEYS|THROTTLED_KEYS"`
}

// LocalSecondaryIndex is another order of the items with one partition key.
type LocalSecondaryIndex struct {
	// SortKey is the attribute that orders items. Changing it replaces the table.
	SortKey string `prop:"required"`
	// Projection says what is copied into the index beside the keys. Default: INCLUDE with nonKeyAttributes, ALL
	// without. Changing it replaces the table.
	Projection *string `prop:"enum=ALL|KEYS_ONLY|INCLUDE"`
	// NonKeyAttributes are what is copied, for INCLUDE. Default: none. Changing it replaces the table.
	NonKeyAttributes []string
}

// ProvisionedThroughput is capacity that is billed by the hour.
type ProvisionedThroughput struct {
	// ReadCapacityUnits are strongly consistent reads of up to 4 KiB in a second.
	ReadCapacityUnits int `prop:"required,min=1"`
	// WriteCapacityUnits are writes of up to 1 KiB in a second.
	WriteCapacityUnits int `prop:"required,min=1"`
}

// OnDemandThroughput bounds what is billed by request; one of both at least is set.
type OnDemandThroughput struct {
	// MaxReadRequestUnits are the most reads in a second. Default: none, no bound.
	MaxReadRequestUnits *int `prop:"min=1"`
	// MaxWriteRequestUnits are the most writes in a second. Default: none, no bound.
	MaxWriteRequestUnits *int `prop:"min=1"`
}

// WarmThroughput is prepared ahead of traffic.
type WarmThroughput struct {
	// ReadUnitsPerSecond that are taken at once.
	ReadUnitsPerSecond int `prop:"required,min=1"`
	// WriteUnitsPerSecond that are taken at once.
	WriteUnitsPerSecond int `prop:"required,min=1"`
}

// KinesisStream gets changes of items.
type KinesisStream struct {
	// StreamARN is the data stream of Kinesis, in the same account and region.
	StreamARN aws.ARN `prop:"required"`
	// Precision of the time that each record carries. Default: MILLISECOND.
	Precision *string `prop:"enum=MILLISECOND|MICROSECOND"`
}

// Table is what others may refer to of a table.
type Table struct {
	// ARN of the table, for policies. Those of its indexes are ARN/index/NAME.
	ARN aws.ARN
	// Name of the table, by which items are read and written.
	Name string
	// StreamARN is the table's stream, empty without one. It changes with the stream's view type.
	StreamARN aws.ARN
	// ContributorInsights is "on" for a table that was last seen to have insights, its own or an index's, else empty. They
	// go before the table: their rules would outlive it.
	ContributorInsights string
	// KinesisStreamARN is the stream of Kinesis that was last seen to get the changes, else empty.
	KinesisStreamARN aws.ARN
}
