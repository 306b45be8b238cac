package cloudflaretest

import (
	"maps"
	"slices"
)

var versionHandlers = map[string]handler{
	"workers.ListScriptVersions":     onWorker(listVersions),
	"workers.CreateScriptVersion":    onWorker(createVersion),
	"workers.GetScriptVersion":       onWorker(getVersion),
	"workers.ListScriptDeployments":  onWorker(listDeployments),
	"workers.CreateScriptDeployment": onWorker(createDeployment),
	"workers.GetScriptDeployment":    onDeployment(func(_ *worker, d *deployment) (any, *failure) { return d.shown(), nil }),
	"workers.DeleteScriptDeployment": onDeployment(deleteDeployment),
}

// brief is a version as a list tells it.
func (v *version) brief() object {
	return object{
		"id": v.id, "number": v.number, "annotations": v.annotations,
		"metadata": object{
			"created_on": v.made, "modified_on": v.made, "source": "api", "author_id": hexID(16), "author_email": "test@example.com",
			"hasPreview": false,
		},
	}
}

func (w *world) whole(k *worker, v *version) object {
	o := v.brief()
	runtime := object{"usage_model": "standard"}
	for _, name := range []string{"compatibility_date", "compatibility_flags", "limits"} {
		if value, set := v.settings[name]; set {
			runtime[name] = value
		}
	}
	if limits, set := runtime["limits"].(object); set { // of these a version tells one
		runtime["limits"] = object{"cpu_ms": limits["cpu_ms"]}
	}
	if k.migrationTag != "" {
		runtime["migration_tag"] = k.migrationTag
	}
	o["resources"] = object{
		"bindings": w.readable(k, v), "script_runtime": runtime,
		"script": object{"etag": v.etag(), "handlers": v.handlers(), "last_deployed_from": "api"},
	}
	return o
}

// listVersions tells the newest first; those that can be deployed are the last hundred.
func listVersions(_ *world, r request, k *worker) (any, *failure) {
	all := []any{}
	for _, v := range slices.Backward(k.versions) {
		all = append(all, v.brief())
	}
	if r.query.Get("deployable") == "true" {
		return object{"items": all[:min(len(all), 100)]}, nil
	}
	page := paged(r, all, 10)
	return whole{
		"success": true, "errors": []any{}, "messages": []any{}, "result": object{"items": page.items}, "result_info": page.info,
	}, nil
}

// createVersion makes a version that gets no traffic yet.
func createVersion(w *world, r request, k *worker) (any, *failure) {
	if r.upload.Metadata["migrations"] != nil {
		return nil, &failure{status: 400, code: 10211, message: "Version upload failed. You attempted to upload a version of a Worker that includes a Durable Object migration, but migrations must be fully applied via a non-versioned deployment."}
	}
	v, f := w.candidate(r, k, r.upload, secretTypes...)
	if f == nil {
		f = w.bound(k, v)
	}
	if f != nil {
		return nil, f
	}
	k.add(v)
	o := w.whole(k, v)
	o["startup_time_ms"] = 1
	return o, nil
}

func getVersion(w *world, r request, k *worker) (any, *failure) {
	if v := k.version(r.path["versionId"]); v != nil {
		return w.whole(k, v), nil
	}
	return nil, &failure{status: 404, code: 100146, message: "The version does not exist."}
}

func (d *deployment) shown() object {
	return object{
		"id": d.id, "created_on": d.made, "source": "api", "strategy": "percentage", "versions": d.versions,
		"annotations": d.annotations, "author_email": "test@example.com",
	}
}

func listDeployments(_ *world, _ request, k *worker) (any, *failure) {
	all := []any{}
	for _, d := range slices.Backward(k.deployments) {
		all = append(all, d.shown())
	}
	return object{"deployments": all}, nil
}

// createDeployment shares the traffic among one or two versions.
func createDeployment(w *world, r request, k *worker) (any, *failure) {
	versions, _ := r.body["versions"].([]any)
	sum := 0.0
	for _, one := range versions {
		part := one.(object)
		id, _ := part["version_id"].(string)
		if k.version(id) == nil {
			return nil, &failure{status: 404, code: 100146, message: "The version does not exist."}
		}
		share, _ := part["percentage"].(float64)
		sum += share
	}
	if len(versions) < 1 || len(versions) > 2 || sum != 100 {
		return nil, &failure{status: 400, code: 10021, message: "A deployment has one or two versions, whose percentages make 100."}
	}
	d := &deployment{id: uuid(), made: w.now(), versions: versions, annotations: object{"workers/triggered_by": "deployment"}}
	if notes, sent := r.body["annotations"].(object); sent {
		maps.Copy(d.annotations, notes)
	}
	k.deployments = append(k.deployments, d)
	k.modified = d.made
	return d.shown(), nil
}

func onDeployment(do func(*worker, *deployment) (any, *failure)) handler {
	return onWorker(func(_ *world, r request, k *worker) (any, *failure) {
		for _, d := range k.deployments {
			if d.id == r.path["deploymentId"] {
				return do(k, d)
			}
		}
		return nil, &failure{status: 404, code: 10336, message: "The deployment does not exist."}
	})
}

// deleteDeployment forgets one that is not live.
func deleteDeployment(k *worker, d *deployment) (any, *failure) {
	if d == k.deployments[len(k.deployments)-1] {
		return nil, &failure{status: 400, code: 10021, message: "The live deployment cannot be deleted."}
	}
	k.deployments = slices.DeleteFunc(k.deployments, func(o *deployment) bool { return o == d })
	return whole{"success": true, "errors": []any{}, "messages": []any{}}, nil
}
