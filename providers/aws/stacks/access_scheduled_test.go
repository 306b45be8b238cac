package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/scheduler"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
)

// scheduled has a repository of images, and a state machine that a schedule starts, each encrypted with a key of the account.
func scheduled(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		const key = aws.ARN("arn:aws:kms:us-east-1:111111111111:key/0f2c1a52-0000-4000-8000-000000000001")
		pulls := aws.Policy(aws.Statement{
			Principals: map[string][]string{"AWS": {"arn:aws:iam::111111111111:root"}}, Actions: []string{"ecr:BatchGetImage"}, Conditions: map[string]map[string][]string{
				"StringEquals": {"aws:PrincipalTag/word": {word}},
			},
		})
		ecr.NewRepository(s, "images", ecr.RepositoryProps{
			Encryption: new("KMS"), KMSKey: key, ScanOnPush: word == "second", Policy: pulls, Tags: map[string]string{"word": word, word: "tag"},
			TagMutability: new(map[bool]string{true: "MUTABLE", false: "IMMUTABLE"}[word == "second"]),
			LifecyclePolicy: map[string]any{"rules": []any{map[string]any{
				"rulePriority": 1, "action": map[string]any{"type": "expire"},
				"selection": map[string]any{"tagStatus": "untagged", "countType": "imageCountMoreThan", "countNumber": len(word)},
			}}},
		})
		runner := iam.NewRole(s, "runner", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("states.amazonaws.com", "scheduler.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"states:StartExecution", "kms:Decrypt"}, Resources: []string{"*"}}},
		})
		group := logs.NewLogGroup(s, "lines", logs.LogGroupProps{}, athanor.AllowDelete())
		machine := sfn.NewStateMachine(s, "checkout", sfn.StateMachineProps{
			Definition: map[string]any{"StartAt": word, "States": map[string]any{word: map[string]any{"Type": "Succeed"}}},
			Role:       runner.ARN, KMSKey: key, LogLevel: new("ERROR"), LogGroup: group.ARN, Tags: map[string]string{"word": word, word: "tag"},
		})
		scheduler.NewSchedule(s, "nightly", scheduler.ScheduleProps{
			Expression: "rate(1 day)", Target: machine.ARN, Role: runner.ARN, KMSKey: key, Description: word,
		})
		return nil
	}
}
