package terraform

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// stackKey is a key whose material KMS makes.
func stackKey(_ *draft, o *object, i *instance) error {
	if origin := i.text("Origin"); origin != "" && origin != "AWS_KMS" {
		return errors.New("its material comes from elsewhere, which no kind has: leave it where it is")
	}
	if i.text("Enabled") == "false" {
		o.props["disabled"] = true
	}
	if o.props["rotation"] != true {
		delete(o.props, "rotation")
		delete(o.props, "rotationPeriod")
	}
	return nil
}

// stackCertificate is one that ACM issues by records in DNS, which has a kind of its own. CloudFormation writes the records where the
// template names the zone, and so does that kind, where it is one zone.
func stackCertificate(d *draft, o *object, i *instance) error {
	export := i.text("CertificateExport")
	if i.text("ValidationMethod") != "DNS" || i.text("CertificateAuthorityArn") != "" || export != "" && export != "DISABLED" {
		return nil
	}
	var names []any
	list, _ := i.attrs["SubjectAlternativeNames"].([]any)
	for _, name := range list {
		if text := textOf(name); text != "" && text != i.text("DomainName") {
			names = append(names, text)
		}
	}
	declared := kept(values{"domain": i.text("DomainName"), "alternativeNames": names, "tags": i.attrs["Tags"]})
	if a := i.text("KeyAlgorithm"); a != "" && a != "RSA_2048" {
		declared["keyAlgorithm"] = a
	}
	zones := map[string]bool{}
	for _, option := range blocks(i.attrs["DomainValidationOptions"]) {
		zones[textOf(option["HostedZoneId"])] = true
	}
	if len(zones) == 1 && !zones[""] {
		for zone := range zones {
			declared["hostedZoneId"] = zone
		}
	}
	if o.instead(d, "aws.acm.Certificate", declared) {
		o.known["arn"] = i.text("ref")
	}
	return nil
}

func stackCluster(d *draft, o *object, i *instance) error {
	if !empty(i.attrs["CapacityProviders"]) || !empty(i.attrs["Configuration"]) || !empty(i.attrs["ServiceConnectDefaults"]) || !empty(i.attrs["DefaultCapacityProviderStrategy"]) {
		return nil
	}
	props := clusterProps(i.text("ClusterName"), i.attrs["ClusterSettings"], "Name", "Value")
	props["tags"] = i.attrs["Tags"]
	if o.instead(d, "aws.ecs.Cluster", kept(props)) {
		o.known["name"], o.known["arn"] = i.text("ref"), i.text("Arn")
	}
	return nil
}

// stackMachine is a state machine of which the template has the whole definition. Others keep the kind of the registry.
func stackMachine(d *draft, o *object, i *instance) error {
	if !empty(i.attrs["DefinitionS3Location"]) || !empty(i.attrs["DefinitionSubstitutions"]) {
		return nil
	}
	props := values{
		"name": i.text("StateMachineName"), "role": i.text("RoleArn"), "definition": firstSet(i.attrs["DefinitionString"], i.attrs["Definition"]), "tags": i.attrs["Tags"],
	}
	if i.text("StateMachineType") == "EXPRESS" {
		props["type"] = "EXPRESS"
	}
	for _, logging := range blocks(i.attrs["LoggingConfiguration"]) {
		if level := textOf(logging["Level"]); level != "OFF" {
			props["logLevel"] = level
		}
		for _, to := range blocks(logging["Destinations"]) {
			for _, group := range blocks(to["CloudWatchLogsLogGroup"]) {
				props["logGroup"] = group["LogGroupArn"]
			}
		}
		if textOf(logging["IncludeExecutionData"]) == "true" {
			props["logData"] = true
		}
	}
	for _, tracing := range blocks(i.attrs["TracingConfiguration"]) {
		if textOf(tracing["Enabled"]) == "true" {
			props["tracing"] = true
		}
	}
	for _, encryption := range blocks(i.attrs["EncryptionConfiguration"]) {
		props["kmsKey"], props["keyReuse"] = encryption["KmsKeyId"], secondsOf(encryption["KmsDataKeyReusePeriodSeconds"])
	}
	if o.instead(d, "aws.sfn.StateMachine", kept(props)) {
		o.known["arn"], o.known["name"] = i.text("ref"), i.text("Name")
	}
	return nil
}

// edgeNames are the names that Terraform has for properties of a distribution, where they are not the same in snake_case.
var edgeNames = map[string]string{
	"IPV6Enabled": "is_ipv6_enabled", "Origins": "origin", "CacheBehaviors": "ordered_cache_behavior", "CustomErrorResponses": "custom_error_response",
	"ErrorCachingMinTTL": "error_caching_min_ttl", "Logging": "logging_config", "OriginCustomHeaders": "custom_header", "WebACLId": "web_acl_id",
	"OriginSSLProtocols": "origin_ssl_protocols", "HTTPPort": "http_port", "HTTPSPort": "https_port", "FunctionAssociations": "function_association",
	"FunctionARN": "function_arn", "LambdaFunctionAssociations": "lambda_function_association", "LambdaFunctionARN": "lambda_arn", "MinTTL": "min_ttl", "MaxTTL": "max_ttl",
	"DefaultTTL": "default_ttl", "S3OriginConfig": "s3_origin_config", "Id": "origin_id", "OriginGroups": "origin_group",
}

// edgeBlocks are blocks that Terraform writes as lists of one.
var edgeBlocks = []string{"default_cache_behavior", "viewer_certificate", "custom_origin_config", "s3_origin_config", "restrictions", "geo_restriction", "grpc_config"}

// edgeConfig is the configuration of a distribution as Terraform writes it.
func edgeConfig(v any) any {
	return eachObject(v, func(config values) values {
		all := values{}
		for name, x := range config {
			to := cmp.Or(edgeNames[name], snake(name))
			if all[to] = x; slices.Contains(edgeBlocks, to) {
				all[to] = []any{x}
			}
		}
		if all["target_origin_id"] != nil { // a behavior, with what CloudFormation has by default
			for _, methods := range []string{"allowed_methods", "cached_methods"} {
				if all[methods] == nil {
					all[methods] = []any{"GET", "HEAD"}
				}
			}
			all["compress"] = textOf(all["compress"]) == "true"
		}
		return all
	})
}

// stackDistribution makes a distribution of the kind of its own, where that has all that is set.
func stackDistribution(d *draft, o *object, i *instance) error {
	config, _ := one(i.attrs["DistributionConfig"])
	attrs, _ := edgeConfig(config).(values)
	if groups, ok := one(attrs["origin_group"]); ok && textOf(groups["quantity"]) == "0" {
		delete(attrs, "origin_group")
	}
	for _, name := range []string{"enabled", "is_ipv6_enabled"} { // CloudFormation has no IPv6 by default
		attrs[name] = textOf(attrs[name]) == "true"
	}
	if tags, ok := i.attrs["Tags"].(values); ok {
		attrs["tags"] = maps.Clone(tags)
	}
	if plainDistribution(d, o, &instance{typ: i.typ, name: i.name, attrs: attrs}) {
		o.known["arn"] = "arn:" + i.text("partition") + ":cloudfront::" + i.text("account") + ":distribution/" + i.text("ref")
		o.known["id"] = i.text("ref")
	}
	return nil
}
