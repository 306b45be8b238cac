package dynamodb

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func readPolicyOf(action string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "partner", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::999988887777:root"}, "Action": action,
		"Resource": arn("orders"),
	}}}
}

func units(reads, writes int64) obj {
	return obj{"readCapacityUnits": reads, "writeCapacityUnits": writes}
}

// tuned has almost everything that a table billed by request can have.
func tuned() obj {
	return obj{
		"partitionKey": "id", "name": "orders", "sortKey": "line", "attributes": obj{"line": "N", "when": "N"},
		"globalSecondaryIndexes": obj{
			"by-owner": obj{"partitionKey": list{"owner"}, "sortKey": list{"when"}, "projection": "KEYS_ONLY", "contributorInsights": "THROTTLED_KEYS"},
			"by-day": obj{
				"partitionKey": list{"day", "shop"}, "nonKeyAttributes": list{"total", "state"},
				"onDemandThroughput": obj{"maxReadRequestUnits": int64(7), "maxWriteRequestUnits": int64(8)}, "warmThroughput": obj{"readUnitsPerSecond": int64(12000), "writeUnitsPerSecond": int64(4000)},
			},
		},
		"localSecondaryIndexes": obj{"by-state": obj{"sortKey": "state", "nonKeyAttributes": list{"total", "placed"}}},
		"onDemandThroughput":    obj{"maxReadRequestUnits": int64(100), "maxWriteRequestUnits": int64(10)},
		"warmThroughput":        obj{"readUnitsPerSecond": int64(13000), "writeUnitsPerSecond": int64(5000)},
		"streamViewType":        "NEW_AND_OLD_IMAGES", "ttlAttribute": "expires", "pointInTimeRecovery": true, "recoveryPeriod": "168h",
		"kmsKeyArn": key("one"), "tableClass": "STANDARD_INFREQUENT_ACCESS", "deletionProtection": true,
		"contributorInsights": "ACCESSED_AND_THROTTLED_KEYS", "kinesisStream": obj{"streamArn": kinesis("one"), "precision": "MICROSECOND"},
		"policy": readPolicyOf("dynamodb:GetItem"), "tags": obj{"team": "web", "cost center": "42"},
	}
}

func tableSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(propsTable, kindtest.Suite{
		Kind:  tableKind.Erase(),
		World: ws.Make(newWorld, (*world).tables),
		Base: obj{"partitionKey": "id", "tags": obj{"team": "shop"}, "globalSecondaryIndexes": obj{
			"by-owner": obj{"partitionKey": list{"owner"}},
		}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "provisioned", Props: obj{
				"partitionKey": "id", "provisionedThroughput": units(5, 6), "streamViewType": "KEYS_ONLY", "ttlAttribute": "until", "awsManagedKey": true,
				"pointInTimeRecovery": true,
				"globalSecondaryIndexes": obj{
					"by-owner": obj{"partitionKey": list{"owner"}, "provisionedThroughput": units(1, 2)},
					"by-place": obj{"partitionKey": list{"place"}},
				},
				"policy": `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"dynamodb:*","Resource":"` + arn("x") + `"}}`,
			}},
			{Name: "keyed", Props: obj{"partitionKey": "other", "sortKey": "line", "attributes": obj{"other": "B"}}},
		},
		Hands: hands(ws),
		Others: map[tree.Path][]any{
			"globalSecondaryIndexes.*.partitionKey":     {list{"else"}},
			"globalSecondaryIndexes.*.sortKey":          {list{"when", "else"}},
			"globalSecondaryIndexes.*.nonKeyAttributes": {list{"else"}},
			"attributes.*":            {"B", "S"},
			"recoveryPeriod":          {"240h"},
			"kmsKeyArn":               {key("two")},
			"kinesisStream.streamArn": {kinesis("two")},
			"policy":                  {readPolicyOf("dynamodb:Query")},
		},
		Ordered: map[tree.Path]string{
			"globalSecondaryIndexes.*.partitionKey": "a query names the attributes of a key in their order",
			"globalSecondaryIndexes.*.sortKey":      "a query names the attributes of a key in their order",
		},
		Steady: map[tree.Path]string{
			"name":                  "a table keeps its name for life",
			"localSecondaryIndexes": "local indexes are made with the table and never after it",
		},
		Silent: map[tree.Path]string{
			"attributes":            "it goes with the keys that have the types; TestOtherBases changes it",
			"localSecondaryIndexes": "they need a sort key; TestOtherBases changes them",
		},
		Alias: map[tree.Path]tree.Path{
			"globalSecondaryIndexes": "attributes", // a key that only an index has goes with it
			"awsManagedKey":          "kmsKeyArn",  // which key there is, the ARN tells
		},
		Open: map[tree.Path]string{
			"contributorInsights": "who declares none may not ask for them, and so does not see any",
			"kinesisStream":       "who declares none may not ask for it, and so does not see one",
		},
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, tableSuite())
}
