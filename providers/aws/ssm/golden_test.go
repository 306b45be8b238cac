package ssm

import (
	"encoding/json"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestGolden has the request syntax of https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
// with policies as https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-policies.html writes them.
func TestGolden(t *testing.T) {
	policies := `[{"Type":"NoChangeNotification","Version":"1.0","Attributes":{"After":"20","Unit":"Days"}},` +
		`{"Type":"Expiration","Version":"1.0","Attributes":{"Timestamp":"2039-12-02T21:34:33.000Z"}}]`
	for _, c := range []struct {
		declared obj
		body     sdk.PutParameterInput
	}{
		{tuned(), sdk.PutParameterInput{
			Tier: types.ParameterTierAdvanced, Description: new("where the shop is"), AllowedPattern: new("^[a-z.]+$"), DataType: new("text"),
			Policies: &policies,
		}},
		{obj{"type": "StringList", "value": "a,b", "keyId": "alias/shop", "dataType": "aws:ec2:image"}, sdk.PutParameterInput{
			Type: types.ParameterTypeStringList, Tier: types.ParameterTierStandard, KeyId: new("alias/shop"), DataType: new("aws:ec2:image"),
		}},
	} {
		awstest.GoldenStruct(t, parameterTable, c.declared, &c.body)
		sent, err := inputOf(parameterDefaults(kindtest.PropsOf(t, parameterTable, c.declared)), "/shop/domain")
		if err != nil {
			t.Fatal(err)
		}
		sent.Overwrite, sent.Tags = new(false), aws.JSONTags[aws.Tag](map[string]string{"team": "shop"})
		awstest.ConformTree(t, "ssm", "PutParameter", bodyOf(t, sent))
	}
	awstest.ConformTree(t, "ssm", "DescribeParameters", bodyOf(t, describeInput{ParameterFilters: named("Equals", "a"), MaxResults: mostMetas, NextToken: "b"}))
}

// bodyOf is the body of a call as it is sent.
func bodyOf(t *testing.T, in any) obj {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	body, err := tree.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return body.(obj)
}
