package terraform

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// instead gives an object a kind of its own, where that kind has all that the object is made of.
func (o *object) instead(d *draft, kind string, declared values) bool {
	if d.factsOf(kind).err != nil {
		return false
	}
	before := *o
	o.kind, o.props, o.origins, o.ofRegistry = kind, declared, nil, &before
	o.notes = slices.DeleteFunc(slices.Clone(o.notes), func(n from.Note) bool { return n.Outcome == from.Unsupported })
	return true
}

// ofTheRegistry takes back what instead did, for a part of the object that the kind of its own does not have.
func (o *object) ofTheRegistry() {
	if before := o.ofRegistry; before != nil {
		o.kind, o.props, o.origins, o.notes, o.ofRegistry = before.kind, before.props, before.origins, before.notes, nil
	}
}

// only reports whether nothing is set but what is named.
func only(m values, names ...string) bool {
	for name, v := range m {
		if !zero(v) && !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// certificate is one that ACM issues by records in DNS, which has a kind of its own. Others keep that of the registry.
func certificate(d *draft, o *object, i *instance) error {
	if i.text("validation_method") != "DNS" || i.text("certificate_authority_arn") != "" || cmp.Or(i.text("type"), "AMAZON_ISSUED") != "AMAZON_ISSUED" {
		return nil
	}
	var names []any
	list, _ := i.attrs["subject_alternative_names"].([]any)
	for _, name := range list {
		if text := textOf(name); text != "" && text != i.text("domain_name") {
			names = append(names, text)
		}
	}
	tags := o.props["Tags"]
	declared := kept(values{"domain": i.text("domain_name"), "alternativeNames": names})
	if a := i.text("key_algorithm"); a != "" && a != "RSA_2048" {
		declared["keyAlgorithm"] = a
	}
	if o.instead(d, "aws.acm.Certificate", declared) && tags != nil {
		o.set("tags", tagsOf(i))
	}
	return nil
}

// cluster is one of which a kind of its own manages all that is declared. Others keep the kind of the registry.
func cluster(d *draft, o *object, i *instance) error {
	if !empty(i.attrs["capacity_providers"]) || !empty(i.attrs["configuration"]) || !empty(i.attrs["service_connect_defaults"]) {
		return nil
	}
	if o.instead(d, "aws.ecs.Cluster", clusterProps(i.text("name"), i.attrs["setting"], "name", "value")) {
		o.set("tags", tagsOf(i))
	}
	return nil
}

// clusterProps are those of a cluster with such settings.
func clusterProps(name string, settings any, key, value string) values {
	props := kept(values{"name": name})
	for _, s := range blocks(settings) {
		if v := textOf(s[value]); textOf(s[key]) == "containerInsights" && v != "disabled" {
			props["containerInsights"] = v
		}
	}
	return props
}

// tagsOf are the tags of an instance, with those that its provider gives to all.
func tagsOf(i *instance) values {
	tags, ok := i.attrs["tags_all"].(values)
	if !ok || len(tags) == 0 {
		tags, _ = i.attrs["tags"].(values)
	}
	tags = maps.Clone(tags)
	maps.DeleteFunc(tags, func(name string, _ any) bool { return strings.HasPrefix(name, "aws:") })
	return tags
}

func kmsKey(_ *draft, o *object, i *instance) error {
	if i.text("custom_key_store_id") != "" || i.text("xks_key_id") != "" {
		return errors.New("its material is in a key store of yours, which no kind has: leave it where it is")
	}
	if i.attrs["is_enabled"] == false {
		o.props["disabled"] = true
	}
	if o.props["rotation"] != true {
		delete(o.props, "rotationPeriod")
	}
	return nil
}

// closeKMSAlias makes an alias a part of its key, where that is adopted too.
func closeKMSAlias(d *draft, o *object) {
	var target []string // at Terraform, and at CloudFormation
	for _, attr := range []string{"target_key_arn", "target_key_id", "TargetKeyId"} {
		if text := o.inst.text(attr); text != "" {
			target = append(target, text)
		}
	}
	for _, k := range d.objects {
		isTarget := func(attr string) bool { return slices.Contains(target, k.inst.text(attr)) }
		if k.kind == "aws.kms.Key" && k.failed == "" && slices.ContainsFunc([]string{"key_id", "arn", "ref", "Arn"}, isTarget) {
			k.append("aliases", cmp.Or(o.inst.text("name"), o.inst.text("AliasName")))
			k.parts = append(k.parts, o.inst)
			o.failed = "a part of its key"
			return
		}
	}
}

// plainDistribution makes a distribution of the kind of its own, where that has all that is set. False: it needs the one of the
// registry.
func plainDistribution(d *draft, o *object, i *instance) bool {
	restrictions, _ := one(valueAt(i.attrs, "restrictions.geo_restriction"))
	if kind := textOf(restrictions["restriction_type"]); kind != "" && kind != "none" {
		return false
	}
	if !only(i.attrs, "id", "arn", "domain_name", "hosted_zone_id", "etag", "caller_reference", "status", "last_modified_time", "in_progress_validation_batches",
		"trusted_signers", "trusted_key_groups", "tags", "tags_all", "comment", "enabled", "aliases", "default_root_object", "price_class", "http_version", "is_ipv6_enabled",
		"viewer_certificate", "origin", "default_cache_behavior", "ordered_cache_behavior", "custom_error_response", "restrictions", "wait_for_deployment",
		"retain_on_delete", "region") {
		return false
	}
	declared := kept(values{
		"comment": i.text("comment"), "aliases": i.attrs["aliases"], "defaultRootObject": i.text("default_root_object"), "priceClass": i.text("price_class"),
		"httpVersion": i.text("http_version"), "tags": tagsOf(i),
	})
	if i.attrs["enabled"] == false {
		declared["disabled"] = true
	}
	if v, ok := i.attrs["is_ipv6_enabled"].(bool); ok && !v {
		declared["ipv6"] = false
	}
	if !plainCertificate(declared, i) || !plainOrigins(declared, i) || !plainBehaviors(declared, i) {
		return false
	}
	var pages []any
	for _, e := range blocks(i.attrs["custom_error_response"]) {
		page := kept(values{"page": textOf(e["response_page_path"])})
		for name, attr := range map[string]string{"code": "error_code", "status": "response_code"} {
			if n, ok := number(e[attr]); ok && n != int64(0) && (name == "code" || textOf(e[attr]) != textOf(e["error_code"])) {
				page[name] = n
			}
		}
		if n, ok := number(e["error_caching_min_ttl"]); ok && e["error_caching_min_ttl"] != nil {
			if whole, ok := n.(int64); ok {
				page["cacheFor"] = seconds(whole)
			}
		}
		pages = append(pages, page)
	}
	if len(pages) > 0 {
		declared["errors"] = pages
	}
	return o.instead(d, "aws.cloudfront.Distribution", declared)
}

func plainCertificate(declared values, i *instance) bool {
	c, ok := one(i.attrs["viewer_certificate"])
	if !ok || c["cloudfront_default_certificate"] == true {
		return true
	}
	if textOf(c["acm_certificate_arn"]) == "" || textOf(c["ssl_support_method"]) != "sni-only" || textOf(c["iam_certificate_id"]) != "" {
		return false
	}
	declared["certificate"] = textOf(c["acm_certificate_arn"])
	if version := textOf(c["minimum_protocol_version"]); version != "" {
		declared["minimumTls"] = version
	}
	return true
}

func plainOrigins(declared values, i *instance) bool {
	origins := values{}
	for _, b := range blocks(i.attrs["origin"]) {
		if !only(b, "origin_id", "domain_name", "origin_path", "origin_access_control_id", "connection_attempts", "connection_timeout", "custom_origin_config", "s3_origin_config") {
			return false
		}
		for name, usual := range map[string]string{"connection_attempts": "3", "connection_timeout": "10"} {
			if text := textOf(b[name]); text != "" && text != "0" && text != usual {
				return false
			}
		}
		origin := kept(values{"domain": textOf(b["domain_name"]), "path": textOf(b["origin_path"]), "accessControl": textOf(b["origin_access_control_id"])})
		if s3, ok := one(b["s3_origin_config"]); ok && textOf(s3["origin_access_identity"]) != "" {
			return false
		}
		custom, isCustom := one(b["custom_origin_config"])
		if !isCustom {
			origin["s3"] = true
			origins[textOf(b["origin_id"])] = origin
			continue
		}
		protocols, _ := custom["origin_ssl_protocols"].([]any)
		if keep := textOf(custom["origin_keepalive_timeout"]); keep != "" && keep != "0" && keep != "5" || len(protocols) != 1 || protocols[0] != "TLSv1.2" {
			return false
		}
		origin["protocol"] = textOf(custom["origin_protocol_policy"])
		for name, attr := range map[string]string{"httpPort": "http_port", "httpsPort": "https_port"} {
			if n, ok := number(custom[attr]); ok {
				origin[name] = n
			}
		}
		if n, ok := number(custom["origin_read_timeout"]); ok {
			if whole, ok := n.(int64); ok {
				origin["readTimeout"] = seconds(whole)
			}
		}
		origins[textOf(b["origin_id"])] = origin
	}
	declared["origins"] = origins
	return len(origins) > 0
}

// methodSets are the methods that CloudFront lets through, by what the kind calls them.
var methodSets = map[string][]string{
	"read": {"GET", "HEAD"}, "options": {"GET", "HEAD", "OPTIONS"}, "all": {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"},
}

func plainBehaviors(declared values, i *instance) bool {
	first, ok := one(i.attrs["default_cache_behavior"])
	if !ok {
		return false
	}
	main, ok := plainBehavior(first)
	if !ok {
		return false
	}
	declared["default"] = main
	var others []any
	for _, b := range blocks(i.attrs["ordered_cache_behavior"]) {
		behavior, ok := plainBehavior(b)
		if !ok {
			return false
		}
		others = append(others, behavior)
	}
	if len(others) > 0 {
		declared["behaviors"] = others
	}
	return true
}

func plainBehavior(b values) (values, bool) {
	if !only(b, "path_pattern", "target_origin_id", "viewer_protocol_policy", "allowed_methods", "cached_methods", "compress", "cache_policy_id",
		"origin_request_policy_id", "response_headers_policy_id", "function_association", "grpc_config") || textOf(b["cache_policy_id"]) == "" {
		return nil, false // with forwarded_values, a Lambda function or signed URLs
	}
	if grpc, ok := one(b["grpc_config"]); ok && grpc["enabled"] == true {
		return nil, false
	}
	behavior := kept(values{
		"path": textOf(b["path_pattern"]), "origin": textOf(b["target_origin_id"]), "viewers": textOf(b["viewer_protocol_policy"]), "cachePolicy": textOf(b["cache_policy_id"]),
		"originRequestPolicy": textOf(b["origin_request_policy_id"]), "responseHeadersPolicy": textOf(b["response_headers_policy_id"]),
	})
	behavior["compress"] = b["compress"] == true
	named := ""
	for name, set := range methodSets {
		if slices.Equal(sortedTexts(b["allowed_methods"]), set) {
			named = name
		}
	}
	if named == "" || !slices.Equal(sortedTexts(b["cached_methods"]), methodSets["read"]) {
		return nil, false
	}
	behavior["methods"] = named
	for _, f := range blocks(b["function_association"]) {
		switch textOf(f["event_type"]) {
		case "viewer-request":
			behavior["viewerRequest"] = textOf(f["function_arn"])
		case "viewer-response":
			behavior["viewerResponse"] = textOf(f["function_arn"])
		}
	}
	return behavior, true
}

func sortedTexts(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, x := range list {
		all = append(all, textOf(x))
	}
	slices.Sort(all)
	return all
}
