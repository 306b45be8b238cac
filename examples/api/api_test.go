package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// api is the built program with a cloud of its own.
type api struct {
	*programtest.Program[*awstest.Server]
	t *testing.T
}

// TestAPI is the life of the service against an independent emulator; its counts are in testdata/numbers.golden.
func TestAPI(t *testing.T) {
	a := &api{programtest.Build(t, awstest.Start(t), "."), t}
	t.Parallel() // what is built is built once
	var numbers strings.Builder
	note := func(step string, c programtest.Counts) programtest.Counts {
		fmt.Fprintf(&numbers, "%-22s %s\n", step+":", c)
		return c
	}
	if out, _, code := a.Run("plan"); code != 2 || len(a.Cloud.Mutations()) > 0 {
		t.Fatalf("plan: exit %d, %d mutating calls\n%s", code, len(a.Cloud.Mutations()), out)
	}
	first := note("first deploy", a.Do("deploy"))
	a.works(first)
	a.leastPrivilege(first)

	a.Cloud.Reset()
	again := note("second deploy", a.Do("deploy"))
	if again.Calls.Mutations != 0 || again.Commits != 0 || len(a.Cloud.Mutations()) != 0 {
		t.Errorf("the second deploy wrote: %s %v", again, a.Cloud.Mutations())
	}

	changed := note("changed config", a.Do("deploy", "--config", "memory=512"))
	if changed.Updated != 1 || changed.Calls.Mutations != 1 {
		t.Errorf("another size of memory: %s", changed)
	}
	a.drift(first)
	if out, _, code := a.Run("plan", "--config", "memory=512"); code != 2 || !strings.Contains(out, "drift") {
		t.Errorf("plan after drift: exit %d\n%s", code, out)
	}
	note("repair of drift", a.Do("deploy", "--config", "memory=512"))

	a.Lose()
	lost := note("after a lost record", a.Do("deploy", "--config", "memory=512"))
	if lost.Created != 0 || lost.Replaced != 0 || lost.Deleted != 0 || lost.Recovered == 0 || lost.Calls.Mutations != 0 {
		t.Errorf("a lost record: %s", lost)
	}
	once := note("once more", a.Do("deploy", "--config", "memory=512"))
	if once.Calls.Mutations != 0 || once.Commits != 0 {
		t.Errorf("once more: %s", once)
	}
	note("destroy", a.Do("destroy", "--allow-delete", "**"))
	if left := a.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	a.Golden("numbers.golden", numbers.String(), *update)
}

// works sends a request through both functions, with what is deployed.
func (a *api) works(c programtest.Counts) {
	a.t.Helper()
	web, worker := a.start("web", fmt.Sprint(c.Outputs["web"])), a.start("worker", fmt.Sprint(c.Outputs["worker"]))
	var made events.APIGatewayV2HTTPResponse
	web.call(events.APIGatewayV2HTTPRequest{RouteKey: "POST /items", Body: `{"name":"lamp"}`}, &made)
	var item struct{ ID, Name, State string }
	if err := json.Unmarshal([]byte(made.Body), &item); err != nil || made.StatusCode != http.StatusCreated || item.ID == "" {
		a.t.Fatalf("POST /items: %d %s", made.StatusCode, made.Body)
	}
	queue := fmt.Sprint(c.Outputs["queue"])
	got, err := sqs.NewFromConfig(a.Cloud.Config(a.t)).ReceiveMessage(a.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queue})
	if err != nil || len(got.Messages) != 1 || *got.Messages[0].Body != item.ID {
		a.t.Fatalf("the queue has %+v (%v)", got, err)
	}
	worker.call(events.SQSEvent{Records: []events.SQSMessage{{Body: *got.Messages[0].Body}}}, nil)
	worker.call(events.CloudWatchEvent{Source: "aws.events"}, nil)
	var shown events.APIGatewayV2HTTPResponse
	web.call(events.APIGatewayV2HTTPRequest{RouteKey: "GET /items/{id}", PathParameters: map[string]string{"id": item.ID}}, &shown)
	if err := json.Unmarshal([]byte(shown.Body), &item); err != nil || shown.StatusCode != http.StatusOK || item.Name != "lamp" || item.State != "done" {
		a.t.Errorf("GET /items/%s: %d %s", item.ID, shown.StatusCode, shown.Body)
	}
}

// leastPrivilege reads what the roles may do.
func (a *api) leastPrivilege(c programtest.Counts) {
	a.t.Helper()
	client := iam.NewFromConfig(a.Cloud.Config(a.t))
	functions := lambda.NewFromConfig(a.Cloud.Config(a.t))
	for name, wants := range map[string]string{
		"web":    "dynamodb logs sqs:SendMessage",
		"worker": "dynamodb logs sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage",
	} {
		physical := fmt.Sprint(c.Outputs[name])
		fn, err := functions.GetFunctionConfiguration(a.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &physical})
		if err != nil {
			a.t.Fatal(err)
		}
		role := (*fn.Role)[strings.LastIndexByte(*fn.Role, '/')+1:]
		names, err := client.ListRolePolicies(a.t.Context(), &iam.ListRolePoliciesInput{RoleName: &role})
		if err != nil {
			a.t.Fatal(err)
		}
		var may []string
		for _, policy := range names.PolicyNames {
			may = append(may, a.actions(client, role, policy)...)
		}
		slices.Sort(may)
		if have := strings.Join(slices.Compact(may), " "); have != wants {
			a.t.Errorf("%s may %s, want %s", name, have, wants)
		}
	}
}

// actions are those of a policy: services by their name, and the queue's one by one. None is for everything.
func (a *api) actions(client *iam.Client, role, policy string) []string {
	a.t.Helper()
	out, err := client.GetRolePolicy(a.t.Context(), &iam.GetRolePolicyInput{RoleName: &role, PolicyName: &policy})
	if err != nil {
		a.t.Fatal(err)
	}
	var document struct {
		Statement []struct{ Action, Resource []string }
	}
	if err := json.Unmarshal([]byte(unescaped(a.t, *out.PolicyDocument)), &document); err != nil {
		a.t.Fatalf("%v: %s", err, *out.PolicyDocument)
	}
	var all []string
	for _, s := range document.Statement {
		if slices.Contains(s.Resource, "*") {
			a.t.Errorf("%s may %v everywhere", role, s.Action)
		}
		for _, action := range s.Action {
			if service, _, _ := strings.Cut(action, ":"); service != "sqs" {
				action = service
			}
			all = append(all, action)
		}
	}
	return all
}

// drift edits the service behind athanor's back.
func (a *api) drift(c programtest.Counts) {
	a.t.Helper()
	ctx, cfg := a.t.Context(), a.Cloud.Config(a.t)
	name := fmt.Sprint(c.Outputs["web"])
	if _, err := lambda.NewFromConfig(cfg).UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{FunctionName: &name, Timeout: new(int32(77))}); err != nil {
		a.t.Fatal(err)
	}
	apis := apigatewayv2.NewFromConfig(cfg)
	all, err := apis.GetApis(ctx, &apigatewayv2.GetApisInput{})
	if err != nil || len(all.Items) != 1 {
		a.t.Fatalf("%+v, %v", all, err)
	}
	if _, err := apis.CreateRoute(ctx, &apigatewayv2.CreateRouteInput{ApiId: all.Items[0].ApiId, RouteKey: new("GET /admin")}); err != nil {
		a.t.Fatal(err)
	}
	rules, err := eventbridge.NewFromConfig(cfg).ListRules(ctx, &eventbridge.ListRulesInput{})
	if err != nil || len(rules.Rules) != 1 {
		a.t.Fatalf("%+v, %v", rules, err)
	}
	if _, err := eventbridge.NewFromConfig(cfg).DisableRule(ctx, &eventbridge.DisableRuleInput{Name: rules.Rules[0].Name}); err != nil {
		a.t.Fatal(err)
	}
}

// unescaped is a document as IAM means it.
func unescaped(t *testing.T, document string) string {
	t.Helper()
	plain, err := url.PathUnescape(document)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// left is what the cloud's own clients still see of the service.
func (a *api) left() []string {
	a.t.Helper()
	ctx, cfg := a.t.Context(), a.Cloud.Config(a.t)
	var all []string
	must := func(err error) {
		if err != nil {
			a.t.Fatal(err)
		}
	}
	functions, err := lambda.NewFromConfig(cfg).ListFunctions(ctx, &lambda.ListFunctionsInput{})
	must(err)
	for _, f := range functions.Functions {
		all = append(all, "function "+*f.FunctionName)
	}
	mappings, err := lambda.NewFromConfig(cfg).ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{})
	must(err)
	for _, m := range mappings.EventSourceMappings {
		all = append(all, "mapping "+*m.UUID)
	}
	tables, err := dynamodb.NewFromConfig(cfg).ListTables(ctx, &dynamodb.ListTablesInput{})
	must(err)
	all = append(all, tables.TableNames...)
	queues, err := sqs.NewFromConfig(cfg).ListQueues(ctx, &sqs.ListQueuesInput{})
	must(err)
	all = append(all, queues.QueueUrls...)
	apis, err := apigatewayv2.NewFromConfig(cfg).GetApis(ctx, &apigatewayv2.GetApisInput{})
	must(err)
	for _, x := range apis.Items {
		all = append(all, "API "+*x.ApiId)
	}
	rules, err := eventbridge.NewFromConfig(cfg).ListRules(ctx, &eventbridge.ListRulesInput{})
	must(err)
	for _, r := range rules.Rules {
		all = append(all, "rule "+*r.Name)
	}
	groups, err := cloudwatchlogs.NewFromConfig(cfg).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{})
	must(err)
	for _, g := range groups.LogGroups {
		if strings.HasPrefix(*g.LogGroupName, "/aws/lambda/") {
			continue // the emulator makes it, when it tries to call the worker with a message, whatever the function's settings say
		}
		all = append(all, "log group "+*g.LogGroupName)
	}
	roles, err := iam.NewFromConfig(cfg).ListRoles(ctx, &iam.ListRolesInput{})
	must(err)
	for _, r := range roles.Roles {
		if !strings.HasPrefix(*r.Path, "/aws-service-role/") {
			all = append(all, "role "+*r.RoleName)
		}
	}
	return all
}

func TestBothWays(t *testing.T) { programtest.BothWays(t) }
