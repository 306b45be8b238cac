package providers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/props"
	tokens "github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestFactsAgree holds what the props of every kind of AWS allow to what the registry of AWS says of the same properties: words,
// bounds, lengths, how many, and what must be given.
func TestFactsAgree(t *testing.T) {
	t.Parallel()
	known, facts := &excuses{all: factDisagreements, pages: "https://docs.aws.amazon.com/"}, 0
	for _, s := range services() {
		for _, kind := range s.Kinds {
			typ, ok := principal(s, kind.Spec().Type)
			if !ok {
				continue
			}
			reg, err := registry.Lookup(typ)
			if errors.Is(err, registry.ErrUnserved) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			c := &comparison{matching: matchingOf(t, kind, reg, map[string]bool{})}
			c.compare(c.fields)
			facts += c.facts
			for _, d := range c.found {
				if key := fmt.Sprint(c.kind, " ", d.path, " ", d.fact); !known.cover(key) {
					t.Errorf("%s: %s, and %s %s: %s", key, d.ours, typ, c.matching.found[d.path], d.theirs)
				}
			}
		}
	}
	known.check(t)
	if facts < 550 {
		t.Errorf("only %d facts are compared", facts)
	}
	t.Logf("%d facts agree, %d do not", facts-len(known.used), len(known.used))
}

// excuses are facts that are known to differ, by a key, each with a page of the service's documentation.
type excuses struct {
	all   map[string]disagreement
	pages string // how the address of each page begins
	used  map[string]bool
}

// cover reports whether a difference is excused, and notes the excuse.
func (e *excuses) cover(key string) bool {
	if e.all[key].reason == "" {
		return false
	}
	if e.used == nil {
		e.used = map[string]bool{}
	}
	e.used[key] = true
	return true
}

// check refuses excuses that no difference needs any more, and those without a page.
func (e *excuses) check(t *testing.T) {
	t.Helper()
	for key, d := range e.all {
		if !e.used[key] || !strings.HasPrefix(d.url, e.pages) {
			t.Errorf("%s is excused for nothing any more, or has no page", key)
		}
	}
}

// factDisagreements are the facts of which the service says what the kind does, by kind, prop and fact.
var factDisagreements = map[string]disagreement{
	"aws.cognito.UserPool verifyBeforeUpdate required":                                               {"no addresses are none to verify", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UserAttributeUpdateSettingsType.html"},
	"aws.eventbridge.Rule targets maxitems":                                                          {"it is a quota of the account", "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"},
	"aws.lambda.EventSourceMapping onFailure maxlen":                                                 {"the service's own model has less", "https://docs.aws.amazon.com/lambda/latest/api/API_OnFailure.html"},
	"aws.lambda.EventSourceMapping access maxitems":                                                  {"the service's own model has less", "https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"},
	"aws.ssm.Parameter value required":                                                               {"a secret one has secureValue instead", "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html"},
	"aws.apigatewayv2.HTTPAPI cors.allowOrigins required":                                            {"without an origin no browser is allowed anything", "https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis-apiid.html"},
	"aws.apigatewayv2.DomainName mutualTls.truststoreUri required":                                   {"certificates are judged by it", "https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/domainnames.html"},
	"aws.cloudfront.Distribution priceClass enum":                                                    {"it is for tenants of distributions", "https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html"},
	"aws.cloudfront.Distribution origins required":                                                   {"the service wants at least one", "https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_Origins.html"},
	"aws.cognito.UserPool requiredAttributes maxitems":                                               {"the schema holds custom attributes too", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPool.html"},
	"aws.cognito.UserPool passwordPolicy.temporaryValidity min":                                      {"0 stands for the default", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_PasswordPolicyType.html"},
	"aws.cognito.UserPoolClient accessTokenValidity min":                                             {"the registry's bound is a number of any unit", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolClient.html"},
	"aws.cognito.UserPoolClient idTokenValidity min":                                                 {"the registry's bound is a number of any unit", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolClient.html"},
	"aws.cognito.UserPoolClient refreshTokenValidity min":                                            {"the registry's bound is a number of any unit", "https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolClient.html"},
	"aws.dynamodb.Table provisionedThroughput.readCapacityUnits min":                                 {"the service wants one at least", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ProvisionedThroughput.html"},
	"aws.dynamodb.Table provisionedThroughput.writeCapacityUnits min":                                {"the service wants one at least", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ProvisionedThroughput.html"},
	"aws.dynamodb.Table globalSecondaryIndexes.*.provisionedThroughput.readCapacityUnits min":        {"the service wants one at least", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ProvisionedThroughput.html"},
	"aws.dynamodb.Table globalSecondaryIndexes.*.provisionedThroughput.writeCapacityUnits min":       {"the service wants one at least", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ProvisionedThroughput.html"},
	"aws.dynamodb.Table warmThroughput.readUnitsPerSecond required":                                  {"the least of both is declared together", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_WarmThroughput.html"},
	"aws.dynamodb.Table warmThroughput.writeUnitsPerSecond required":                                 {"the least of both is declared together", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_WarmThroughput.html"},
	"aws.dynamodb.Table globalSecondaryIndexes.*.warmThroughput.readUnitsPerSecond required":         {"the least of both is declared together", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_WarmThroughput.html"},
	"aws.dynamodb.Table globalSecondaryIndexes.*.warmThroughput.writeUnitsPerSecond required":        {"the least of both is declared together", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_WarmThroughput.html"},
	"aws.ecs.Service cluster required":                                                               {"the service takes the cluster named default, which nobody declares", "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html"},
	"aws.ecs.Service subnets required":                                                               {"Fargate has the network mode awsvpc, which needs subnets", "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html"},
	"aws.ecs.Service loadBalancers.*.targetGroup required":                                           {"classic load balancers have none, and are not for Fargate", "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"},
	"aws.ecs.Service loadBalancers.*.container required":                                             {"classic load balancers have none, and are not for Fargate", "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"},
	"aws.ecs.Service loadBalancers.*.port required":                                                  {"classic load balancers have none, and are not for Fargate", "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"},
	"aws.eventbridge.Rule targets.*.ecsParameters.networkConfiguration.awsvpcConfiguration required": {"it holds nothing else", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_NetworkConfiguration.html"},
	"aws.eventbridge.Rule targets.*.ecsParameters.placementConstraints.*.type required":              {"a constraint without a type is none", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PlacementConstraint.html"},
	"aws.eventbridge.Rule targets.*.batchParameters.arrayProperties.size required":                   {"it holds nothing else", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_BatchArrayProperties.html"},
	"aws.eventbridge.Rule targets.*.batchParameters.retryStrategy.attempts required":                 {"it holds nothing else", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_BatchRetryStrategy.html"},
	"aws.kms.Key usage enum":                                                                         {"the registry is behind", "https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html"},
	"aws.lambda.Function memory max":                                                                 {"functions on instances of a capacity provider have more, and are not offered", "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"},
	"aws.lambda.Function timeout max":                                                                {"functions on instances of a capacity provider have more, and are not offered", "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"},
	"aws.lambda.Function ephemeralStorage max":                                                       {"functions on instances of a capacity provider have more, and are not offered", "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"},
	"aws.lambda.Function vpc.subnets required":                                                       {"a network that is declared has some", "https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html"},
	"aws.lambda.Function vpc.securityGroups required":                                                {"a network that is declared has some", "https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html"},
	"aws.lambda.Permission principal maxlen":                                                         {"the service takes longer ones", "https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html"},
	"aws.lambda.Permission function maxlen":                                                          {"the service takes longer ones", "https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html"},
	"aws.lambda.Permission action maxlen":                                                            {"the service takes longer ones", "https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html"},
	"aws.lambda.Permission sourceArn maxlen":                                                         {"the service takes longer ones", "https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html"},
	"aws.lambda.EventSourceMapping function maxlen":                                                  {"the service takes longer ones", "https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"},
	"aws.lambda.EventSourceMapping maxRecordAge min":                                                 {"-1 stands for no bound, which is the default", "https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"},
	"aws.lambda.EventSourceMapping maxRetries min":                                                   {"-1 stands for no bound, which is the default", "https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html"},
	"aws.lambda.EventSourceMapping access.*.type required":                                           {"one says nothing without the other", "https://docs.aws.amazon.com/lambda/latest/api/API_SourceAccessConfiguration.html"},
	"aws.lambda.EventSourceMapping access.*.uri required":                                            {"one says nothing without the other", "https://docs.aws.amazon.com/lambda/latest/api/API_SourceAccessConfiguration.html"},
	"aws.lambda.EventSourceMapping documentDb.database required":                                     {"the service refuses a source of DocumentDB without it", "https://docs.aws.amazon.com/lambda/latest/api/API_DocumentDBEventSourceConfig.html"},
	"aws.lambda.Version function maxlen":                                                             {"it is an ARN, which the service takes as long as it is", "https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html"},
	"aws.logs.LogGroup class enum":                                                                   {"the registry is behind", "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html"},
	"aws.sfn.StateMachine definition required":                                                       {"the registry has three ways to give it", "https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html"},
	"aws.sns.Subscription endpoint required":                                                         {"a subscription leads somewhere", "https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html"},
	"aws.ssm.Parameter type enum":                                                                    {"the registry makes no secret ones", "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html"},
	"aws.ssm.Parameter tier enum":                                                                    {"the service makes one of the two of it, which it shows then", "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html"},
	"aws.ssm.Parameter dataType enum":                                                                {"the registry is behind", "https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html"},
}

// TestFactsCanFail: a fact that a kind and a type do not agree on is told, of each sort.
func TestFactsCanFail(t *testing.T) {
	t.Parallel()
	bounds := func(min, max float64) *registry.Node { return &registry.Node{Types: "i", Min: &min, Max: &max} }
	longest := 8.0
	reg := &registry.Type{Name: "AWS::SQS::Queue", Root: &registry.Node{
		Types: "o", Required: []string{"KmsMasterKeyId"}, Properties: map[string]*registry.Node{
			"DelaySeconds": bounds(1, 900), "VisibilityTimeout": bounds(0, 60), "KmsMasterKeyId": {Types: "s"},
			"DeduplicationScope": {Types: "s", Enum: []string{"messageGroup"}}, "FifoThroughputLimit": {Types: "s", Pattern: "^(perQueue|perAccount)$"},
			"RedriveAllowPolicy": {Types: "o", Properties: map[string]*registry.Node{"sourceQueueArns": {Types: "a", Max: &longest, Items: &registry.Node{Types: "s"}}}},
		},
	}}
	c := &comparison{matching: matchingOf(t, kindNamed(t, "aws.sqs.Queue"), reg, map[string]bool{})}
	c.compare(c.fields)
	var have []string
	for _, d := range c.found {
		have = append(have, fmt.Sprint(d.path, " ", d.fact, ": ", d.ours, ", ", d.theirs))
	}
	want := []string{
		"deduplicationScope enum: [messageGroup queue], [messageGroup]", "fifoThroughputLimit enum: [perMessageGroupId perQueue], [perAccount perQueue]",
		"visibilityTimeout max: 12h, 60", "delay min: 0s, 1", "redriveAllow.sources maxitems: 10, 8", "kmsMasterKeyId required: false, true",
	}
	if !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

// A difference is a fact of a prop of which a kind and the registry say two values.
type difference struct {
	path               tree.Path
	fact, ours, theirs string
}

// comparison compares the facts of a kind with those of its type.
type comparison struct {
	*matching
	facts int
	found []difference
}

func (c *comparison) differ(f props.Field, fact string, ours, theirs any) {
	c.found = append(c.found, difference{f.Path, fact, fmt.Sprint(ours), fmt.Sprint(theirs)})
}

func (c *comparison) compare(fields []props.Field) {
	for _, f := range fields {
		if path, ok := c.matching.found[f.Path]; ok {
			c.field(f, path)
		}
		c.compare(f.Fields)
	}
}

var alternatives = regexp.MustCompile(`^\^\(([\w|-]+)\)\$$`)

func (c *comparison) field(f props.Field, path tree.Path) {
	n := c.node(path)
	c.required(f, path)
	of, isList := strings.CutPrefix(f.Type, "list of ")
	if isList || strings.HasPrefix(f.Type, "map of ") {
		c.most(f, "maxitems", f.MaxItems, n, n.Items != nil)
		if n.Items != nil && of == "string" {
			c.words(f, c.reg.Follow(n.Items))
		}
		return
	}
	switch f.Type {
	case "string", "secret string":
		c.words(f, n)
		c.most(f, "maxlen", f.MaxLen, n, n.Types == "s" && n.Enum == nil && f.Enum == nil && !alternatives.MatchString(n.Pattern))
	case "int", "number", "duration", "size":
		c.bound(f, "min", f.Min, n.Min, n)
		c.bound(f, "max", f.Max, n.Max, n)
	}
}

// required compares whether a property must be given in the object that holds it.
func (c *comparison) required(f props.Field, path tree.Path) {
	name := last(path)
	holder := c.node(path.Parent())
	if holder.Properties[name] == nil || f.Path == "name" || renames[c.kind+" "+string(f.Path)] != "" {
		return
	}
	c.facts++
	theirs := slices.Contains(holder.Required, name)
	if isDefault := f.Default != "" && !strings.HasPrefix(f.Default, "none"); f.Required != theirs && !(theirs && isDefault) {
		c.differ(f, "required", f.Required, theirs)
	}
}

func (c *comparison) words(f props.Field, n *registry.Node) {
	words := n.Enum
	if m := alternatives.FindStringSubmatch(n.Pattern); m != nil {
		words = strings.Split(m[1], "|")
	}
	if words == nil || len(f.Enum) == 0 { // some kinds judge words in their Check, some leave new ones to the service
		return
	}
	c.facts++
	ours := slices.Sorted(slices.Values(f.Enum))
	if slices.Sort(words); !slices.Equal(ours, words) {
		c.differ(f, "enum", ours, words)
	}
}

// most compares an upper bound of a length. Where the registry has none, the service's documentation is the source of ours; names are
// held to rules of their own.
func (c *comparison) most(f props.Field, fact string, ours int, n *registry.Node, applies bool) {
	const unbounded = 10000 // what the registry says of a text where the service says nothing
	if !applies || n.Max == nil || ours == 0 && *n.Max >= unbounded || f.Path == "name" || f.Path == "tags" {
		return
	}
	c.facts++
	if float64(ours) != *n.Max {
		c.differ(f, fact, ours, strconv.FormatFloat(*n.Max, 'f', -1, 64))
	}
}

// bound compares a bound of a number, in the units of the service.
func (c *comparison) bound(f props.Field, fact, ours string, theirs *float64, n *registry.Node) {
	if n.Types != "i" && n.Types != "n" || theirs == nil {
		return
	}
	c.facts++
	if have, err := c.number(f, ours); err != nil || ours == "" || have != *theirs {
		c.differ(f, fact, ours, strconv.FormatFloat(*theirs, 'f', -1, 64))
	}
}

func (c *comparison) number(f props.Field, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	unit := ""
	for word := range strings.SplitSeq(c.tags[f.Path].Get("prop"), ",") {
		if of, ok := strings.CutPrefix(word, "unit="); ok {
			unit = of
		}
	}
	switch f.Type {
	case "duration":
		d, err := tokens.ParseDuration(text)
		of := time.Second
		if unit != "" {
			of, _ = tokens.ParseDuration(unit)
		}
		return float64(d) / float64(of), err
	case "size":
		s, err := props.ParseSize(text)
		of := props.Size(1)
		if unit != "" {
			of, _ = props.ParseSize(unit)
		}
		return float64(s) / float64(of), err
	}
	return strconv.ParseFloat(text, 64)
}
