package cloudflaretest

import (
	"slices"
	"strconv"
)

// Where the descriptions of Cloudflare's operations are wrong or silent. Each entry has its reason.

// everywhere are the codes that any operation answers. The library that the descriptions come from knows them apart
// from the operations (GLOBAL_ERROR_CODE_MAP of its client/api.js); 7000 stands beside 7003 in
// https://developers.cloudflare.com/workers/platform/errors/ and the like.
var everywhere = map[int]bool{971: true, 6003: true, 9103: true, 9106: true, 9109: true, 10000: true, 7000: true, 7003: true}

// undeclared are codes of a service that its descriptions leave out, with where they come from.
var undeclared = map[string]string{
	"dns 81044":      "a record that does not exist: https://github.com/cloudflare/terraform-provider-cloudflare/issues/1621",
	"dns 81053":      "a CNAME record beside others: https://developers.cloudflare.com/dns/manage-dns-records/troubleshooting/records-with-same-name/",
	"dns 81054":      "others beside a CNAME record: https://github.com/favonia/cloudflare-ddns/issues/990",
	"d1 7406":        "no more databases, as wrangler reads it (createD1Database of its d1/create.ts)",
	"r2 10008":       "a bucket that is not empty: https://developers.cloudflare.com/r2/api/error-codes/",
	"workers 10020":  "a route that is there, as users of wrangler meet it: \"A route with the same pattern already exists\"",
	"workers 10053":  "a secret called like another binding, as users of wrangler meet it: \"Binding name already in use\"",
	"workers 10070":  "a class of Durable Objects that is not exported, as users of wrangler meet it: \"Cannot apply new-class migration\"",
	"workers 10079":  "another migration tag: https://github.com/cloudflare/workers-sdk/issues/705",
	"workers 10090":  "no such service, as wrangler reads it (its utils/worker-not-found-error.ts)",
	"workers 10143":  "a service binding to a Worker that does not exist, where no environment is named: https://github.com/heroui-inc/heroui-mcp/pull/75",
	"workers 10211":  "a version with a migration: https://github.com/cloudflare/workers-sdk/issues/15387",
	"workers 10215":  "a secret while the newest version is not live, as wrangler reads it (its secret/index.ts)",
	"workers 100117": "a domain whose name has records: https://github.com/cloudflare/workers-sdk/issues/9878",
	"rulesets 20217": "a phase that has its ruleset: https://github.com/cloudflare/terraform-provider-cloudflare/issues/6273",
	"kv 10048":       "the free plan's operations of a day are used up, as users of wrangler meet it: \"your account has reached the free usage limit\"",
	"zones 1015":     "a setting that the zone's plan does not offer, as users of Terraform meet it: \"Not allowed to edit setting for waf (1015)\"",
	"zones 1001":     "an unknown zone id, as https://developers.cloudflare.com/api/ answers it",
}

// extraQueries are query parameters that the descriptions leave out.
var extraQueries = map[string][]string{
	// wrangler asks so (its queues/client.ts), and pages through what it gets.
	"queues.ListQueues": {"page", "per_page", "name"},
	// wrangler asks so too (listConfigs of its hyperdrive/client.ts).
	"hyperdrive.ListConfigs": {"page", "per_page"},
	// It does not want the script back (its deploy/deploy.ts).
	"workers.PutScript": {"excludeScript"},
	// It reads the code of one version (parseModules of its versions/secrets/index.ts).
	"workers.GetScriptContent": {"version"},
}

// amendments put schemas right in place. They are by operation, with " answer" behind it for what it answers.
var amendments = map[string]func(schema map[string]any){
	// The description is of a form with a part "value"; the API takes the value as the body too, as wrangler sends it.
	"kv.PutNamespaceValue": func(schema map[string]any) {
		schema["required"] = []any{"namespaceId", "keyName", "accountId"}
	},
	// A queue is made with its settings, as wrangler does (createQueue of its queues/client.ts).
	"queues.CreateQueue": func(schema map[string]any) {
		schema["properties"].(map[string]any)["settings"] = map[string]any{"type": "object"}
	},
	// Rules are taken away one by one, as wrangler does (deleteEventNotificationConfig of its r2/helpers/notification.ts).
	"r2.DeleteBucketEventNotification": func(schema map[string]any) {
		schema["properties"].(map[string]any)["ruleIds"] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	},
	// The Terraform provider sends the name of a database too, which stays, and with a zone's creation whether it is paused.
	"d1.UpdateDatabase": func(schema map[string]any) { loosen(schema, "name") },
	"zones.CreateZone":  func(schema map[string]any) { loosen(schema, "paused") },
	// It sends what changes of an access rule alone.
	"firewall.PatchAccessRuleForAccount": func(schema map[string]any) { optional(schema, "configuration") },

	"workers.PutScript":           wranglerUpload,
	"workers.CreateScriptVersion": wranglerUpload,
	// wrangler reads which version an upload made (its deploy/deploy.ts).
	"workers.PutScript answer": func(schema map[string]any) {
		schema["properties"].(map[string]any)["deployment_id"] = map[string]any{"type": "string"}
	},
	// A version and its bindings are told with notes, which wrangler prints (its versions/list.ts).
	"workers.CreateScriptVersion answer": annotated,
	"workers.GetScriptVersion answer":    annotated,
	"workers.ListScriptVersions answer": func(schema map[string]any) {
		annotated(schema["properties"].(map[string]any)["result"].(map[string]any)["properties"].(map[string]any)["items"].(map[string]any))
	},
	// Filters of a tail are the body itself, as wrangler sends them (its tail/createTail.ts).
	"workers.CreateScriptTail": func(schema map[string]any) {
		optional(schema, "body")
		loosen(schema, "filters", "debug")
	},
	// The body is a form, whose parts are named by hashes.
	"workers.CreateAssetUpload": func(schema map[string]any) { optional(schema, "body") },
	// A binding that stays is sent by its name and type alone, as wrangler does (its secret/index.ts).
	"workers.PatchScriptScriptAndVersionSetting":          bindingsStay,
	"containers.CreateContainerApplication":               wranglerContainer,
	"containers.CreateContainerApplication answer":        wranglerContainer,
	"containers.ListContainerApplications answer":         wranglerContainer,
	"containers.GetContainerApplication answer":           wranglerContainer,
	"containers.UpdateContainerApplication":               wranglerContainer,
	"containers.UpdateContainerApplication answer":        wranglerContainer,
	"containers.CreateContainerApplicationRollout":        wranglerContainer,
	"containers.CreateContainerApplicationRollout answer": wranglerContainer,
	"hyperdrive.ListConfigs answer": func(schema map[string]any) {
		schema["properties"].(map[string]any)["result_info"] = map[string]any{"type": "object"}
	},
	// Nothing is described. Cloudflare's own client read a list of rules (RuleService of snippets/rule.go in cloudflare-go 2.0).
	"snippets.GetRule answer":   snippetRules,
	"snippets.ListRules answer": snippetRules,
	"snippets.PutRule answer":   snippetRules,
	// The listing tells of its pages, as wrangler and result_info of all other listings expect.
	"queues.ListQueues answer": func(schema map[string]any) {
		schema["properties"].(map[string]any)["result_info"] = map[string]any{"type": "object"}
	},
}

func snippetRules(schema map[string]any) {
	text := map[string]any{"type": "string"}
	schema["type"], schema["items"] = "array", map[string]any{"type": "object", "required": []any{"id", "snippet_name", "expression", "enabled", "last_updated"}, "properties": map[string]any{
		"id": text, "snippet_name": text, "expression": text, "description": text, "enabled": map[string]any{"type": "boolean"}, "last_updated": text,
	}}
}

// numbered lets numbers be numbers: the generator of the descriptions writes a choice of numbers, such as the status of a
// redirect or the seconds of a zone's setting, as a choice of texts. Cloudflare's own clients have numbers there.
func numbered(schema any) {
	switch at := schema.(type) {
	case []any:
		for _, v := range at {
			numbered(v)
		}
	case map[string]any:
		choices, _ := at["enum"].([]any)
		if len(choices) > 0 && !slices.ContainsFunc(choices, func(c any) bool {
			text, _ := c.(string)
			_, err := strconv.Atoi(text)
			return err != nil
		}) {
			delete(at, "enum")
			delete(at, "type")
			at["anyOf"] = []any{map[string]any{"enum": choices}, map[string]any{"type": "number"}}
			return
		}
		for _, v := range at {
			numbered(v)
		}
	}
}

// sentByTerraform are properties that the Terraform provider sends and the descriptions do not have: what stays as it is with each change, and
// defaults that are told in answers alone, or not yet. They are let in, and samples have none of them.
var sentByTerraform = map[string][]string{
	"accounts.UpdateMember":                        {"account_id", "email", "status"},
	"aisearch.CreateInstance":                      {"paused", "summarization"},
	"aisearch.UpdateInstance":                      {"hybrid_search_enabled", "type"},
	"r2.UpdateBucketDomainCustom":                  {"zoneId"},
	"resource-sharing.UpdateResource":              {"resource_account_id", "resource_id", "resource_type"},
	"resource-sharing.UpdateResourceSharing":       {"recipients", "resources"},
	"zero-trust.UpdateAccessAiControlMcpServer":    {"auth_type", "hostname"},
	"zero-trust.UpdateDlpEntryCustom":              {"profile_id"},
	"iam.CreateSso":                                {"enabled"},
	"zones.CreateHold":                             {"include_subdomains"},
	"custom-pages.UpdateAssetForAccount":           {"name"},
	"custom-hostnames.PatchCustomHostname":         {"hostname"},
	"email-routing.CreateRule":                     {"source"},
	"email-routing.PutRuleCatchAll":                {"source"},
	"email-routing.UpdateRule":                     {"source"},
	"load-balancers.CreateLoadBalancer":            {"enabled"},
	"logpush.UpdateJobForAccount":                  {"dataset"},
	"magic-transit.UpdateGreTunnel":                {"bgp"},
	"zero-trust.UpdateAccessCertificateForAccount": {"certificate"},
	"zero-trust.UpdateGatewayList":                 {"type"},
	"zero-trust.CreateIdentityProviderForAccount":  {"read_only"},
	"zero-trust.CreateRiskScoringIntegration":      {"active"},
	"zero-trust.UpdateIdentityProviderForAccount":  {"read_only"},
	"zero-trust.UpdateRiskScoringIntegration":      {"integration_type"},
}

// amended puts a schema right.
func amended(operation string, schema map[string]any) {
	numbered(schema)
	if put := amendments[operation]; put != nil {
		put(schema)
	}
}

// wranglerUpload lets in what wrangler sends and the descriptions of uploads leave out (createWorkerUploadForm of its
// deployment-bundle/create-worker-upload-form.ts): the id of a database as id, and settings with a version.
func wranglerUpload(schema map[string]any) {
	metadata := schema["properties"].(map[string]any)["metadata"].(map[string]any)
	loosen(metadata, "assets", "keep_assets", "limits", "placement", "tail_consumers", "streaming_tail_consumers", "migrations", "containers",
		"observability", "logpush")
	variants(metadata, "d1", func(variant map[string]any) { optional(variant, "database_id") })
	variants(metadata, "queue", func(variant map[string]any) { loosen(variant, "delivery_delay") })
	variants(metadata, "service", func(variant map[string]any) { loosen(variant, "props", "cross_account_grant") })
}

// wranglerContainer lets in what wrangler sends and reads of containers (containerConfigToCreateRequest and configRolloutStepsToAPI of its
// containers/deploy.ts), and the descriptions leave out: memory and disk as numbers, more of where instances run, keys, and steps of a rollout.
func wranglerContainer(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	has := func(name string) bool { return properties[name] != nil }
	switch {
	case has("image"):
		loosen(schema, "vcpu", "memory", "memory_mib", "disk", "wrangler_ssh", "authorized_keys", "trusted_user_ca_keys")
	case has("size"):
		loosen(schema, "size_mb")
		optional(schema, "size")
	case has("tier"):
		loosen(schema, "tiers", "regions", "cities", "jurisdiction")
	case has("colocation"):
		loosen(schema, "hardware_generation")
	case has("target_configuration"):
		loosen(schema, "steps")
		optional(schema, "step_percentage")
		properties["kind"] = map[string]any{"enum": []any{"full_auto", "full_manual"}}
	}
	if has("max_instances") {
		loosen(schema, "rollout_active_grace_period")
	}
	for _, inner := range inside(schema) {
		wranglerContainer(inner)
	}
}

// bindingsStay lets bindings be told by name and type alone.
func bindingsStay(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for name, inner := range properties {
		if name == "bindings" {
			kinds := variantsOf(inner.(map[string]any))
			kinds["anyOf"] = append(kinds["anyOf"].([]any), map[string]any{
				"type": "object", "required": []any{"name", "type"}, "additionalProperties": false,
				"properties": map[string]any{"name": map[string]any{"type": "string"}, "type": map[string]any{"type": "string"}},
			})
			return
		}
	}
	for _, inner := range inside(schema) {
		bindingsStay(inner)
	}
}

// variantsOf is the schema below that has the alternatives of a list's items.
func variantsOf(schema map[string]any) map[string]any {
	if items, ok := schema["items"].(map[string]any); ok && items["anyOf"] != nil {
		return items
	}
	for _, inner := range inside(schema) {
		if found := variantsOf(inner); found != nil {
			return found
		}
	}
	return nil
}

// annotated lets a version, or each of several, have notes.
func annotated(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok && properties["metadata"] != nil {
		loosen(schema, "annotations")
		return
	}
	for _, inner := range inside(schema) {
		annotated(inner)
	}
}

// loosen lets a schema of an object have further fields, of which nothing is known.
func loosen(schema map[string]any, names ...string) {
	properties := schema["properties"].(map[string]any)
	for _, name := range names {
		if properties[name] == nil {
			properties[name] = map[string]any{}
		}
	}
}

// optional lets a field be left out.
func optional(schema map[string]any, field string) {
	required, _ := schema["required"].([]any)
	schema["required"] = slices.DeleteFunc(required, func(name any) bool { return name == field })
}

// variants calls for every schema below that is an object of this type.
func variants(schema map[string]any, kind string, change func(map[string]any)) {
	properties, _ := schema["properties"].(map[string]any)
	if named, _ := properties["type"].(map[string]any); named != nil {
		if values, _ := named["enum"].([]any); len(values) == 1 && values[0] == kind {
			change(schema)
		}
	}
	for _, inner := range inside(schema) {
		variants(inner, kind, change)
	}
}

// inside are the schemas that a schema is made of.
func inside(schema map[string]any) []map[string]any {
	var all []map[string]any
	add := func(v any) {
		if inner, ok := v.(map[string]any); ok {
			all = append(all, inner)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, v := range properties {
		add(v)
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, v := range alternatives {
		add(v)
	}
	add(schema["items"])
	return all
}
