package dynamodb

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
)

// Access is a way to use a table: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Read items, of the table and of its indexes.
	Read Access = "dynamodb:GetItem dynamodb:BatchGetItem dynamodb:Query dynamodb:Scan dynamodb:ConditionCheckItem dynamodb:DescribeTable"
	// Write items: put, change and delete them.
	Write Access = "dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem dynamodb:BatchWriteItem dynamodb:ConditionCheckItem dynamodb:DescribeTable"
	// Stream reads the changes of items. The table must have a stream.
	Stream Access = "dynamodb:DescribeStream dynamodb:GetRecords dynamodb:GetShardIterator dynamodb:ListStreams"
)

// keyUse is what the actions take of the key of an encrypted table, which DynamoDB uses in the name of who calls:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
func keyUse() aws.KeyUse {
	use := aws.KeyUse{}
	for _, action := range aws.Actions(Read, Stream) {
		use[action] = "kms:Decrypt kms:DescribeKey"
	}
	for _, action := range []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"} {
		use[action] = "kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:ReEncryptFrom kms:ReEncryptTo"
	}
	return use
}

// Grant allows a role, or what runs as one, to use the table with its indexes, or its stream, as each action wants; and the key
// that the table's declaration names.
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
	keyUse().Grant(to, string(t.key), slices.Concat(items, stream))
}

// Feed allows what it takes to be called with the changes of the table, which must have a stream; see lambda.Consume. They
// are read from the oldest that the stream has: one that comes twice does less harm than one that is lost.
func (t Table) Feed(to aws.Grantee) (source aws.ARN, start string) {
	t.Grant(to, Stream)
	return t.StreamARN, "TRIM_HORIZON"
}
