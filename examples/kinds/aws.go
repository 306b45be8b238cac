package kinds

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
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
	"github.com/athanor-dev/athanor/providers/aws/website"
	"github.com/athanor-dev/athanor/reconcile/props"
)

const day = 24 * time.Hour

// byLambda lets functions use a role.
func byLambda() map[string]any { return by("lambda.amazonaws.com") }

// by lets a service use a role.
func by(service string) map[string]any {
	return map[string]any{
		"Version":   "2012-10-17",
		"Statement": []any{map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"Service": service}}},
	}
}

// sender is a role of a service that may send to a queue.
func sender(s *athanor.Stack, service string, queue sqs.Queue) iam.Role {
	return iam.NewRole(s, "role", iam.RoleProps{
		TrustPolicy: by(service),
		Bindings:    []aws.Statement{{Actions: []string{"sqs:SendMessage"}, Resources: []string{string(queue.ARN)}}},
	})
}

// web is a function with a role that permits nothing.
func web(s *athanor.Stack) lambda.Function {
	r := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: byLambda()})
	return lambda.NewFunction(s, "web", lambda.FunctionProps{Code: lambda.Bundle("index.mjs"), Role: r.ARN})
}

func domainName(s *athanor.Stack) error {
	apigatewayv2.NewDomainName(s, "domain", apigatewayv2.DomainNameProps{
		Name: "api.shop.example", CertificateARN: "arn:aws:acm:us-east-1:123456789012:certificate/6c5f7d0e-8a4b-4c1d-9e2f-3b7a5d9c1e08",
	})
	return nil
}

func httpAPI(s *athanor.Stack) error {
	web := web(s)
	api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{Routes: map[string]apigatewayv2.Route{
		"GET /orders":      {Lambda: web.ARN},
		"GET /orders/{id}": {Lambda: web.ARN, Timeout: new(5 * time.Second)},
	}})
	lambda.NewPermission(s, "api-calls-web", lambda.PermissionProps{
		Function: web.ARN, Principal: "apigateway.amazonaws.com", SourceARN: api.ExecutionARN + "/*",
	})
	return nil
}

func distribution(s *athanor.Stack) error {
	site := s3.NewBucket(s, "site", s3.BucketProps{})
	control := cloudfront.NewOriginAccessControl(s, "control", cloudfront.OriginAccessControlProps{})
	cloudfront.NewDistribution(s, "cdn", cloudfront.DistributionProps{
		Origins:           map[string]cloudfront.Origin{"site": {Domain: site.RegionalDomainName, S3: true, AccessControl: control.ID}},
		Default:           cloudfront.Behavior{Origin: "site"},
		DefaultRootObject: "index.html",
		Errors:            []cloudfront.ErrorResponse{{Code: 403, Page: "/index.html", Status: 200}},
	})
	return nil
}

func site(s *athanor.Stack) error {
	zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "bakery.example"})
	site := website.NewWebsite(s, "site", website.WebsiteProps{
		Files: "pages", NotFound: "404.html", Domains: []string{"www.bakery.example", "bakery.example"}, HostedZoneID: zone.ID,
	})
	s.Output("url", site.URL)
	return nil
}

func originAccessControl(s *athanor.Stack) error {
	cloudfront.NewOriginAccessControl(s, "control", cloudfront.OriginAccessControlProps{Description: "reads the site"})
	return nil
}

func certificate(s *athanor.Stack) error {
	zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example"})
	acm.NewCertificate(s, "cert", acm.CertificateProps{
		Domain: "shop.example", AlternativeNames: []string{"*.shop.example"}, HostedZoneID: zone.ID,
	})
	return nil
}

func key(s *athanor.Stack) error {
	key := kms.NewKey(s, "key", kms.KeyProps{Aliases: []string{"alias/orders"}, Description: "Orders of the shop", Rotation: true})
	sqs.NewQueue(s, "orders", sqs.QueueProps{KMSMasterKeyID: string(key.ARN)})
	return nil
}

func userPool(s *athanor.Stack) error {
	customers(s)
	return nil
}

func customers(s *athanor.Stack) cognito.UserPool {
	return cognito.NewUserPool(s, "customers", cognito.UserPoolProps{
		UsernameAttributes: []string{"email"}, CaseSensitive: new(false), AutoVerify: []string{"email"}, Recovery: []string{"verified_email"},
		Attributes: map[string]cognito.Attribute{"plan": {Max: new(20)}},
		MFA:        new("OPTIONAL"), Factors: []string{"totp"},
	})
}

func userPoolClient(s *athanor.Stack) error {
	web := cognito.NewUserPoolClient(s, "web", cognito.UserPoolClientProps{
		UserPool: customers(s).ID, PreventUserExistenceErrors: new("ENABLED"), RefreshTokenValidity: new(7 * day),
		OAuth: true, OAuthFlows: []string{"code"}, OAuthScopes: []string{"openid", "email"}, CallbackURLs: []string{"https://shop.example/in"},
		IdentityProviders: []string{"COGNITO"},
	})
	s.Output("client", web.ID)
	return nil
}

func cluster(s *athanor.Stack) error {
	shop := ecs.NewCluster(s, "shop", ecs.ClusterProps{ContainerInsights: new("enabled")})
	s.Output("cluster", shop.Name)
	return nil
}

func service(s *athanor.Stack) error {
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	shop := ecs.NewCluster(s, "shop", ecs.ClusterProps{})
	web := ecs.NewService(s, "web", ecs.ServiceProps{
		Cluster: shop.Name, CPU: new(512), Memory: new(1 * props.GiB), Subnets: []string{"subnet-0a1b2c3d4e5f60718"}, PublicIP: true,
		Containers: map[string]ecs.Container{"web": {
			Image: "public.ecr.aws/nginx/nginx:1.29", Ports: []int{80}, Env: map[string]string{"QUEUE": string(orders.URL)},
		}},
	})
	orders.Grant(web, sqs.Send)
	s.Output("taskDefinition", web.TaskDefinition)
	return nil
}

func table(s *athanor.Stack) error {
	dynamodb.NewTable(s, "orders", dynamodb.TableProps{
		PartitionKey: "customer",
		SortKey:      "placed",
		Attributes:   map[string]string{"status": "S"},
		GlobalSecondaryIndexes: map[string]dynamodb.GlobalSecondaryIndex{
			"by-status": {PartitionKey: []string{"status"}, SortKey: []string{"placed"}},
		},
	})
	return nil
}

func image(s *athanor.Stack) error {
	images := ecr.NewRepository(s, "images", ecr.RepositoryProps{})
	hello := ecr.NewImage(s, "hello", ecr.ImageProps{
		Repository: images.Name, Source: ecr.ImageSource{Go: "./hello", User: "65532"}, Architecture: new("arm64"), Tags: []string{"latest"},
	})
	r := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: byLambda()})
	lambda.NewFunction(s, "web", lambda.FunctionProps{Code: lambda.Image(hello.URI), Architecture: new("arm64"), Role: r.ARN})
	return nil
}

func repository(s *athanor.Stack) error {
	ecr.NewRepository(s, "images", ecr.RepositoryProps{
		TagMutability: new("IMMUTABLE"),
		LifecyclePolicy: map[string]any{"rules": []any{map[string]any{
			"rulePriority": 1,
			"selection":    map[string]any{"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": 14},
			"action":       map[string]any{"type": "expire"},
		}}},
	})
	return nil
}

func eventBus(s *athanor.Stack) error {
	eventbridge.NewEventBus(s, "shop", eventbridge.EventBusProps{Description: "Events of the shop"})
	return nil
}

func rule(s *athanor.Stack) error {
	queue := sqs.NewQueue(s, "queue", sqs.QueueProps{})
	eventbridge.NewRule(s, "nightly", eventbridge.RuleProps{
		ScheduleExpression: "cron(0 3 * * ? *)",
		Targets: map[string]eventbridge.Target{
			"queue": {ARN: queue.ARN, Input: map[string]any{"job": "cleanup"}},
		},
	})
	return nil
}

func policy(s *athanor.Stack) error {
	iam.NewPolicy(s, "read-logs", iam.PolicyProps{Document: map[string]any{
		"Version": "2012-10-17",
		"Statement": []any{map[string]any{
			"Effect": "Allow", "Action": "logs:GetLogEvents", "Resource": "*",
		}},
	}})
	return nil
}

// mayRead are the permissions of who takes messages out of a queue.
func mayRead(queue sqs.Queue) []aws.Statement {
	return []aws.Statement{{
		Actions:   []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
		Resources: []string{string(queue.ARN)},
	}}
}

func role(s *athanor.Stack) error {
	jobs := sqs.NewQueue(s, "jobs", sqs.QueueProps{})
	iam.NewRole(s, "worker", iam.RoleProps{TrustPolicy: byLambda(), Bindings: mayRead(jobs)})
	return nil
}

func eventSourceMapping(s *athanor.Stack) error {
	jobs := sqs.NewQueue(s, "jobs", sqs.QueueProps{})
	r := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: byLambda(), Bindings: mayRead(jobs)})
	web := lambda.NewFunction(s, "web", lambda.FunctionProps{Code: lambda.Bundle("index.mjs"), Role: r.ARN})
	lambda.NewEventSourceMapping(s, "web-jobs", lambda.EventSourceMappingProps{
		Function: web.ARN, Source: jobs.ARN, BatchSize: new(5), ReportBatchItemFailures: true,
	})
	return nil
}

func function(s *athanor.Stack) error {
	r := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: byLambda()})
	lambda.NewFunction(s, "web", lambda.FunctionProps{
		Code:    lambda.Bundle("index.mjs"),
		Role:    r.ARN,
		Memory:  new(athanor.Size(256 << 20)),
		Timeout: new(10 * time.Second),
		Env:     map[string]string{"GREETING": "hello"},
	})
	return nil
}

func permission(s *athanor.Stack) error {
	web := web(s)
	topic := sns.NewTopic(s, "topic", sns.TopicProps{})
	lambda.NewPermission(s, "topic-calls-web", lambda.PermissionProps{
		Function: web.ARN, Principal: "sns.amazonaws.com", SourceARN: topic.ARN,
	})
	return nil
}

func layer(s *athanor.Stack) error {
	shared := lambda.NewLayer(s, "shared", lambda.LayerProps{
		Code: lambda.LayerCode{Directory: "migrations"}, Runtimes: []string{"nodejs24.x"}, Description: "Migrations of the shop",
	})
	r := iam.NewRole(s, "role", iam.RoleProps{TrustPolicy: byLambda()})
	lambda.NewFunction(s, "web", lambda.FunctionProps{Code: lambda.Bundle("index.mjs"), Role: r.ARN, Layers: []aws.ARN{shared.ARN}})
	return nil
}

func published(s *athanor.Stack) error {
	version(s, web(s))
	return nil
}

func version(s *athanor.Stack, web lambda.Function) lambda.Version {
	return lambda.NewVersion(s, "published", lambda.VersionProps{Function: web.ARN, Follows: web.CodeDigest, Keep: new(3)})
}

func alias(s *athanor.Stack) error {
	web := web(s)
	lambda.NewAlias(s, "live", lambda.AliasProps{
		Function: web.ARN, Name: "live", Version: version(s, web).Version, ProvisionedConcurrency: new(2),
	})
	return nil
}

func logGroup(s *athanor.Stack) error {
	logs.NewLogGroup(s, "logs", logs.LogGroupProps{Retention: 14 * day})
	return nil
}

func hostedZone(s *athanor.Stack) error {
	route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example", Comment: "The shop"})
	return nil
}

func record(s *athanor.Stack) error {
	zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example"})
	route53.NewRecord(s, "www", route53.RecordProps{
		HostedZoneID: zone.ID, Name: "www.shop.example", Type: "A", TTL: new(5 * time.Minute), Values: []string{"192.0.2.1"},
	})
	return nil
}

func bucket(s *athanor.Stack) error {
	s3.NewBucket(s, "uploads", s3.BucketProps{
		Versioning: "Enabled",
		Lifecycle: []s3.LifecycleRule{{
			ID: "old-versions", NoncurrentExpiration: &s3.NoncurrentExpiration{Days: 30}, AbortUploadsAfterDays: 7,
		}},
	})
	return nil
}

func object(s *athanor.Stack) error {
	site := s3.NewBucket(s, "site", s3.BucketProps{})
	s3.NewObject(s, "page", s3.ObjectProps{
		Bucket: site.Name, Key: "index.html", Content: new("<h1>shop</h1>"), ContentType: new("text/html"), CacheControl: "max-age=60",
	})
	return nil
}

func schedule(s *athanor.Stack) error {
	reports := sqs.NewQueue(s, "reports", sqs.QueueProps{})
	scheduler.NewSchedule(s, "daily", scheduler.ScheduleProps{
		Expression: "cron(0 8 ? * MON-FRI *)", Timezone: new("Europe/Stockholm"),
		Target: reports.ARN, Role: sender(s, "scheduler.amazonaws.com", reports).ARN, Input: map[string]any{"report": "daily"},
	})
	return nil
}

func secret(s *athanor.Stack) error {
	secretsmanager.NewSecret(s, "database", secretsmanager.SecretProps{
		Description: "Password of the database",
		Generate:    &secretsmanager.Generate{Length: new(32), ExcludePunctuation: true},
	})
	return nil
}

func stateMachine(s *athanor.Stack) error {
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	sfn.NewStateMachine(s, "checkout", sfn.StateMachineProps{
		Role: sender(s, "states.amazonaws.com", orders).ARN,
		Definition: map[string]any{"StartAt": "order", "States": map[string]any{"order": map[string]any{
			"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
			"Parameters": map[string]any{"QueueUrl": orders.URL, "MessageBody.$": "$"},
			"End":        true,
		}}},
	})
	return nil
}

func subscription(s *athanor.Stack) error {
	events := sns.NewTopic(s, "events", sns.TopicProps{})
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	sns.NewSubscription(s, "events-to-orders", sns.SubscriptionProps{
		Topic: events.ARN, Protocol: "sqs", Endpoint: string(orders.ARN), RawMessageDelivery: true,
		FilterPolicy: map[string]any{"type": []any{"order", "refund"}},
	})
	return nil
}

func topic(s *athanor.Stack) error {
	sns.NewTopic(s, "events", sns.TopicProps{DisplayName: "Events of the shop"})
	return nil
}

func queue(s *athanor.Stack) error {
	dead := sqs.NewQueue(s, "dead", sqs.QueueProps{MessageRetention: new(14 * day)})
	sqs.NewQueue(s, "orders", sqs.QueueProps{VisibilityTimeout: new(time.Minute), DeadLetter: dead.ARN, MaxReceives: new(5)})
	return nil
}

func parameter(s *athanor.Stack) error {
	ssm.NewParameter(s, "level", ssm.ParameterProps{Name: "/shop/log-level", Value: "info", AllowedPattern: "debug|info|error"})
	return nil
}
