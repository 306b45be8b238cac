package logs

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the members of a group as
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_LogGroup.html shows them, and of the calls as
// API_CreateLogGroup.html and API_PutRetentionPolicy.html beside it take them: the retention counts days.
func TestGolden(t *testing.T) {
	declared := obj{
		"retention": "14d", "kmsKeyId": keyOne, "class": "INFREQUENT_ACCESS", "deletionProtection": true, "bearerTokenAuthentication": true,
	}
	awstest.GoldenStruct(t, groupTable, declared, &types.LogGroup{
		RetentionInDays: new(int32(14)), KmsKeyId: new(keyOne), LogGroupClass: types.LogGroupClassInfrequentAccess,
		DeletionProtectionEnabled: new(true), BearerTokenAuthenticationEnabled: new(true),
	})
	var create sdk.CreateLogGroupInput
	if err := groupTable.Created(kindtest.PropsOf(t, groupTable, declared), kind.Struct(&create)); err != nil {
		t.Fatal(err)
	}
	if *create.KmsKeyId != keyOne || create.LogGroupClass != "INFREQUENT_ACCESS" || !*create.DeletionProtectionEnabled {
		t.Errorf("a creation sends %+v", create)
	}
}
