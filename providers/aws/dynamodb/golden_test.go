package dynamodb

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

// TestGolden has the body of a creation in the request syntax of
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
func TestGolden(t *testing.T) {
	t.Parallel()
	p := tableDefaults(kindtest.PropsOf(t, propsTable, obj{
		"partitionKey": "id", "sortKey": "line", "attributes": obj{"line": "N"},
		"globalSecondaryIndexes": obj{"by-owner": obj{"partitionKey": list{"owner"}, "nonKeyAttributes": list{"total"}, "provisionedThroughput": units(1, 2)}},
		"localSecondaryIndexes":  obj{"by-state": obj{"sortKey": "state", "projection": "KEYS_ONLY"}},
		"provisionedThroughput":  units(5, 6), "streamViewType": "NEW_IMAGE", "kmsKeyArn": key("one"),
		"tableClass": "STANDARD_INFREQUENT_ACCESS", "deletionProtection": true,
	}))
	var want obj
	err := json.Unmarshal([]byte(`{
		"TableName": "shop-test-orders",
		"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "line", "KeyType": "RANGE"}],
		"AttributeDefinitions": [
			{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "line", "AttributeType": "N"},
			{"AttributeName": "owner", "AttributeType": "S"}, {"AttributeName": "state", "AttributeType": "S"}],
		"BillingMode": "PROVISIONED",
		"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
		"GlobalSecondaryIndexes": [{
			"IndexName": "by-owner", "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
			"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
			"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}}],
		"LocalSecondaryIndexes": [{
			"IndexName": "by-state", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "state", "KeyType": "RANGE"}],
			"Projection": {"ProjectionType": "KEYS_ONLY"}}],
		"StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
		"SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "`+key("one")+`"},
		"TableClass": "STANDARD_INFREQUENT_ACCESS",
		"DeletionProtectionEnabled": true}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	awstest.ConformTree(t, "dynamodb", "CreateTable", want)
	if have := plain(t, creation(p, "shop-test-orders"), "GlobalTableSettingsReplicationMode"); !reflect.DeepEqual(have, any(want)) {
		t.Errorf("a creation sends\n%v\nand the documentation says\n%v", have, want)
	}
}
