package samples

import (
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
)

// A resource
// Shop declares two resources, of which one names the other.
func Shop(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{Prefix: "shop-"})
	local.NewFile(s, "motd", local.FileProps{Path: "motd.txt", Content: "welcome to " + id.Hex})
	return nil
}

// Props
func authoring2(s *athanor.Stack) error {
	local.NewFile(s, "script", local.FileProps{Path: "run.sh", Content: "#!/bin/sh\n", Mode: new("0755")})
	return nil
}

// References
func authoring3(s *athanor.Stack) error {
	pw := random.NewPassword(s, "pw", random.PasswordProps{})
	local.NewFile(s, "env", local.FileProps{
		Path: ".env", Mode: new("0600"),
		Content: fmt.Sprintf("PASSWORD=%s\nHOME=${HOME}\n", pw.Value),
	})
	return nil
}

// Text with structure: JSON and URLs
func authoring4(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{})
	pw := random.NewPassword(s, "pw", random.PasswordProps{})
	local.NewFile(s, "policy", local.FileProps{
		Path:    "policy.json",
		Content: s.JSON(map[string]any{"allow": []any{id.Hex}, "max": 3}),
	})
	local.NewFile(s, "dsn", local.FileProps{
		Path: "dsn.txt", Mode: new("0600"),
		Content: s.URL("postgres://app:%s@db.local/%s?sslmode=verify-full", pw.Value, id.Hex),
	})
	local.NewFile(s, "user", local.FileProps{
		Path: "user.txt", Mode: new("0600"),
		Content: s.URL("postgres://%s@db.local/shop", athanor.User("app", pw.Value)),
	})
	return nil
}

// Options
func authoring5(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{}, athanor.Protect())
	local.NewFile(s, "motd", local.FileProps{Path: "motd.txt", Content: "hello"},
		athanor.DependsOn(id), athanor.RenamedFrom("banner"), athanor.IgnoreChanges("mode"),
		athanor.Timeout(2*time.Minute), athanor.After(athanor.Run("touch done")))
	return nil
}

// Scopes, and many of the same
func authoring6(s *athanor.Stack) error {
	files := s.Scope("files")
	for _, name := range []string{"a", "b"} {
		local.NewFile(files, "page["+name+"]", local.FileProps{Path: name + ".txt", Content: "page " + name})
	}
	return nil
}

// Config, stage and stack
func authoring7(s *athanor.Stack) error {
	domain := athanor.Config(s, "domain", athanor.Default("example.com"), athanor.ForStage("prod", "shop.example"))
	local.NewFile(s, "motd", local.FileProps{Path: "motd.txt", Content: s.Name() + " in " + s.Stage() + " at " + domain})
	return nil
}

// Secrets
func authoring8(s *athanor.Stack) error {
	key := s.Secret("apiKey", athanor.FromEnv("API_KEY")) // or FromFile("key.txt"), or Sealed(), which is the default
	local.NewFile(s, "env", local.FileProps{Path: ".env", Mode: new("0600"), Content: "API_KEY=" + string(key)})
	return nil
}

// Outputs of other stacks
func authoring9(s *athanor.Stack) error {
	vpc := s.Ref("network", "vpcId") // of the same stage
	zones := s.RefList("network", "zones")
	s.Output("where", vpc+" "+s.Ref("base", "region", athanor.AtStage("prod"), athanor.InStore("bolt:../base.db")))
	local.NewValue(s, "zones", local.ValueProps{Input: append(zones, "eu-z")})
	return nil
}

// Outputs of other stacks
func authoring10(s *athanor.Stack) error {
	vpc := s.Ref("net", "vpc_id", athanor.InTerraform("s3://states/net/terraform.tfstate?region=eu-north-1"))
	zone := s.Ref("base", "zoneId", athanor.InPulumi("../base/prod.json"))
	_ = vpc
	_ = zone
	return nil
}

// Providers
func authoring11(s *athanor.Stack) error {
	eu := aws.In(s, aws.Region("eu-west-1"))
	sqs.NewQueue(eu, "orders", sqs.QueueProps{})
	return nil
}

// Using what one does not own
func authoring12(s *athanor.Stack) error {
	zone := route53.ReadHostedZone(s, "zone", route53.HostedZoneProps{Name: "example.com"}) // or "Z123", its identity
	_ = zone
	return nil
}

// Outputs, and letting go
func authoring13(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{})
	s.Output("id", id.Hex)
	s.Forget("old")
	return nil
}

// Bindings
func authoring14(s *athanor.Stack) error {
	role := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	s.Bind(role, "orders-send", aws.Statement{Actions: []string{"sqs:SendMessage"}, Resources: []string{string(orders.ARN)}})
	return nil
}

// Grants, roles and sources of functions
func authoring15(s *athanor.Stack) error {
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	uploads := s3.NewBucket(s, "uploads", s3.BucketProps{})
	fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.GoBuild("./worker")})
	uploads.Grant(fn, s3.Read, s3.Write)
	lambda.Consume(s, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(5)}))
	return nil
}

// Only in Go: logic on values
func authoring16(s *athanor.Stack) error {
	queue := sqs.NewQueue(s, "queue", sqs.QueueProps{})
	web := local.NewProcess(s, "web", local.ProcessProps{Run: "./web", Port: new(0)})
	region := s.Then(queue.ARN, func(arn string) string { return strings.Split(arn, ":")[3] })
	port := athanor.Then(s, web.Port, func(p int) (athanor.Int, error) { return athanor.Num(int64(p) + 1), nil })
	_ = region
	_ = port
	return nil
}
