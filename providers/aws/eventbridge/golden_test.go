package eventbridge

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// TestGolden has the members of https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html and of
// API_CreateEventBus.html beside it.
func TestGolden(t *testing.T) {
	awstest.GoldenStruct(t, ruleTable, obj{
		"eventPattern": obj{"source": list{"shop"}}, "scheduleExpression": "rate(5 minutes)", "description": "often", "state": "DISABLED",
		"roleArn": arn("iam", "role/rule"),
	}, &sdk.PutRuleInput{
		EventPattern: new(`{"source":["shop"]}`), ScheduleExpression: new("rate(5 minutes)"), Description: new("often"),
		State: types.RuleStateDisabled, RoleArn: new(arn("iam", "role/rule")),
	})
	awstest.GoldenStruct(t, ruleTable, obj{"scheduleExpression": "rate(1 hour)"}, &sdk.PutRuleInput{
		ScheduleExpression: new("rate(1 hour)"), State: types.RuleStateEnabled,
	})
	awstest.GoldenStruct(t, busTable, obj{
		"description": "all orders", "kmsKeyArn": arn("kms", "key/one"), "deadLetter": arn("sqs", "dead"), "logLevel": "INFO", "logDetail": "FULL",
	}, &sdk.CreateEventBusInput{
		Description: new("all orders"), KmsKeyIdentifier: new(arn("kms", "key/one")),
		DeadLetterConfig: &types.DeadLetterConfig{Arn: new(arn("sqs", "dead"))},
		LogConfig:        &types.LogConfig{Level: types.LevelInfo, IncludeDetail: types.IncludeDetailFull},
	})
}
