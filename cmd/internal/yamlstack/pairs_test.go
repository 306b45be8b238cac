package yamlstack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/website"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// pairs hold every construct of the language beside its twin in Go. docs/authoring.md shows the same.
var pairs = []struct {
	name string
	yaml string
	code func(*athanor.Stack) error
}{
	{"nothing", `
stack: shop
`, func(*athanor.Stack) error { return nil }},
	{"resource", `
stack: shop
resources:
  dead: {kind: test.Queue}
`, func(s *athanor.Stack) error {
		newQueue(s, "dead", queueProps{})
		return nil
	}},
	{"props", `
stack: shop
resources:
  orders:
    kind: test.Queue
    props:
      name: orders
      visibilityTimeout: 60s
      fifo: true
      tags: {team: "1", empty: ""}
      subnets: []
      maxSize: 1024KiB
      retries: 0
      rules:
        - {path: /, weight: 0}
        - {path: /a, weight: 2}
      mode: slow
      port: 443
`, func(s *athanor.Stack) error {
		newQueue(s, "orders", queueProps{
			Name: "orders", VisibilityTimeout: new(time.Minute), FIFO: true, Tags: map[string]string{"team": "1", "empty": ""},
			Subnets: []string{}, MaxSize: new(1 * props.MiB), Retries: new(0), Mode: "slow", Port: athanor.Num(443),
			Rules: []rule{{Path: "/"}, {Path: "/a", Weight: 2}},
		})
		return nil
	}},
	{"unset props", `
stack: shop
resources:
  orders: {kind: test.Queue, props: {name: "", fifo: false, retries: null, port: }}
`, func(s *athanor.Stack) error {
		newQueue(s, "orders", queueProps{})
		return nil
	}},
	{"references", `
stack: shop
resources:
  orders:
    kind: test.Queue
    props:
      deadLetter: ${dead.arn}
      port: "${dead.port}"
      name: x-${dead.endpoint.host}-${dead.port}
      tags: {"${dead.url}": "$${literal}"}
      subnets: ["a", "${dead.zones}", b]
  dead: {kind: test.Queue}
  third: {kind: test.Queue, props: {subnets: "${dead.zones}"}}
`, func(s *athanor.Stack) error {
		dead := newQueue(s, "dead", queueProps{})
		newQueue(s, "orders", queueProps{
			DeadLetter: dead.ARN, Port: dead.Port, Name: fmt.Sprintf("x-%s-%s", dead.Endpoint.Host, dead.Port),
			Tags:    map[string]string{dead.URL: "${literal}"},
			Subnets: append(append([]string{"a"}, dead.Zones...), "b"),
		})
		newQueue(s, "third", queueProps{Subnets: dead.Zones})
		return nil
	}},
	{"json and url", `
stack: shop
secrets: {pw: {env: PASSWORD}}
resources:
  a: {kind: test.Queue}
  b:
    kind: test.Queue
    props:
      policy: {$json: {Allow: ["${a.arn}"], Port: "${a.port}", Retries: 3}}
      tags:
        plain: {$url: "postgres://app:${secret.pw}@${a.endpoint.host}:${a.port}/50%/x%20y?q=${a.arn}"}
        args: {$url: "postgres://%s@%s/shop", args: [{user: app, password: "${secret.pw}"}, "${a.endpoint.host}"]}
`, func(s *athanor.Stack) error {
		pw := s.Secret("pw", athanor.FromEnv("PASSWORD"))
		a := newQueue(s, "a", queueProps{})
		newQueue(s, "b", queueProps{
			Policy: s.JSON(map[string]any{"Allow": []any{a.ARN}, "Port": a.Port, "Retries": 3}),
			Tags: map[string]string{
				"plain": s.URL("postgres://app:%s@%s:%s/50%%/x%20y?q=%s", pw, a.Endpoint.Host, a.Port, a.ARN),
				"args":  s.URL("postgres://%s@%s/shop", athanor.User("app", pw), a.Endpoint.Host),
			},
		})
		return nil
	}},
	{"config, stage and stack", `
stack: shop
config:
  domain: {type: string, default: example.com, stages: {prod: shop.example}}
  retries: {type: int, default: 3}
  fifo: {type: bool, default: false, stages: {prod: true}}
  wait: {type: duration, default: 90s}
  zones: {type: list, default: [a, b]}
  given: {type: int, required: true}
resources:
  q:
    kind: test.Queue
    props:
      name: ${stack}-${stage}.${config.domain}
      retries: ${config.retries}
      fifo: ${config.fifo}
      visibilityTimeout: ${config.wait}
      subnets: ${config.zones}
      port: ${config.given}
`, func(s *athanor.Stack) error {
		domain := athanor.Config(s, "domain", athanor.Default("example.com"), athanor.ForStage("prod", "shop.example"))
		newQueue(s, "q", queueProps{
			Name:              s.Name() + "-" + s.Stage() + "." + domain,
			Retries:           new(athanor.Config(s, "retries", athanor.Default(3))),
			FIFO:              athanor.Config(s, "fifo", athanor.Default(false), athanor.ForStage("prod", true)),
			VisibilityTimeout: new(athanor.Config(s, "wait", athanor.Default(90*time.Second))),
			Subnets:           athanor.Config(s, "zones", athanor.Default([]string{"a", "b"})),
			Port:              athanor.Num(int64(athanor.Config[int](s, "given"))),
		})
		return nil
	}},
	{"secrets", `
stack: shop
secrets:
  a: {env: A}
  b: {file: b.txt}
  c: {sealed: true}
resources:
  q: {kind: test.Queue, props: {password: "${secret.a}", tags: {b: "${secret.b}", c: "x${secret.c}"}}}
`, func(s *athanor.Stack) error {
		a, b, c := s.Secret("a", athanor.FromEnv("A")), s.Secret("b", athanor.FromFile("b.txt")), s.Secret("c")
		newQueue(s, "q", queueProps{Password: a, Tags: map[string]string{"b": string(b), "c": "x" + string(c)}})
		return nil
	}},
	{"other stacks", `
stack: shop
refs:
  net: {stack: network}
  shared: {stack: base, stage: "${config.base}", store: "bolt:../base/state.db"}
  old: {terraform: ../old/terraform.tfstate}
  older: {pulumi: "s3://states/old.json"}
config: {base: {default: prod}}
resources:
  q:
    kind: test.Queue
    props:
      name: q-${ref.net.names.queue}
      port: "${ref.shared.port}"
      subnets: ["${ref.net.subnets...}", z]
outputs:
  first: "${ref.net.subnets[0]}"
  old: "${ref.old.vpc_id} ${ref.older.zones[0]}"
  json: {$json: {vpc: "${ref.net.vpcId}"}}
`, func(s *athanor.Stack) error {
		base := athanor.Config(s, "base", athanor.Default("prod"))
		newQueue(s, "q", queueProps{
			Name: "q-" + s.Ref("network", "names.queue"), Subnets: append(s.RefList("network", "subnets"), "z"),
			Port: athanor.Int(s.Ref("base", "port", athanor.AtStage(base), athanor.InStore("bolt:../base/state.db"))),
		})
		s.Output("first", s.Ref("network", "subnets[0]"))
		s.Output("old", s.Ref("old", "vpc_id", athanor.InTerraform("../old/terraform.tfstate"))+" "+
			s.Ref("older", "zones[0]", athanor.InPulumi("s3://states/old.json")))
		s.Output("json", s.JSON(map[string]any{"vpc": s.Ref("network", "vpcId")}))
		return nil
	}},
	{"providers", `
stack: shop
providers:
  test: {region: eu-north-1, timeout: 60s}
  eu: {use: test, region: eu-west-1}
resources:
  a: {kind: test.Queue}
  b: {kind: test.Queue, provider: eu}
  v: {kind: local.Value}
`, func(s *athanor.Stack) error {
		s = s.With("test", settings{Region: "eu-north-1", Timeout: time.Minute})
		eu := s.With("test", map[string]any{"region": "eu-west-1"})
		newQueue(s, "a", queueProps{})
		newQueue(eu, "b", queueProps{})
		local.NewValue(s, "v", local.ValueProps{})
		return nil
	}},
	{"scopes", `
stack: shop
resources:
  net/a: {kind: test.Queue}
  net/deep/b: {kind: test.Queue, props: {deadLetter: "${net/a.arn}"}}
`, func(s *athanor.Stack) error {
		net := s.Scope("net")
		a := newQueue(net, "a", queueProps{})
		newQueue(net.Scope("deep"), "b", queueProps{DeadLetter: a.ARN})
		return nil
	}},
	{"for", `
stack: shop
resources:
  net/subnet:
    for: {a: 10.0.1.0/24, b: {cidr: 10.0.2.0/24}}
    kind: test.Queue
    props: {name: "${each.key}", tags: {v: "${stage}"}}
  word:
    for: [x, y]
    kind: test.Queue
    props: {name: "${each.value}", deadLetter: "${peer[each.key].arn}"}
  peer: {for: [x, y], kind: test.Queue}
  user:
    kind: test.Queue
    props: {deadLetter: "${net/subnet[a].arn}", subnets: ["${net/subnet[*].url}", "${word[*].zones}"]}
    options: {dependsOn: [word]}
`, func(s *athanor.Stack) error {
		subnets, words := []string{}, []string{}
		var first queue
		for _, k := range []string{"a", "b"} {
			q := newQueue(s.Scope("net"), "subnet["+k+"]", queueProps{Name: k, Tags: map[string]string{"v": s.Stage()}})
			subnets = append(subnets, q.URL)
			if k == "a" {
				first = q
			}
		}
		for _, k := range []string{"x", "y"} {
			peer := newQueue(s, "peer["+k+"]", queueProps{})
			q := newQueue(s, "word["+k+"]", queueProps{Name: k, DeadLetter: peer.ARN})
			words = append(words, q.Zones...)
		}
		newQueue(s, "user", queueProps{DeadLetter: first.ARN, Subnets: append(subnets, words...)},
			athanor.DependsOn("word[y]", "word[x]"))
		return nil
	}},
	{"for with values", `
stack: shop
resources:
  q:
    for: {a: {port: 1, wait: 90s}, b: {port: 2, wait: 1m30s}}
    kind: test.Queue
    props: {port: "${each.value.port}", visibilityTimeout: "${each.value.wait}"}
`, func(s *athanor.Stack) error {
		for i, k := range []string{"a", "b"} {
			newQueue(s, "q["+k+"]", queueProps{Port: athanor.Num(int64(i + 1)), VisibilityTimeout: new(90 * time.Second)})
		}
		return nil
	}},
	{"for over config, and spreads", `
stack: shop
config: {zones: {default: [a, b], stages: {prod: [c]}}}
resources:
  q: {for: "${config.zones}", kind: test.Queue, props: {name: "${each.key}"}}
  all: {kind: test.Queue, props: {subnets: [x, "${config.zones...}", "${q[*].url}"], tags: {first: 'a$$b ${stage}'}}}
`, func(s *athanor.Stack) error {
		zones := athanor.Config(s, "zones", athanor.Default([]string{"a", "b"}), athanor.ForStage("prod", []string{"c"}))
		urls := append([]string{"x"}, zones...)
		for _, z := range zones {
			urls = append(urls, newQueue(s, "q["+z+"]", queueProps{Name: z}).URL)
		}
		newQueue(s, "all", queueProps{Subnets: urls, Tags: map[string]string{"first": "a$$b " + s.Stage()}})
		return nil
	}},
	{"options", `
stack: shop
resources:
  dead: {kind: test.Queue}
  orders:
    kind: test.Queue
    options:
      dependsOn: [dead]
      protect: true
      retain: true
      deletedWith: dead
      renamedFrom: [jobs, old/jobs]
      adopt: "*"
      ignoreChanges: [tags.owner, 'rules.*.weight', 'tags["odd key"]']
      replaceOn: [name]
      deleteFirst: true
      allowReplace: true
      allowDelete: true
      timeout: 30m
      before: [make seed]
      after: ["echo done", "echo ${stage}"]
  other: {kind: test.Queue, options: {timeouts: {create: 1h, delete: 2h}}}
`, func(s *athanor.Stack) error {
		dead := newQueue(s, "dead", queueProps{})
		newQueue(s, "orders", queueProps{},
			athanor.DependsOn(dead), athanor.Protect(), athanor.Retain(), athanor.DeletedWith(dead.ARN),
			athanor.RenamedFrom("jobs", "old/jobs"), athanor.Adopt("*"),
			athanor.IgnoreChanges("tags.owner", "rules.*.weight", `tags["odd key"]`), athanor.ReplaceOn("name"),
			athanor.DeleteFirst(), athanor.AllowReplace(), athanor.AllowDelete(), athanor.Timeout(30*time.Minute),
			athanor.Before(athanor.Run("make seed")), athanor.After(athanor.Run("echo done"), athanor.Run("echo "+s.Stage())))
		newQueue(s, "other", queueProps{}, athanor.Timeouts{Create: time.Hour, Delete: 2 * time.Hour}.Option())
		return nil
	}},
	{"read", `
stack: shop
read:
  zone: {kind: test.Table, query: {key: example.com}}
  vpc: {kind: test.Queue, id: vpc-1, provider: eu}
  lax: {kind: test.Queue, query: {visibilityTimeout: 60s}}
providers: {eu: {use: test, region: eu-west-1}}
resources:
  q: {kind: test.Queue, props: {name: "${zone.name}", deadLetter: "${vpc.arn}"}}
`, func(s *athanor.Stack) error {
		zone := athanor.Read(s, tableKind(), "zone", tableProps{Key: "example.com"})
		vpc := athanor.Read(s.With("test", settings{Region: "eu-west-1"}), queueKind(), "vpc", "vpc-1")
		athanor.Read(s, queueKind(), "lax", queueProps{VisibilityTimeout: new(time.Minute)})
		newQueue(s, "q", queueProps{Name: zone.Name, DeadLetter: vpc.ARN})
		return nil
	}},
	{"outputs and forget", `
stack: shop
forget: [old, older/one]
resources:
  q: {kind: test.Queue}
outputs:
  url: ${q.url}
  zones: ${q.zones}
  text: at ${q.url}
  several: {port: "${q.port}", three: 3, list: [a, true]}
`, func(s *athanor.Stack) error {
		q := newQueue(s, "q", queueProps{})
		s.Forget("older/one", "old")
		s.Output("url", q.URL)
		s.Output("zones", q.Zones)
		s.Output("text", "at "+q.URL)
		s.Output("several", map[string]any{"port": q.Port, "three": 3, "list": []any{"a", true}})
		return nil
	}},
	{"bindings", `
stack: shop
bind:
  fn:
    orders-send: {allow: "${orders.arn}"}
    audit: {allow: all, sid: own}
  t: {row: {allow: x}}
resources:
  fn: {kind: test.Queue, props: {bindings: [{sid: first, allow: y}]}}
  orders: {kind: test.Queue}
  t: {kind: test.Table, props: {key: k}}
`, func(s *athanor.Stack) error {
		fn := newQueue(s, "fn", queueProps{Bindings: []binding{{Sid: "first", Allow: "y"}}})
		orders := newQueue(s, "orders", queueProps{})
		t := newTable(s, "t", tableProps{Key: "k"})
		s.Bind(fn, "orders-send", binding{Allow: string(orders.ARN)})
		s.Bind(fn, "audit", binding{Allow: "all", Sid: "own"})
		s.Bind(t, "row", binding{Allow: "x"})
		return nil
	}},
	{"grants", `
stack: shop
bind:
  worker:
    OrdersArnSqsSendMessagec3347d62: {actions: ["sqs:SendMessage"], resources: ["${orders.arn}"]}
resources:
  orders: {kind: aws.sqs.Queue}
  worker:
    kind: aws.iam.Role
    props:
      trustPolicy:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {Service: [lambda.amazonaws.com]}, Action: [sts:AssumeRole]}]
`, func(s *athanor.Stack) error {
		orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
		orders.Grant(iam.NewRole(s, "worker", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")}), sqs.Send)
		return nil
	}},
	{"a function with what it uses", `
stack: shop
providers: {aws: {region: eu-west-1}}
resources:
  worker:
    kind: aws.lambda.Function
    props: {code: {go: ./worker}}
    options: {renamedFrom: [jobs], timeout: 20m}
    grants: {uploads: [read, write], orders: [send], orders-archive: ["s3:GetObjectTagging"]}
    consume: {orders: {batchSize: 5, batchWindow: 1s}, items: }
  key: {kind: aws.kms.Key}
  orders: {kind: aws.sqs.Queue, props: {kmsMasterKeyId: "${key.arn}"}}
  items: {kind: aws.dynamodb.Table, props: {partitionKey: id, streamViewType: KEYS_ONLY}}
  uploads: {kind: aws.s3.Bucket}
read:
  orders-archive: {kind: aws.s3.Bucket, id: archive-of-orders}
outputs: {role: "${worker/role.arn}", logs: "${worker.logGroup}"}
`, func(s *athanor.Stack) error {
		in := aws.In(s, aws.Region("eu-west-1"))
		fn := lambda.NewFunction(in, "worker", lambda.FunctionProps{Code: lambda.GoBuild("./worker")},
			athanor.RenamedFrom("jobs"), athanor.Timeout(20*time.Minute))
		key := kms.NewKey(in, "key", kms.KeyProps{})
		orders := sqs.NewQueue(in, "orders", sqs.QueueProps{KMSMasterKeyID: string(key.ARN)})
		items := dynamodb.NewTable(in, "items", dynamodb.TableProps{PartitionKey: "id", StreamViewType: "KEYS_ONLY"})
		uploads := s3.NewBucket(in, "uploads", s3.BucketProps{})
		archive := s3.ReadBucket(in, "orders-archive", "archive-of-orders")
		uploads.Grant(fn, s3.Read, s3.Write)
		orders.Grant(fn, sqs.Send)
		archive.Grant(fn, "s3:GetObjectTagging")
		lambda.Consume(in, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(5), BatchWindow: new(time.Second)}))
		lambda.Consume(in, fn, items)
		s.Output("role", athanor.Attributes[iam.Role](s, "worker/role").ARN)
		s.Output("logs", fn.LogGroup)
		return nil
	}},
	{"roles and log groups of functions", `
stack: shop
resources:
  shared:
    kind: aws.iam.Role
    props:
      trustPolicy:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {Service: [lambda.amazonaws.com]}, Action: [sts:AssumeRole]}]
    grants: {orders: [receive]}
  orders: {kind: aws.sqs.Queue}
  own: {kind: aws.lambda.Function, role: own, props: {code: {go: ./worker}}}
  bare: {kind: aws.lambda.Function, role: own, logGroup: none, props: {code: {go: ./worker}, tracing: Active}}
  named: {kind: aws.lambda.Function, role: own, props: {code: {go: ./worker}, logging: {group: /shop}}}
  given: {kind: aws.lambda.Function, role: shared, grants: {orders: [send]}, props: {code: {go: ./worker}}}
  logged: {kind: aws.lambda.Function, role: shared, logGroup: own, props: {code: {go: ./worker}}}
  in/scope: {kind: aws.lambda.Function, props: {code: {go: ./worker}}, consume: {in/orders: {}}}
  in/orders: {kind: aws.sqs.Queue}
`, func(s *athanor.Stack) error {
		code := lambda.GoBuild("./worker")
		shared := iam.NewRole(s, "shared", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
		orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
		orders.Grant(shared, sqs.Receive)
		lambda.NewFunction(s, "own", lambda.FunctionProps{Code: code})
		lambda.NewFunctionWithoutLogs(s, "bare", lambda.FunctionProps{Code: code, Tracing: new("Active")})
		lambda.NewFunction(s, "named", lambda.FunctionProps{Code: code, Logging: &lambda.Logging{Group: "/shop"}})
		orders.Grant(lambda.NewFunction(s, "given", lambda.FunctionProps{Code: code, Role: shared.ARN}), sqs.Send)
		lambda.NewFunctionWithLogs(s, "logged", lambda.FunctionProps{Code: code, Role: shared.ARN})
		in := s.Scope("in")
		lambda.Consume(in, lambda.NewFunction(in, "scope", lambda.FunctionProps{Code: code}), sqs.NewQueue(in, "orders", sqs.QueueProps{}))
		return nil
	}},
	{"websites", `
stack: shop
providers: {aws: {region: eu-west-1}}
resources:
  site:
    kind: aws.Website
    props: {domains: ["www.${stage}.example", "shop.example"], hostedZoneId: "${zone.id}", singlePage: true, tags: {team: web}}
    options: {renamedFrom: [page], protect: true}
  of/team: {for: [a, b], kind: aws.Website, props: {notFound: "${each.key}.html"}}
  zone: {kind: aws.route53.HostedZone, props: {name: shop.example}}
outputs: {url: "${site.url}", bucket: "${site/bucket.arn}", of: "${of/team[a].distributionId}", cert: "${site/certificate.arn}"}
`, func(s *athanor.Stack) error {
		in := aws.In(s, aws.Region("eu-west-1"))
		zone := route53.NewHostedZone(in, "zone", route53.HostedZoneProps{Name: "shop.example"})
		site := website.NewWebsite(in, "site", website.WebsiteProps{
			Domains: []string{"www." + s.Stage() + ".example", "shop.example"}, HostedZoneID: zone.ID, SinglePage: true, Tags: map[string]string{"team": "web"},
		}, athanor.RenamedFrom("page"), athanor.Protect())
		a := website.NewWebsite(in.Scope("of"), "team[a]", website.WebsiteProps{NotFound: "a.html"})
		website.NewWebsite(in.Scope("of"), "team[b]", website.WebsiteProps{NotFound: "b.html"})
		s.Output("url", site.URL)
		s.Output("bucket", athanor.Attributes[s3.Bucket](s, "site/bucket").ARN)
		s.Output("of", a.DistributionID)
		s.Output("cert", athanor.Attributes[acm.Certificate](s, "site/certificate").ARN)
		return nil
	}},
	{"functions by key", `
stack: shop
resources:
  worker:
    for: {a: 5, b: 6}
    kind: aws.lambda.Function
    props: {code: {go: ./worker}}
    grants: {"orders[each.key]": [send]}
    consume: {"orders[each.key]": {batchSize: "${each.value}"}}
  orders: {for: [a, b], kind: aws.sqs.Queue}
`, func(s *athanor.Stack) error {
		for key, size := range map[string]int{"a": 5, "b": 6} {
			fn := lambda.NewFunction(s, "worker["+key+"]", lambda.FunctionProps{Code: lambda.GoBuild("./worker")})
			orders := sqs.NewQueue(s, "orders["+key+"]", sqs.QueueProps{})
			orders.Grant(fn, sqs.Send)
			lambda.Consume(s, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(size)}))
		}
		return nil
	}},
	{"local and random", `
stack: shop
resources:
  id: {kind: random.ID, props: {bytes: 4, prefix: x-}}
  value: {kind: local.Value, props: {input: {id: "${id.hex}", n: 1, list: [1.5, true]}}}
  file: {kind: local.File, props: {path: out.txt, content: "${value.output}", mode: "0600"}}
`, func(s *athanor.Stack) error {
		id := random.NewID(s, "id", random.IDProps{Bytes: new(4), Prefix: "x-"})
		value := local.NewValue(s, "value", local.ValueProps{Input: map[string]any{"id": id.Hex, "n": 1, "list": []any{1.5, true}}})
		local.NewFile(s, "file", local.FileProps{Path: "out.txt", Content: value.Output.(string), Mode: new("0600")})
		return nil
	}},
	{"a website", `
stack: shop
providers: {cloudflare: {account: "0123456789abcdef0123456789abcdef"}}
resources:
  guests: {kind: cloudflare.KVNamespace}
  site:
    kind: cloudflare.Website
    props: {framework: react-router, dir: web, env: {GUESTS: {kv: "${guests.id}"}}, domains: [shop.example]}
    options: {protect: true, renamedFrom: [old]}
  pages: {for: {de: de.shop.example}, kind: cloudflare.Website, props: {domains: ["${each.value}"]}}
  api:
    kind: cloudflare.Worker
    props: {code: {script: "export default {}"}, compatibilityDate: "2026-01-31", env: {SITE: {service: "${site.name}"}}}
outputs: {name: "${site.name}"}
`, func(s *athanor.Stack) error {
		s = s.With("cloudflare", map[string]any{"account": "0123456789abcdef0123456789abcdef"})
		guests := kv.NewNamespace(s, "guests", kv.NamespaceProps{})
		site := workers.NewWebsite(s, "site", workers.WebsiteProps{
			Framework: new("react-router"), Dir: "web", Env: workers.Env{"GUESTS": guests}, Domains: []string{"shop.example"},
		}, athanor.Protect(), athanor.RenamedFrom("old"))
		workers.NewWebsite(s, "pages[de]", workers.WebsiteProps{Domains: []string{"de.shop.example"}})
		workers.NewWorker(s, "api", workers.WorkerProps{
			Code: workers.Script("export default {}"), CompatibilityDate: "2026-01-31", Env: workers.Env{"SITE": site},
		})
		s.Output("name", site.Name)
		return nil
	}},
	{"anchors and merges", `
stack: shop
x-common: &common {kind: test.Queue, options: &safe {protect: true}}
resources:
  a: *common
  b: {<<: *common, props: {name: b}}
  c: {kind: test.Queue, options: {<<: *safe, retain: true}}
`, func(s *athanor.Stack) error {
		newQueue(s, "a", queueProps{}, athanor.Protect())
		newQueue(s, "b", queueProps{Name: "b"}, athanor.Protect())
		newQueue(s, "c", queueProps{}, athanor.Protect(), athanor.Retain())
		return nil
	}},
}

func TestPairsHaveOneGraph(t *testing.T) {
	config := map[string]string{"given": "7"}
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			for _, stage := range []string{"dev", "prod"} {
				in := athanor.Input{Stack: "shop", Stage: stage, Dir: "/stack"}
				if p.name == "config, stage and stack" {
					in.Config = config
				}
				first, err := athanor.Evaluate(p.code, in)
				if err != nil {
					t.Fatal("go:", err)
				}
				in.Spelling = athanor.Shifted
				second, err := athanor.Evaluate(p.code, in)
				if err != nil {
					t.Fatal("go, shifted:", err)
				}
				if err := athanor.Check(first, second); err != nil {
					t.Fatal("check:", err)
				}
				fromYAML, err := loadConfig(t, p.yaml, stage, in.Config)
				if err != nil {
					t.Fatal("yaml:", err)
				}
				if digest(t, first) != digest(t, fromYAML) {
					t.Errorf("stage %s:\ngo:   %s\nyaml: %s", stage, show(t, first), show(t, fromYAML))
				}
			}
		})
	}
}

func digest(t testing.TB, g *engine.Graph) string {
	t.Helper()
	d, err := g.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func show(t testing.TB, g *engine.Graph) string {
	t.Helper()
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGrantsSayWhoAsked: for each permission that a program gives, the graph says which line gives it, in either language.
func TestGrantsSayWhoAsked(t *testing.T) {
	code := func(s *athanor.Stack) error {
		orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
		fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.GoBuild("./worker")})
		orders.Grant(fn, sqs.Send)
		lambda.Consume(s, fn, orders)
		return nil
	}
	g, err := athanor.Evaluate(code, athanor.Input{Stack: "shop", Stage: "dev", Dir: "/stack"})
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := loadConfig(t, `stack: shop
resources:
  orders: {kind: aws.sqs.Queue}
  worker:
    kind: aws.lambda.Function
    grants: {orders: [send]}
    consume: {orders: {}}
    props: {code: {go: ./worker}}
`, "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	for graph, want := range map[*engine.Graph][]string{
		g:        {`^sqs\.Queue\.Grant, .*pairs_test\.go:\d+$`, `^lambda\.Consume, .*pairs_test\.go:\d+$`},
		fromYAML: {`^athanor\.yaml:6:14$`, `^athanor\.yaml:7:15$`},
	} {
		var bound []string
		for _, r := range graph.Resources {
			if r.Kind == "aws.iam.Role" {
				bound = slices.Sorted(maps.Values(r.Bound))
			}
		}
		for _, pattern := range want {
			if !slices.ContainsFunc(bound, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("the role is bound by %q, want %s", bound, pattern)
			}
		}
	}
}
