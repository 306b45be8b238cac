package cloudflaretest

import (
	"fmt"
	"slices"
	"strconv"
)

// class is a namespace of Durable Objects: a class that a Worker implements.
type class struct {
	id, name string
	sqlite   bool
	objects  int
}

func (k *worker) class(name string) *class {
	if k == nil {
		return nil
	}
	for _, c := range k.classes {
		if c.name == name {
			return c
		}
	}
	return nil
}

// migrate does the migrations of an upload, one step or several.
func (w *world) migrate(k *worker, v *version, migrations any) *failure {
	m, _ := migrations.(object)
	if m == nil {
		return nil
	}
	if old, _ := m["old_tag"].(string); old != k.migrationTag {
		return &failure{status: 412, code: 10079, message: "Migration tag precondition failed; current tag is " + k.migrationTag}
	}
	steps, several := m["steps"].([]any)
	if !several {
		steps = []any{m}
	}
	k.classes = slices.Clone(k.classes)
	for _, step := range steps {
		if f := w.step(k, v, step.(object)); f != nil {
			return f
		}
	}
	if tag, _ := m["new_tag"].(string); tag != "" {
		k.migrationTag = tag
	}
	return nil
}

func (w *world) step(k *worker, v *version, step object) *failure {
	for _, field := range []string{"new_classes", "new_sqlite_classes"} {
		for _, name := range texts(step[field]) {
			if f := k.create(v, name, field == "new_sqlite_classes"); f != nil {
				return f
			}
		}
	}
	for _, one := range pairs(step["renamed_classes"]) {
		if f := k.rename(v, fmt.Sprint(one["from"]), fmt.Sprint(one["to"])); f != nil {
			return f
		}
	}
	for _, one := range pairs(step["transferred_classes"]) {
		if f := w.transfer(k, v, one); f != nil {
			return f
		}
	}
	for _, name := range texts(step["deleted_classes"]) {
		if k.class(name) == nil {
			return refusedMigration("Cannot apply delete-class migration to class '" + name + "' which was not exported in the previous version of the script")
		}
		for _, b := range v.bindings {
			if b["type"] == "durable_object_namespace" && b["class_name"] == name && (b["script_name"] == nil || b["script_name"] == k.name) {
				return &failure{status: 400, code: 10061, message: "Cannot apply --delete-class migration to class '" + name + "' without also removing the binding that references it."}
			}
		}
		k.classes = slices.DeleteFunc(k.classes, func(c *class) bool { return c.name == name })
	}
	return nil
}

func refusedMigration(message string) *failure {
	return &failure{status: 400, code: 10074, message: message}
}

func notExported(what, name string) *failure {
	return &failure{status: 400, code: 10070, message: "Cannot apply " + what + " migration to class '" + name + "' that is not exported by script"}
}

func (v *version) exports(name string) bool {
	main, _ := v.upload.main()
	names, all := exports(string(main.Content))
	return names[name] || all
}

func (k *worker) create(v *version, name string, sqlite bool) *failure {
	switch {
	case k.class(name) != nil:
		return refusedMigration("Cannot apply new-class migration to class '" + name + "' that is already depended on by existing Durable Objects")
	case !v.exports(name):
		return notExported("new-class", name)
	}
	k.classes = append(k.classes, &class{id: hexID(16), name: name, sqlite: sqlite})
	return nil
}

func (k *worker) rename(v *version, from, to string) *failure {
	c := k.class(from)
	switch {
	case c == nil:
		return refusedMigration("Cannot apply renamed-class migration from class '" + from + "' which was not exported in the previous version of the script")
	case k.class(to) != nil:
		return refusedMigration("Class '" + to + "' cannot be the target of more than one migration")
	case !v.exports(to):
		return notExported("renamed-class", to)
	}
	renamed := *c
	renamed.name = to
	k.classes[slices.Index(k.classes, c)] = &renamed
	return nil
}

func (w *world) transfer(k *worker, v *version, one object) *failure {
	from, to := fmt.Sprint(one["from"]), fmt.Sprint(one["to"])
	owner := w.worker(k.account, fmt.Sprint(one["from_script"]))
	c := owner.class(from)
	switch {
	case c == nil:
		return refusedMigration("Cannot apply transferred-class migration from class '" + from + "', which does not exist in that script")
	case k.class(to) != nil:
		return refusedMigration("Class '" + to + "' cannot be the target of more than one migration")
	case !v.exports(to):
		return notExported("transferred-class", to)
	}
	owner.classes = slices.DeleteFunc(slices.Clone(owner.classes), func(o *class) bool { return o == c })
	moved := *c
	moved.name = to
	k.classes = append(k.classes, &moved)
	return nil
}

// classBound checks a binding to Durable Objects.
func classBound(w *world, k *worker, v *version, b object) *failure {
	name, _ := b["class_name"].(string)
	owner := k
	if other, _ := b["script_name"].(string); other != "" && other != k.name {
		owner = w.worker(k.account, other)
	}
	switch {
	case owner == nil:
		return &failure{status: 400, code: 10061, message: fmt.Sprintf("Script '%s' not found for the Durable Object binding '%s'.", b["script_name"], b["name"])}
	case owner.class(name) == nil && (owner != k || v.exports(name)):
		return &failure{status: 400, code: 10061, message: "Cannot create binding for class '" + name + "' because it is not currently configured to implement Durable Objects. Did you forget to apply a migration to enable this class?"}
	case owner == k && !v.exports(name):
		return &failure{status: 400, code: 10061, message: "Cannot create binding for class '" + name + "' that is not exported by script '" + k.name + "'."}
	}
	return nil
}

// exported checks that a version has every class that there are Durable Objects of.
func (w *world) exported(k *worker, v *version) *failure {
	for _, c := range k.classes {
		if !v.exports(c.name) {
			return &failure{status: 400, code: 10064, message: "New version of script does not export class '" + c.name + "' which is depended on by existing Durable Objects. If you want to delete the class's Durable Objects, use a delete-class migration."}
		}
	}
	return nil
}

func listClasses(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, k := range w.workers {
		for _, c := range k.classes {
			if k.account == r.account {
				all[k.name+" "+c.name] = object{"id": c.id, "name": k.name + "_" + c.name, "script": k.name, "class": c.name, "use_sqlite": c.sqlite}
			}
		}
	}
	return paged(r, sorted(all), 100), nil
}

func listClassObjects(w *world, r request) (any, *failure) {
	for _, k := range w.workers {
		for _, c := range k.classes {
			if k.account == r.account && c.id == r.path["id"] {
				from, _ := strconv.Atoi(r.query.Get("cursor"))
				all := []any{}
				for i := from; i < min(c.objects, from+1000); i++ {
					all = append(all, object{"id": fmt.Sprintf("%064x", i+1), "hasStoredData": true})
				}
				cursors := object{}
				if next := from + len(all); next < c.objects {
					cursors["after"] = strconv.Itoa(next)
				}
				return listing{items: all, info: object{"cursors": cursors}}, nil
			}
		}
	}
	return nil, notFound("/workers/durable_objects/namespaces/" + r.path["id"])
}

// AddDurableObject stores an object of a class that a Worker implements.
func (s *Server) AddDurableObject(script, name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.worker(s.Account, script).class(name).objects++
}

// texts are the texts of a list.
func texts(v any) []string {
	list, _ := v.([]any)
	all := make([]string, len(list))
	for i, one := range list {
		all[i], _ = one.(string)
	}
	return all
}

// pairs are the objects of a list.
func pairs(v any) []object {
	list, _ := v.([]any)
	all := make([]object, len(list))
	for i, one := range list {
		all[i], _ = one.(object)
	}
	return all
}
