package eventbridge

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func pattern(source string) obj {
	return obj{"source": list{source, "shop"}, "detail": obj{"total": list{obj{"numeric": list{">", int64(0), "<=", int64(5)}}}, "state": list{obj{"anything-but": list{"old", "gone"}}}}}
}

// targets have everything that a target can have, each what fits it.
func everyTarget() obj {
	return obj{
		"queue": obj{
			"arn": arn("sqs", "orders"), "sqsParameters": obj{"messageGroupId": "all"}, "deadLetter": arn("sqs", "dead"),
			"retryPolicy":      obj{"maximumEventAge": "2h", "maximumRetryAttempts": int64(3)},
			"inputTransformer": obj{"inputTemplate": `{"id": <id>}`, "inputPathsMap": obj{"id": "$.detail.id"}},
		},
		"function": obj{"arn": arn("lambda", "function:work"), "input": obj{"run": "nightly", "days": list{int64(2), int64(1)}}},
		"stream":   obj{"arn": arn("kinesis", "stream/all"), "roleArn": arn("iam", "role/events"), "kinesisParameters": obj{"partitionKeyPath": "$.detail.id"}, "inputPath": "$.detail"},
		"cluster": obj{"arn": arn("ecs", "cluster/main"), "roleArn": arn("iam", "role/events"), "ecsParameters": obj{
			"taskDefinitionArn": arn("ecs", "task-definition/work:1"), "taskCount": int64(2), "capacityProviderStrategy": list{obj{"capacityProvider": "SPOT", "base": int64(1), "weight": int64(2)}},
			"platformVersion": "1.4.0", "group": "night", "networkConfiguration": obj{"awsvpcConfiguration": obj{
				"subnets": list{"subnet-b", "subnet-a"}, "securityGroups": list{"sg-1", "sg-2"}, "assignPublicIp": "ENABLED",
			}},
			"placementConstraints": list{obj{"type": "memberOf", "expression": "attribute:x == y"}}, "placementStrategy": list{obj{"type": "spread", "field": "host"}},
			"propagateTags": "TASK_DEFINITION", "referenceId": "ref", "enableEcsManagedTags": true, "enableExecuteCommand": true, "tags": obj{"team": "web"},
		}},
		"fargate": obj{"arn": arn("ecs", "cluster/other"), "ecsParameters": obj{"taskDefinitionArn": arn("ecs", "task-definition/x"), "launchType": "FARGATE"}},
		"batch": obj{"arn": arn("batch", "job-queue/q"), "batchParameters": obj{
			"jobDefinition": "job", "jobName": "nightly", "arrayProperties": obj{"size": int64(10)}, "retryStrategy": obj{"attempts": int64(2)},
		}},
		"http": obj{"arn": arn("events", "api-destination/out/1"), "httpParameters": obj{
			"pathParameterValues": list{"a", "b"}, "headerParameters": obj{"X-Shop": "one"}, "queryStringParameters": obj{"q": "1"},
		}},
		"graph":    obj{"arn": arn("appsync", "endpoints/graphql-api/x"), "appSyncParameters": obj{"graphQlOperation": "mutation M { a }"}},
		"redshift": obj{"arn": arn("redshift", "cluster:x"), "redshiftDataParameters": obj{"database": "db", "sql": "select 1", "dbUser": "me", "statementName": "one", "withEvent": true}},
		"secret":   obj{"arn": arn("redshift", "cluster:y"), "redshiftDataParameters": obj{"database": "db", "sqls": list{"select 1", "select 2"}, "secretManagerArn": arn("secretsmanager", "secret:x")}},
		"command":  obj{"arn": arn("ssm", "document/run"), "runCommandParameters": obj{"runCommandTargets": list{obj{"key": "tag:role", "values": list{"web", "db"}}}}},
		"pipeline": obj{"arn": arn("sagemaker", "pipeline/x"), "sageMakerPipelineParameters": obj{"pipelineParameterList": list{obj{"name": "n", "value": "v"}}}},
	}
}

func ruleSuite() kindtest.Suite {
	const kept = "a target is compared as a document, which EventBridge keeps as it was written"
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(ruleTable, kindtest.Suite{
		Kind:  ruleKind.Erase(),
		World: ws.Make(newWorld, (*world).rules),
		Base: obj{"scheduleExpression": "rate(1 hour)", "tags": obj{"team": "shop"}, "targets": obj{
			"work": obj{"arn": arn("lambda", "function:work")},
		}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "everything", Props: obj{
				"name": "orders", "eventBusName": ownBus, "eventPattern": pattern("orders"), "description": "all orders", "state": "DISABLED",
				"roleArn": arn("iam", "role/rule"), "targets": everyTarget(), "tags": obj{"team": "web", "cost center": "42"},
			}},
			{Name: "both", Props: obj{
				"scheduleExpression": "cron(0 12 * * ? *)", "eventPattern": `{"source": ["shop"]}`, "description": "noon",
				"targets": obj{"work": obj{"arn": arn("lambda", "function:other"), "input": `"text"`}},
			}},
			{Name: "alone", Props: obj{"scheduleExpression": "rate(1 hour)", "roleArn": arn("iam", "role/other"), "state": "DISABLED"}},
		},
		Hands: hands(ws),
		Others: map[tree.Path][]any{
			"eventPattern":                                     {pattern("other")},
			"scheduleExpression":                               {"rate(2 hours)"},
			"targets.*.ecsParameters.propagateTags":            {""},
			"targets.*.input":                                  {obj{"other": true}},
			"targets.*.httpParameters.pathParameterValues":     {list{"b", "a"}},
			"targets.*.retryPolicy.maximumEventAge":            {"3h"},
			"targets.*.ecsParameters.capacityProviderStrategy": {list{obj{"capacityProvider": "FARGATE"}}},
		},
		Ordered: map[tree.Path]string{
			"targets.*.ecsParameters.capacityProviderStrategy": kept,
			"targets.*.ecsParameters.placementConstraints":     kept,
			"targets.*.ecsParameters.placementStrategy":        kept,
			"targets.*.httpParameters":                         kept,
			"targets.*.redshiftDataParameters":                 kept,
			"targets.*.runCommandParameters":                   kept,
			"targets.*.sageMakerPipelineParameters":            kept,
		},
		Steady: map[tree.Path]string{"name": "a rule keeps its name for life"},
		Silent: map[tree.Path]string{"eventBusName": "schedules are on the default bus alone; TestOtherBases changes it"},
	})
}

func TestRule(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, ruleSuite())
}
