package dynamodb

import (
	"maps"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	tableSite = reconcile.Site[TableProps, Table]
	tableDiff = reconcile.Diff[liveTable]
	tableOn   = reconcile.On[liveTable]
	tableOp   = reconcile.Operation[liveTable]
)

var tableKind = &reconcile.Kind[TableProps, liveTable, Table]{
	Type: tableType,
	Doc: "A table of Amazon DynamoDB with its indexes, stream, time to live, backups, encryption, insights, policy and " +
		"tags. Its items are not managed: a table with items, or with deletion protection, holds data, and replacing " +
		"or deleting it needs leave. Global indexes come, go and are made anew in place and never replace the table. Not " +
		"managed: replicas in other regions (AWS::DynamoDB::GlobalTable is the kind for those), vector indexes, " +
		"automatic scaling (leave provisionedThroughput to it with ignoreChanges), and policies of streams.",

	Observe:  observeTable,
	Create:   createTable,
	Compare:  compareTable,
	Attrs:    tableAttrs,
	Delete:   deleteTable,
	Identity: func(t Table) string { return string(t.ARN) },

	Naming: func(TableProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 255, Allowed: nameRune}
	},
	Given:    func(want TableProps) string { return want.Name },
	Defaults: tableDefaults,
	Check:    checkTable,
	Moves:    []string{"streamArn", "contributorInsights", "kinesisStreamArn"},
	MovedBy: map[string][]tree.Path{
		"streamArn": {"streamViewType"}, "contributorInsights": {"contributorInsights", "globalSecondaryIndexes"}, "kinesisStreamArn": {"kinesisStream"},
	},
	Late:    []tree.Path{"kinesisStream", "policy"},
	AtBirth: []string{"arn", "name"},

	Owner:   func(live liveTable) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Holds:   func(live liveTable) bool { return live.items || live.have.DeletionProtection },
	Busy:    liveTable.busy,
	Waiting: liveTable.waiting,
	List:    listTables,

	// "DescribeTable uses an eventually consistent query … wait for a few seconds, and then try again", and policies the
	// like: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
	Visibility: 15 * time.Second,
	// An index of a large table is filled for hours; the registry's handlers are given 12.
	Timeouts: reconcile.Timeouts{Create: 30 * time.Minute, Update: 12 * time.Hour, Delete: 30 * time.Minute},

	Source: source,
	Calls: []string{
		"DynamoDB.CreateTable", "DynamoDB.DeleteTable", "DynamoDB.DescribeTable", "DynamoDB.ListTables",
		"DynamoDB.UpdateTable", "DynamoDB.Scan", "DynamoDB.DescribeTimeToLive", "DynamoDB.UpdateTimeToLive",
		"DynamoDB.DescribeContinuousBackups", "DynamoDB.UpdateContinuousBackups", "DynamoDB.ListContributorInsights",
		"DynamoDB.UpdateContributorInsights", "DynamoDB.DescribeKinesisStreamingDestination",
		"DynamoDB.EnableKinesisStreamingDestination", "DynamoDB.DisableKinesisStreamingDestination",
		"DynamoDB.UpdateKinesisStreamingDestination", "DynamoDB.GetResourcePolicy", "DynamoDB.PutResourcePolicy",
		"DynamoDB.DeleteResourcePolicy", "DynamoDB.ListTagsOfResource", "DynamoDB.TagResource", "DynamoDB.UntagResource",
	},
	// What a key of KMS, a stream of Kinesis or insights need beside, their props say.
	Permissions: reconcile.Permissions{
		Observe: []string{
			"dynamodb:DescribeTable", "dynamodb:Scan", "dynamodb:DescribeTimeToLive", "dynamodb:DescribeContinuousBackups",
			"dynamodb:ListContributorInsights", "dynamodb:DescribeKinesisStreamingDestination", "dynamodb:GetResourcePolicy",
			"dynamodb:ListTagsOfResource",
		},
		List: []string{"dynamodb:ListTables"},
		Create: []string{
			"dynamodb:CreateTable", "dynamodb:TagResource", "dynamodb:PutResourcePolicy", "dynamodb:UpdateTimeToLive",
			"dynamodb:UpdateContinuousBackups", "dynamodb:UpdateContributorInsights", "dynamodb:EnableKinesisStreamingDestination",
		},
		Update: []string{
			"dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive", "dynamodb:UpdateContinuousBackups", "dynamodb:UpdateContributorInsights",
			"dynamodb:EnableKinesisStreamingDestination", "dynamodb:DisableKinesisStreamingDestination",
			"dynamodb:UpdateKinesisStreamingDestination", "dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy",
			"dynamodb:TagResource", "dynamodb:UntagResource",
		},
		Delete: []string{"dynamodb:DeleteTable", "dynamodb:UpdateTable", "dynamodb:UpdateContributorInsights"},
		Resource: func(place reconcile.Place, name string) []string {
			table := string(arnOf(place, name))
			return []string{table, table + "/index/*"}
		},
		Anywhere: []string{"dynamodb:ListTables", "dynamodb:ListContributorInsights"},
	},
}

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

func nameRune(r rune) bool {
	return r == '-' || r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func tableDefaults(want TableProps) TableProps {
	aws.OrDefault(&want.TableClass, "STANDARD")
	aws.OrDefault(&want.RecoveryPeriod, 35*24*time.Hour)
	if want.KinesisStream != nil {
		stream := *want.KinesisStream
		aws.OrDefault(&stream.Precision, "MILLISECOND")
		want.KinesisStream = &stream
	}
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
