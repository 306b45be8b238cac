package providers

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/website"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// names gives each resource of a program its name, and the options that say what it was.
type names func(name string) (string, athanor.Option)

// resource is what a program declares at an address, and the addresses that it says it had.
type resource struct {
	address, kind string
	props         map[string]any
	was, after    []string
}

// composed is a construct that declares resources below the addresses of others.
type composed struct {
	file    string // that composes the addresses
	sources string // the resources that a test renames
	declare func(*athanor.Stack, names)
}

func worker(s *athanor.Stack, of names) lambda.Function {
	name, was := of("worker")
	return lambda.NewFunction(s, name, lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, was)
}

var allComposed = []composed{
	{"aws/lambda/mapping.go", "worker orders", func(s *athanor.Stack, of names) {
		name, was := of("orders")
		lambda.Consume(s, worker(s, of), sqs.NewQueue(s, name, sqs.QueueProps{}, was))
	}},
	{"aws/lambda/mapping.go", "worker[eu] items[eu]", func(s *athanor.Stack, of names) {
		name, was := of("items[eu]")
		items := dynamodb.NewTable(s, name, dynamodb.TableProps{PartitionKey: "id", StreamViewType: "KEYS_ONLY"}, was)
		name, was = of("worker[eu]")
		lambda.Consume(s, lambda.NewFunction(s, name, lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, was), items)
	}},
	{"aws/lambda/role.go", "worker", func(s *athanor.Stack, of names) { worker(s, of) }},
	{"aws/lambda/role.go", "worker", func(s *athanor.Stack, of names) {
		name, was := of("worker")
		lambda.NewFunctionWithoutLogs(s, name, lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, was)
	}},
	{"aws/lambda/role.go", "worker", func(s *athanor.Stack, of names) {
		name, was := of("worker")
		role := aws.ARN("arn:aws:iam::111122223333:role/theirs")
		lambda.NewFunctionWithLogs(s, name, lambda.FunctionProps{Code: lambda.Bundle("a.ts"), Role: role}, was)
	}},
	{"aws/lambda/permission.go", "worker nightly events", func(s *athanor.Stack, of names) {
		fn := worker(s, of)
		name, was := of("nightly")
		rule := eventbridge.NewRule(s, name, eventbridge.RuleProps{
			ScheduleExpression: "rate(1 day)", Targets: map[string]eventbridge.Target{"work": {ARN: fn.ARN}},
		}, was)
		fn.AllowInvoke(s, "events.amazonaws.com", rule.ARN)
		name, was = of("events")
		topic := sns.NewTopic(s, name, sns.TopicProps{}, was)
		sns.NewSubscription(s, "subscribed", sns.SubscriptionProps{Topic: topic.ARN, Protocol: "lambda", Endpoint: string(fn.ARN)})
		fn.AllowInvoke(s, "sns.amazonaws.com", topic.ARN)
		fn.AllowInvoke(s, "scheduler.amazonaws.com", "")
	}},
	{"aws/s3/service.go", "worker files", func(s *athanor.Stack, of names) {
		name, was := of("files")
		files := s3.NewBucket(s, name, s3.BucketProps{}, was)
		fn := worker(s, of)
		files.Grant(fn, s3.Read)
		files.Notify(s, "resize", fn, s3.Notification{Events: []string{"s3:ObjectCreated:*"}})
	}},
	{"aws/apigatewayv2/declare.go", "worker front", func(s *athanor.Stack, of names) {
		name, was := of("front")
		api := apigatewayv2.NewHTTPAPI(s, name, apigatewayv2.HTTPAPIProps{}, was)
		api.Route(s, "GET /items/{id}", worker(s, of))
	}},
	{"aws/ecs/role.go", "shop orders", func(s *athanor.Stack, of names) {
		name, was := of("shop")
		service := ecs.NewService(s, name, ecs.ServiceProps{
			Cluster: "main", Containers: map[string]ecs.Container{"web": {Image: "nginx"}},
		}, was)
		name, was = of("orders")
		sqs.NewQueue(s, name, sqs.QueueProps{}, was).Grant(service, sqs.Send)
	}},
	{"aws/website/website.go", "page", func(s *athanor.Stack, of names) {
		name, was := of("page")
		website.NewWebsite(s, name, website.WebsiteProps{
			Files: "dist", Domains: []string{"shop.example"}, HostedZoneID: "Z1",
		}, was)
	}},
	{"cloudflare/workers/website.go", "page", func(s *athanor.Stack, of names) {
		name, was := of("page")
		workers.NewWebsite(s, name, workers.WebsiteProps{Dir: "web"}, was)
	}},
}

// shows are the props that show an address to people. A rename changes them, and replaces nothing.
var shows = regexp.MustCompile(`"(sid|description|comment)":"[^"]*"`)

// TestRenamesTakeAlong renames each resource that others are declared below, and all of them, in place and into another scope. Each
// resource is the one that it was, with the props that it had, so that a deploy makes and deletes nothing.
func TestRenamesTakeAlong(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dist", "index.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	evaluated := func(t *testing.T, c composed, scope string, of names) (all []resource) {
		t.Helper()
		g, err := athanor.Evaluate(func(s *athanor.Stack) error {
			if scope != "" {
				s = s.Scope(scope)
			}
			c.declare(s, of)
			return nil
		}, athanor.Input{Stack: "shop", Stage: "test", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range g.Resources {
			all = append(all, resource{r.Address, r.Kind, r.Props, r.Options.RenamedFrom, r.Options.DependsOn})
		}
		return all
	}
	// A former name that no stage has any more stays beside the one that counts.
	was := func(addresses ...string) athanor.Option {
		return athanor.RenamedFrom(append([]string{"once/was"}, addresses...)...)
	}
	for _, c := range allComposed {
		sources := strings.Fields(c.sources)
		t.Run(path.Dir(c.file)+" "+c.sources, func(t *testing.T) {
			before := evaluated(t, c, "", func(name string) (string, athanor.Option) { return name, athanor.RenamedFrom() })
			for _, source := range append(sources, c.sources) {
				renames := strings.Fields(source)
				after := evaluated(t, c, "", func(name string) (string, athanor.Option) {
					if !slices.Contains(renames, name) {
						return name, athanor.RenamedFrom()
					}
					return "zz-" + name, was(name)
				})
				sameObjects(t, "renamed "+source, before, after)
			}
			after := evaluated(t, c, "zz-in", func(name string) (string, athanor.Option) { return name, was(name) })
			for i := range after { // what no construct declares is renamed by the program alone
				if after[i].address == "zz-in/subscribed" {
					after[i].was = []string{"subscribed"}
				}
			}
			sameObjects(t, "in a scope", before, after)
		})
	}
}

// sameObjects holds that each resource is one that was there before, with the same props but for what shows an address.
func sameObjects(t *testing.T, what string, before, after []resource) {
	t.Helper()
	old := map[string]string{}
	for _, r := range before {
		old[r.address] = plain(r)
	}
	now := map[string]bool{}
	for _, r := range after {
		now[r.address] = true
	}
	taken := map[string]string{}
	for _, r := range after {
		claims := []string{r.address}
		if _, stays := old[r.address]; !stays {
			claims = slices.DeleteFunc(slices.Clone(r.was), func(was string) bool { return old[was] == "" || now[was] })
		}
		if len(claims) != 1 {
			t.Errorf("%s: %s would be created: it was %v", what, r.address, r.was)
			continue
		}
		was := claims[0]
		if other := taken[was]; other != "" {
			t.Errorf("%s: %s and %s were both %s", what, r.address, other, was)
		}
		if taken[was] = r.address; plain(r) != old[was] {
			t.Errorf("%s: %s differs from %s:\n%s\n%s", what, r.address, was, plain(r), old[was])
		}
	}
	for address := range old {
		if taken[address] == "" {
			t.Errorf("%s: %s would be deleted", what, address)
		}
	}
}

// plain is what a resource is declared with, with the addresses that it had and without what shows them. Statements of a role are
// sorted by their names, which show addresses: their order says nothing.
func plain(r resource) string {
	text := func(v any) string {
		old := strings.NewReplacer("zz-in/", "", "zz-", "").Replace(string(tree.Canonical(v)))
		return shows.ReplaceAllString(old, "")
	}
	props := maps.Clone(r.props)
	bindings, _ := props["bindings"].([]any)
	delete(props, "bindings")
	lines := []string{r.kind, text(props)}
	for _, row := range bindings {
		lines = append(lines, text(row))
	}
	slices.Sort(lines[2:])
	after := make([]any, len(r.after))
	for i, address := range r.after {
		after[i] = address
	}
	return strings.Join(append(lines, "after "+text(after)), "\n")
}

// TestRenamesAreTried finds files that compose addresses of others', and that no test renames.
func TestRenamesAreTried(t *testing.T) {
	composes := regexp.MustCompile(`\b(athanor\.(Inner|Along)|(aws|s)\.Below)\(`)
	tried := map[string]bool{"aws/below.go": true} // which is called by others
	for _, c := range allComposed {
		tried[c.file] = false
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, known := tried[file]; composes.Match(text) && !known {
			t.Errorf("%s composes addresses: rename what they are made of in allComposed", file)
		} else if known {
			tried[file] = composes.Match(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, composes := range tried {
		if !composes {
			t.Errorf("%s composes no address any more", file)
		}
	}
}
