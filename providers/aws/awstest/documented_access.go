package awstest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Right is an action on a resource that AWS checks before it answers a call. Service is the one that a role is handed to.
type Right struct{ Action, Resource, Service string }

// access is what the caller may do, and what was asked for.
type access struct {
	policy *allowing // nil: everything
	asked  map[Right]bool
	denied []Right
	keys   map[string]string // of KMS, by the ARN of what they encrypt
}

// allowing is a policy of an identity.
type allowing struct {
	Statement []struct {
		Effect           string
		Action, Resource []string
		Condition        map[string]map[string][]string
	}
}

// Allow lets the caller do what a policy allows and nothing else, from now on. Nil allows everything.
func (d *Documents) Allow(policy map[string]any) error {
	var of *allowing
	if policy != nil {
		text, err := json.Marshal(policy)
		if err != nil {
			return err
		}
		of = new(allowing)
		if err := json.Unmarshal(text, of); err != nil {
			return err
		}
	}
	d.player.mu.Lock()
	defer d.player.mu.Unlock()
	d.player.access.policy, d.player.access.asked, d.player.access.denied = of, map[Right]bool{}, nil
	return nil
}

// Asked are the rights that the calls since the last [Documents.Allow] needed, and those that were missing.
func (d *Documents) Asked() (asked map[Right]bool, denied []Right) {
	d.player.mu.Lock()
	defer d.player.mu.Unlock()
	return d.player.access.asked, slices.Clone(d.player.access.denied)
}

// authorizes reports whether the caller has every right that a call needs.
func (p *player) authorizes(r *http.Request, c Call) bool {
	if on(c).protocol == registryHTTP && c.Operation == checkVersion {
		return true
	}
	rights := direct(r, c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.access.keys == nil {
		p.access.keys = map[string]string{}
	}
	rights = append(rights, p.dependents(r, c, rights[0].Resource)...)
	if p.access.asked == nil {
		return true
	}
	ok := true
	for _, right := range rights {
		p.access.asked[right] = true
		if p.access.policy != nil && !p.access.policy.allows(right) {
			p.access.denied = append(p.access.denied, right)
			ok = false
		}
	}
	return ok
}

func (a *allowing) allows(r Right) bool {
	for _, s := range a.Statement {
		if s.Effect != "Allow" || !slices.Contains(s.Action, r.Action) {
			continue
		}
		if to := s.Condition["StringEquals"]["iam:PassedToService"]; to != nil && !slices.Contains(to, r.Service) {
			continue
		}
		if slices.ContainsFunc(s.Resource, func(pattern string) bool { return fits(pattern, r.Resource) }) {
			return true
		}
	}
	return false
}

// fits reports whether a pattern of a policy, in which * stands for any text, fits a resource.
func fits(pattern, resource string) bool {
	hide := strings.NewReplacer("/", "|", "[", "(", "]", ")", "\\", "|")
	ok, err := path.Match(hide.Replace(pattern), hide.Replace(resource))
	return err == nil && ok
}

// prefixes are those of actions, by service.
var prefixes = map[string]string{
	"Tagging": "tag", "Events": "events", "DynamoDB": "dynamodb", "SecretsManager": "secretsmanager", "Route53": "route53", "Logs": "logs",
	"Lambda": "lambda", "CloudControl": "cloudformation", "SFN": "states", "Scheduler": "scheduler", "Cognito": "cognito-idp",
	"ECS": "ecs",
}

// bucketActions are the actions of S3 whose names are not those of the operations:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
var bucketActions = map[string]string{
	"HeadBucket": "ListBucket", "ListObjectsV2": "ListBucket", "ListBuckets": "ListAllMyBuckets", "ListObjectVersions": "ListBucketVersions",
	"ListMultipartUploads": "ListBucketMultipartUploads", "HeadObject": "GetObject", "DeleteObjects": "DeleteObject",
	"GetBucketCors": "GetBucketCORS", "PutBucketCors": "PutBucketCORS", "DeleteBucketCors": "PutBucketCORS", "DeleteBucketTagging": "PutBucketTagging",
	"GetBucketEncryption": "GetEncryptionConfiguration", "PutBucketEncryption": "PutEncryptionConfiguration",
	"GetBucketLifecycleConfiguration": "GetLifecycleConfiguration", "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
	"DeleteBucketLifecycle": "PutLifecycleConfiguration", "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
	"PutPublicAccessBlock": "PutBucketPublicAccessBlock", "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
	"GetBucketAccelerateConfiguration": "GetAccelerateConfiguration", "PutBucketAccelerateConfiguration": "PutAccelerateConfiguration",
	"GetBucketNotificationConfiguration": "GetBucketNotification", "PutBucketNotificationConfiguration": "PutBucketNotification",
	"GetObjectLockConfiguration": "GetBucketObjectLockConfiguration", "PutObjectLockConfiguration": "PutBucketObjectLockConfiguration",
}

// without are the actions that policies allow on everything or not at all, in the tables of
// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
var without = map[string]bool{
	"sqs:ListQueues": true, "sns:ListTopics": true, "dynamodb:ListTables": true, "dynamodb:ListContributorInsights": true,
	"lambda:ListFunctions": true, "lambda:ListLayers": true, "lambda:ListEventSourceMappings": true, "lambda:CreateEventSourceMapping": true,
	"logs:DescribeLogGroups": true, "logs:DescribeResourcePolicies": true, "logs:PutResourcePolicy": true, "logs:DeleteResourcePolicy": true,
	"ssm:DescribeParameters": true, "secretsmanager:ListSecrets": true, "secretsmanager:GetRandomPassword": true,
	"route53:ListHostedZones": true, "route53:ListHostedZonesByName": true, "route53:CreateHostedZone": true,
	"iam:ListRoles": true, "iam:ListPolicies": true, "iam:GetAccountAuthorizationDetails": true, "s3:ListAllMyBuckets": true,
	"events:ListRules": true, "events:ListEventBuses": true,
	"sns:GetSubscriptionAttributes": true, "sns:SetSubscriptionAttributes": true, "sns:Unsubscribe": true,
	"kms:CreateKey": true, "kms:ListAliases": true, "kms:ListKeys": true, "acm:RequestCertificate": true, "acm:ListCertificates": true,
	"ecr:GetAuthorizationToken": true, "states:ListStateMachines": true, "scheduler:ListSchedules": true, "cognito-idp:ListUserPools": true, "cognito-idp:CreateUserPool": true,
	"ecs:ListClusters": true, "ecs:ListServices": true, "ecs:DescribeTaskDefinition": true, "ecs:ListTaskDefinitions": true, "ecs:DeregisterTaskDefinition": true,
	"ecs:ListTasks":                true,
	"cloudfront:ListDistributions": true, "cloudfront:ListOriginAccessControls": true, "cloudfront:CreateOriginAccessControl": true,
}

// direct are the rights for the operation itself, and for the tags that a creation carries.
func direct(r *http.Request, c Call) []Right {
	prefix := cmp.Or(prefixes[c.Service], strings.ToLower(c.Service))
	action := prefix + ":" + c.Operation
	switch c.Service {
	case "S3":
		action = prefix + ":" + cmp.Or(bucketActions[c.Operation], c.Operation)
	case "apigateway":
		action = prefix + ":" + c.Method
	case "CloudFront": // https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateDistributionWithTags.html
		action = strings.TrimSuffix(action, "WithTags")
	}
	resources := []string{"*"}
	if c.Service != "STS" && c.Service != "Tagging" && c.Service != "CloudControl" && !without[action] {
		resources = resourcesOf(r, c)
	}
	var rights []Right
	for _, on := range resources {
		rights = append(rights, Right{Action: action, Resource: on})
		if tagging := taggingOf(r, c); tagging != "" {
			if on == "*" { // it is tagged as what it becomes
				kinds := map[string]string{"kms": "key/", "acm": "certificate/"}
				if on = "arn:aws:lambda:" + c.Region + ":" + c.Account + ":event-source-mapping:" + requestID; kinds[prefix] != "" {
					on = "arn:aws:" + prefix + ":" + c.Region + ":" + c.Account + ":" + kinds[prefix] + requestID
				}
			}
			rights = append(rights, Right{Action: prefix + ":" + tagging, Resource: on})
		}
	}
	return rights
}

// taggingOf is the action that a creation with tags needs too, "" for other calls. DynamoDB, Route 53 and API Gateway are
// documented as the others:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_tags.html
func taggingOf(r *http.Request, c Call) string {
	in := jsonOf(c.Body)
	form := on(c).action
	switch c.Service + "." + c.Operation {
	case "SQS.CreateQueue":
		return ifAny(in["tags"], "TagQueue")
	case "SNS.CreateTopic":
		if form.Has("Tags.member.1.Key") {
			return "TagResource"
		}
	case "IAM.CreateRole", "IAM.CreatePolicy":
		if form.Has("Tags.member.1.Key") {
			return "Tag" + strings.TrimPrefix(c.Operation, "Create")
		}
	case "Lambda.CreateFunction", "Lambda.CreateEventSourceMapping", "DynamoDB.CreateTable", "SecretsManager.CreateSecret", "Events.PutRule",
		"Events.CreateEventBus", "apigateway.CreateApi", "apigateway.CreateDomainName":
		return cmp.Or(ifAny(in["Tags"], "TagResource"), ifAny(in["tags"], "TagResource"))
	case "KMS.CreateKey":
		return ifAny(in["Tags"], "TagResource")
	case "ECR.CreateRepository", "SFN.CreateStateMachine", "ECS.CreateCluster", "ECS.CreateService", "ECS.RegisterTaskDefinition":
		return ifAny(in["tags"], "TagResource")
	case "CloudFront.CreateDistributionWithTags":
		return "TagResource"
	case "ACM.RequestCertificate":
		return ifAny(in["Tags"], "AddTagsToCertificate")
	case "Logs.CreateLogGroup":
		return ifAny(in["tags"], "TagResource")
	case "SSM.PutParameter":
		return ifAny(in["Tags"], "AddTagsToResource")
	case "S3.PutObject":
		if r.Header.Get("X-Amz-Tagging") != "" {
			return "PutObjectTagging"
		}
	case "S3.CreateBucket":
		if strings.Contains(string(c.Body), "<Tag>") {
			return "TagResource"
		}
	}
	return ""
}

// tasksIn are what a call of ECS is about:
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
func tasksIn(operation string, in map[string]any, first func(...string) string, arn func(string) []string) (all []string) {
	last := func(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }
	switch operation {
	case "RegisterTaskDefinition":
		return arn("task-definition/" + first("family") + ":1")
	case "CreateService", "UpdateService", "DeleteService":
		return arn("service/" + last(first("cluster")) + "/" + last(first("serviceName", "service")))
	case "DescribeServices":
		for _, name := range list(in["services"]) {
			all = append(all, arn("service/"+last(first("cluster"))+"/"+last(text(name)))...)
		}
	case "DescribeTasks":
		for _, task := range list(in["tasks"]) {
			all = append(all, arn("task/"+last(first("cluster"))+"/"+last(text(task)))...)
		}
	case "DescribeClusters":
		for _, name := range list(in["clusters"]) {
			all = append(all, arn("cluster/"+last(text(name)))...)
		}
	case "TagResource", "UntagResource", "ListTagsForResource":
		return arn(first("resourceArn"))
	default:
		return arn("cluster/" + last(first("cluster", "clusterName")))
	}
	return all
}

func ifAny(tags any, action string) string {
	switch tags := tags.(type) {
	case []any:
		if len(tags) > 0 {
			return action
		}
	case map[string]any:
		if len(tags) > 0 {
			return action
		}
	}
	return ""
}

// resourcesOf are the ARNs that a call is about, read from what it carries.
func resourcesOf(r *http.Request, c Call) []string {
	in := jsonOf(c.Body)
	form := on(c).action
	arn := func(service, resource string) []string {
		if strings.HasPrefix(resource, "arn:") {
			return []string{resource}
		}
		return []string{"arn:aws:" + service + ":" + c.Region + ":" + c.Account + ":" + resource}
	}
	first := func(names ...string) string {
		for _, name := range names {
			if s := text(in[name]); s != "" {
				return s
			}
		}
		return ""
	}
	switch c.Service {
	case "S3":
		return []string{"arn:aws:s3:::" + c.Resource}
	case "SQS":
		name := first("QueueName", "QueueUrl")
		return arn("sqs", name[strings.LastIndexByte(name, '/')+1:])
	case "SNS":
		return arn("sns", cmp.Or(form.Get("TopicArn"), form.Get("ResourceArn"), form.Get("Name")))
	case "IAM":
		if policy := cmp.Or(form.Get("PolicyName"), form.Get("PolicyArn")); form.Get("RoleName") == "" && policy != "" {
			if strings.HasPrefix(policy, "arn:") {
				return []string{policy}
			}
			return []string{"arn:aws:iam::" + c.Account + ":policy" + cmp.Or(form.Get("Path"), "/") + policy}
		}
		return []string{"arn:aws:iam::" + c.Account + ":role" + cmp.Or(form.Get("Path"), "/") + form.Get("RoleName")}
	case "Lambda":
		return lambdaResources(c, in, arn)
	case "DynamoDB":
		name := first("TableName", "ResourceArn")
		if !strings.HasPrefix(name, "arn:") {
			name = "table/" + name
		}
		return arn("dynamodb", name)
	case "Events":
		return eventResources(c, in, arn)
	case "Logs":
		name := first("logGroupName", "logGroupIdentifier", "resourceArn")
		if groups, _ := in["logGroupIdentifiers"].([]any); len(groups) > 0 {
			name = text(groups[0])
		}
		if !strings.HasPrefix(name, "arn:") {
			name = "log-group:" + name
		}
		if c.Operation == "DescribeLogStreams" {
			name += ":log-stream:"
		}
		return arn("logs", name)
	case "KMS":
		var all []string
		for _, name := range []string{text(in["AliasName"]), cmp.Or(text(in["KeyId"]), text(in["TargetKeyId"]))} {
			switch {
			case strings.HasPrefix(name, "alias/"), strings.HasPrefix(name, "arn:"):
				all = append(all, arn("kms", name)...)
			case name != "":
				all = append(all, arn("kms", "key/"+name)...)
			}
		}
		return all
	case "ACM":
		return arn("acm", first("CertificateArn"))
	case "ECR":
		name := cmp.Or(c.Resource, first("repositoryName", "resourceArn"))
		if names := at(in["repositoryNames"], "*"); len(names) > 0 {
			name = names[0]
		}
		if !strings.HasPrefix(name, "arn:") {
			name = "repository/" + cmp.Or(name, "*")
		}
		return arn("ecr", name)
	case "SFN":
		name := first("stateMachineArn", "resourceArn", "name")
		if !strings.HasPrefix(name, "arn:") {
			name = "stateMachine:" + name
		}
		return arn("states", name)
	case "ECS":
		return tasksIn(c.Operation, in, first, func(resource string) []string { return arn("ecs", resource) })
	case "Cognito":
		if name := first("ResourceArn"); name != "" {
			return []string{name}
		}
		return arn("cognito-idp", "userpool/"+first("UserPoolId"))
	case "Scheduler":
		group := cmp.Or(r.URL.Query().Get("groupName"), first("GroupName"))
		return arn("scheduler", "schedule/"+cmp.Or(group, "default")+"/"+path.Base(r.URL.Path))
	case "SSM":
		var all []string
		for _, name := range append(list(in["Names"]), in["Name"], in["ResourceId"]) {
			if name := text(name); name != "" {
				all = append(all, arn("ssm", "parameter/"+strings.TrimPrefix(name, "/"))...)
			}
		}
		return all
	case "SecretsManager":
		name := first("Name", "SecretId")
		if !strings.HasPrefix(name, "arn:") {
			name = "secret:" + name + "-AbCdEf"
		}
		return arn("secretsmanager", name)
	case "Route53":
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		switch {
		case len(parts) > 3 && parts[1] == "tags":
			return []string{"arn:aws:route53:::" + parts[2] + "/" + parts[3]}
		case len(parts) > 2 && parts[1] == "tags":
			return []string{"arn:aws:route53:::hostedzone/*"}
		}
		return []string{"arn:aws:route53:::" + parts[1] + "/" + parts[2]}
	case "CloudFront":
		if tagged := r.URL.Query().Get("Resource"); tagged != "" {
			return []string{tagged}
		}
		parts := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), requestID)
		return []string{"arn:aws:cloudfront::" + c.Account + ":" + parts[1] + "/" + parts[2]}
	case "apigateway":
		where := strings.TrimPrefix(r.URL.EscapedPath(), "/v2")
		return []string{"arn:aws:apigateway:" + c.Region + "::" + where}
	}
	return []string{"*"}
}

func lambdaResources(c Call, in map[string]any, arn func(service, resource string) []string) []string {
	uri, _, _ := strings.Cut(c.URI, "?")
	parts := strings.Split(strings.Trim(uri, "/"), "/")
	last, err := url.PathUnescape(parts[len(parts)-1])
	switch {
	case err == nil && len(parts) > 2 && parts[1] == "tags":
		return []string{last}
	case len(parts) > 2 && parts[1] == "event-source-mappings":
		return arn("lambda", "event-source-mapping:"+last)
	case len(parts) > 1 && last == "provisioned-concurrency": // its resource is the version or the alias
		_, query, _ := strings.Cut(c.URI, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil
		}
		return arn("lambda", "function:"+functionIn(c)+":"+values.Get("Qualifier"))
	case functionIn(c) != "":
		return arn("lambda", "function:"+functionIn(c))
	case len(parts) > 2 && parts[1] == "layers":
		name := "layer:" + parts[2]
		if len(parts) > 4 {
			name += ":" + last
		}
		return arn("lambda", name)
	}
	return arn("lambda", "function:"+text(in["FunctionName"]))
}

func eventResources(c Call, in map[string]any, arn func(service, resource string) []string) []string {
	if of := text(in["ResourceARN"]); of != "" {
		return []string{of}
	}
	bus := text(in["EventBusName"])
	bus = bus[strings.LastIndexByte(bus, '/')+1:]
	switch c.Operation {
	case "CreateEventBus", "DeleteEventBus", "DescribeEventBus", "UpdateEventBus", "PutPermission", "RemovePermission":
		return arn("events", "event-bus/"+cmp.Or(text(in["Name"]), bus))
	}
	rule := cmp.Or(text(in["Rule"]), text(in["Name"]))
	if bus != "" && bus != "default" {
		rule = bus + "/" + rule
	}
	return arn("events", "rule/"+rule)
}

// dependent is a right that AWS documents for a call beyond the operation's own.
type dependent struct {
	calls   []string // service and operation
	actions []string
	// on are the resources that the call needs the right for. in is its body; of is the resource that it is about.
	on func(p *player, r *http.Request, c Call, in map[string]any, of string) []string
	// service is the one that a role is handed to.
	service string
	// page is where AWS says so.
	page string
}

// dependents are the rights that a call needs beside those of its operation. The caller holds the lock.
func (p *player) dependents(r *http.Request, c Call, of string) (rights []Right) {
	in := jsonOf(c.Body)
	if c.Service == "SSM" && c.Operation == "PutParameter" && text(in["Type"]) == "SecureString" || c.Service == "SecretsManager" {
		if key := cmp.Or(text(in["KeyId"]), text(in["KmsKeyId"])); key != "" {
			p.access.keys[keyed(of)] = key
		}
	}
	for service, keys := range map[string][]string{
		"Lambda": at(in, "KMSKeyArn"), "SFN": at(in, "encryptionConfiguration", "kmsKeyId"), "Scheduler": at(in, "KmsKeyArn"),
	} {
		if c.Service == service && len(keys) > 0 {
			p.access.keys[keyed(of)] = keys[0]
		}
	}
	for _, d := range dependentRights() {
		if !slices.Contains(d.calls, c.Service+"."+c.Operation) {
			continue
		}
		for _, on := range d.on(p, r, c, in, of) {
			for _, action := range d.actions {
				rights = append(rights, Right{Action: action, Resource: on, Service: d.service})
			}
		}
	}
	return rights
}

// keyed is what an encrypted object is remembered by: the ARN of a secret without the six characters that are made up.
func keyed(arn string) string {
	if strings.Contains(arn, ":secret:") {
		return arn[:len(arn)-len("-AbCdEf")]
	}
	return arn
}

// key is a key of KMS as policies name it; none for the keys of AWS, which all in an account may use.
func key(c Call, id string) []string {
	switch {
	case id == "", strings.Contains(id, "alias/aws/"):
		return nil
	case strings.HasPrefix(id, "arn:") && !strings.Contains(id, ":alias/"):
		return []string{id}
	case strings.Contains(id, "alias/"):
		id = "of-" + id[strings.LastIndexByte(id, '/')+1:]
	}
	return []string{"arn:aws:kms:" + c.Region + ":" + c.Account + ":key/" + id}
}

// at are the texts at a path of a body, where * stands for each element.
func at(v any, steps ...string) []string {
	if len(steps) == 0 {
		if s := text(v); s != "" {
			return []string{s}
		}
		return nil
	}
	var all []string
	if steps[0] == "*" {
		for _, x := range list(v) {
			all = append(all, at(x, steps[1:]...)...)
		}
		return all
	}
	m, _ := v.(map[string]any)
	return at(m[steps[0]], steps[1:]...)
}

// dependentRights are those that AWS documents for the calls of the kinds.
func dependentRights() []dependent {
	body := func(steps ...string) func(*player, *http.Request, Call, map[string]any, string) []string {
		return func(_ *player, _ *http.Request, _ Call, in map[string]any, _ string) []string {
			return at(in, steps...)
		}
	}
	everywhere := func(steps ...string) func(*player, *http.Request, Call, map[string]any, string) []string {
		return func(_ *player, _ *http.Request, _ Call, in map[string]any, _ string) []string {
			return at(map[bool]any{true: "*"}[len(at(in, steps...)) > 0])
		}
	}
	keyAt := func(steps ...string) func(*player, *http.Request, Call, map[string]any, string) []string {
		return func(_ *player, _ *http.Request, c Call, in map[string]any, _ string) []string {
			return key(c, strings.Join(at(in, steps...), ""))
		}
	}
	keyOf := func(p *player, _ *http.Request, c Call, _ map[string]any, of string) []string {
		return key(c, p.access.keys[keyed(of)])
	}
	configuration := []string{"Lambda.CreateFunction", "Lambda.UpdateFunctionConfiguration"}
	const (
		taskRoles = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html"
		passing   = "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html"
		users     = "https://docs.aws.amazon.com/lambda/latest/dg/permissions-user-function.html"
		network   = "https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions"
		images    = "https://docs.aws.amazon.com/lambda/latest/dg/images-create.html#configuration-images-permissions"
		envs      = "https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars-encryption.html"
		secure    = "https://docs.aws.amazon.com/systems-manager/latest/userguide/secure-string-parameter-kms-encryption.html"
		secrets   = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html"
		tables    = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.howitworks.html"
		buses     = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-encryption-key-policy.html"
		buckets   = "https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html"
		objects   = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html"
		registry  = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/encryption-at-rest.html"
		states    = "https://docs.aws.amazon.com/step-functions/latest/dg/encryption-at-rest.html"
		calling   = "https://docs.aws.amazon.com/scheduler/latest/UserGuide/encryption-rest.html"
	)
	machines := []string{"SFN.CreateStateMachine", "SFN.UpdateStateMachine"}
	schedules := []string{"Scheduler.CreateSchedule", "Scheduler.UpdateSchedule"}
	return []dependent{
		{
			calls: []string{"Cognito.CreateUserPool", "Cognito.UpdateUserPool"}, actions: []string{"iam:PassRole"}, on: body("SmsConfiguration", "SnsCallerArn"),
			service: "cognito-idp.amazonaws.com", page: passing,
		},
		{
			calls: []string{"Cognito.SetUserPoolMfaConfig"}, actions: []string{"iam:PassRole"}, on: body("SmsMfaConfiguration", "SmsConfiguration", "SnsCallerArn"),
			service: "cognito-idp.amazonaws.com", page: passing,
		},
		{calls: []string{"ECS.RegisterTaskDefinition"}, actions: []string{"iam:PassRole"}, on: body("taskRoleArn"), service: "ecs-tasks.amazonaws.com", page: taskRoles},
		{calls: []string{"ECS.RegisterTaskDefinition"}, actions: []string{"iam:PassRole"}, on: body("executionRoleArn"), service: "ecs-tasks.amazonaws.com", page: taskRoles},
		{calls: machines, actions: []string{"iam:PassRole"}, on: body("roleArn"), service: "states.amazonaws.com", page: passing},
		{calls: schedules, actions: []string{"iam:PassRole"}, on: body("Target", "RoleArn"), service: "scheduler.amazonaws.com", page: passing},
		{
			calls: machines, actions: []string{"kms:DescribeKey", "kms:GenerateDataKey"}, on: keyAt("encryptionConfiguration", "kmsKeyId"), page: states,
		},
		{calls: []string{"SFN.DescribeStateMachine", "SFN.UpdateStateMachine"}, actions: []string{"kms:Decrypt"}, on: keyOf, page: states},
		{calls: schedules, actions: []string{"kms:DescribeKey", "kms:GenerateDataKey", "kms:Decrypt"}, on: keyAt("KmsKeyArn"), page: calling},
		{calls: []string{"Scheduler.GetSchedule"}, actions: []string{"kms:Decrypt"}, on: keyOf, page: calling},
		{
			calls: []string{"ECR.CreateRepository"}, actions: []string{"kms:CreateGrant", "kms:DescribeKey", "kms:RetireGrant"},
			on: keyAt("encryptionConfiguration", "kmsKey"), page: registry,
		},
		{calls: configuration, actions: []string{"iam:PassRole"}, on: body("Role"), service: "lambda.amazonaws.com", page: passing},
		{calls: []string{"Events.PutRule"}, actions: []string{"iam:PassRole"}, on: body("RoleArn"), service: "events.amazonaws.com", page: passing},
		{calls: []string{"Events.PutTargets"}, actions: []string{"iam:PassRole"}, on: body("Targets", "*", "RoleArn"), service: "events.amazonaws.com", page: passing},
		{
			calls: []string{"apigateway.CreateIntegration", "apigateway.UpdateIntegration"}, actions: []string{"iam:PassRole"},
			on: body("credentialsArn"), service: "apigateway.amazonaws.com", page: passing,
		},
		{
			calls: []string{"SNS.CreateTopic", "SNS.SetTopicAttributes", "SNS.Subscribe"}, actions: []string{"iam:PassRole"}, service: "sns.amazonaws.com",
			page: passing, on: func(_ *player, _ *http.Request, c Call, _ map[string]any, _ string) (roles []string) {
				for _, values := range on(c).action {
					for _, v := range values {
						if strings.HasPrefix(v, "arn:aws:iam:") && strings.Contains(v, ":role/") {
							roles = append(roles, v)
						}
					}
				}
				return roles
			},
		},
		{calls: configuration, actions: []string{"lambda:GetLayerVersion"}, on: body("Layers", "*"), page: users},
		{
			calls: configuration, actions: []string{"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"},
			on: everywhere("VpcConfig", "SubnetIds", "*"), page: network,
		},
		{calls: configuration, actions: []string{"kms:CreateGrant", "kms:Encrypt"}, on: keyAt("KMSKeyArn"), page: envs},
		{calls: []string{"Lambda.GetFunction"}, actions: []string{"kms:Decrypt"}, on: keyOf, page: envs},
		{
			calls: []string{"Lambda.CreateFunction", "Lambda.UpdateFunctionCode"}, page: images,
			actions: []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:GetRepositoryPolicy", "ecr:SetRepositoryPolicy"},
			on: func(_ *player, _ *http.Request, c Call, in map[string]any, _ string) []string {
				uri := strings.Join(append(at(in, "Code", "ImageUri"), at(in, "ImageUri")...), "")
				registry, name, found := strings.Cut(uri, "/")
				if !found {
					return nil
				}
				name, _, _ = strings.Cut(name, "@")
				name, _, _ = strings.Cut(name, ":")
				parts := strings.Split(registry, ".")
				return []string{"arn:aws:ecr:" + parts[3] + ":" + parts[0] + ":repository/" + name}
			},
		},
		{
			calls: []string{"Lambda.CreateFunction", "Lambda.UpdateFunctionCode"}, actions: []string{"s3:GetObject"}, page: users,
			on: func(_ *player, _ *http.Request, _ Call, in map[string]any, _ string) []string {
				code := in
				if inner, ok := in["Code"].(map[string]any); ok {
					code = inner
				}
				if bucket, key := text(code["S3Bucket"]), text(code["S3Key"]); bucket != "" {
					return []string{"arn:aws:s3:::" + bucket + "/" + key}
				}
				return nil
			},
		},
		{calls: []string{"SSM.PutParameter"}, actions: []string{"kms:Encrypt"}, on: keyAt("KeyId"), page: secure},
		{calls: []string{"SSM.GetParameter", "SSM.GetParameters"}, actions: []string{"kms:Decrypt"}, on: keyOf, page: secure},
		{
			calls:   []string{"SecretsManager.CreateSecret", "SecretsManager.UpdateSecret", "SecretsManager.PutSecretValue"},
			actions: []string{"kms:Decrypt", "kms:GenerateDataKey"}, on: keyOf, page: secrets,
		},
		{calls: []string{"SecretsManager.GetSecretValue"}, actions: []string{"kms:Decrypt"}, on: keyOf, page: secrets},
		{
			calls: []string{"SecretsManager.RotateSecret"}, actions: []string{"lambda:InvokeFunction"}, on: body("RotationLambdaARN"),
			page: "https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotating-secrets-required-permissions-function.html",
		},
		{
			calls: []string{"DynamoDB.CreateTable", "DynamoDB.UpdateTable"}, on: keyAt("SSESpecification", "KMSMasterKeyId"), page: tables,
			actions: []string{"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt"},
		},
		{
			calls: []string{"DynamoDB.EnableKinesisStreamingDestination"}, on: body("StreamArn"),
			actions: []string{"kinesis:DescribeStream", "kinesis:PutRecord", "kinesis:PutRecords"},
			page:    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds_iam.html",
		},
		{
			calls: []string{"Events.CreateEventBus", "Events.UpdateEventBus"}, on: keyAt("KmsKeyIdentifier"), page: buses,
			actions: []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"},
		},
		{
			calls: []string{"S3.CreateBucket"}, actions: []string{"s3:PutBucketOwnershipControls"}, page: buckets,
			on: func(_ *player, r *http.Request, _ Call, _ map[string]any, of string) []string {
				return at(map[bool]any{true: of}[r.Header.Get("X-Amz-Object-Ownership") != ""])
			},
		},
		{
			calls: []string{"S3.CreateBucket"}, actions: []string{"s3:PutBucketObjectLockConfiguration", "s3:PutBucketVersioning"}, page: buckets,
			on: func(_ *player, r *http.Request, _ Call, _ map[string]any, of string) []string {
				return at(map[bool]any{true: of}[r.Header.Get("X-Amz-Bucket-Object-Lock-Enabled") == "true"])
			},
		},
		{
			calls: []string{"S3.PutObject"}, actions: []string{"kms:GenerateDataKey"}, page: objects,
			on: func(_ *player, r *http.Request, c Call, _ map[string]any, _ string) []string {
				return key(c, r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"))
			},
		},
		{
			calls: []string{"Route53.CreateHostedZone", "Route53.AssociateVPCWithHostedZone"}, actions: []string{"ec2:DescribeVpcs"},
			page: "https://docs.aws.amazon.com/Route53/latest/APIReference/API_AssociateVPCWithHostedZone.html",
			on: func(_ *player, _ *http.Request, c Call, _ map[string]any, _ string) []string {
				if strings.Contains(string(c.Body), "<VPCId>") {
					return []string{"*"}
				}
				return nil
			},
		},
	}
}
