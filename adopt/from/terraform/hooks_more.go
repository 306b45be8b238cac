package terraform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// closePermission names the function by its ARN, which the identity of a permission begins with.
func closePermission(d *draft, o *object) {
	name := o.inst.text("function_name")
	for _, f := range append(slices.Clone(d.parents["aws_lambda_function"]["function_name\x00"+name]), d.parents["aws_lambda_function"]["\x00"+name]...) {
		o.props["function"] = f.inst.text("arn")
		o.id = f.inst.text("arn") + "/" + o.inst.text("statement_id")
		return
	}
}

// mappingID makes the ARN of a mapping of its function's, where the provider did not write it.
func mappingID(i *instance) string {
	parts := strings.SplitN(i.text("function_arn"), ":", 7)
	if len(parts) < 7 || i.text("uuid") == "" {
		return ""
	}
	return strings.Join(parts[:5], ":") + ":event-source-mapping:" + i.text("uuid")
}

// vpc declares what a VPC has by itself only where it differs.
func vpc(_ *draft, o *object, i *instance) error {
	if o.props["EnableDnsSupport"] == nil && i.attrs["enable_dns_support"] == false {
		o.props["EnableDnsSupport"] = false
	}
	return nil
}

// attached declares the attachment of an internet gateway, which Terraform has in the gateway.
func attached(d *draft, o *object, i *instance) error {
	if id := i.text("vpc_id"); id != "" {
		d.extra(o, "attachment", "AWS::EC2::VPCGatewayAttachment", "IGW|"+id, values{"VpcId": id, "InternetGatewayId": i.text("id")})
	}
	return nil
}

// routeTargets are the attributes of a route in a table, and the properties of a route of its own.
var routeTargets = map[string]string{
	"gateway_id": "GatewayId", "nat_gateway_id": "NatGatewayId", "network_interface_id": "NetworkInterfaceId", "instance_id": "InstanceId",
	"transit_gateway_id": "TransitGatewayId", "vpc_endpoint_id": "VpcEndpointId", "vpc_peering_connection_id": "VpcPeeringConnectionId",
	"egress_only_gateway_id": "EgressOnlyInternetGatewayId", "carrier_gateway_id": "CarrierGatewayId",
	"local_gateway_id": "LocalGatewayId", "core_network_arn": "CoreNetworkArn",
}

// routes declares the routes of a table, which Terraform has in the table.
func routes(d *draft, o *object, i *instance) error {
	for n, r := range blocks(i.attrs["route"]) {
		destination, prop := "", ""
		for attr, to := range map[string]string{
			"cidr_block": "DestinationCidrBlock", "ipv6_cidr_block": "DestinationIpv6CidrBlock", "destination_prefix_list_id": "DestinationPrefixListId",
		} {
			if v := textOf(r[attr]); v != "" {
				destination, prop = v, to
			}
		}
		declared := values{"RouteTableId": i.text("id"), prop: destination}
		for attr, to := range routeTargets {
			if v := textOf(r[attr]); v != "" {
				declared[to] = v
			}
		}
		if destination == "" || declared["GatewayId"] == "local" {
			continue
		}
		d.extra(o, fmt.Sprintf("route-%d", n), "AWS::EC2::Route", i.text("id")+"|"+destination, declared)
	}
	return nil
}

// eip names no instance: an association, a NAT gateway or the instance itself does that.
func eip(_ *draft, o *object, i *instance) error {
	if o.props["Domain"] == nil && i.attrs["vpc"] == true {
		o.props["Domain"] = "vpc"
	}
	if o.props["PublicIpv4Pool"] == "amazon" {
		delete(o.props, "PublicIpv4Pool")
	}
	o.known["AllocationId"], o.known["PublicIp"] = i.text("id"), i.text("public_ip")
	return nil
}

func securityGroup(_ *draft, o *object, i *instance) error {
	for attr, prop := range map[string]string{"ingress": "SecurityGroupIngress", "egress": "SecurityGroupEgress"} {
		side := "Source"
		if attr == "egress" {
			side = "Destination"
		}
		var all []any
		for _, r := range blocks(i.attrs[attr]) {
			all = append(all, ports(r, side, i.text("id"))...)
		}
		if len(all) > 0 {
			o.props[prop] = all
		}
	}
	return nil
}

// ports are the rules of a block: Terraform has lists of ranges in one, and the registry has one range in each.
func ports(r values, side, own string) []any {
	base := values{"IpProtocol": textOf(r["protocol"])}
	if text := textOf(r["description"]); text != "" {
		base["Description"] = text
	}
	if p := base["IpProtocol"]; p != "-1" && p != "all" {
		for attr, prop := range map[string]string{"from_port": "FromPort", "to_port": "ToPort"} {
			if n, ok := number(r[attr]); ok {
				base[prop] = n
			}
		}
	}
	var all []any
	add := func(prop string, v any) {
		one := maps.Clone(base)
		one[prop] = v
		all = append(all, one)
	}
	group := side + "SecurityGroupId"
	for _, x := range []struct{ attr, prop string }{
		{"cidr_blocks", "CidrIp"}, {"ipv6_cidr_blocks", "CidrIpv6"}, {"prefix_list_ids", side + "PrefixListId"}, {"security_groups", group},
	} {
		list, _ := r[x.attr].([]any)
		for _, v := range list {
			add(x.prop, v)
		}
	}
	if r["self"] == true {
		add(group, own)
	}
	return all
}

// securityRule declares a rule of a group, with one resource for each range.
func securityRule(_ *draft, o *object, i *instance) error {
	side := "Source"
	if i.text("type") == "egress" {
		o.kind, side = "AWS::EC2::SecurityGroupEgress", "Destination"
	}
	r := maps.Clone(i.attrs)
	if source := i.text("source_security_group_id"); source != "" {
		r["security_groups"] = []any{source}
	}
	all := ports(r, side, i.text("security_group_id"))
	if len(all) != 1 {
		return fmt.Errorf("it is %d rules in one: the state knows only one identity of them", len(all))
	}
	o.props, _ = all[0].(values)
	o.props["GroupId"] = i.text("security_group_id")
	return nil
}

func launchTemplate(_ *draft, o *object, i *instance) error {
	data, _ := o.props["LaunchTemplateData"].(values)
	if data == nil {
		data = values{}
		o.props["LaunchTemplateData"] = data
	}
	return nil
}

func autoScalingGroup(_ *draft, o *object, i *instance) error {
	for _, prop := range []string{"MinSize", "MaxSize"} {
		if o.props[prop] == nil {
			o.props[prop] = "0"
		}
	}
	var tags []any
	for _, t := range blocks(i.attrs["tag"]) {
		tags = append(tags, values{"Key": textOf(t["key"]), "Value": textOf(t["value"]), "PropagateAtLaunch": t["propagate_at_launch"] == true})
	}
	o.set("Tags", tags)
	return nil
}

func ecrLifecycle(_ *draft, o *object, i *instance) error {
	o.set("lifecyclePolicy", plainOf(i.attrs["policy"]))
	return nil
}

func ecrPolicy(_ *draft, o *object, i *instance) error {
	o.set("policy", plainOf(i.attrs["policy"]))
	return nil
}

// schedule says what no prop is named after: whether it is off, and what of its target athanor's kind does not have.
func schedule(_ *draft, o *object, i *instance) error {
	if i.text("state") == "DISABLED" {
		o.props["disabled"] = true
	}
	for _, name := range []string{"start_date", "end_date"} {
		if i.text(name) != "" {
			o.look = "its " + name + " has no prop: declare it as AWS::Scheduler::Schedule to keep it"
		}
	}
	for _, target := range blocks(i.attrs["target"]) {
		for _, name := range []string{"ecs_parameters", "eventbridge_parameters", "kinesis_parameters", "sagemaker_pipeline_parameters"} {
			if len(blocks(target[name])) > 0 {
				o.look = "the " + name + " of its target have no prop: declare it as AWS::Scheduler::Schedule to keep them"
			}
		}
	}
	return nil
}

func loadBalancer(_ *draft, o *object, i *instance) error {
	if i.attrs["internal"] == true {
		o.props["Scheme"] = "internal"
	} else {
		o.props["Scheme"] = "internet-facing"
	}
	return nil
}

func listener(_ *draft, o *object, i *instance) error {
	if arn := i.text("certificate_arn"); arn != "" {
		o.props["Certificates"] = []any{values{"CertificateArn": arn}}
	}
	forwards(o, "DefaultActions", blocks(i.attrs["default_action"]))
	return nil
}

// forwards gives actions the groups that they forward to by weight.
func forwards(o *object, prop string, actions []values) {
	list, _ := o.props[prop].([]any)
	for n, a := range actions {
		forward, ok := one(a["forward"])
		if !ok || n >= len(list) || textOf(a["target_group_arn"]) != "" {
			continue
		}
		var groups []any
		for _, g := range blocks(forward["target_group"]) {
			groups = append(groups, kept(values{"TargetGroupArn": g["arn"], "Weight": plainOf(g["weight"])}))
		}
		if action, ok := list[n].(values); ok && len(groups) > 0 {
			action["ForwardConfig"] = values{"TargetGroups": groups}
		}
	}
}

func listenerRule(_ *draft, o *object, i *instance) error {
	forwards(o, "Actions", blocks(i.attrs["action"]))
	var all []any
	for _, c := range blocks(i.attrs["condition"]) {
		for attr, x := range map[string][2]string{
			"host_header": {"host-header", "HostHeaderConfig"}, "path_pattern": {"path-pattern", "PathPatternConfig"},
			"http_request_method": {"http-request-method", "HttpRequestMethodConfig"}, "source_ip": {"source-ip", "SourceIpConfig"},
		} {
			if b, ok := one(c[attr]); ok {
				all = append(all, values{"Field": x[0], x[1]: values{"Values": b["values"]}})
			}
		}
		if b, ok := one(c["http_header"]); ok {
			all = append(all, values{"Field": "http-header", "HttpHeaderConfig": values{"HttpHeaderName": b["http_header_name"], "Values": b["values"]}})
		}
		for _, q := range blocks(c["query_string"]) {
			all = append(all, values{"Field": "query-string", "QueryStringConfig": values{"Values": []any{kept(values{"Key": q["key"], "Value": q["value"]})}}})
		}
	}
	o.set("Conditions", all)
	return nil
}

func target(_ *draft, o *object, i *instance) error {
	t := kept(values{"Id": i.text("target_id"), "Port": numberOf(i.attrs["port"]), "AvailabilityZone": i.text("availability_zone")})
	o.append("Targets", t)
	return nil
}

func capacityProviders(_ *draft, o *object, i *instance) error {
	o.ofTheRegistry() // a cluster of the kind of its own has none
	o.set("CapacityProviders", i.attrs["capacity_providers"])
	var all []any
	for _, s := range blocks(i.attrs["default_capacity_provider_strategy"]) {
		all = append(all, kept(values{"CapacityProvider": s["capacity_provider"], "Base": numberOf(s["base"]), "Weight": numberOf(s["weight"])}))
	}
	o.set("DefaultCapacityProviderStrategy", all)
	return nil
}

func ecsService(_ *draft, o *object, i *instance) error {
	if v, ok := i.attrs["network_configuration"]; ok {
		for _, n := range blocks(v) {
			public := "DISABLED"
			if n["assign_public_ip"] == true {
				public = "ENABLED"
			}
			o.props["NetworkConfiguration"] = values{"AwsvpcConfiguration": kept(values{
				"AssignPublicIp": public, "SecurityGroups": n["security_groups"], "Subnets": n["subnets"],
			})}
		}
	}
	return nil
}

// taskDefinition has volumes, of which Terraform's blocks have other names.
func taskDefinition(_ *draft, o *object, i *instance) error {
	var all []any
	for _, v := range blocks(i.attrs["volume"]) {
		volume := kept(values{"Name": v["name"]})
		if host := textOf(v["host_path"]); host != "" {
			volume["Host"] = values{"SourcePath": host}
		}
		if e, ok := one(v["efs_volume_configuration"]); ok {
			volume["EFSVolumeConfiguration"] = kept(values{
				"FilesystemId": e["file_system_id"], "RootDirectory": e["root_directory"], "TransitEncryption": e["transit_encryption"],
			})
		}
		all = append(all, volume)
	}
	o.set("Volumes", all)
	return nil
}

func nodeGroup(_ *draft, o *object, i *instance) error {
	if l, ok := o.props["LaunchTemplate"].(values); ok && l["Id"] != nil {
		delete(l, "Name")
	}
	return nil
}

// dbInstance has the engine's own port only where it was given.
func dbInstance(_ *draft, o *object, i *instance) error {
	if i.text("db_name") == "" {
		o.set("DBName", i.text("name")) // before version 5 of the provider
	}
	if o.props["ManageMasterUserPassword"] != nil || i.text("replicate_source_db") != "" {
		delete(o.props, "MasterUserPassword")
	}
	return nil
}

func dbParameters(_ *draft, o *object, i *instance) error {
	all := values{}
	for _, p := range blocks(i.attrs["parameter"]) {
		all[textOf(p["name"])] = textOf(p["value"])
	}
	o.set("Parameters", all)
	return nil
}

func cacheCluster(_ *draft, o *object, i *instance) error {
	if o.props["AZMode"] == "single-az" {
		delete(o.props, "AZMode")
	}
	return nil
}

func restAPI(_ *draft, o *object, _ *instance) error {
	if o.props["ApiKeySourceType"] == nil {
		o.set("ApiKeySourceType", o.inst.text("api_key_source"))
	}
	return nil
}

func method(_ *draft, o *object, _ *instance) error {
	if o.props["AuthorizationType"] == nil {
		o.props["AuthorizationType"] = "NONE"
	}
	return nil
}

func methodIntegration(_ *draft, o *object, i *instance) error {
	in := kept(values{
		"Type": i.text("type"), "IntegrationHttpMethod": i.text("integration_http_method"), "Uri": i.text("uri"),
		"ConnectionId": i.text("connection_id"), "ConnectionType": i.text("connection_type"), "ContentHandling": i.text("content_handling"),
		"Credentials": i.text("credentials"), "PassthroughBehavior": i.text("passthrough_behavior"),
		"RequestParameters": i.attrs["request_parameters"], "RequestTemplates": i.attrs["request_templates"],
		"TimeoutInMillis": numberOf(i.attrs["timeout_milliseconds"]), "CacheKeyParameters": i.attrs["cache_key_parameters"],
	})
	if in["ConnectionType"] == "INTERNET" {
		delete(in, "ConnectionType")
	}
	o.scratch["integration"] = in
	return nil
}

func methodResponse(_ *draft, o *object, i *instance) error {
	o.append("MethodResponses", kept(values{
		"StatusCode": i.text("status_code"), "ResponseModels": i.attrs["response_models"], "ResponseParameters": plainOf(i.attrs["response_parameters"]),
	}))
	return nil
}

func integrationResponse(_ *draft, o *object, i *instance) error {
	list, _ := o.scratch["responses"].([]any)
	o.scratch["responses"] = append(list, kept(values{
		"StatusCode": i.text("status_code"), "ContentHandling": i.text("content_handling"), "SelectionPattern": i.text("selection_pattern"),
		"ResponseParameters": i.attrs["response_parameters"], "ResponseTemplates": i.attrs["response_templates"],
	}))
	return nil
}

func closeMethod(_ *draft, o *object) {
	in, ok := o.scratch["integration"].(values)
	if !ok {
		return
	}
	if list, ok := o.scratch["responses"].([]any); ok {
		in["IntegrationResponses"] = list
	}
	o.props["Integration"] = in
}

// distribution writes lists that Terraform has as blocks of one.
func distribution(d *draft, o *object, i *instance) error {
	if plainDistribution(d, o, i) {
		return nil
	}
	config, ok := o.props["DistributionConfig"].(values)
	if !ok {
		return errors.New("the state does not have its configuration")
	}
	config["Enabled"] = i.attrs["enabled"] == true
	behaviors := []any{config["DefaultCacheBehavior"]}
	list, _ := config["CacheBehaviors"].([]any)
	for _, b := range append(behaviors, list...) {
		behavior, ok := b.(values)
		if !ok {
			continue
		}
		if behavior["CachePolicyId"] != nil {
			for _, ttl := range []string{"MinTTL", "MaxTTL", "DefaultTTL", "ForwardedValues"} {
				delete(behavior, ttl)
			}
		}
	}
	for n, b := range blocks(i.attrs["origin"]) {
		origins, _ := config["Origins"].([]any)
		if n >= len(origins) {
			break
		}
		origin, ok := origins[n].(values)
		if s3, isS3 := one(b["s3_origin_config"]); ok && isS3 {
			origin["S3OriginConfig"] = values{"OriginAccessIdentity": textOf(s3["origin_access_identity"])}
		} else if ok && origin["CustomOriginConfig"] == nil && origin["VpcOriginConfig"] == nil {
			origin["S3OriginConfig"] = values{"OriginAccessIdentity": ""}
		}
	}
	return nil
}

func cloudfrontFunction(_ *draft, o *object, i *instance) error {
	o.entry("FunctionConfig", "Comment", i.text("comment"))
	o.props["AutoPublish"] = true
	return nil
}

// dnsRecord reads what versions 4 and 5 of the provider write in different ways.
func dnsRecord(_ *draft, o *object, i *instance) error {
	if text := i.text("content"); text != "" {
		o.props["content"] = text
	}
	if i.text("type") == "TXT" {
		if text, ok := o.props["content"].(string); ok && len(text) > 1 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
			o.props["content"] = strings.Trim(text, `"`)
		}
	}
	if n, _ := number(i.attrs["ttl"]); n == int64(1) || i.attrs["proxied"] == true {
		delete(o.props, "ttl") // Cloudflare chooses
	}
	if data, ok := one(i.attrs["data"]); ok {
		all := kept(maps.Clone(data))
		maps.DeleteFunc(all, func(_ string, v any) bool { return numberIsZero(v) })
		if len(all) > 0 {
			o.props["data"] = plainOf(all)
			delete(o.props, "content")
		}
	}
	return nil
}

// zoneSettings makes a resource of each setting that differs from what the zone had when Terraform came.
func zoneSettings(d *draft, o *object, i *instance) error {
	zone := i.text("zone_id")
	settings, _ := one(i.attrs["settings"])
	before, _ := one(i.attrs["initial_settings"])
	var readonly []any
	readonly, _ = i.attrs["readonly_settings"].([]any)
	made := 0
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v := settings[name]
		setting := map[string]string{"zero_rtt": "0rtt"}[name]
		if setting == "" {
			setting = name
		}
		if empty(v) || slices.Contains(readonly, any(name)) || fmt.Sprint(v) == fmt.Sprint(before[name]) {
			continue
		}
		value := plainOf(v)
		if block, ok := one(v); ok {
			value = plainOf(block)
			if name == "security_header" {
				value = values{"strict_transport_security": value}
			}
		}
		d.extra(o, strings.ReplaceAll(name, "_", "-"), "cloudflare.ZoneSetting", zone+"/"+setting, values{"zone": zone, "setting": setting, "value": value})
		made++
	}
	if made == 0 {
		return errors.New("it sets nothing that differs from what the zone had")
	}
	return nil
}

func worker(_ *draft, o *object, i *instance) error {
	if i.text("content") == "" {
		o.look = "the state does not have its code: name it in code"
		o.props["code"] = values{"script": from.Path(segment(i.name, "worker") + ".js")}
	}
	for attr, to := range map[string][3]string{
		"kv_namespace_binding": {"name", "namespace_id", "kv"}, "r2_bucket_binding": {"name", "bucket_name", "r2"},
		"d1_database_binding": {"name", "database_id", "d1"}, "queue_binding": {"binding", "queue", "queue"},
		"service_binding": {"name", "service", "service"},
	} {
		for _, b := range blocks(i.attrs[attr]) {
			o.entry("env", textOf(b[to[0]]), values{to[2]: textOf(b[to[1]])})
		}
	}
	for _, attr := range []string{"plain_text_binding", "secret_text_binding"} {
		for _, b := range blocks(i.attrs[attr]) {
			o.entry("env", textOf(b["name"]), textOf(b["text"]))
		}
	}
	for n, b := range blocks(i.attrs["bindings"]) { // version 5
		if b["type"] == "plain_text" { // version 5 calls the text of every binding sensitive, and as a secret it would be another binding
			i.sensitive = slices.DeleteFunc(i.sensitive, func(path string) bool { return path == "bindings."+strconv.Itoa(n)+".text" })
		}
		of := map[string][2]string{
			"kv_namespace": {"namespace_id", "kv"}, "r2_bucket": {"bucket_name", "r2"}, "d1": {"database_id", "d1"}, "queue": {"queue_name", "queue"},
			"service": {"service", "service"},
		}[textOf(b["type"])]
		switch name := textOf(b["name"]); {
		case of[1] != "":
			o.entry("env", name, values{of[1]: cmp.Or(textOf(b[of[0]]), textOf(b["id"]))})
		case b["type"] == "plain_text":
			o.entry("env", name, textOf(b["text"]))
		case b["type"] == "secret_text":
			o.note(i, "bindings."+name, "the secret stays on the Worker")
		default:
			o.note(i, "bindings."+name, "declare it in env")
		}
	}
	return nil
}

// closeWorkerDomain makes a domain a part of its Worker, which manages all of its domains. One of a Worker that is not adopted stays by
// itself.
func closeWorkerDomain(d *draft, o *object) {
	script, hostname := o.inst.text("service"), o.inst.text("hostname")
	for _, w := range d.objects {
		if w.kind != "cloudflare.Worker" || script == "" || hostname == "" || cmp.Or(w.inst.text("script_name"), w.inst.text("name")) != script {
			continue
		}
		w.append("domains", hostname)
		w.parts = append(w.parts, o.inst)
		o.failed = "a part of its Worker"
		return
	}
}

func crons(_ *draft, o *object, i *instance) error {
	list, _ := i.attrs["schedules"].([]any)
	for _, s := range list {
		if m, ok := s.(values); ok {
			s = m["cron"]
		}
		o.append("crons", s)
	}
	return nil
}

// r2Bucket takes the jurisdiction into the identity, as the kind does.
func r2Bucket(_ *draft, o *object, i *instance) error {
	if j := i.text("jurisdiction"); j != "" && j != "default" {
		o.id = j + "/" + i.text("name")
	} else {
		delete(o.props, "jurisdiction")
	}
	if l, ok := o.props["locationHint"].(string); ok {
		o.props["locationHint"] = strings.ToLower(l)
	}
	return nil
}

// localFile leaves the content to the state: sensitive content becomes a secret like every other.
func localFile(_ *draft, o *object, i *instance) error {
	name := i.text("filename")
	o.props["path"] = localPath(name)
	o.id = "" // the file is found by its path
	if content := i.text("sensitive_content"); content != "" {
		o.props["content"] = content
	}
	if source := i.text("source"); source != "" {
		o.props["source"] = localPath(source)
		delete(o.props, "content")
	}
	if o.props["content"] == nil && o.props["source"] == nil {
		o.props["content"] = ""
		if i.text("content_base64") != "" {
			return errors.New("its content is no text")
		}
	}
	return nil
}
