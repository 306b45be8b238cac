package cloudflaretest

// Where the descriptions of Cloudflare's operations are wrong or silent. Each entry has its reason.

// everywhere are the codes that any operation answers. The library that the descriptions come from knows them apart
// from the operations (GLOBAL_ERROR_CODE_MAP of its client/api.js); 7000 stands beside 7003 in
// https://developers.cloudflare.com/workers/platform/errors/ and the like.
var everywhere = map[int]bool{971: true, 6003: true, 9103: true, 9106: true, 9109: true, 10000: true, 7000: true, 7003: true}

// undeclared are codes of a service that its descriptions leave out, with where they come from.
var undeclared = map[string]string{
	"dns 81044":  "a record that does not exist: https://github.com/cloudflare/terraform-provider-cloudflare/issues/1621",
	"dns 81053":  "a CNAME record beside others: https://developers.cloudflare.com/dns/manage-dns-records/troubleshooting/records-with-same-name/",
	"dns 81054":  "others beside a CNAME record: https://github.com/favonia/cloudflare-ddns/issues/990",
	"d1 7406":    "no more databases, as wrangler reads it (createD1Database of its d1/create.ts)",
	"r2 10008":   "a bucket that is not empty: https://developers.cloudflare.com/r2/api/error-codes/",
	"zones 1001": "an unknown zone id, as https://developers.cloudflare.com/api/ answers it",
}

// extraQueries are query parameters that the descriptions leave out.
var extraQueries = map[string][]string{
	// wrangler asks so (its queues/client.ts), and pages through what it gets.
	"queues.ListQueues": {"page", "per_page", "name"},
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
	// The listing tells of its pages, as wrangler and result_info of all other listings expect.
	"queues.ListQueues answer": func(schema map[string]any) {
		schema["properties"].(map[string]any)["result_info"] = map[string]any{"type": "object"}
	},
}

// amended puts a schema right.
func amended(operation string, schema map[string]any) {
	if put := amendments[operation]; put != nil {
		put(schema)
	}
}
