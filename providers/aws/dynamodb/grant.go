package dynamodb

import (
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
)

// Access is a way to use a table: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. A table that is encrypted with a key of KMS also needs leave to use the key.
const (
	// Read items, of the table and of its indexes.
	Read Access = "dynamodb:GetItem dynamodb:BatchGetItem dynamodb:Query dynamodb:Scan dynamodb:ConditionCheckItem dynamodb:DescribeTable"
	// Write items: put, change and delete them.
	Write Access = "dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem dynamodb:BatchWriteItem dynamodb:ConditionCheckItem dynamodb:DescribeTable"
	// Stream reads the changes of items. The table must have a stream.
	Stream Access = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams"
)

// Grant allows a role, or what runs as one, to use the table with its indexes, or its stream, as each action wants.
//
//	orders.Grant(fn, dynamodb.Read, dynamodb.Write)
func (t Table) Grant(to aws.Grantee, access ...Access) {
	var items, stream []string
	for _, action := range aws.Actions(access...) {
		if strings.Contains(string(Stream), action) {
			stream = append(stream, action)
		} else {
			items = append(items, action)
		}
	}
	if len(stream) > 0 {
		aws.Grant(to, stream, t.StreamARN)
	}
	if len(items) > 0 || len(stream) == 0 {
		aws.Grant(to, items, t.ARN, t.ARN+"/index/*")
	}
}

// Feed allows what it takes to be called with the changes of the table, which must have a stream; see lambda.Consume. They
// are read from the oldest that the stream has: one that comes twice does less harm than one that is lost.
func (t Table) Feed(to aws.Grantee) (source aws.ARN, start string) {
	t.Grant(to, Stream)
	return t.StreamARN, "TRIM_HORIZON"
}
