package terraform

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleNames are the names that Cloudflare's API has for a rule of Access, where those of the provider's versions 4 and 5 differ.
var ruleNames = map[string]string{
	"azure": "azureAD", "azure_ad": "azureAD", "github": "github-organization", "github_organization": "github-organization", "common_names": "common_name",
}

// ruleValues are the fields that the values of a rule stand in, of rules that version 4 of the provider writes as a list of values. The
// source is BuildAccessGroupCondition of that version, in internal/sdkv2provider/resource_cloudflare_access_group.go.
var ruleValues = map[string]string{
	"email": "email", "email_domain": "domain", "email_list": "id", "ip": "ip", "ip_list": "id", "service_token": "token_id", "group": "id", "geo": "country_code",
	"login_method": "id", "device_posture": "integration_uid", "common_name": "common_name", "common_names": "common_name", "auth_method": "auth_method",
}

// accessRules declares the rules of a group or policy of Access. Version 5 of the provider has them as the API has them, one for each
// value; version 4 has all values of a rule in one block.
func accessRules(_ *draft, o *object, i *instance) error {
	for _, list := range []string{"include", "exclude", "require"} {
		var all []any
		for _, block := range blocks(i.attrs[list]) {
			for _, name := range slices.Sorted(maps.Keys(block)) {
				all = append(all, rulesNamed(name, block[name])...)
			}
		}
		o.set(list, all)
	}
	return nil
}

// rulesNamed are the rules of one name.
func rulesNamed(name string, v any) []any {
	to := cmp.Or(ruleNames[name], name)
	var all []any
	add := func(rule values) { all = append(all, values{to: rule}) }
	switch v := v.(type) {
	case bool:
		if v {
			add(values{})
		}
	case string:
		if v != "" {
			add(values{cmp.Or(ruleValues[name], name): v})
		}
	case values: // version 5; {} is a rule too, such as everyone
		add(withoutNull(v).(values))
	case []any:
		for _, item := range v {
			if block, ok := item.(values); ok {
				for _, rule := range spread(block) {
					add(rule)
				}
			} else if text := textOf(item); text != "" {
				add(values{cmp.Or(ruleValues[name], name): text})
			}
		}
	}
	return all
}

// spread makes a rule for each value of the list that a block has, such as the groups of Okta.
func spread(block values) []values {
	one, list, of := values{}, []any(nil), ""
	for name, v := range block {
		if many, ok := v.([]any); ok {
			list, of = many, strings.TrimSuffix(name, "s") // teams of github
		} else if !empty(v) {
			one[name] = v
		}
	}
	if len(list) == 0 {
		return []values{one}
	}
	var all []values
	for _, v := range list {
		rule := maps.Clone(one)
		rule[of] = v
		all = append(all, rule)
	}
	return all
}

// accessPolicy is one that applications share.
func accessPolicy(d *draft, o *object, i *instance) error {
	if i.text("application_id") != "" {
		return errors.New("it is a policy of one application, which Cloudflare keeps for what was made before there were reusable ones: make it reusable, and adopt that")
	}
	return accessRules(d, o, i)
}

// accessApplication names the policies of an application by their ids, in their order.
func accessApplication(_ *draft, o *object, i *instance) error {
	list, _ := i.attrs["policies"].([]any)
	for n, item := range list {
		id, precedence := textOf(item), any(int64(n+1))
		if block, ok := item.(values); ok {
			id = textOf(block["id"])
			if given := numberOf(block["precedence"]); given != nil {
				precedence = given
			}
		}
		if id == "" {
			o.note(i, "policies", "a policy of the application alone has no id")
			continue
		}
		o.append("policies", values{"id": id, "precedence": precedence})
	}
	targets, _ := o.props["target_criteria"].([]any)
	for _, t := range targets {
		target, _ := t.(values)
		named := values{}
		list, ok := target["target_attributes"].([]any)
		for _, a := range blocks(list) { // version 4
			named[textOf(a["name"])] = a["values"]
		}
		if ok {
			target["target_attributes"] = named
		}
	}
	return nil
}

// serviceToken needs the secret of a token, which its creation alone has shown.
func serviceToken(_ *draft, _ *object, i *instance) error {
	if i.text("client_secret") == "" {
		return errors.New("the state does not have its client_secret, which is shown once: declare a new cloudflare.zerotrust.AccessServiceToken, and delete the old one when nothing uses it")
	}
	return nil
}

// apiToken declares what a token may. Version 4 of the provider has permission groups as ids, and resources as text; version 5 has these as JSON.
func apiToken(_ *draft, o *object, i *instance) error {
	if i.text("value") == "" {
		return errors.New("the state does not have its value, which is shown once: declare a new one, and revoke the old one when nothing uses it")
	}
	list := blocks(i.attrs["policies"])
	if len(list) == 0 {
		list = blocks(i.attrs["policy"])
	}
	for _, p := range list {
		var permissions []any
		groups, _ := p["permission_groups"].([]any)
		for _, g := range groups {
			id := textOf(g)
			if group, ok := g.(values); ok {
				id = textOf(group["id"])
			}
			permissions = append(permissions, id)
		}
		resources := p["resources"]
		if text := textOf(resources); text != "" {
			resources = document(text)
		}
		policy := kept(values{"permissions": permissions, "resources": plainOf(resources)})
		if textOf(p["effect"]) == "deny" {
			policy["effect"] = "deny"
		}
		o.append("policies", policy)
	}
	if condition, ok := one(i.attrs["condition"]); ok {
		if from, ok := one(condition["request_ip"]); ok {
			o.set("allowFrom", from["in"])
			o.set("denyFrom", from["not_in"])
		}
	}
	if i.text("status") == "disabled" {
		o.props["disabled"] = true
	}
	return nil
}

// tunnelConfiguration reads times, which version 4 of the provider writes as text, such as 1m30s, and the API as seconds.
func tunnelConfiguration(d *draft, o *object, i *instance) error {
	line := &typeLine{rename: map[string]string{"config.ingress_rule": "config.ingress"}}
	c := &converter{line: line, origins: o.origins}
	maps.Copy(o.props, c.object(d.factsOf(o.kind).fields, values{"config": inSeconds(i.attrs["config"])}, "", nil))
	for _, path := range c.unmatched {
		o.note(i, path, "no prop of "+o.kind+" has it")
	}
	return nil
}

// inSeconds is a value with texts that are times as numbers of seconds, under names that say so.
func inSeconds(v any) any {
	return eachObject(v, func(all values) values {
		for name, x := range all {
			if text, ok := x.(string); ok && (strings.HasSuffix(name, "_timeout") || name == "tcp_keep_alive") {
				if t, err := time.ParseDuration(text); err == nil {
					all[name] = json.Number(strconv.FormatInt(int64(t/time.Second), 10))
				}
			}
		}
		return all
	})
}

// pageRule declares the target and the actions of a page rule, which the API has as lists. The source is
// transformToCloudflarePageRuleAction of version 4 of the provider, in internal/sdkv2provider/resource_cloudflare_page_rule.go.
func pageRule(_ *draft, o *object, i *instance) error {
	o.props["targets"] = []any{values{"target": "url", "constraint": values{"operator": "matches", "value": i.text("target")}}}
	for _, block := range blocks(i.attrs["actions"]) {
		for _, name := range slices.Sorted(maps.Keys(block)) {
			action := values{"id": name}
			if block[name] != true { // what is only switched on has no value
				action["value"] = actionValue(name, block[name])
				if zero(block[name]) || empty(action["value"]) {
					continue
				}
			}
			o.append("actions", action)
		}
	}
	if o.props["actions"] == nil {
		return errors.New("the state does not have its actions")
	}
	return nil
}

// actionValue is the value of an action of a page rule.
func actionValue(name string, v any) any {
	block, isBlock := one(v)
	switch {
	case name == "cache_ttl_by_status":
		times := values{}
		for _, b := range blocks(v) {
			if codes := textOf(b["codes"]); codes != "" { // version 5 has the codes as keys
				times[codes] = plainOf(b["ttl"])
			} else {
				maps.Copy(times, b)
			}
		}
		return plainOf(times)
	case name == "cache_key_fields" && isBlock:
		fields := values{}
		for part, v := range block {
			inner, ok := one(withoutNull(v))
			if !ok {
				continue
			}
			if inner["ignore"] == true {
				inner["exclude"] = "*"
			}
			delete(inner, "ignore")
			if part == "query_string" && empty(inner["include"]) && empty(inner["exclude"]) {
				inner["include"] = "*"
			}
			if part == "query_string" {
				inner = kept(inner)
			}
			fields[part] = inner
		}
		return plainOf(fields)
	case isBlock:
		return plainOf(withoutNull(block))
	case strings.HasSuffix(name, "_ttl"):
		if n, ok := number(v); ok {
			return n
		}
	}
	return plainOf(v)
}

// pagesProject declares the settings of deployments, whose bindings version 4 of the provider has by other names. The source is
// internal/sdkv2provider/resource_cloudflare_pages_project.go of that version.
func pagesProject(_ *draft, o *object, i *instance) error {
	configs, _ := one(i.attrs["deployment_configs"])
	for _, env := range []string{"preview", "production"} {
		had, ok := one(configs[env])
		if !ok {
			continue
		}
		at, _ := o.props["deployment_configs"].(values)
		if at == nil {
			at = values{}
			o.props["deployment_configs"] = at
		}
		to, _ := at[env].(values)
		if to == nil {
			to = values{}
		}
		put := func(prop, key string, v any) {
			m, ok := to[prop].(values)
			if !ok {
				m = values{}
				to[prop] = m
			}
			m[key] = v
		}
		for attr, field := range map[string]string{
			"kv_namespaces": "namespace_id", "d1_databases": "id", "r2_buckets": "name", "durable_object_namespaces": "namespace_id",
		} {
			m, _ := had[attr].(values)
			for key, v := range m {
				if text, isText := v.(string); isText {
					put(attr, key, values{field: text})
				}
			}
		}
		i.sensitive = append(i.sensitive, "deployment_configs."+env+".secrets")
		for attr, typ := range map[string]string{"environment_variables": "plain_text", "secrets": "secret_text"} {
			m, _ := had[attr].(values)
			for key, v := range m {
				put("env_vars", key, values{"type": typ, "value": textOf(v)})
			}
		}
		for _, b := range blocks(had["service_binding"]) {
			put("services", textOf(b["name"]), kept(values{"service": b["service"], "environment": b["environment"], "entrypoint": b["entrypoint"]}))
		}
		vars, _ := had["env_vars"].(values)
		for key := range vars { // version 5 calls the value of every variable sensitive
			if b, ok := one(vars[key]); ok && b["type"] == "plain_text" {
				path := "deployment_configs." + env + ".env_vars." + pathStep(key) + ".value"
				i.sensitive = slices.DeleteFunc(i.sensitive, func(sensitive string) bool { return sensitive == path })
			}
		}
		if len(to) > 0 {
			at[env] = to
		}
	}
	return nil
}

// deviceProfile takes the id of a profile; that of the default one is the account's.
func deviceProfile(_ *draft, o *object, i *instance) error {
	if i.attrs["default"] == true {
		return errors.New("it is the account's default profile, which always exists, and no kind has it whole")
	}
	o.id = o.id[strings.LastIndexByte(o.id, '/')+1:]
	if mode := i.text("service_mode_v2_mode"); mode != "" { // version 4
		o.set("service_mode_v2", kept(values{"mode": mode, "port": numberOf(i.attrs["service_mode_v2_port"])}))
	}
	return nil
}

// dnssec asks for DNSSEC, which is pending until the registrar has the record.
func dnssec(_ *draft, o *object, _ *instance) error {
	switch o.props["status"] {
	case "pending":
		o.props["status"] = "active"
	case "pending-disabled":
		o.props["status"] = "disabled"
	}
	return nil
}

// withoutNull leaves out what is null in maps: providers write it where nothing is set.
func withoutNull(v any) any {
	return eachObject(v, func(all values) values {
		maps.DeleteFunc(all, func(_ string, x any) bool { return x == nil })
		return all
	})
}
