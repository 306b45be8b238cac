package dynamodb

import (
	"slices"

	"github.com/athanor-dev/athanor/providers/aws"
)

// Access is what may be done with a table. See [Table.Grant].
type Access string

// What can be granted.
const (
	// Read is reading items, of the table and of its indexes.
	Read Access = "read"
	// Write is putting, changing and deleting items.
	Write Access = "write"
	// Stream is reading the table's stream. The table must have one.
	Stream Access = "stream"
)

// Grant lets a function, or whatever else has a role, use the table and its indexes:
//
//	orders.Grant(fn, dynamodb.Read, dynamodb.Write)
//
// A table that is encrypted with a key of KMS needs a grant of the key beside.
func (t Table) Grant(to aws.Grantee, access ...Access) {
	var items []string
	for _, a := range access {
		switch a {
		case Read:
			items = append(items, "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:ConditionCheckItem", "dynamodb:DescribeTable")
		case Write:
			items = append(items, "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:DescribeTable")
		case Stream:
			aws.Grant(to, []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, t.StreamARN)
			aws.Grant(to, []string{"dynamodb:ListStreams"}, "*") // of no stream in particular
		}
	}
	if len(items) > 0 {
		slices.Sort(items)
		aws.Grant(to, slices.Compact(items), t.ARN, t.ARN+"/index/*")
	}
}

// Feed allows what it takes to be called with the changes of the table, which must have a stream; see lambda.Consume. They
// are read from the oldest that the stream has: one that comes twice does less harm than one that is lost.
func (t Table) Feed(to aws.Grantee) (source aws.ARN, start string) {
	t.Grant(to, Stream)
	return t.StreamARN, "TRIM_HORIZON"
}
