package lambda

import (
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// bodies are those of the calls that make a function, without what none of them has to itself.
type bodies struct {
	sdk.CreateFunctionInput
	sdk.PutFunctionConcurrencyInput
	sdk.PutFunctionEventInvokeConfigInput
	sdk.CreateFunctionUrlConfigInput
}

// TestGolden has the members of https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html without the code, and
// of API_PutFunctionConcurrency.html, API_PutFunctionEventInvokeConfig.html and API_CreateFunctionUrlConfig.html beside it.
func TestGolden(t *testing.T) {
	image := obj{"image": account + ".dkr.ecr.us-east-1.amazonaws.com/worker:1"}
	awstest.GoldenStruct(t, functionTable, with(tunedFunction(), obj{
		"code": image, "imageConfig": obj{"entryPoint": list{"/bin/worker", "-v"}, "command": list{"run"}, "workingDirectory": "/srv"},
	}), &bodies{
		sdk.CreateFunctionInput{
			Description: new("works"), Role: new(role("other")), Runtime: "python3.13", Handler: new("main.other"), MemorySize: new(int32(512)),
			Architectures: []types.Architecture{"arm64"}, Timeout: new(int32(30)), EphemeralStorage: &types.EphemeralStorage{Size: new(int32(1024))},
			Environment: &types.Environment{Variables: map[string]string{"STAGE": "prod", "TOKEN": "t"}}, Layers: []string{layer("tools"), layer("extra")},
			VpcConfig: &types.VpcConfig{
				SubnetIds: []string{"subnet-b", "subnet-a"}, SecurityGroupIds: []string{"sg-2", "sg-1"}, Ipv6AllowedForDualStack: new(true),
			},
			DeadLetterConfig: &types.DeadLetterConfig{TargetArn: new(queue("dead"))}, TracingConfig: &types.TracingConfig{Mode: "Active"},
			KMSKeyArn: new("arn:aws:kms:us-east-1:" + account + ":key/env"),
			FileSystemConfigs: []types.FileSystemConfig{{
				Arn: new("arn:aws:elasticfilesystem:us-east-1:" + account + ":access-point/fsap-0123456789abcdef0"), LocalMountPath: new("/mnt/data"),
			}},
			ImageConfig:   &types.ImageConfig{EntryPoint: []string{"/bin/worker", "-v"}, Command: []string{"run"}, WorkingDirectory: new("/srv")},
			LoggingConfig: &types.LoggingConfig{LogFormat: "JSON", LogGroup: new("/shop/worker"), ApplicationLogLevel: "DEBUG", SystemLogLevel: "WARN"},
			SnapStart:     &types.SnapStart{ApplyOn: "PublishedVersions"},
		},
		sdk.PutFunctionConcurrencyInput{ReservedConcurrentExecutions: new(int32(0))},
		sdk.PutFunctionEventInvokeConfigInput{
			MaximumRetryAttempts: new(int32(0)), MaximumEventAgeInSeconds: new(int32(60)), DestinationConfig: &types.DestinationConfig{
				OnSuccess: &types.OnSuccess{Destination: new(queue("done"))}, OnFailure: &types.OnFailure{Destination: new(queue("failed"))},
			},
		},
		sdk.CreateFunctionUrlConfigInput{AuthType: "NONE", InvokeMode: "RESPONSE_STREAM", Cors: &types.Cors{
			AllowOrigins: []string{"https://b.example", "https://a.example"}, AllowMethods: []string{"GET", "POST"},
			AllowHeaders: []string{"x-b", "x-a"}, ExposeHeaders: []string{"x-c", "x-d"}, AllowCredentials: new(true), MaxAge: new(int32(300)),
		}},
	})
	awstest.GoldenStruct(t, functionTable, obj{"code": image, "role": role("worker"), "async": obj{}, "logging": obj{}}, &bodies{
		CreateFunctionInput: sdk.CreateFunctionInput{
			Role: new(role("worker")), Architectures: []types.Architecture{"x86_64"}, MemorySize: new(int32(128)), Timeout: new(int32(3)),
			EphemeralStorage: &types.EphemeralStorage{Size: new(int32(512))}, TracingConfig: &types.TracingConfig{Mode: "PassThrough"},
			LoggingConfig: &types.LoggingConfig{LogFormat: "Text"}, SnapStart: &types.SnapStart{ApplyOn: "None"},
		},
		PutFunctionEventInvokeConfigInput: sdk.PutFunctionEventInvokeConfigInput{
			MaximumRetryAttempts: new(int32(2)), MaximumEventAgeInSeconds: new(int32(21600)),
		},
	})
}

// TestGoldenMapping has the members of https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
func TestGoldenMapping(t *testing.T) {
	awstest.GoldenStruct(t, mappingTable, plainMapping(obj{
		"source": stream("clicks"), "startingPosition": "AT_TIMESTAMP", "startingTimestamp": "2026-01-31T12:00:00Z", "enabled": false,
		"batchSize": int64(500), "batchWindow": "5m", "filters": list{`{"body":{"kind":["order"]}}`}, "reportBatchItemFailures": true,
		"onFailure": queue("failed"), "bisectOnError": true, "maxRecordAge": "1h", "maxRetries": int64(3), "parallelization": int64(4),
		"tumblingWindow": "15m", "kmsKey": "arn:aws:kms:us-east-1:" + account + ":key/filters", "eventCount": true,
	}), &sdk.CreateEventSourceMappingInput{
		FunctionName: new(functionNamed("theirs")), EventSourceArn: new(stream("clicks")), StartingPosition: "AT_TIMESTAMP",
		StartingPositionTimestamp: new(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)), Enabled: new(false), BatchSize: new(int32(500)),
		MaximumBatchingWindowInSeconds: new(int32(300)),
		FilterCriteria:                 &types.FilterCriteria{Filters: []types.Filter{{Pattern: new(`{"body":{"kind":["order"]}}`)}}},
		FunctionResponseTypes:          []types.FunctionResponseType{"ReportBatchItemFailures"},
		DestinationConfig:              &types.DestinationConfig{OnFailure: &types.OnFailure{Destination: new(queue("failed"))}},
		BisectBatchOnFunctionError:     new(true), MaximumRecordAgeInSeconds: new(int32(3600)), MaximumRetryAttempts: new(int32(3)),
		ParallelizationFactor: new(int32(4)), TumblingWindowInSeconds: new(int32(900)), KMSKeyArn: new("arn:aws:kms:us-east-1:" + account + ":key/filters"),
		MetricsConfig: &types.EventSourceMappingMetricsConfig{Metrics: []types.EventSourceMappingMetric{"EventCount"}},
	})
	awstest.GoldenStruct(t, mappingTable, plainMapping(obj{
		"source": nil, "servers": list{"b.example:9092", "a.example:9092"}, "topics": list{"orders"}, "queues": list{"letters"}, "maxConcurrency": int64(5),
		"access": list{obj{"type": "BASIC_AUTH", "uri": "secret"}}, "pollers": obj{"minimum": int64(2), "maximum": int64(20)},
		"documentDb": obj{"database": "shop", "collection": "orders"},
	}), &sdk.CreateEventSourceMappingInput{
		FunctionName: new(functionNamed("theirs")), Enabled: new(true), ParallelizationFactor: new(int32(1)), TumblingWindowInSeconds: new(int32(0)),
		SelfManagedEventSource: &types.SelfManagedEventSource{
			Endpoints: map[string][]string{"KAFKA_BOOTSTRAP_SERVERS": {"b.example:9092", "a.example:9092"}},
		},
		Topics: []string{"orders"}, Queues: []string{"letters"}, ScalingConfig: &types.ScalingConfig{MaximumConcurrency: new(int32(5))},
		SourceAccessConfigurations:  []types.SourceAccessConfiguration{{Type: "BASIC_AUTH", URI: new("secret")}},
		ProvisionedPollerConfig:     &types.ProvisionedPollerConfig{MinimumPollers: new(int32(2)), MaximumPollers: new(int32(20))},
		DocumentDBEventSourceConfig: &types.DocumentDBEventSourceConfig{DatabaseName: new("shop"), CollectionName: new("orders"), FullDocument: "Default"},
	})
}

// TestGoldenPermission has the members of https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
func TestGoldenPermission(t *testing.T) {
	awstest.GoldenStruct(t, permissionTable, obj{
		"function": functionNamed("theirs"), "principal": "events.amazonaws.com", "sourceArn": "arn:aws:events:us-east-1:" + account + ":rule/shop-*",
		"sourceAccount": account, "principalOrgId": "o-a1b2c3d4e5", "eventSourceToken": "skill", "functionUrlAuth": "AWS_IAM", "invokedViaUrl": true,
	}, &sdk.AddPermissionInput{
		Principal: new("events.amazonaws.com"), Action: new("lambda:InvokeFunction"), SourceArn: new("arn:aws:events:us-east-1:" + account + ":rule/shop-*"),
		SourceAccount: new(account), PrincipalOrgID: new("o-a1b2c3d4e5"), EventSourceToken: new("skill"), FunctionUrlAuthType: "AWS_IAM",
		InvokedViaFunctionUrl: new(true),
	})
}

// TestGoldenVersion has the request of https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html without what is optional:
// versionTable writes no member, and what is published is the function as it is.
func TestGoldenVersion(t *testing.T) {
	w := published(versionKind.Erase(), true)(t)
	w.Settled(t, obj{"function": "arn:aws:lambda:us-east-1:" + account + ":function:theirs", "follows": "digest"}, nil)
	var sent []string
	for _, c := range w.Server.Calls() {
		if c.Mutating {
			sent = append(sent, c.Method+" "+c.URI+" "+string(c.Body))
		}
	}
	if want := []string{"POST /2015-03-31/functions/theirs/versions {}"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
