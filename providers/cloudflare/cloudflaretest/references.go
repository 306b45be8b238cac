package cloudflaretest

// Operations that wrangler calls and no description tells of; unpublished lists them.

// unpublished are operations without descriptions, under names of our own, with where wrangler calls them.
var unpublished = []*operation{
	{Service: "workers", Name: "GetService", Method: "GET", Path: "/accounts/{account_id}/workers/services/{scriptName}"},                      // its deploy/deploy.ts
	{Service: "workers", Name: "ListReferences", Method: "GET", Path: "/accounts/{account_id}/workers/scripts/{scriptName}/references"},        // its delete.ts
	{Service: "workers", Name: "ListTailing", Method: "GET", Path: "/accounts/{account_id}/workers/tails/by-consumer/{scriptName}"},            // its delete.ts
	{Service: "workers", Name: "DeleteService", Method: "DELETE", Path: "/accounts/{account_id}/workers/services/{scriptName}"},                // its delete.ts
	{Service: "workers", Name: "PutDomainRecords", Method: "PUT", Path: "/accounts/{account_id}/workers/scripts/{scriptName}/domains/records"}, // its deploy/deploy.ts
	{Service: "workers", Name: "PutScriptRoutes", Method: "PUT", Path: "/accounts/{account_id}/workers/scripts/{scriptName}/routes"},           // its deploy/deploy.ts
}

var referenceHandlers = map[string]handler{
	"workers.GetService":     getService,
	"workers.DeleteService":  onWorker(deleteScript),
	"workers.ListReferences": onWorker(listReferences),
	"workers.ListTailing":    listTailing,
}

// getService is a Worker as wrangler asks for it.
func getService(w *world, r request) (any, *failure) {
	k := w.worker(r.account, r.path["scriptName"])
	if k == nil {
		return nil, &failure{status: 404, code: 10090, message: "workers.api.error.service_not_found"}
	}
	return object{"id": k.name, "default_environment": object{"environment": "production", "script": object{
		"id": k.name, "tag": k.tag, "tags": k.tags, "last_deployed_from": "wrangler",
	}}}, nil
}

// listReferences tells who is bound to a Worker.
func listReferences(w *world, _ request, k *worker) (any, *failure) {
	services, classes := []any{}, []any{}
	for _, other := range w.users(k) {
		for _, b := range other.live().bindings {
			switch {
			case b["type"] == "service" && b["service"] == k.name:
				services = append(services, object{"service": other.name, "environment": "production", "name": b["name"]})
			case b["type"] == "durable_object_namespace" && b["script_name"] == k.name:
				classes = append(classes, object{"service": other.name, "environment": "production", "name": b["name"], "durable_object_namespace_name": b["class_name"]})
			}
		}
	}
	return object{"services": object{"incoming": services, "outgoing": []any{}}, "durable_objects": classes, "dispatch_outbounds": []any{}}, nil
}

// listTailing tells whose tails a Worker gets.
func listTailing(w *world, r request) (any, *failure) {
	all := []any{}
	for _, other := range w.workers {
		for _, c := range other.tailConsumers {
			if other.account == r.account && c.(object)["service"] == r.path["scriptName"] {
				all = append(all, object{"producer": object{"service": other.name, "environment": "production"}})
			}
		}
	}
	return all, nil
}
