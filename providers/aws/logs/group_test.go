package logs

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	keyOne = "arn:aws:kms:us-east-1:" + account + ":key/11111111-1111-1111-1111-111111111111"
	keyTwo = "arn:aws:kms:us-east-1:" + account + ":key/22222222-2222-2222-2222-222222222222"
)

func deliveryPolicy(action string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "dns", "Effect": "Allow", "Principal": obj{"Service": "route53.amazonaws.com"}, "Action": action, "Resource": "*",
	}}}
}

func masks(of string) obj {
	data := list{"arn:aws:dataprotection::aws:data-identifier/" + of}
	return obj{"Name": "masks", "Version": "2021-06-01", "Statement": list{
		obj{"Sid": "audit", "DataIdentifier": data, "Operation": obj{"Audit": obj{"FindingsDestination": obj{}}}},
		obj{"Sid": "redact", "DataIdentifier": data, "Operation": obj{"Deidentify": obj{"MaskConfig": obj{}}}},
	}}
}

// tuned has everything that a group can have.
func tuned() obj {
	return obj{
		"retention": "14d", "kmsKeyId": keyOne, "deletionProtection": true, "bearerTokenAuthentication": true,
		"dataProtectionPolicy": masks("EmailAddress"), "indexPolicy": obj{"Fields": list{"requestId", "account"}},
		"policy": deliveryPolicy("logs:PutLogEvents"), "tags": obj{"team": "web", "cost center": "42"},
	}
}

func groupSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(groupTable, kindtest.Suite{
		Kind:  groupKind.Erase(),
		World: ws.Make(newWorld, (*world).groups),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "named", Props: obj{"name": "/shop/app.log", "class": "INFREQUENT_ACCESS", "retention": "1d"}},
			{Name: "text", Props: obj{
				"kmsKeyId": keyTwo, "indexPolicy": `{"Fields":["traceId"]}`, "dataProtectionPolicy": masks("Address"),
				"policy": `{"Statement":{"Effect":"Deny","Principal":"*","Action":"logs:*","Resource":"*"}}`,
			}},
		},
		Hands:  hands(ws),
		Others: map[tree.Path][]any{"retention": {"3d"}},
		Open: map[tree.Path]string{
			"indexPolicy": "an index policy that is not declared, and was not, is not asked for",
		},
		Steady: map[tree.Path]string{"name": "a group keeps its name for life"},
	})
}

func TestLogGroup(t *testing.T) { kindtest.Run(t, groupSuite()) }
