package secretsmanager

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// TestGolden has the members of https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html that an
// answer of API_DescribeSecret.html beside it shows by the same names. All others have calls and answers of their own.
func TestGolden(t *testing.T) {
	awstest.GoldenStruct(t, secretTable, tuned(), &sdk.CreateSecretInput{Description: new("of the shop"), KmsKeyId: new("alias/shop")})
	awstest.GoldenStruct(t, secretTable, obj{"external": true}, &sdk.CreateSecretInput{})
}
