package cloudflare

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// operations are all that the kinds use, under the names that Cloudflare's own description has. A * is one part of a
// path. What is not listed is named by method and path.
var operations = []string{
	"Accounts.ListAccounts GET /accounts",
	"Accounts.ListTokens GET /accounts/*/tokens",
	"Accounts.CreateToken POST /accounts/*/tokens",
	"Accounts.GetToken GET /accounts/*/tokens/*",
	"Accounts.UpdateToken PUT /accounts/*/tokens/*",
	"Accounts.DeleteToken DELETE /accounts/*/tokens/*",
	"Accounts.GetTokenPermissionGroup GET /accounts/*/tokens/permission_groups",

	"User.ListTokens GET /user/tokens",
	"User.CreateToken POST /user/tokens",
	"User.GetToken GET /user/tokens/*",
	"User.UpdateToken PUT /user/tokens/*",
	"User.DeleteToken DELETE /user/tokens/*",
	"User.ListTokenPermissionGroups GET /user/tokens/permission_groups",

	"Zones.ListZones GET /zones",
	"Zones.GetZone GET /zones/*",
	"Zones.CreateZone POST /zones",
	"Zones.PatchZone PATCH /zones/*",
	"Zones.DeleteZone DELETE /zones/*",
	"Zones.GetSetting GET /zones/*/settings/*",
	"Zones.PatchSetting PATCH /zones/*/settings/*",

	"D1.ListDatabases GET /accounts/*/d1/database",
	"D1.CreateDatabase POST /accounts/*/d1/database",
	"D1.GetDatabase GET /accounts/*/d1/database/*",
	"D1.PatchDatabase PATCH /accounts/*/d1/database/*",
	"D1.DeleteDatabase DELETE /accounts/*/d1/database/*",
	"D1.QueryDatabase POST /accounts/*/d1/database/*/query",
	"D1.ImportDatabase POST /accounts/*/d1/database/*/import",

	"DNS.ListRecords GET /zones/*/dns_records",
	"DNS.CreateRecord POST /zones/*/dns_records",
	"DNS.GetRecord GET /zones/*/dns_records/*",
	"DNS.PatchRecord PATCH /zones/*/dns_records/*",
	"DNS.DeleteRecord DELETE /zones/*/dns_records/*",

	"Hyperdrive.ListConfigs GET /accounts/*/hyperdrive/configs",
	"Hyperdrive.CreateConfig POST /accounts/*/hyperdrive/configs",
	"Hyperdrive.GetConfig GET /accounts/*/hyperdrive/configs/*",
	"Hyperdrive.UpdateConfig PUT /accounts/*/hyperdrive/configs/*",
	"Hyperdrive.DeleteConfig DELETE /accounts/*/hyperdrive/configs/*",

	"KV.ListNamespaces GET /accounts/*/storage/kv/namespaces",
	"KV.CreateNamespace POST /accounts/*/storage/kv/namespaces",
	"KV.GetNamespace GET /accounts/*/storage/kv/namespaces/*",
	"KV.UpdateNamespace PUT /accounts/*/storage/kv/namespaces/*",
	"KV.DeleteNamespace DELETE /accounts/*/storage/kv/namespaces/*",
	"KV.ListNamespaceKeys GET /accounts/*/storage/kv/namespaces/*/keys",

	"Queues.ListQueues GET /accounts/*/queues",
	"Queues.CreateQueue POST /accounts/*/queues",
	"Queues.GetQueue GET /accounts/*/queues/*",
	"Queues.PatchQueue PATCH /accounts/*/queues/*",
	"Queues.DeleteQueue DELETE /accounts/*/queues/*",
	"Queues.GetMetricsQueue GET /accounts/*/queues/*/metrics",
	"Queues.ListConsumers GET /accounts/*/queues/*/consumers",
	"Queues.CreateConsumer POST /accounts/*/queues/*/consumers",
	"Queues.GetConsumer GET /accounts/*/queues/*/consumers/*",
	"Queues.UpdateConsumer PUT /accounts/*/queues/*/consumers/*",
	"Queues.DeleteConsumer DELETE /accounts/*/queues/*/consumers/*",

	"R2.ListBuckets GET /accounts/*/r2/buckets",
	"R2.CreateBucket POST /accounts/*/r2/buckets",
	"R2.GetBucket GET /accounts/*/r2/buckets/*",
	"R2.PatchBucket PATCH /accounts/*/r2/buckets/*",
	"R2.DeleteBucket DELETE /accounts/*/r2/buckets/*",
	"R2.ListBucketDomainManageds GET /accounts/*/r2/buckets/*/domains/managed",
	"R2.PutBucketDomainManaged PUT /accounts/*/r2/buckets/*/domains/managed",
	"R2.ListBucketDomainCustoms GET /accounts/*/r2/buckets/*/domains/custom",
	"R2.CreateBucketDomainCustom POST /accounts/*/r2/buckets/*/domains/custom",
	"R2.UpdateBucketDomainCustom PUT /accounts/*/r2/buckets/*/domains/custom/*",
	"R2.DeleteBucketDomainCustom DELETE /accounts/*/r2/buckets/*/domains/custom/*",
	"R2.GetBucketCors GET /accounts/*/r2/buckets/*/cors",
	"R2.PutBucketCors PUT /accounts/*/r2/buckets/*/cors",
	"R2.DeleteBucketCors DELETE /accounts/*/r2/buckets/*/cors",
	"R2.GetBucketLifecycle GET /accounts/*/r2/buckets/*/lifecycle",
	"R2.PutBucketLifecycle PUT /accounts/*/r2/buckets/*/lifecycle",
	"R2.ListBucketEventNotifications GET /accounts/*/event_notifications/r2/*/configuration",
	"R2.PutBucketEventNotification PUT /accounts/*/event_notifications/r2/*/configuration/queues/*",
	"R2.DeleteBucketEventNotification DELETE /accounts/*/event_notifications/r2/*/configuration/queues/*",
	"R2.ListBucketObjects GET /accounts/*/r2/buckets/*/objects",
	"R2.DeleteObjects DELETE /accounts/*/r2/buckets/*/objects",

	"Workers.ListScripts GET /accounts/*/workers/scripts",
	"Workers.PutScript PUT /accounts/*/workers/scripts/*",
	"Workers.GetScript GET /accounts/*/workers/scripts/*",
	"Workers.GetScriptContent GET /accounts/*/workers/scripts/*/content/v2",
	"Workers.DeleteScript DELETE /accounts/*/workers/scripts/*",
	"Workers.GetScriptScriptAndVersionSetting GET /accounts/*/workers/scripts/*/settings",
	"Workers.PatchScriptScriptAndVersionSetting PATCH /accounts/*/workers/scripts/*/settings",
	"Workers.GetScriptSetting GET /accounts/*/workers/scripts/*/script-settings",
	"Workers.PatchScriptSetting PATCH /accounts/*/workers/scripts/*/script-settings",
	"Workers.ListScriptVersions GET /accounts/*/workers/scripts/*/versions",
	"Workers.CreateScriptVersion POST /accounts/*/workers/scripts/*/versions",
	"Workers.GetScriptVersion GET /accounts/*/workers/scripts/*/versions/*",
	"Workers.ListScriptDeployments GET /accounts/*/workers/scripts/*/deployments",
	"Workers.CreateScriptDeployment POST /accounts/*/workers/scripts/*/deployments",
	"Workers.ListScriptSecrets GET /accounts/*/workers/scripts/*/secrets",
	"Workers.PutScriptSecret PUT /accounts/*/workers/scripts/*/secrets",
	"Workers.DeleteScriptSecret DELETE /accounts/*/workers/scripts/*/secrets/*",
	"Workers.GetScriptSchedule GET /accounts/*/workers/scripts/*/schedules",
	"Workers.PutScriptSchedule PUT /accounts/*/workers/scripts/*/schedules",
	"Workers.GetSubdomain GET /accounts/*/workers/subdomain",
	"Workers.PutSubdomain PUT /accounts/*/workers/subdomain",
	"Workers.GetScriptSubdomain GET /accounts/*/workers/scripts/*/subdomain",
	"Workers.CreateScriptSubdomain POST /accounts/*/workers/scripts/*/subdomain",
	"Workers.CreateScriptAssetUpload POST /accounts/*/workers/scripts/*/assets-upload-session",
	"Workers.CreateAssetUpload POST /accounts/*/workers/assets/upload",
	"Workers.CreateScriptTail POST /accounts/*/workers/scripts/*/tails",
	"Workers.GetScriptTail GET /accounts/*/workers/scripts/*/tails",
	"Workers.DeleteScriptTail DELETE /accounts/*/workers/scripts/*/tails/*",
	"Workers.ListDomains GET /accounts/*/workers/domains",
	"Workers.PutDomain PUT /accounts/*/workers/domains",
	"Workers.GetDomain GET /accounts/*/workers/domains/*",
	"Workers.DeleteDomain DELETE /accounts/*/workers/domains/*",
	"Workers.ListRoutes GET /zones/*/workers/routes",
	"Workers.CreateRoute POST /zones/*/workers/routes",
	"Workers.GetRoute GET /zones/*/workers/routes/*",
	"Workers.UpdateRoute PUT /zones/*/workers/routes/*",
	"Workers.DeleteRoute DELETE /zones/*/workers/routes/*",

	"DurableObjects.ListNamespaces GET /accounts/*/workers/durable_objects/namespaces",
	"DurableObjects.ListNamespaceObjects GET /accounts/*/workers/durable_objects/namespaces/*/objects",

	"Rulesets.ListRulesetsForZone GET /zones/*/rulesets",
	"Rulesets.CreateRulesetForZone POST /zones/*/rulesets",
	"Rulesets.GetPhasForZone GET /zones/*/rulesets/phases/*/entrypoint",
	"Rulesets.CreateRuleForZone POST /zones/*/rulesets/*/rules",
	"Rulesets.PatchRuleForZone PATCH /zones/*/rulesets/*/rules/*",
	"Rulesets.DeleteRuleForZone DELETE /zones/*/rulesets/*/rules/*",
	"Rulesets.ListRulesetsForAccount GET /accounts/*/rulesets",
	"Rulesets.CreateRulesetForAccount POST /accounts/*/rulesets",
	"Rulesets.GetPhasForAccount GET /accounts/*/rulesets/phases/*/entrypoint",
	"Rulesets.CreateRuleForAccount POST /accounts/*/rulesets/*/rules",
	"Rulesets.PatchRuleForAccount PATCH /accounts/*/rulesets/*/rules/*",
	"Rulesets.DeleteRuleForAccount DELETE /accounts/*/rulesets/*/rules/*",

	"Containers.ListContainerApplications GET /accounts/*/containers/applications",
	"Containers.CreateContainerApplication POST /accounts/*/containers/applications",
	"Containers.GetContainerApplication GET /accounts/*/containers/applications/*",
	"Containers.UpdateContainerApplication PATCH /accounts/*/containers/applications/*",
	"Containers.DeleteContainerApplication DELETE /accounts/*/containers/applications/*",
	"Containers.CreateContainerApplicationRollout POST /accounts/*/containers/applications/*/rollouts",
	"Containers.CreateContainerRegistryCredentials POST /accounts/*/containers/registries/*/credentials",

	"Workflows.ListWorkflows GET /accounts/*/workflows",
	"Workflows.GetWorkflow GET /accounts/*/workflows/*",
	"Workflows.PutWorkflow PUT /accounts/*/workflows/*",
	"Workflows.DeleteWorkflow DELETE /accounts/*/workflows/*",
}

// Operation is one operation of the API.
type Operation struct {
	// Service and Name are as in "KV" and "CreateNamespace".
	Service, Name string
	// Method and Path are how it is called; a * in the path is one part of it.
	Method, Path string
}

// Operations are those that have names, in their order.
func Operations() []Operation {
	all := make([]Operation, len(operations))
	for i, line := range operations {
		name, call, _ := strings.Cut(line, " ")
		all[i].Service, all[i].Name, _ = strings.Cut(name, ".")
		all[i].Method, all[i].Path, _ = strings.Cut(call, " ")
	}
	return all
}

var byShape = sync.OnceValue(func() map[string][]Operation {
	m := map[string][]Operation{}
	for _, o := range Operations() {
		key := shape(o.Method, o.Path)
		m[key] = append(m[key], o)
	}
	return m
})

// shape is the same for all operations that may be meant by a call.
func shape(method, path string) string {
	return method + strings.Repeat("/", strings.Count(path, "/"))
}

// OperationOf says which operation a request is, by its path below the endpoint's. Of several that fit the one with
// the fewest * is meant.
func OperationOf(method string, path string) Operation {
	best, fewest := Operation{Service: "Cloudflare", Name: method + " " + path, Method: method, Path: path}, -1
	for _, o := range byShape()[shape(method, path)] {
		if stars := strings.Count(o.Path, "*"); fits(o.Path, path) && (fewest < 0 || stars < fewest) {
			best, fewest = o, stars
		}
	}
	return best
}

func fits(pattern, path string) bool {
	parts, want := strings.Split(path, "/"), strings.Split(pattern, "/")
	for i, w := range want {
		if w != "*" && w != parts[i] || w == "*" && parts[i] == "" {
			return false
		}
	}
	return true
}

// Reads reports that the operation changes nothing, whatever is sent.
func (o Operation) Reads() bool { return o.Method == http.MethodGet || o.Method == http.MethodHead }

// below is the path of a URL below an endpoint's, escaped as it was sent.
func below(u *url.URL, endpoint string) string {
	base, err := url.Parse(endpoint)
	if err != nil {
		return u.EscapedPath()
	}
	return "/" + strings.TrimPrefix(strings.TrimPrefix(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")), "/")
}
