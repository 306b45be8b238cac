// Package stacks_test tests what several services of AWS are together: stacks, the calls that they make, and what they may do. It is apart from the
// provider, whose own tests are inside of its package: the compiler would compile every kind once more for them.
package stacks_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/cognito"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/scheduler"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// stage is one stage of a program in an AWS that behaves as documented, in a bubble.
type stage struct {
	*testing.T
	server *awstest.Server
	played *awstest.Documents
	engine *engine.Engine
	dir    string
}

// inStage runs a test in a bubble whose clock begins today, as that of the emulator.
func inStage(t *testing.T, documented awstest.Documented, test func(*stage)) {
	t.Helper()
	inStageOf(t, awstest.Start(t), documented, test)
}

// inStageOf is [inStage] with an emulator, of kinds that moto has not enough of.
func inStageOf(t *testing.T, server *awstest.Server, documented awstest.Documented, test func(*stage)) {
	t.Helper()
	played := server.Play(t, documented)
	dir, cache, today := t.TempDir(), t.TempDir(), time.Now()
	archive(t, filepath.Join(dir, "code.zip"))
	for i, name := range []string{"first", "second"} {
		built(t, filepath.Join(dir, name), int64(i))
	}
	key, err := seal.LoadOrMake(t.TempDir(), "shop", "test")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(today))
		s := &stage{T: t, server: server, played: played, dir: dir}
		s.engine = &engine.Engine{Catalog: s.catalog(), Store: mem.New(), Key: key, Cache: cache}
		test(s)
	})
}

func archive(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	if _, err := w.Create("main.py"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// catalog is a fresh one, as that of the next command.
func (s *stage) catalog() *reconcile.Catalog {
	s.Helper()
	provider := aws.Provider(dynamodb.Service(), eventbridge.Service(), iam.Service(), lambda.Service(), logs.Service(), route53.Service(), kms.Service(), acm.Service(),
		cloudfront.Service(), cognito.Service(), ecr.Service(), ecs.Service(), s3.Service(), scheduler.Service(), secretsmanager.Service(), sfn.Service(), sns.Service(), sqs.Service(), ssm.Service())
	cloud := aws.FromConfig(s.played.Observed(s))
	provider.Open = func(context.Context, any) (reconcile.Cloud, error) { return cloud, nil }
	catalog, err := reconcile.NewCatalog(provider)
	if err != nil {
		s.Fatal(err)
	}
	return catalog
}

func (s *stage) plan(program athanor.Program) *engine.Plan {
	s.Helper()
	p, err := s.tryPlan(program)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

func (s *stage) tryPlan(program athanor.Program) (*engine.Plan, error) {
	s.Helper()
	s.engine.Catalog = s.catalog()
	g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "test", Dir: s.dir})
	if err != nil {
		s.Fatal(err)
	}
	return s.engine.Plan(s.Context(), g, engine.PlanOptions{})
}

// deploy plans and deploys, and fails the test unless all succeeds.
func (s *stage) deploy(program athanor.Program) *engine.Result {
	s.Helper()
	return s.apply(s.plan(program), "deploy")
}

func (s *stage) apply(p *engine.Plan, command string) *engine.Result {
	s.Helper()
	r, err := s.engine.Apply(s.Context(), p, engine.ApplyOptions{Command: command})
	if err != nil {
		s.Fatal(err)
	}
	for i, f := range r.Failures {
		if s.Errorf("%s: %v", f.Address, f.Err); i > 3 {
			break
		}
	}
	if sum := r.Summary; sum.Failed+sum.Blocked > 0 {
		s.Fatalf("%s: %+v", command, sum)
	}
	return r
}

func (s *stage) destroy() *engine.Result { return s.apply(s.planDestroy(), "destroy") }

func (s *stage) planDestroy() *engine.Plan {
	s.Helper()
	s.engine.Catalog = s.catalog()
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Dir: s.dir}
	p, err := s.engine.PlanDestroy(s.Context(), statestore.Stage{Stack: "shop", Name: "test"}, g, engine.PlanOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// counted is how often each operation was called since the last reset.
func (s *stage) counted() (by map[string]int, all int) {
	by = map[string]int{}
	for _, c := range s.server.Calls() {
		if c.Service != "STS" {
			by[c.Service]++
			all++
		}
	}
	return by, all
}

func (s *stage) throttled() (n int) {
	for _, times := range s.played.Throttled() {
		n += times
	}
	return n
}

// functions are so many, with a role that is there.
func functions(n int) athanor.Program {
	return func(s *athanor.Stack) error {
		role := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
		for i := range n {
			lambda.NewFunction(s, fmt.Sprintf("worker-%03d", i), lambda.FunctionProps{
				Code: lambda.Code{Zip: "code.zip"}, Role: role.ARN, Runtime: new("python3.14"), Handler: new("main.handler"),
			})
		}
		return nil
	}
}

// TestHundredFunctions plans, deploys and destroys a hundred functions at Lambda's quotas, and with ATHANOR_WHOLE at half of them, with roles that
// Lambda learns of late. Nothing fails, and of what is throttled no more than the call itself is made again.
func TestHundredFunctions(t *testing.T) {
	const n = 100
	parts := map[string]float64{"whole": 1}
	if proctest.Whole() {
		parts["half"] = 0.5
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			inStage(t, awstest.Documented{
				Quotas: awstest.Part(part, awstest.PublishedQuotas()), Latency: 50 * time.Millisecond, Propagation: 8 * time.Second,
			}, func(s *stage) {
				calls, throttled := 0, 0
				for _, step := range []struct {
					what string
					do   func() *engine.Result
				}{
					{"first deploy", func() *engine.Result { return s.deploy(functions(n)) }},
					{"unchanged deploy", func() *engine.Result { return s.deploy(functions(n)) }},
					{"destroy", s.destroy},
				} {
					s.server.Reset()
					before, since := s.throttled(), time.Now()
					r := step.do()
					by, all := s.counted()
					refused := s.throttled() - before
					s.Logf("%s: %v, %v calls, %d throttled", step.what, time.Since(since).Round(time.Second), by, refused)
					calls, throttled = calls+all, throttled+refused
					if int(r.Calls.Throttled) != refused {
						s.Errorf("%s: throttled %d times, and the summary says %d", step.what, refused, r.Calls.Throttled)
					}
					if step.what != "unchanged deploy" {
						continue
					}
					if took, least := time.Since(since), time.Duration(2*n/(15*part)*float64(time.Second)); took > least*5/4 {
						s.Errorf("%s: %v, and the quota allows %v", step.what, took, least)
					}
					if by["Lambda"]-refused != 3*n {
						s.Errorf("%s: %d calls, want 3 a function beside those that were throttled", step.what, by["Lambda"]-refused)
					}
				}
				if part == 1 && throttled > calls/50 {
					s.Errorf("%d of %d calls are throttled although the quotas are published", throttled, calls)
				}
			})
		})
	}
}

// every has one of each kind that the emulator knows, mostly by what others of them are called. All that can change says word.
func every(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		failed := sqs.NewQueue(s, "failed", sqs.QueueProps{Tags: map[string]string{"word": word}})
		jobs := sqs.NewQueue(s, "jobs", sqs.QueueProps{DeadLetter: failed.ARN, Delay: time.Duration(len(word)) * time.Second})
		events := sns.NewTopic(s, "events", sns.TopicProps{DisplayName: word})
		sns.NewSubscription(s, "subscribed", sns.SubscriptionProps{Topic: events.ARN, Protocol: "sqs", Endpoint: string(jobs.ARN), RawMessageDelivery: word == "second"})
		ssm.NewParameter(s, "word", ssm.ParameterProps{Value: word})
		group := logs.NewLogGroup(s, "lines", logs.LogGroupProps{Tags: map[string]string{"word": word}}, athanor.AllowDelete())
		secretsmanager.NewSecret(s, "secret", secretsmanager.SecretProps{External: true, Description: word, ForceDelete: true}, athanor.AllowDelete())
		table := dynamodb.NewTable(s, "items", dynamodb.TableProps{PartitionKey: "id", Tags: map[string]string{"word": word}}, athanor.AllowDelete())
		policy := iam.NewPolicy(s, "reading", iam.PolicyProps{Document: aws.Policy(aws.Statement{
			Actions: []string{"dynamodb:GetItem"}, Resources: []string{string(table.ARN)},
		})})
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"), Description: word, ManagedPolicies: []aws.ARN{policy.ARN},
		})
		fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{
			Code: lambda.Code{Zip: "code.zip"}, Role: role.ARN, Runtime: new("python3.14"), Handler: new("main.handler"), Description: word,
			Logging: &lambda.Logging{Group: group.Name},
		})
		jobs.Grant(role, "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
		lambda.NewEventSourceMapping(s, "consumed", lambda.EventSourceMappingProps{Function: fn.ARN, Source: jobs.ARN, BatchSize: new(len(word))})
		bus := eventbridge.NewEventBus(s, "bus", eventbridge.EventBusProps{Tags: map[string]string{"word": word}})
		eventbridge.NewRule(s, "rule", eventbridge.RuleProps{
			EventBusName: string(bus.Name), EventPattern: map[string]any{"source": []any{word}},
			Targets: map[string]eventbridge.Target{"work": {ARN: fn.ARN}},
		})
		zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example", Comment: word})
		route53.NewRecord(s, "www", route53.RecordProps{
			HostedZoneID: zone.ID, Name: "www.shop.example", Type: "TXT", Values: []string{word},
		})
		bucket := s3.NewBucket(s, "files", s3.BucketProps{Tags: map[string]string{"word": word}, ForceDestroy: true})
		s3.NewObject(s, "file", s3.ObjectProps{Bucket: bucket.Name, Key: "word.txt", Content: &word})
		return nil
	}
}

// generated are the names and ids in the addresses of calls that are others in each account.
var generated = regexp.MustCompile(`shop-test-[a-z0-9-]*|one-[0-9]{3}|[0-9a-f]{8}-[0-9a-f-]{27}`)

// TestReadsAreBehind deploys one of each kind, changes each and deploys again where reads are behind what was written, and
// compares with a cloud that shows all at once: the same changes are made, none twice.
func TestReadsAreBehind(t *testing.T) {
	story := func(t *testing.T, behind awstest.Lag) (steps [][]string) {
		inStage(t, awstest.Documented{Behind: behind, Latency: 50 * time.Millisecond}, func(s *stage) {
			for _, do := range []func() *engine.Result{
				func() *engine.Result { return s.deploy(every("first")) },
				func() *engine.Result { time.Sleep(time.Minute); return s.deploy(every("second")) },
				func() *engine.Result { time.Sleep(time.Minute); return s.deploy(every("second")) },
			} {
				s.server.Reset()
				do()
				wrote := awstest.NamesOf(s.server.Mutations())
				for i, name := range wrote {
					wrote[i] = generated.ReplaceAllString(name, "*")
				}
				slices.Sort(wrote)
				steps = append(steps, wrote)
			}
		})
		return steps
	}
	want := story(t, awstest.Lag{})
	lags := map[string]awstest.Lag{"25 s": {For: 25 * time.Second}, "six answers": {Answers: 6}}
	if proctest.Whole() {
		lags["1.6 s"] = awstest.Lag{For: 1600 * time.Millisecond}
	}
	for name, behind := range lags {
		t.Run(name, func(t *testing.T) {
			have := story(t, behind)
			for i, step := range []string{"first deploy", "second deploy", "unchanged deploy"} {
				if !slices.Equal(have[i], want[i]) {
					t.Errorf("%s made\n%v, want\n%v", step, have[i], want[i])
				}
			}
		})
	}
}

// TestPermissionsArriveLate: a setting and the permission that it needs are declared in one deploy, with all of them new, and
// with an old role and function. Lambda and EventBridge learn of roles and of their permissions eight seconds late.
func TestPermissionsArriveLate(t *testing.T) {
	settings := map[string]struct {
		actions []string
		set     func(*lambda.FunctionProps)
	}{
		"deadLetter": {[]string{"sqs:SendMessage"}, func(p *lambda.FunctionProps) { p.DeadLetter = "arn:aws:sqs:us-east-1:111111111111:failed" }},
		"async": {[]string{"sqs:SendMessage"}, func(p *lambda.FunctionProps) {
			p.Async = &lambda.Async{OnFailure: "arn:aws:sqs:us-east-1:111111111111:failed"}
		}},
		"kmsKey": {[]string{"kms:Decrypt"}, func(p *lambda.FunctionProps) { p.KMSKey = "arn:aws:kms:us-east-1:111111111111:key/1" }},
		"vpc": {[]string{"ec2:CreateNetworkInterface"}, func(p *lambda.FunctionProps) {
			p.VPC = &lambda.VPC{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}}
		}},
		"fileSystems": {[]string{"ec2:CreateNetworkInterface", "elasticfilesystem:ClientMount"}, func(p *lambda.FunctionProps) {
			p.VPC = &lambda.VPC{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}}
			p.FileSystems = []lambda.FileSystem{{AccessPoint: "arn:aws:elasticfilesystem:us-east-1:111111111111:access-point/fsap-1", Path: "/mnt/data"}}
		}},
	}
	program := func(with bool) athanor.Program {
		return func(s *athanor.Stack) error {
			for _, name := range slices.Sorted(maps.Keys(settings)) {
				role := iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")}
				fn := lambda.FunctionProps{Code: lambda.Code{Zip: "code.zip"}, Runtime: new("python3.14"), Handler: new("main.handler")}
				if with {
					role.Bindings = []aws.Statement{{Actions: settings[name].actions, Resources: []string{"*"}}}
					settings[name].set(&fn)
				}
				fn.Role = iam.NewRole(s, name+"/role", role).ARN
				lambda.NewFunction(s, name, fn)
			}
			bus := eventbridge.NewEventBus(s, "bus", eventbridge.EventBusProps{})
			rule := eventbridge.RuleProps{EventPattern: map[string]any{"source": []any{"shop"}}}
			if with {
				forward := iam.NewRole(s, "forward", iam.RoleProps{
					TrustPolicy: iam.ServiceTrust("events.amazonaws.com"),
					Bindings:    []aws.Statement{{Actions: []string{"events:PutEvents"}, Resources: []string{string(bus.ARN)}}},
				})
				rule.Targets = map[string]eventbridge.Target{"bus": {ARN: bus.ARN, RoleARN: forward.ARN}}
			}
			eventbridge.NewRule(s, "rule", rule)
			return nil
		}
	}
	inStage(t, awstest.Documented{Propagation: 8 * time.Second, Latency: 50 * time.Millisecond}, func(s *stage) {
		s.deploy(program(true))
		s.destroy()
		s.deploy(program(false))
		time.Sleep(time.Hour)
		s.server.Reset()
		s.deploy(program(true))
		if n := s.server.Count("IAM.GetRole"); n > 4*len(settings) {
			s.Errorf("while Lambda does not know of a permission, roles are read %d times", n)
		}
	})
}

// TestRecordsAreBatched: records of one zone that are ready together are created, changed and deleted by a few calls, and wait for
// a change as long as it takes. One that Route 53 refuses fails alone.
func TestRecordsAreBatched(t *testing.T) {
	const n = 100
	program := func(address string, more ...route53.RecordProps) athanor.Program {
		return func(s *athanor.Stack) error {
			zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example"})
			for i := range n {
				route53.NewRecord(s, fmt.Sprintf("host-%03d", i), route53.RecordProps{
					HostedZoneID: zone.ID, Name: fmt.Sprintf("host-%03d.shop.example", i), Type: "A", Values: []string{address},
				})
			}
			for i, p := range more {
				p.HostedZoneID = zone.ID
				route53.NewRecord(s, fmt.Sprintf("more-%d", i), p)
			}
			return nil
		}
	}
	inStage(t, awstest.Documented{Quotas: awstest.PublishedQuotas(), Pending: 30 * time.Second, Latency: 50 * time.Millisecond}, func(s *stage) {
		for _, step := range []struct {
			what string
			do   func() *engine.Result
		}{
			{"creating", func() *engine.Result { return s.deploy(program("192.0.2.1")) }},
			{"changing", func() *engine.Result { return s.deploy(program("192.0.2.2")) }},
			{"deleting", s.destroy},
		} {
			s.server.Reset()
			since := time.Now()
			step.do()
			by, _ := s.counted()
			changes, took := s.server.Count("Route53.ChangeResourceRecordSets"), time.Since(since)
			s.Logf("%s %d records: %v, %d calls, %d of them changes and %d GetChange", step.what, n, took.Round(time.Second), by["Route53"],
				changes, s.server.Count("Route53.GetChange"))
			if changes > n/5 {
				s.Errorf("%s %d records of one zone: %d changes of it", step.what, n, changes)
			}
		}
	})
}
