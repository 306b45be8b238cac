// Package dynamodb offers tables of Amazon DynamoDB.
//
// It knows a table's keys, its indexes, which of its settings one call can change and which calls DynamoDB takes one at a
// time. It does not know items, beyond that there are some; how calls are made and judged is the business of package
// aws.
package dynamodb

import (
	"embed"
	"maps"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed table.go
var source embed.FS

const tableType = "aws.dynamodb.Table"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{tableKind.Erase()},
		Constructs: map[string]athanor.Construct{
			tableType: aws.Usable(Table.declaredWith, Table.Grant, map[string]Access{"read": Read, "write": Write, "stream": Stream}),
		},
		Filters:  []string{"dynamodb:table"},
		Registry: map[string]string{"AWS::DynamoDB::Table": tableType},
		Also:     map[string]string{"AWS::DynamoDB::GlobalTable": tableType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			table, is := strings.CutPrefix(p.Resource, "table/")
			// Streams, indexes and backups are named below their table.
			return tableType, string(arn), table, ok && is && p.Service == "dynamodb" && !strings.Contains(table, "/")
		},
	}
}

// NewTable declares a table.
func NewTable(s *athanor.Stack, name string, p TableProps, opts ...athanor.Option) Table {
	return athanor.Declare(s, tableKind, name, p, opts...).declaredWith(p)
}

// ReadTable uses a table that the stack does not own: by its ARN, or by TableProps that name it.
func ReadTable(s *athanor.Stack, name string, by any) Table {
	return athanor.Read(s, tableKind, name, by)
}

// TableProps declare a table. Defaults and limits are those of
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html and
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
type TableProps struct {
	// Name of the table: 3 to 255 letters, digits, -, _ and dots. Default: none, a name is generated. Changing it replaces
	// the table.
	Name string
	// PartitionKey is the attribute that every item is found by (the HASH key).
	PartitionKey string `prop:"required,immutable" wire:"-"`
	// SortKey is the attribute that orders items with the same partition key (the RANGE key). Default: none.
	SortKey string `prop:"immutable" wire:"-"`
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
	TTLAttribute string `wire:"-"`
	// PointInTimeRecovery keeps continuous backups, from which the table can be restored as it was.
	PointInTimeRecovery bool `prop:"default=false" wire:"-"`
	// RecoveryPeriod is how far back it can be restored, in whole days from one to 35. It counts with
	// pointInTimeRecovery alone.
	RecoveryPeriod *time.Duration `prop:"min=24h,max=840h,default=840h,unit=24h,with=pointInTimeRecovery" wire:"-"`
	// KMSKeyARN is the key of KMS that encrypts the table, as an ARN: DynamoDB shows the key, and not the alias that
	// somebody gave. Setting it needs kms:DescribeKey and kms:CreateGrant, and using the table, reading
	// its description included, kms:Decrypt on it. Default: none, a key that DynamoDB owns.
	KMSKeyARN aws.ARN
	// AWSManagedKey encrypts the table with the account's key for DynamoDB, aws/dynamodb, instead. DynamoDB does not
	// show which of two keys of KMS that is: a manual change from one to the other is not seen.
	AWSManagedKey bool `prop:"default=false,excludes=kmsKeyArn"`
	// TableClass is what storage and requests cost. DynamoDB takes two changes in 30 days.
	TableClass *string `prop:"enum=STANDARD|STANDARD_INFREQUENT_ACCESS,default=STANDARD"`
	// DeletionProtection makes DynamoDB refuse the deletion of the table. Here it counts as holding data, so that
	// deleting it needs permission, with which the protection is taken off first.
	DeletionProtection bool `prop:"default=false"`
	// ContributorInsights shows the keys that are used most in CloudWatch, or throttled most. It needs
	// cloudwatch:PutInsightRule, and cloudwatch:DeleteInsightRules to go. Default: none: it is off, or as somebody else left
	// it, since nobody asks for it then.
	ContributorInsights string `prop:"enum=ACCESSED_AND_THROTTLED_KEYS|THROTTLED_KEYS"`
	// KinesisStream gets every change of the table. It needs kinesis:DescribeStream and kinesis:PutRecords on the
	// stream. Default: none, or what somebody else has set, since nobody asks for it then.
	KinesisStream *KinesisStream `prop:"deferrable"`
	// Policy says who else may use the table, its indexes included: a document (see aws.Policy), or JSON text. Default:
	// none.
	Policy any `prop:"deferrable" wire:"-,policy"`
	// Tags of the table, beside the owner tags. Default: none.
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
	// Precision of the time that each record carries.
	Precision *string `prop:"enum=MILLISECOND|MICROSECOND,default=MILLISECOND"`
}

// Table is what others may refer to of a table.
type Table struct {
	// ARN of the table, for policies. Those of its indexes are ARN/index/NAME.
	ARN aws.ARN `attr:"early"`
	// Name of the table, by which items are read and written.
	Name string `attr:"early"`
	// StreamARN is the table's stream, empty without one. It changes with the stream's view type.
	StreamARN aws.ARN `attr:"mutable=streamViewType"`
	// ContributorInsights is "on" for a table that was last seen to have insights, its own or an index's, else empty. They
	// go before the table: their rules would outlive it.
	ContributorInsights string `attr:"mutable=contributorInsights|globalSecondaryIndexes"`
	// KinesisStreamARN is the stream of Kinesis that was last seen to get the changes, else empty.
	KinesisStreamARN aws.ARN `attr:"mutable=kinesisStream"`

	key aws.ARN // that encrypts it, as declared: grants allow its use
}

// declaredWith is the table with what grants need of its props.
func (t Table) declaredWith(p TableProps) Table {
	t.key = p.KMSKeyARN
	return t
}

type (
	tableSite = kind.Site[TableProps, Table]
	tableDiff = kind.Diff[liveTable]
	tableOn   = kind.Update[liveTable]
	tableOp   = kind.Operation[liveTable]
)

var propsTable = kind.TableOf[TableProps](aws.PolicyCodec())

var tableKind = &kind.Kind[TableProps, liveTable, Table]{
	Type: tableType,
	Doc: "A table of Amazon DynamoDB with its indexes, stream, time to live, backups, encryption, insights, policy and " +
		"tags. Its items are not managed: a table with items, or with deletion protection, holds data, and replacing " +
		"or deleting it needs permission. Global indexes come, go and are made anew in place and never replace the table. Not " +
		"managed: replicas in other regions (AWS::DynamoDB::GlobalTable is the kind for those), vector indexes, " +
		"automatic scaling (leave provisionedThroughput to it with ignoreChanges), and policies of streams.",

	Observe:    aws.Together(tableType, observeTable, observeTables),
	Create:     createTable,
	Compare:    compareTable,
	Attributes: tableAttrs,
	Delete:     deleteTable,
	Identity:   func(t Table) string { return string(t.ARN) },

	Props:   propsTable,
	Default: tableDefaults,
	Check:   checkTable,
	Unique:  func(want TableProps) []string { return aws.Declares("AWS::DynamoDB::GlobalTable", want.Name) },
	Named: &kind.Named[TableProps, liveTable]{
		Given: func(want TableProps) string { return want.Name },
		Rule:  func(TableProps) kind.NameRule { return nameRule() },
		Live:  func(live liveTable) string { return live.have.Name },
	},
	// Tags come before the changes of which DynamoDB takes one at a time: Compare states them.
	Owner: kind.Tagged[TableProps, liveTable]{
		Tag:   func(live liveTable) kind.OwnerTag { return adopt.MarkOf(live.tags) },
		Check: func(want TableProps) error { return aws.CheckTags(want.Tags).OrNil() },
	},
	HoldsData: &kind.HoldsData[TableProps, liveTable]{
		Now: func(live liveTable) bool { return live.items || live.have.DeletionProtection },
		What: func(live liveTable) string {
			if live.items {
				return "items"
			}
			return "deletion protection"
		},
	},
	Status: func(live liveTable) kind.Status {
		if why := live.busy(); why != "" {
			return kind.Busy(why)
		}
		return kind.WaitingFor(live.waiting())
	},
	List: listTables,
	Bulk: aws.InBulk(observeTable, observeTables),

	// "DescribeTable uses an eventually consistent query … wait for a few seconds, and then try again", and policies the
	// like: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
	EventuallyVisible: aws.EventuallyVisible,
	// An index of a large table is filled for hours; the registry's handlers are given 12.
	Timeouts: kind.Timeouts{Create: 30 * time.Minute, Update: 12 * time.Hour, Delete: 30 * time.Minute},

	// What a key of KMS, a stream of Kinesis or insights need beside, their props say.
	API: aws.API("DynamoDB", "dynamodb", source, kind.Permissions{
		Observe: []string{
			"DescribeTable", "Scan", "DescribeTimeToLive", "DescribeContinuousBackups",
			"ListContributorInsights", "DescribeKinesisStreamingDestination", "GetResourcePolicy",
			"ListTagsOfResource", "tag:GetResources",
		},
		List: []string{"ListTables"},
		Only: map[string][]tree.Path{
			"ListContributorInsights": insightProps, "UpdateContributorInsights": insightProps,
			"DescribeKinesisStreamingDestination": {"kinesisStream"}, "EnableKinesisStreamingDestination": {"kinesisStream"},
			"UpdateTimeToLive": {"ttlAttribute"}, "UpdateContinuousBackups": {"pointInTimeRecovery"}, "PutResourcePolicy": {"policy"},
			"UpdateTable": {"deletionProtection"},
		},
		Create: []string{
			"CreateTable", "TagResource", "PutResourcePolicy", "UpdateTimeToLive",
			"UpdateContinuousBackups", "UpdateContributorInsights", "EnableKinesisStreamingDestination",
		},
		Update: []string{
			"UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups", "UpdateContributorInsights",
			"EnableKinesisStreamingDestination", "DisableKinesisStreamingDestination",
			"UpdateKinesisStreamingDestination", "PutResourcePolicy", "DeleteResourcePolicy",
			"TagResource", "UntagResource",
		},
		Delete: []string{"DeleteTable", "UpdateTable", "UpdateContributorInsights"},
		Resource: func(location kind.Location, name string) []string {
			table := string(arnOf(location, name))
			return []string{table, table + "/index/*"}
		},
		Anywhere: []string{"ListTables", "ListContributorInsights"},
		Depends: []kind.Dependence{
			// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.howitworks.html
			aws.UseKeyWhere([]tree.Path{"kmsKeyArn"}, []string{"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt"}, "kmsKeyArn"),
			// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds_iam.html
			{
				Actions: []string{"kinesis:DescribeStream", "kinesis:PutRecord", "kinesis:PutRecords"}, Props: []tree.Path{"kinesisStream.streamArn"},
				Calls: []string{"EnableKinesisStreamingDestination"}, Resource: aws.ARNOr("kinesis", "stream/*"),
			},
		},
	}),
}

// insightProps are the props that need the calls about contributor insights.
var insightProps = []tree.Path{"contributorInsights", "globalSecondaryIndexes.*.contributorInsights"}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

func nameRule() kind.NameRule { return kind.NameRule{Max: 255, Marks: "-_."} }

func tableAttrs(live liveTable) Table {
	t := Table{ARN: live.arn, Name: live.have.Name, StreamARN: live.stream}
	if live.have.ContributorInsights != "" || len(live.insights) > 0 {
		t.ContributorInsights = "on"
	}
	if len(live.kinesis) > 0 {
		t.KinesisStreamARN = live.kinesis[0].StreamARN
	}
	return t
}

// tableDefaults are those of indexes, which are elements of maps.
func tableDefaults(want TableProps) TableProps {
	want.GlobalSecondaryIndexes = maps.Clone(want.GlobalSecondaryIndexes)
	for name, x := range want.GlobalSecondaryIndexes {
		aws.OrDefault(&x.Projection, projectionOf(x.NonKeyAttributes))
		if x.ProvisionedThroughput == nil {
			x.ProvisionedThroughput = want.ProvisionedThroughput
		}
		want.GlobalSecondaryIndexes[name] = x
	}
	want.LocalSecondaryIndexes = maps.Clone(want.LocalSecondaryIndexes)
	for name, x := range want.LocalSecondaryIndexes {
		aws.OrDefault(&x.Projection, projectionOf(x.NonKeyAttributes))
		want.LocalSecondaryIndexes[name] = x
	}
	return want
}

func projectionOf(attributes []string) string {
	if len(attributes) > 0 {
		return "INCLUDE"
	}
	return "ALL"
}

// busy: DynamoDB takes one change of a table at a time, and an index counts as one.
func (l liveTable) busy() string {
	if l.status == "CREATING" || l.status == "UPDATING" || l.status == "DELETING" {
		return "the table is " + l.status
	}
	if len(l.moving) > 0 {
		return strings.Join(l.moving, ", ")
	}
	return ""
}

// waiting: without its key a table is out of reach, and is archived after a week.
func (l liveTable) waiting() string {
	switch l.status {
	case "INACCESSIBLE_ENCRYPTION_CREDENTIALS":
		return "DynamoDB cannot use the table's key of KMS: enable the key, or allow DynamoDB to use it"
	case "ARCHIVING", "ARCHIVED":
		return "the table was archived, since its key of KMS was out of reach for a week: restore it from its backup"
	}
	return ""
}
