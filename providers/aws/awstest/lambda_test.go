package awstest

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

// lambdaWorld is an account with a function, whose code is nothing.
func lambdaWorld(t *testing.T) (*Server, *lambda.Client) {
	t.Helper()
	cloud := Start(t)
	cfg := cloud.ObservedConfig(t)
	role, err := iam.NewFromConfig(cfg).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: new("worker"), AssumeRolePolicyDocument: new("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqs.NewFromConfig(cfg).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: new("stand-in")}); err != nil {
		t.Fatal(err)
	}
	client := lambda.NewFromConfig(cfg)
	if _, err := client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: new("worker"), Role: role.Role.Arn, PackageType: types.PackageTypeImage, Code: &types.FunctionCode{ImageUri: new("image:1")},
		LoggingConfig: &types.LoggingConfig{LogFormat: types.LogFormatJson, LogGroup: new("/shop")},
	}); err != nil {
		t.Fatal(err)
	}
	return cloud, client
}

// TestLambdaShowsWhatItIsTold is about the gaps that are filled: a call without effect is not remembered, one whose answer is
// lost is.
func TestLambdaShowsWhatItIsTold(t *testing.T) {
	t.Parallel()
	cloud, client := lambdaWorld(t)
	set := func(level types.ApplicationLogLevel) error {
		_, err := client.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
			FunctionName: new("worker"), LoggingConfig: &types.LoggingConfig{LogFormat: types.LogFormatJson, ApplicationLogLevel: level},
		})
		return err
	}
	level := func() types.ApplicationLogLevel {
		out, err := client.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: new("worker")})
		if err != nil {
			t.Fatal(err)
		}
		return out.Configuration.LoggingConfig.ApplicationLogLevel
	}
	for _, c := range []struct {
		kind Kind
		set  types.ApplicationLogLevel
		want types.ApplicationLogLevel
	}{{Deny, "WARN", ""}, {DropAnswer, "ERROR", "ERROR"}, {CutBefore, "DEBUG", "ERROR"}} {
		cloud.Inject(Fault{Op: "Lambda.PUT /*/functions/worker/configuration", Kind: c.kind})
		if err := set(c.set); err == nil || level() != c.want {
			t.Errorf("%s: shows %q, want %q (%v)", c.kind, level(), c.want, err)
		}
	}
}

func TestLambdaPolicies(t *testing.T) {
	t.Parallel()
	cloud, client := lambdaWorld(t)
	in := &lambda.AddPermissionInput{
		FunctionName: new("worker"), StatementId: new("public"), Action: new("lambda:InvokeFunctionUrl"), Principal: &cloud.Account,
		FunctionUrlAuthType: types.FunctionUrlAuthTypeNone,
	}
	if _, err := client.AddPermission(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	_, err := client.AddPermission(t.Context(), in)
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "ResourceConflictException" {
		t.Errorf("a second one of that id: %v", err)
	}
	out, err := client.GetPolicy(t.Context(), &lambda.GetPolicyInput{FunctionName: new("worker")})
	if err != nil || !strings.Contains(*out.Policy, `"lambda:FunctionUrlAuthType":"NONE"`) || !strings.Contains(*out.Policy, cloud.Account+":root") {
		t.Errorf("%+v (%v)", out, err)
	}
	if _, err := client.DeleteFunction(t.Context(), &lambda.DeleteFunctionInput{FunctionName: new("worker")}); err != nil {
		t.Fatal(err)
	}
	if len(cloud.emulator.functions.kept) != 0 {
		t.Errorf("of a deleted function there is left %v", cloud.emulator.functions.kept)
	}
}

func TestLambdaReadsOtherSources(t *testing.T) {
	t.Parallel()
	_, client := lambdaWorld(t)
	cluster := "arn:aws:kafka:us-east-1:111122223333:cluster/shop/1"
	made, err := client.CreateEventSourceMapping(t.Context(), &lambda.CreateEventSourceMappingInput{
		FunctionName: new("worker"), EventSourceArn: &cluster, Topics: []string{"orders"}, StartingPosition: types.EventSourcePositionLatest,
	})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]int{cluster: 1, cluster + "2": 0} {
		out, err := client.ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{FunctionName: new("worker"), EventSourceArn: &source})
		if err != nil || len(out.EventSourceMappings) != want {
			t.Errorf("of %s there are %v (%v)", source, out, err)
		}
	}
	out, err := client.GetEventSourceMapping(t.Context(), &lambda.GetEventSourceMappingInput{UUID: made.UUID})
	if err != nil || *out.EventSourceArn != cluster || out.Topics[0] != "orders" || *out.BatchSize != 100 {
		t.Errorf("%+v (%v)", out, err)
	}
}
