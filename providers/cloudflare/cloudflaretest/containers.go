package cloudflaretest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// app is an application of containers, for one class of Durable Objects.
type app struct {
	account, id string
	body        object // as it is shown, without what follows from others
	version     int
	rollouts    []object // the newest last
}

var containerHandlers = map[string]handler{
	"containers.ListContainerApplications":          listApps,
	"containers.CreateContainerApplication":         createApp,
	"containers.GetContainerApplication":            onApp(func(_ *world, _ request, a *app) (any, *failure) { return a.shown(), nil }),
	"containers.UpdateContainerApplication":         onApp(updateApp),
	"containers.DeleteContainerApplication":         onApp(deleteApp),
	"containers.CreateContainerApplicationRollout":  onApp(createRollout),
	"containers.CreateContainerRegistryCredentials": createCredentials,
}

func noApp() *failure {
	return &failure{service: "containers", status: 404, code: 1609, message: coded("APPLICATION_NOT_FOUND", nil)}
}

// coded is a message of this service: JSON, which wrangler reads (formatError of its containers/deploy.ts).
func coded(word string, details object) string {
	text, _ := json.Marshal(object{"error": word, "details": details}) // always can
	return string(text)
}

func onApp(do func(*world, request, *app) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, a := range w.apps {
			if a.account == r.account && a.id == r.path["application_id"] {
				return do(w, r, a)
			}
		}
		return nil, noApp()
	}
}

// instanceTypes are what instances of each type have, as wrangler knows them (its cloudchamber/instance-type/instance-type.ts).
var instanceTypes = map[string][3]float64{
	"lite": {0.0625, 256, 2000}, "dev": {0.0625, 256, 2000}, "basic": {0.25, 1024, 4000}, "standard": {0.5, 4096, 8000},
	"standard-1": {0.5, 4096, 8000}, "standard-2": {1, 6144, 12000}, "standard-3": {2, 8192, 16000}, "standard-4": {4, 12288, 20000},
}

// take takes over a configuration: a type of instances becomes what these have, which is how it is shown. What is left out stays.
func (a *app) take(w *world, configuration object) *failure {
	have, _ := a.body["configuration"].(object)
	have = maps.Clone(have)
	if have == nil {
		have = object{}
	}
	maps.Copy(have, configuration)
	if image, _ := have["image"].(string); !w.images.has(image) {
		return &failure{status: 400, code: 1000, message: coded("IMAGE_REGISTRY_DOESNT_CONTAIN_IMAGE", object{"image": image})}
	}
	if name, typed := have["instance_type"].(string); typed {
		of, known := instanceTypes[name]
		if !known {
			return &failure{status: 400, code: 1000, message: coded("VALIDATE_INPUT", object{"instance_type": name})}
		}
		delete(have, "instance_type")
		have["vcpu"], have["memory_mib"], have["disk"] = of[0], of[1], object{"size_mb": of[2]}
	}
	memory, _ := have["memory_mib"].(float64)
	disk, _ := have["disk"].(object)
	size, _ := disk["size_mb"].(float64)
	have["memory"] = fmt.Sprintf("%gMiB", memory)
	have["disk"] = object{"size_mb": size, "size": fmt.Sprintf("%gMB", size)}
	a.body["configuration"] = have
	return nil
}

func (a *app) shown() object {
	o := maps.Clone(a.body)
	o["id"], o["account_id"], o["created_at"], o["version"] = a.id, a.account, "2024-01-01T00:00:00Z", a.version
	o["health"] = object{"instances": object{"healthy": 0, "failed": 0, "starting": 0, "scheduling": 0}}
	return o
}

func listApps(w *world, r request) (any, *failure) {
	all := []any{}
	for _, a := range w.apps {
		if a.account == r.account {
			all = append(all, a.shown())
		}
	}
	return all, nil
}

// namespace is the id of the class that an application is for.
func (a *app) namespace() any {
	of, _ := a.body["durable_objects"].(object)
	return of["namespace_id"]
}

// createApp makes an application for a class of Durable Objects that has none yet, and that its Worker says to have a container.
func createApp(w *world, r request) (any, *failure) {
	a := &app{account: r.account, id: uuid(), version: 1, body: object{"constraints": object{}, "rollout_active_grace_period": 0}}
	for name, v := range r.body {
		if name != "configuration" {
			a.body[name] = v
		}
	}
	configuration, _ := r.body["configuration"].(object)
	if f := a.take(w, configuration); f != nil {
		return nil, f
	}
	if a.namespace() != nil {
		k, c := w.classOf(r.account, a.namespace())
		if c == nil {
			return nil, &failure{status: 400, code: 1000, message: "There was an error checking the application durable object"}
		}
		if !k.live().contains(c.name) {
			return nil, &failure{status: 400, code: 1607, message: coded("DURABLE_OBJECT_NOT_CONTAINER_ENABLED", nil)}
		}
		for _, other := range w.apps {
			if other.account == r.account && other.namespace() == a.namespace() {
				return nil, &failure{status: 400, code: 1608, message: coded("DURABLE_OBJECT_ALREADY_HAS_APPLICATION", object{
					"name": other.body["name"], "id": other.id,
				})}
			}
		}
	}
	w.apps = append(w.apps, a)
	return a.shown(), nil
}

// classOf is a class of Durable Objects by its id, and the Worker that has it.
func (w *world) classOf(account string, id any) (*worker, *class) {
	for _, k := range w.workers {
		for _, c := range k.classes {
			if k.account == account && c.id == id {
				return k, c
			}
		}
	}
	return nil, nil
}

// contains reports whether the upload says that a class has a container.
func (v *version) contains(class string) bool {
	list, _ := v.upload.Metadata["containers"].([]any)
	return slices.ContainsFunc(list, func(c any) bool { return c.(object)["class_name"] == class })
}

// updateApp changes what is sent. Running instances stay as they are until a rollout.
func updateApp(w *world, r request, a *app) (any, *failure) {
	if configuration, sent := r.body["configuration"].(object); sent {
		if f := a.take(w, configuration); f != nil {
			return nil, f
		}
	}
	for name, v := range r.body {
		if name != "configuration" {
			a.body[name] = v
		}
	}
	return a.shown(), nil
}

func deleteApp(w *world, _ request, a *app) (any, *failure) {
	w.apps = slices.DeleteFunc(w.apps, func(o *app) bool { return o == a })
	return object{}, nil
}

// createRollout changes what runs to the configuration of the application, in steps that end with all.
func createRollout(w *world, r request, a *app) (any, *failure) {
	before := maps.Clone(a.body["configuration"].(object))
	target, _ := r.body["target_configuration"].(object)
	if f := a.take(w, target); f != nil {
		return nil, f
	}
	given, _ := r.body["steps"].([]any)
	if by, sent := r.body["step_percentage"].(float64); sent {
		for at := by; at <= 100; at += by {
			given = append(given, object{"step_size": object{"percentage": at}, "description": "step"})
		}
	}
	last := 0.0
	steps := []any{}
	for i, one := range given {
		step := maps.Clone(one.(object))
		last, _ = step["step_size"].(object)["percentage"].(float64)
		step["id"], step["status"] = i+1, "pending"
		steps = append(steps, step)
	}
	if last != 100 {
		return nil, &failure{status: 400, code: 1000, message: coded("VALIDATE_INPUT", object{"steps": "the last is 100 percent"})}
	}
	kind, _ := r.body["kind"].(string)
	if kind == "" {
		kind = "full_auto"
	}
	rollout := object{
		"id": uuid(), "created_at": w.now(), "last_updated_at": w.now(), "description": r.body["description"], "kind": kind,
		"strategy": r.body["strategy"], "status": "progressing", "current_version": a.version, "target_version": a.version + 1,
		"current_configuration": before, "target_configuration": target, "steps": steps,
		"health":   object{"instances": object{"healthy": 0, "failed": 0, "starting": 0, "scheduling": 0}},
		"progress": object{"total_steps": len(steps), "current_step": 0, "updated_instances": 0, "total_instances": 0},
	}
	a.version++
	a.rollouts = append(a.rollouts, rollout)
	return rollout, nil
}

// Rollouts are those of the application of a name, the newest last.
func (s *Server) Rollouts(name string) []map[string]any {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, a := range s.world.apps {
		if a.account == s.Account && a.body["name"] == name {
			return slices.Clone(a.rollouts)
		}
	}
	return nil
}
