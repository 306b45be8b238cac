package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

type values = map[string]any

// hook maps what the table cannot say: of the instance of an object, or of an instance that is a part of the object.
type hook func(d *draft, o *object, i *instance) error

// hooks are the functions that the table names.
var hooks = map[string]hook{
	"role": role, "attachment": attachment, "inlinePolicy": inlinePolicy, "https": withScheme, "userPolicy": userPolicy,
	"bucket": bucket, "bucketVersioning": bucketVersioning, "policy": policy, "bucketAccess": bucketAccess,
	"bucketOwnership": bucketOwnership, "bucketWebsite": bucketWebsite, "bucketEncryption": bucketEncryption,
	"bucketCORS": bucketCORS, "bucketLifecycle": bucketLifecycle, "bucketNotifications": bucketNotifications,
	"bucketLogging": bucketLogging, "bucketAcceleration": bucketAcceleration, "bucketPayer": bucketPayer, "object": s3Object,
	"function": function, "permission": permission, "mapping": mapping, "functionURL": functionURL, "functionAsync": functionAsync,
	"queue": queue, "redrive": redrive, "redriveAllow": redriveAllow, "subscription": subscription, "rule": rule,
	"ruleTarget": ruleTarget, "table": dynamoTable,
	"smSecret": smSecret, "smVersion": smVersion, "ssmParameter": ssmParameter,
	"httpApi": httpAPI, "httpStage": httpStage, "httpRoute": httpRoute, "httpIntegration": httpIntegration,
	"httpAuthorizer": httpAuthorizer, "httpMapping": httpMapping, "route53Record": route53Record,
	"vpc": vpc, "attached": attached, "routes": routes, "eip": eip, "securityGroup": securityGroup, "securityRule": securityRule,
	"launchTemplate": launchTemplate, "asg": autoScalingGroup, "ecrLifecycle": ecrLifecycle, "ecrPolicy": ecrPolicy, "schedule": schedule,
	"loadBalancer": loadBalancer, "listener": listener, "listenerRule": listenerRule, "target": target,
	"capacityProviders": capacityProviders, "ecsService": ecsService, "taskDefinition": taskDefinition, "nodeGroup": nodeGroup,
	"dbInstance": dbInstance, "dbParameters": dbParameters, "cacheCluster": cacheCluster, "restApi": restAPI, "method": method,
	"methodIntegration": methodIntegration, "methodResponse": methodResponse, "integrationResponse": integrationResponse,
	"distribution": distribution, "certificate": certificate, "kmsKey": kmsKey, "kmsAlias": func(*draft, *object, *instance) error { return nil },
	"cloudfrontFunction": cloudfrontFunction,
	"dnsRecord":          dnsRecord, "zoneSettings": zoneSettings, "worker": worker, "workerDomain": func(*draft, *object, *instance) error { return nil }, "crons": crons, "r2": r2Bucket, "localFile": localFile,
	"stackPolicy": stackPolicy, "stackInline": stackInline, "stackRole": stackRole, "stackTable": stackTable, "stackCode": stackCode,
	"stackPermission": stackPermission, "stackMapping": stackMapping, "stackBucket": stackBucket, "stackRule": stackRule,
	"stackSecret": stackSecret, "stackPart": stackPart, "stackAPI": stackAPI, "stackQueue": stackQueue,
	"stackKey": stackKey, "stackCertificate": stackCertificate, "stackDistribution": stackDistribution,
	"cluster": cluster, "stackCluster": stackCluster, "stackMachine": stackMachine,
	"accessRules": accessRules, "accessPolicy": accessPolicy, "accessApplication": accessApplication, "tunnelConfiguration": tunnelConfiguration,
	"pageRule": pageRule, "pagesProject": pagesProject, "deviceProfile": deviceProfile, "dnssec": dnssec, "ruleset": ruleset, "serviceToken": serviceToken, "apiToken": apiToken,
	"userPool": userPool, "userPoolClient": userPoolClient, "lambdaAlias": lambdaAlias, "provisioned": provisioned, "lambdaLayer": lambdaLayer,
	"alchemyBucket": alchemyBucket, "alchemyWorker": alchemyWorker, "alchemySubdomain": alchemySubdomain, "alchemyRecords": alchemyRecords,
}

// closings are functions that run when an object has all of its parts.
var closings = map[string]func(d *draft, o *object){
	"role": closeRole, "httpApi": closeHTTPAPI, "smSecret": closeSecret, "method": closeMethod, "queue": closeQueue,
	"kmsAlias": closeKMSAlias, "permission": closePermission, "workerDomain": closeWorkerDomain,
}

// set sets a prop where there is a value.
func (o *object) set(prop string, v any) {
	if !empty(v) {
		o.props[prop] = v
	}
}

// append appends to a prop that is a list.
func (o *object) append(prop string, v any) {
	list, _ := o.props[prop].([]any)
	o.props[prop] = append(list, v)
}

// entry sets an entry of a prop that is a map.
func (o *object) entry(prop, key string, v any) {
	m, ok := o.props[prop].(values)
	if !ok {
		m = values{}
		o.props[prop] = m
	}
	m[key] = v
}

// note notes an attribute that is not declared.
func (o *object) note(i *instance, attr, text string) {
	o.notes = append(o.notes, from.Note{Field: i.address() + "." + attr, Outcome: from.Unsupported, Text: text})
}

// eachObject is a value with every object in it changed, the inner ones first.
func eachObject(v any, change func(values) values) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			all[n] = eachObject(x, change)
		}
		return all
	case values:
		all := values{}
		for name, x := range v {
			all[name] = eachObject(x, change)
		}
		return change(all)
	}
	return v
}

// blocks are the blocks of an attribute.
func blocks(v any) []values {
	switch v := v.(type) {
	case values:
		return []values{v}
	case []any:
		var all []values
		for _, x := range v {
			if m, ok := x.(values); ok {
				all = append(all, m)
			}
		}
		return all
	}
	return nil
}

// kept are values without those that are not set.
func kept(m values) values {
	maps.DeleteFunc(m, func(_ string, v any) bool { return empty(v) })
	return m
}

// numberOf is a number, nil where there is none or it is zero.
func numberOf(v any) any {
	n, ok := number(v)
	if !ok || n == int64(0) || n == float64(0) {
		return nil
	}
	return n
}

// secondsOf is a duration of seconds, nil where there is none.
func secondsOf(v any) any {
	if n, ok := numberOf(v).(int64); ok && n > 0 {
		return seconds(n)
	}
	return nil
}

func role(_ *draft, o *object, i *instance) error {
	for _, p := range blocks(i.attrs["inline_policy"]) {
		if name := textOf(p["name"]); name != "" {
			o.entry("inline", name, plainOf(p["policy"]))
		}
	}
	return nil
}

func attachment(_ *draft, o *object, i *instance) error {
	arn := i.text("policy_arn")
	list, _ := o.props["managedPolicies"].([]any)
	if arn != "" && !slices.Contains(list, any(arn)) {
		o.append("managedPolicies", arn)
	}
	return nil
}

func inlinePolicy(_ *draft, o *object, i *instance) error {
	o.entry("inline", i.text("name"), plainOf(i.attrs["policy"]))
	return nil
}

func closeRole(_ *draft, o *object) {
	if list, ok := o.props["managedPolicies"].([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(textOf(a), textOf(b)) })
	}
}

// withScheme gives the URL of an identity provider its scheme, which the provider of Terraform takes away.
func withScheme(_ *draft, o *object, _ *instance) error {
	if url, ok := o.props["Url"].(string); ok && !strings.Contains(url, "://") {
		o.props["Url"] = "https://" + url
	}
	return nil
}

func userPolicy(_ *draft, o *object, i *instance) error {
	o.append("ManagedPolicyArns", i.text("policy_arn"))
	return nil
}

// policy is the policy of a queue, topic, table, bucket or secret.
func policy(_ *draft, o *object, i *instance) error {
	o.set("policy", plainOf(i.attrs["policy"]))
	return nil
}

// bucket reads what older versions of the provider have in the bucket itself.
func bucket(_ *draft, o *object, i *instance) error {
	if valueAt(i.attrs, "versioning.enabled") == true {
		o.props["versioning"] = "Enabled"
	}
	for _, sse := range blocks(valueAt(i.attrs, "server_side_encryption_configuration.rule")) {
		encryption(o, sse)
	}
	if i.text("acceleration_status") == "Enabled" {
		o.props["transferAcceleration"] = true
	}
	if valueAt(i.attrs, "object_lock_configuration.object_lock_enabled") == "Enabled" {
		o.props["objectLockEnabled"] = true
	}
	cors(o, i.attrs["cors_rule"])
	lifecycle(o, i.attrs["lifecycle_rule"])
	for _, w := range blocks(i.attrs["website"]) {
		o.set("website", kept(values{"indexDocument": w["index_document"], "errorDocument": w["error_document"], "redirectTo": w["redirect_all_requests_to"]}))
	}
	o.look = "the state does not say whether the bucket blocks public access: it will. Set publicAccessBlock if it is open"
	return nil
}

func encryption(o *object, rule values) {
	by, ok := one(rule["apply_server_side_encryption_by_default"])
	if !ok || textOf(by["sse_algorithm"]) == "" {
		return
	}
	all := kept(values{"algorithm": by["sse_algorithm"], "kmsKey": by["kms_master_key_id"]})
	if rule["bucket_key_enabled"] == true {
		all["bucketKeyEnabled"] = true
	}
	if all["algorithm"] != "AES256" || all["bucketKeyEnabled"] == true {
		o.props["encryption"] = all
	}
}

func bucketEncryption(_ *draft, o *object, i *instance) error {
	for _, r := range blocks(i.attrs["rule"]) {
		encryption(o, r)
	}
	return nil
}

func bucketVersioning(_ *draft, o *object, i *instance) error {
	if status := i.text("versioning_configuration.status"); status == "Enabled" || status == "Suspended" {
		o.props["versioning"] = status
	}
	return nil
}

func access(a values) values {
	return values{
		"blockPublicAcls": a["block_public_acls"] == true, "ignorePublicAcls": a["ignore_public_acls"] == true,
		"blockPublicPolicy": a["block_public_policy"] == true, "restrictPublicBuckets": a["restrict_public_buckets"] == true,
	}
}

func bucketAccess(_ *draft, o *object, i *instance) error {
	o.look = ""
	if block := access(i.attrs); block["blockPublicAcls"] != true || block["ignorePublicAcls"] != true ||
		block["blockPublicPolicy"] != true || block["restrictPublicBuckets"] != true {
		o.props["publicAccessBlock"] = block
	}
	return nil
}

func bucketOwnership(_ *draft, o *object, i *instance) error {
	o.set("objectOwnership", i.text("rule.object_ownership"))
	return nil
}

func bucketWebsite(_ *draft, o *object, i *instance) error {
	website := kept(values{
		"indexDocument": i.text("index_document.suffix"), "errorDocument": i.text("error_document.key"),
		"redirectTo": i.text("redirect_all_requests_to.host_name"), "redirectProtocol": i.text("redirect_all_requests_to.protocol"),
	})
	var rules []any
	for _, r := range blocks(i.attrs["routing_rule"]) {
		rules = append(rules, kept(values{
			"keyPrefix": valueAt(r, "condition.key_prefix_equals"), "errorCode": valueAt(r, "condition.http_error_code_returned_equals"),
			"host": valueAt(r, "redirect.host_name"), "protocol": valueAt(r, "redirect.protocol"),
			"redirectCode": valueAt(r, "redirect.http_redirect_code"), "replaceKey": valueAt(r, "redirect.replace_key_with"),
			"replaceKeyPrefix": valueAt(r, "redirect.replace_key_prefix_with"),
		}))
	}
	if len(rules) > 0 {
		website["routingRules"] = rules
	}
	o.set("website", website)
	return nil
}

func cors(o *object, v any) {
	var rules []any
	for _, r := range blocks(v) {
		rules = append(rules, kept(values{
			"id": r["id"], "allowedMethods": r["allowed_methods"], "allowedOrigins": r["allowed_origins"],
			"allowedHeaders": r["allowed_headers"], "exposeHeaders": r["expose_headers"], "maxAge": secondsOf(r["max_age_seconds"]),
		}))
	}
	if len(rules) > 0 {
		o.props["cors"] = rules
	}
}

func bucketCORS(_ *draft, o *object, i *instance) error {
	cors(o, i.attrs["cors_rule"])
	return nil
}

// lifecycle reads rules, as the bucket or a resource of its own has them.
func lifecycle(o *object, v any) {
	var rules []any
	for _, r := range blocks(v) {
		filter, _ := one(r["filter"])
		and, _ := one(filter["and"])
		rule := kept(values{
			"id": r["id"], "prefix": firstSet(r["prefix"], filter["prefix"], and["prefix"]), "tags": firstSet(r["tags"], and["tags"]),
			"abortUploadsAfterDays": numberOf(firstSet(r["abort_incomplete_multipart_upload_days"], valueAt(r, "abort_incomplete_multipart_upload.days_after_initiation"))),
		})
		if tag, ok := one(filter["tag"]); ok {
			rule["tags"] = values{textOf(tag["key"]): textOf(tag["value"])}
		}
		for prop, attr := range map[string]string{"sizeGreaterThan": "object_size_greater_than", "sizeLessThan": "object_size_less_than"} {
			if n, ok := numberOf(firstSet(filter[attr], and[attr])).(int64); ok {
				rule[prop], _ = measured("size", "B", n)
			}
		}
		if r["status"] == "Disabled" || r["enabled"] == false {
			rule["disabled"] = true
		}
		if e, ok := one(r["expiration"]); ok {
			expiration := kept(values{"days": numberOf(e["days"]), "date": e["date"]})
			if e["expired_object_delete_marker"] == true {
				expiration["deleteMarkers"] = true
			}
			rule["expiration"] = expiration
		}
		if e, ok := one(r["noncurrent_version_expiration"]); ok {
			rule["noncurrentExpiration"] = kept(values{
				"days": numberOf(firstSet(e["noncurrent_days"], e["days"])), "keepNewest": numberOf(e["newer_noncurrent_versions"]),
			})
		}
		rule["transitions"] = transitions(r, "transition")
		rule["noncurrentTransitions"] = transitions(r, "noncurrent_version_transition")
		rules = append(rules, kept(rule))
	}
	if len(rules) > 0 {
		o.props["lifecycle"] = rules
	}
}

func transitions(r values, attr string) any {
	var all []any
	for _, t := range blocks(r[attr]) {
		all = append(all, kept(values{
			"days": numberOf(firstSet(t["noncurrent_days"], t["days"])), "date": t["date"], "storageClass": t["storage_class"],
			"keepNewest": numberOf(t["newer_noncurrent_versions"]),
		}))
	}
	return all
}

// firstSet is the first value that is set.
func firstSet(all ...any) any {
	for _, v := range all {
		if !empty(v) && v != false && !numberIsZero(v) {
			return v
		}
	}
	return nil
}

func numberIsZero(v any) bool {
	n, ok := v.(json.Number)
	return ok && (n == "0" || n == "0.0")
}

func bucketLifecycle(_ *draft, o *object, i *instance) error {
	lifecycle(o, i.attrs["rule"])
	return nil
}

func bucketNotifications(_ *draft, o *object, i *instance) error {
	for attr, to := range map[string][2]string{
		"queue": {"queue", "queue_arn"}, "topic": {"topic", "topic_arn"}, "lambda_function": {"function", "lambda_function_arn"},
	} {
		for n, b := range blocks(i.attrs[attr]) {
			name := textOf(b["id"])
			if name == "" {
				name = fmt.Sprintf("%s-%d", to[0], n)
			}
			o.entry("notifications", name, kept(values{
				to[0]: b[to[1]], "events": b["events"], "prefix": b["filter_prefix"], "suffix": b["filter_suffix"],
			}))
		}
	}
	if i.attrs["eventbridge"] == true {
		o.props["eventBridge"] = true
	}
	return nil
}

func bucketLogging(_ *draft, o *object, i *instance) error {
	o.set("logging", kept(values{"bucket": i.text("target_bucket"), "prefix": i.text("target_prefix")}))
	return nil
}

func bucketAcceleration(_ *draft, o *object, i *instance) error {
	if i.text("status") == "Enabled" {
		o.props["transferAcceleration"] = true
	}
	return nil
}

func bucketPayer(_ *draft, o *object, i *instance) error {
	if payer := i.text("payer"); payer != "BucketOwner" {
		o.set("requestPayer", payer)
	}
	return nil
}

// localPath is a path of the state as a path of the stack.
func localPath(name string) from.Path {
	return from.Path(path.Clean(strings.ReplaceAll(name, `\`, "/")))
}

func s3Object(d *draft, o *object, i *instance) error {
	if source := i.text("source"); source != "" {
		o.props["source"] = localPath(source)
		if !d.exists(source) {
			o.look = "its file " + source + " is not beside the state: put it there, or name another one in source"
		}
	} else if o.props["content"] == nil && i.text("content") == "" {
		o.props["content"] = ""
		o.look = "the state does not have its content: set content or source"
	}
	if e, ok := o.props["encryption"].(values); ok && e["algorithm"] == "AES256" {
		delete(o.props, "encryption") // what S3 does by itself
	} else if ok && e["algorithm"] == nil {
		delete(o.props, "encryption")
	}
	return nil
}

// exists reports whether a file of the state is there.
func (d *draft) exists(name string) bool {
	return d.file.Exists != nil && d.file.Exists(string(localPath(name)))
}

func function(d *draft, o *object, i *instance) error {
	code := values{}
	switch {
	case i.text("image_uri") != "":
		code["image"] = i.text("image_uri")
	case i.text("s3_bucket") != "":
		code["s3"] = kept(values{"bucket": i.text("s3_bucket"), "key": i.text("s3_key"), "version": i.text("s3_object_version")})
	case i.text("filename") != "":
		code["zip"] = localPath(i.text("filename"))
		if !d.exists(i.text("filename")) {
			o.look = "its archive " + i.text("filename") + " is not beside the state: put it there, or name another code"
		}
	default:
		code["zip"] = from.Path(segment(i.name, "function") + ".zip")
		o.look = "the state does not say where its code is: name it in code"
	}
	o.props["code"] = code
	if o.props["reservedConcurrency"] == int64(-1) {
		delete(o.props, "reservedConcurrency")
	}
	if group, _ := valueAt(o.props, "logging.group").(string); group == "/aws/lambda/"+i.text("function_name") {
		delete(o.props["logging"].(values), "group")
	}
	if l, ok := o.props["logging"].(values); ok && (len(l) == 0 || len(l) == 1 && l["format"] == "Text") {
		delete(o.props, "logging")
	}
	if o.props["tracing"] == "PassThrough" {
		delete(o.props, "tracing")
	}
	return nil
}

// permission takes the function by its ARN, which the kind wants.
func permission(_ *draft, o *object, i *instance) error {
	o.props["function"] = i.text("function_name")
	if qualifier := i.text("qualifier"); qualifier != "" {
		o.note(i, "qualifier", "a permission is one of the function: name "+qualifier+" in function")
	}
	return nil
}

// mapping finds the ARN of a mapping, which older versions of the provider do not write, and its filters.
func mapping(_ *draft, o *object, i *instance) error {
	for _, f := range blocks(valueAt(i.attrs, "filter_criteria.filter")) {
		o.append("filters", plainOf(f["pattern"]))
	}
	if list, ok := i.attrs["function_response_types"].([]any); ok && slices.Contains(list, any("ReportBatchItemFailures")) {
		o.props["reportBatchItemFailures"] = true
	}
	if o.props["enabled"] == true {
		delete(o.props, "enabled")
	} else if i.attrs["enabled"] == false {
		o.props["enabled"] = false
	}
	return nil
}

func functionURL(_ *draft, o *object, i *instance) error {
	if i.text("qualifier") != "" {
		return errors.New("it is the URL of an alias, which no kind manages")
	}
	url := kept(values{"auth": i.text("authorization_type"), "invokeMode": i.text("invoke_mode")})
	if url["invokeMode"] == "BUFFERED" {
		delete(url, "invokeMode")
	}
	if c, ok := one(i.attrs["cors"]); ok {
		all := kept(values{
			"allowOrigins": c["allow_origins"], "allowMethods": c["allow_methods"], "allowHeaders": c["allow_headers"],
			"exposeHeaders": c["expose_headers"], "maxAge": secondsOf(c["max_age"]),
		})
		if c["allow_credentials"] == true {
			all["allowCredentials"] = true
		}
		if len(all) > 0 {
			url["cors"] = all
		}
	}
	o.props["url"] = url
	if at := i.text("function_url"); at != "" {
		o.known["url"] = at
	}
	return nil
}

func functionAsync(_ *draft, o *object, i *instance) error {
	if q := i.text("qualifier"); q != "" && q != "$LATEST" {
		return errors.New("it is that of a version or alias, which no kind manages")
	}
	o.set("async", kept(values{
		"maxRetries": plainOf(i.attrs["maximum_retry_attempts"]), "maxAge": secondsOf(i.attrs["maximum_event_age_in_seconds"]),
		"onSuccess": i.text("destination_config.on_success.destination"), "onFailure": i.text("destination_config.on_failure.destination"),
	}))
	return nil
}

func queue(d *draft, o *object, i *instance) error {
	if err := redrive(d, o, i); err != nil {
		return err
	}
	return redriveAllow(d, o, i)
}

func closeQueue(_ *draft, o *object) {
	if o.props["kmsMasterKeyId"] == nil {
		delete(o.props, "kmsDataKeyReusePeriod")
	} else {
		delete(o.props, "sqsManagedSse")
	}
	if o.props["sqsManagedSse"] == nil && o.props["kmsMasterKeyId"] == nil && o.inst.attrs["sqs_managed_sse_enabled"] == false {
		o.props["sqsManagedSse"] = false
	}
}

func redrive(_ *draft, o *object, i *instance) error {
	p, ok := plainOf(i.attrs["redrive_policy"]).(values)
	if !ok {
		return nil
	}
	o.set("deadLetter", p["deadLetterTargetArn"])
	if n, ok := number(p["maxReceiveCount"]); ok {
		o.props["maxReceives"] = n
	}
	return nil
}

func redriveAllow(_ *draft, o *object, i *instance) error {
	if p, ok := plainOf(i.attrs["redrive_allow_policy"]).(values); ok {
		o.set("redriveAllow", kept(values{"permission": p["redrivePermission"], "sources": p["sourceQueueArns"]}))
	}
	return nil
}

func subscription(_ *draft, o *object, i *instance) error {
	if p, ok := plainOf(i.attrs["redrive_policy"]).(values); ok {
		o.set("deadLetter", p["deadLetterTargetArn"])
	}
	if o.props["filterPolicy"] != nil {
		o.set("filterPolicyScope", i.text("filter_policy_scope"))
	}
	return nil
}

func rule(_ *draft, o *object, i *instance) error {
	if o.props["state"] == nil && i.attrs["is_enabled"] == false {
		o.props["state"] = "DISABLED"
	}
	if o.props["eventBusName"] == "default" {
		delete(o.props, "eventBusName")
	}
	return nil
}

func ruleTarget(d *draft, o *object, i *instance) error {
	t := kept(values{
		"arn": i.text("arn"), "roleArn": i.text("role_arn"), "input": plainOf(i.attrs["input"]), "inputPath": i.text("input_path"),
		"deadLetter": i.text("dead_letter_config.arn"),
	})
	if in, ok := one(i.attrs["input_transformer"]); ok {
		t["inputTransformer"] = kept(values{"inputTemplate": in["input_template"], "inputPathsMap": in["input_paths"]})
	}
	if r, ok := one(i.attrs["retry_policy"]); ok {
		t["retryPolicy"] = kept(values{"maximumEventAge": secondsOf(r["maximum_event_age_in_seconds"]), "maximumRetryAttempts": plainOf(r["maximum_retry_attempts"])})
	}
	if group := i.text("sqs_target.message_group_id"); group != "" {
		t["sqsParameters"] = values{"messageGroupId": group}
	}
	if key := i.text("kinesis_target.partition_key_path"); key != "" {
		t["kinesisParameters"] = values{"partitionKeyPath": key}
	}
	if e, ok := one(i.attrs["ecs_target"]); ok {
		ecs := kept(values{
			"taskDefinitionArn": e["task_definition_arn"], "taskCount": numberOf(e["task_count"]), "launchType": e["launch_type"],
			"platformVersion": e["platform_version"], "group": e["group"],
		})
		if n, ok := one(e["network_configuration"]); ok {
			public := "DISABLED"
			if n["assign_public_ip"] == true {
				public = "ENABLED"
			}
			ecs["networkConfiguration"] = values{"awsvpcConfiguration": kept(values{
				"subnets": n["subnets"], "securityGroups": n["security_groups"], "assignPublicIp": public,
			})}
		}
		t["ecsParameters"] = ecs
	}
	for _, attr := range []string{"batch_target", "http_target", "redshift_target", "run_command_targets", "sagemaker_pipeline_target", "appsync_target"} {
		if !empty(i.attrs[attr]) {
			o.note(i, attr, "set it in targets by hand")
		}
	}
	name := i.text("target_id")
	if name == "" {
		return errors.New("the state does not have its target_id")
	}
	o.entry("targets", name, t)
	return nil
}

func dynamoTable(_ *draft, o *object, i *instance) error {
	provisioned := i.text("billing_mode") != "PAY_PER_REQUEST"
	types := values{}
	for _, a := range blocks(i.attrs["attribute"]) {
		if t := textOf(a["type"]); t != "S" {
			types[textOf(a["name"])] = t
		}
	}
	delete(o.props, "attributes")
	o.set("attributes", types)
	if valueAt(i.attrs, "ttl.enabled") == true {
		o.set("ttlAttribute", i.text("ttl.attribute_name"))
	}
	if valueAt(i.attrs, "stream_enabled") != true {
		delete(o.props, "streamViewType")
	}
	if o.props["pointInTimeRecovery"] != true {
		delete(o.props, "recoveryPeriod")
	}
	if valueAt(i.attrs, "server_side_encryption.enabled") == true && i.text("server_side_encryption.kms_key_arn") == "" {
		o.props["awsManagedKey"] = true
	}
	capacity := func(m values) any {
		if !provisioned {
			return nil
		}
		return kept(values{"readCapacityUnits": numberOf(m["read_capacity"]), "writeCapacityUnits": numberOf(m["write_capacity"])})
	}
	o.set("provisionedThroughput", capacity(i.attrs))
	for _, x := range blocks(i.attrs["global_secondary_index"]) {
		index := kept(values{
			"partitionKey": listed(x["hash_key"]), "sortKey": listed(x["range_key"]), "projection": x["projection_type"],
			"nonKeyAttributes": x["non_key_attributes"], "provisionedThroughput": capacity(x),
		})
		if index["projection"] == "ALL" {
			delete(index, "projection")
		}
		o.entry("globalSecondaryIndexes", textOf(x["name"]), index)
	}
	for _, x := range blocks(i.attrs["local_secondary_index"]) {
		o.entry("localSecondaryIndexes", textOf(x["name"]), kept(values{
			"sortKey": x["range_key"], "projection": x["projection_type"], "nonKeyAttributes": x["non_key_attributes"],
		}))
	}
	if o.props["tableClass"] == "STANDARD" {
		delete(o.props, "tableClass")
	}
	if len(blocks(i.attrs["replica"])) > 0 {
		o.note(i, "replica", "replicas in other regions are not managed: they stay")
	}
	return nil
}

// listed is a text as a list of one.
func listed(v any) any {
	if empty(v) {
		return nil
	}
	return []any{v}
}

func smSecret(_ *draft, o *object, i *instance) error {
	for _, r := range blocks(i.attrs["rotation_rules"]) {
		if i.text("rotation_lambda_arn") == "" {
			break
		}
		rotation := kept(values{"lambdaArn": i.text("rotation_lambda_arn"), "scheduleExpression": r["schedule_expression"], "duration": r["duration"]})
		if n, ok := numberOf(r["automatically_after_days"]).(int64); ok && rotation["scheduleExpression"] == nil {
			rotation["scheduleExpression"] = fmt.Sprintf("rate(%d days)", n)
		}
		o.props["rotation"] = rotation
	}
	return nil
}

func smVersion(_ *draft, o *object, i *instance) error {
	if v := i.text("secret_string"); v != "" {
		o.props["value"] = v
	}
	return nil
}

// closeSecret says that somebody else writes the value, where the state has none.
func closeSecret(_ *draft, o *object) {
	if o.props["value"] == nil && o.props["generate"] == nil {
		o.props["external"] = true
	}
}

func ssmParameter(_ *draft, o *object, i *instance) error {
	value := i.text("value")
	if value == "" {
		value = i.text("insecure_value")
	}
	if i.text("type") == "SecureString" {
		delete(o.props, "value")
		delete(o.props, "type")
		o.set("secureValue", value)
		if key := i.text("key_id"); key != "alias/aws/ssm" {
			o.set("keyId", key)
		}
	} else {
		o.set("value", value)
	}
	if o.props["dataType"] == "text" {
		delete(o.props, "dataType")
	}
	return nil
}

func httpAPI(_ *draft, o *object, i *instance) error {
	if protocol := i.text("protocol_type"); protocol != "HTTP" {
		return fmt.Errorf("it is an API of protocol %s, and aws.apigatewayv2.HTTPAPI is HTTP", protocol)
	}
	if c, ok := o.props["cors"].(values); ok && c["allowOrigins"] == nil {
		delete(o.props, "cors")
	}
	return nil
}

func httpStage(_ *draft, o *object, i *instance) error {
	stage := kept(values{"description": i.text("description"), "variables": i.attrs["stage_variables"]})
	if i.attrs["auto_deploy"] != true {
		stage["autoDeploy"] = false
	}
	if l, ok := one(i.attrs["access_log_settings"]); ok && textOf(l["destination_arn"]) != "" {
		stage["accessLog"] = kept(values{"destination": l["destination_arn"], "format": l["format"]})
	}
	if s, ok := one(i.attrs["default_route_settings"]); ok {
		maps.Copy(stage, routeSettings(s))
	}
	for _, s := range blocks(i.attrs["route_settings"]) {
		routes, _ := stage["routes"].(values)
		if routes == nil {
			routes = values{}
			stage["routes"] = routes
		}
		routes[textOf(s["route_key"])] = routeSettings(s)
	}
	o.entry("stages", i.text("name"), stage)
	return nil
}

func routeSettings(s values) values {
	all := values{}
	if s["detailed_metrics_enabled"] == true {
		all["detailedMetrics"] = true
	}
	rate, burst := numberOf(s["throttling_rate_limit"]), numberOf(s["throttling_burst_limit"])
	if rate != nil && burst != nil {
		all["throttle"] = values{"rate": rate, "burst": burst}
	}
	return all
}

// httpRoute and httpIntegration keep what they are until all are there: a route of athanor says where it goes itself.
func httpRoute(_ *draft, o *object, i *instance) error {
	list, _ := o.scratch["routes"].([]*instance)
	o.scratch["routes"] = append(list, i)
	return nil
}

func httpIntegration(_ *draft, o *object, i *instance) error {
	list, _ := o.scratch["integrations"].([]*instance)
	o.scratch["integrations"] = append(list, i)
	return nil
}

func httpAuthorizer(_ *draft, o *object, i *instance) error {
	a := kept(values{
		"issuer": i.text("jwt_configuration.issuer"), "audience": valueAt(i.attrs, "jwt_configuration.audience"),
		"identitySources": i.attrs["identity_sources"], "payloadFormat": i.text("authorizer_payload_format_version"),
		"credentials": i.text("authorizer_credentials_arn"), "cacheTtl": secondsOf(i.attrs["authorizer_result_ttl_in_seconds"]),
		"lambda": invoked(i.text("authorizer_uri")),
	})
	if i.attrs["enable_simple_responses"] == true {
		a["simpleResponses"] = true
	}
	o.entry("authorizers", i.text("name"), a)
	names, _ := o.scratch["authorizers"].(map[string]string)
	if names == nil {
		names = map[string]string{}
		o.scratch["authorizers"] = names
	}
	names[i.text("id")] = i.text("name")
	return nil
}

func httpMapping(_ *draft, o *object, i *instance) error {
	name := i.text("domain_name")
	if key := i.text("api_mapping_key"); key != "" {
		name += "/" + key
	}
	o.entry("mappings", name, kept(values{"stage": strings.TrimPrefix(i.text("stage"), "$default")}))
	return nil
}

// invoked is the ARN of the function in the URI of an integration, or the URI.
func invoked(uri string) string {
	if _, after, ok := strings.Cut(uri, "/functions/"); ok {
		return strings.TrimSuffix(after, "/invocations")
	}
	return uri
}

func closeHTTPAPI(_ *draft, o *object) {
	integrations := map[string]*instance{}
	list, _ := o.scratch["integrations"].([]*instance)
	for _, i := range list {
		integrations[i.text("id")] = i
	}
	authorizers, _ := o.scratch["authorizers"].(map[string]string)
	routes, _ := o.scratch["routes"].([]*instance)
	for _, r := range routes {
		in := integrations[strings.TrimPrefix(r.text("target"), "integrations/")]
		if in == nil {
			o.note(r, "target", "its integration is not in the state: declare the route in routes")
			continue
		}
		route := routeTo(in)
		switch r.text("authorization_type") {
		case "AWS_IAM":
			route["iam"] = true
		case "JWT", "CUSTOM":
			route["authorizer"] = authorizers[r.text("authorizer_id")]
		}
		route["scopes"], route["operationName"] = r.attrs["authorization_scopes"], r.text("operation_name")
		o.entry("routes", r.text("route_key"), kept(route))
	}
}

// routeTo is where an integration sends requests.
func routeTo(in *instance) values {
	route := values{"credentials": in.text("credentials_arn"), "description": in.text("description")}
	if n, ok := numberOf(in.attrs["timeout_milliseconds"]).(int64); ok && n != 30000 {
		route["timeout"] = fmt.Sprintf("%dms", n)
	}
	uri := in.text("integration_uri")
	switch {
	case in.text("integration_subtype") != "":
		route["service"] = in.text("integration_subtype")
	case in.text("connection_type") == "VPC_LINK":
		route["listener"], route["vpcLink"] = uri, in.text("connection_id")
	case in.text("integration_type") == "AWS_PROXY":
		route["lambda"] = invoked(uri)
	default:
		route["url"] = uri
	}
	if m := in.text("integration_method"); m != "ANY" && route["lambda"] == nil && route["service"] == nil {
		route["method"] = m
	}
	if f := in.text("payload_format_version"); f != "2.0" && route["lambda"] != nil {
		route["payloadFormat"] = f
	}
	route["parameters"], route["tlsServerName"] = in.attrs["request_parameters"], in.text("tls_config.server_name_to_verify")
	responses := values{}
	for _, r := range blocks(in.attrs["response_parameters"]) {
		responses[textOf(r["status_code"])] = r["mappings"]
	}
	route["responseParameters"] = responses
	return kept(route)
}

// route53Record reads routing policies, and the identity with its set.
func route53Record(_ *draft, o *object, i *instance) error {
	name := strings.ToLower(strings.TrimSuffix(i.text("fqdn"), "."))
	if name == "" {
		name = strings.ToLower(strings.TrimSuffix(i.text("name"), "."))
	}
	o.props["name"] = name
	o.id = i.text("zone_id") + "/" + name + "/" + i.text("type")
	if set := i.text("set_identifier"); set != "" {
		o.id += "/" + set
	}
	if o.props["alias"] != nil {
		delete(o.props, "ttl")
		delete(o.props, "values")
	}
	if g, ok := one(i.attrs["geolocation_routing_policy"]); ok {
		o.set("geoLocation", kept(values{"continentCode": g["continent"], "countryCode": g["country"], "subdivisionCode": g["subdivision"]}))
	}
	return nil
}
