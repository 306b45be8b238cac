package awstest

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// Quota is how often some operations may be called together, by an account in a region.
type Quota struct {
	// Service is as in calls. Operations are patterns of names; none means all that no quota before it has.
	Service    string
	Operations []string
	// Rate is calls a second, and Burst how many may come at once; 0 means those of a second.
	Rate, Burst float64
	// Source is the page that says so.
	Source string
}

const (
	lambdaQuotas  = "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"
	dnsQuotas     = "https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html"
	logsQuotas    = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html"
	systemsQuotas = "https://docs.aws.amazon.com/general/latest/gr/ssm.html"
	gatewayQuotas = "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html"
	eventsQuotas  = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"
	topicsQuotas  = "https://docs.aws.amazon.com/general/latest/gr/sns.html"
	secretsQuotas = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html"
	keysQuotas    = "https://docs.aws.amazon.com/kms/latest/developerguide/requests-per-second.html"
	certQuotas    = "https://docs.aws.amazon.com/acm/latest/userguide/acm-limits.html"
	machineQuotas = "https://docs.aws.amazon.com/step-functions/latest/dg/limits-overview.html"
	imageQuotas   = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/service-quotas.html"
	taskQuotas    = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html"
	userQuotas    = "https://docs.aws.amazon.com/cognito/latest/developerguide/quotas.html"
)

// PublishedQuotas are those that AWS publishes for what the kinds call. It publishes none for IAM, SQS, Cloud Control, CloudFront,
// repositories of ECR and the tagging service, and for the tables of DynamoDB only how many may change at once.
func PublishedQuotas() []Quota {
	var all []Quota
	for _, row := range []struct {
		service, source string
		rate, burst     float64
		operations      string // each with a quota of its own
	}{
		{"KMS", keysQuotas, 5, 0, "CancelKeyDeletion CreateAlias CreateKey DisableKey DisableKeyRotation EnableKey UntagResource UpdateAlias UpdateKeyDescription"},
		{"KMS", keysQuotas, 10, 0, "TagResource"},
		{"KMS", keysQuotas, 15, 0, "DeleteAlias EnableKeyRotation PutKeyPolicy ScheduleKeyDeletion"},
		{"KMS", keysQuotas, 500, 0, "ListAliases ListKeys"},
		{"KMS", keysQuotas, 1000, 0, "GetKeyPolicy GetKeyRotationStatus"},
		{"KMS", keysQuotas, 2000, 0, "DescribeKey ListResourceTags"},
		{"ACM", certQuotas, 5, 0, "AddTagsToCertificate RemoveTagsFromCertificate RequestCertificate"},
		{"ACM", certQuotas, 8, 0, "ListCertificates"},
		{"ACM", certQuotas, 10, 0, "DeleteCertificate DescribeCertificate ListTagsForCertificate"},
		{"SFN", machineQuotas, 1, 100, "CreateStateMachine DeleteStateMachine ListTagsForResource UpdateStateMachine"},
		{"SFN", machineQuotas, 1, 200, "TagResource UntagResource"},
		{"SFN", machineQuotas, 5, 100, "ListStateMachines"},
		{"SFN", machineQuotas, 20, 200, "DescribeStateMachine"},
		{"ECR", imageQuotas, 10, 0, "PutImage"},
		{"ECR", imageQuotas, 100, 0, "CompleteLayerUpload InitiateLayerUpload"},
		{"ECR", imageQuotas, 500, 0, "GetAuthorizationToken UploadLayerPart"},
		{"ECR", imageQuotas, 1000, 0, "BatchCheckLayerAvailability"},
		{"ECR", imageQuotas, 2000, 0, "BatchGetImage"},
		{"Cognito", userQuotas, 5, 0, "CreateUserPoolClient DeleteUserPoolClient DescribeUserPoolClient ListUserPoolClients UpdateUserPoolClient"},
	} {
		for operation := range strings.FieldsSeq(row.operations) {
			all = append(all, Quota{Service: row.service, Operations: []string{operation}, Rate: row.rate, Burst: row.burst, Source: row.source})
		}
	}
	return append(all, []Quota{
		{Service: "Cognito", Operations: []string{"DescribeUserPool", "ListUserPools"}, Rate: 15, Source: userQuotas},
		{Service: "Cognito", Operations: []string{"CreateUserPool", "UpdateUserPool", "DeleteUserPool"}, Rate: 15, Source: userQuotas},
		{Service: "Cognito", Operations: []string{"GetUserPoolMfaConfig"}, Rate: 20, Source: userQuotas},
		{Service: "Cognito", Operations: []string{"AddCustomAttributes", "SetUserPoolMfaConfig", "*agResource"}, Rate: 15, Source: userQuotas},
		{Service: "Cognito", Operations: []string{"ListUsers"}, Rate: 30, Source: userQuotas},
		{Service: "ECS", Operations: []string{"CreateCluster", "DeleteCluster", "UpdateClusterSettings"}, Rate: 1, Burst: 20, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"DescribeClusters", "ListClusters"}, Rate: 20, Burst: 50, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"RegisterTaskDefinition", "DeregisterTaskDefinition"}, Rate: 1, Burst: 20, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"DescribeTaskDefinition", "ListTaskDefinitions"}, Rate: 20, Burst: 50, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"*agResource"}, Rate: 10, Burst: 20, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"DescribeTasks", "ListTasks"}, Rate: 20, Burst: 100, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"CreateService", "UpdateService", "DeleteService"}, Rate: 5, Burst: 50, Source: taskQuotas},
		{Service: "ECS", Operations: []string{"DescribeServices", "ListServices"}, Rate: 20, Burst: 100, Source: taskQuotas},
		{Service: "Lambda", Operations: []string{"GetFunction"}, Rate: 100, Source: lambdaQuotas},
		{Service: "Lambda", Operations: []string{"GetPolicy"}, Rate: 15, Source: lambdaQuotas},
		{Service: "Lambda", Rate: 15, Source: lambdaQuotas},
		{Service: "Route53", Rate: 5, Source: dnsQuotas},
		{Service: "Logs", Operations: []string{"CreateLogGroup"}, Rate: 10, Source: logsQuotas},
		{Service: "Logs", Operations: []string{"DeleteLogGroup"}, Rate: 10, Source: logsQuotas},
		{Service: "Logs", Operations: []string{"DescribeLogGroups"}, Rate: 10, Source: logsQuotas},
		{Service: "Logs", Operations: []string{"DescribeLogStreams"}, Rate: 25, Source: logsQuotas},
		{Service: "SSM", Operations: []string{"GetParameter", "GetParameters", "GetParametersByPath"}, Rate: 40, Source: systemsQuotas},
		{Service: "apigateway", Rate: 10, Burst: 40, Source: gatewayQuotas},
		{Service: "Events", Rate: 50, Source: eventsQuotas},
		{Service: "SNS", Operations: []string{"ListTopics"}, Rate: 30, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"ListSubscriptionsByTopic"}, Rate: 30, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"Subscribe"}, Rate: 100, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"Unsubscribe"}, Rate: 100, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"ListTagsForResource"}, Rate: 10, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"TagResource"}, Rate: 10, Source: topicsQuotas},
		{Service: "SNS", Operations: []string{"UntagResource"}, Rate: 10, Source: topicsQuotas},
		{Service: "SecretsManager", Operations: []string{"CreateSecret"}, Rate: 50, Source: secretsQuotas},
		{Service: "SecretsManager", Operations: []string{"DeleteSecret"}, Rate: 50, Source: secretsQuotas},
		{Service: "SecretsManager", Operations: []string{"ListSecrets"}, Rate: 100, Source: secretsQuotas},
		{Service: "SecretsManager", Operations: []string{"*ResourcePolicy"}, Rate: 50, Source: secretsQuotas},
		{
			Service: "SecretsManager", Rate: 50, Source: secretsQuotas,
			Operations: []string{"PutSecretValue", "RemoveRegionsFromReplication", "ReplicateSecretToRegions", "UpdateSecret"},
		},
		{Service: "SecretsManager", Operations: []string{"RestoreSecret"}, Rate: 50, Source: secretsQuotas},
		{Service: "SecretsManager", Operations: []string{"RotateSecret", "CancelRotateSecret"}, Rate: 50, Source: secretsQuotas},
		{Service: "SecretsManager", Operations: []string{"TagResource", "UntagResource"}, Rate: 50, Source: secretsQuotas},
	}...)
}

// Part is quotas of which only a part is left: somebody else uses the rest.
func Part(of float64, quotas []Quota) []Quota {
	quotas = slices.Clone(quotas)
	for i := range quotas {
		quotas[i].Rate *= of
		quotas[i].Burst *= of
	}
	return quotas
}

// bucket is what is left of a quota. A bucket of tokens is how AWS counts calls:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/throttling.html
type bucket struct {
	left float64
	at   time.Time
}

// overQuota takes a token, and reports that there is none.
func (p *player) overQuota(c Call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, key, ok := quotaOf(p.Quotas, c)
	if !ok {
		return false
	}
	now, burst := time.Now(), max(q.Burst, q.Rate, 1)
	b := p.buckets[key]
	if b == nil {
		b = &bucket{burst, now}
		p.buckets[key] = b
	}
	b.left, b.at = min(b.left+now.Sub(b.at).Seconds()*q.Rate, burst), now
	if b.left < 1 {
		p.refusals[c.Name()]++
		return true
	}
	b.left--
	return false
}

func quotaOf(quotas []Quota, c Call) (q Quota, key string, ok bool) {
	for _, q := range quotas {
		if q.Service != c.Service || len(q.Operations) > 0 && !slices.ContainsFunc(q.Operations, func(name string) bool {
			matches, err := path.Match(name, c.Operation)
			return err == nil && matches
		}) {
			continue
		}
		return q, serviceKey(c) + "\x00" + strings.Join(q.Operations, ","), true
	}
	return Quota{}, "", false
}

// operationName is an operation of a service whose requests carry no name.
type operationName struct {
	method, name string
	path         []string // the parts, "" for a parameter
	query        string   // that tells it from another one of the path, such as List=ALL
}

// operationNames are those of the services that have one address for each operation, as botocore describes them.
func operationNames(t testing.TB) map[string][]operationName {
	t.Helper()
	all := map[string][]operationName{}
	for service, model := range map[string]string{"Lambda": "lambda", "apigateway": "apigatewayv2", "Scheduler": "scheduler"} {
		for name, o := range LoadModel(t, model).Operations {
			uri, query, _ := strings.Cut(o.HTTP.RequestURI, "?")
			parts := strings.Split(strings.Trim(uri, "/"), "/")
			for i, part := range parts {
				if strings.HasPrefix(part, "{") {
					parts[i] = ""
				}
			}
			all[service] = append(all[service], operationName{o.HTTP.Method, name, parts, query})
		}
	}
	return all
}

// operation is what a call asks for, by the name that the service has for it.
func (p *player) operation(r *http.Request, c Call) string {
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	found, fixed := c.Operation, -1
	for _, o := range p.names[c.Service] {
		n, fits := 0, o.method == c.Method && len(o.path) == len(parts) && strings.Contains(r.URL.RawQuery, o.query)
		for i := 0; fits && i < len(parts); i++ {
			if fits = o.path[i] == "" || o.path[i] == parts[i]; o.path[i] != "" {
				n++
			}
		}
		if o.query != "" {
			n++
		}
		if fits && n > fixed {
			found, fixed = o.name, n
		}
	}
	return found
}
