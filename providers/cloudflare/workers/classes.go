package workers

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveClass is a class whose objects are kept.
type liveClass struct {
	id     string
	sqlite bool
}

func checkClasses(want WorkerProps) props.Errors {
	var problems props.Errors
	from := map[string]string{}
	for _, name := range sortedKeys(want.DurableObjects) {
		c, at := want.DurableObjects[name], tree.Path("durableObjects").Key(name)
		if c.RenamedFrom == "" {
			continue
		}
		if c.RenamedFrom == name && c.From == "" {
			problems.Wrong(at.Key("renamedFrom"), "it has this name")
		}
		if _, declared := want.DurableObjects[c.RenamedFrom]; declared && c.From == "" {
			problems.Wrong(at.Key("renamedFrom"), "this class is declared too")
		}
		key := string(c.From) + "/" + c.RenamedFrom
		if other := from[key]; other != "" {
			problems.Wrong(at.Key("renamedFrom"), "durableObjects."+other+" was it too")
		}
		from[key] = name
	}
	for _, e := range entries(want, func(tree.Path) bool { return false }) {
		name, ok := e.row["durableObject"].(string)
		_, declared := want.DurableObjects[name]
		if ok && e.row["script"] == nil && !declared && !token.Has(name) {
			problems.Wrong(e.path, "durableObjects does not declare the class, and no script is named that has it")
		}
	}
	return problems
}

// readClasses reads which classes the Worker has, and whether there are objects of them. Without a migration it has none.
func readClasses(ctx context.Context, site workerSite, live *liveWorker) error {
	live.classes = map[string]liveClass{}
	if live.migrationTag == "" {
		return nil
	}
	const perPage = 100
	var cycle cloudflare.Cycle
	for page := 1; ; page++ {
		var list []struct {
			ID     string `json:"id"`
			Class  string `json:"class"`
			Script string `json:"script"`
			SQLite bool   `json:"use_sqlite"`
		}
		path := "/accounts/" + live.account + "/workers/durable_objects/namespaces?per_page=" + strconv.Itoa(perPage) + "&page=" + strconv.Itoa(page)
		if err := cloudflare.Call(ctx, site.Cloud, cloudflare.Request{Method: http.MethodGet, Path: path}, &list); err != nil {
			return err
		}
		if err := cycle.Check(list); err != nil {
			return err
		}
		for _, c := range list {
			if c.Script == live.name {
				live.classes[c.Class] = liveClass{c.ID, c.SQLite}
			}
		}
		if len(list) < perPage {
			return readObjects(ctx, site.Cloud, live)
		}
	}
}

// readObjects finds one object of any class.
func readObjects(ctx context.Context, cloud kind.Cloud, live *liveWorker) error {
	for _, name := range sortedKeys(live.classes) {
		var list []struct{ ID string }
		path := "/accounts/" + live.account + "/workers/durable_objects/namespaces/" + live.classes[name].id + "/objects?limit=1"
		if err := cloudflare.Call(ctx, cloud, cloudflare.Request{Method: http.MethodGet, Path: path}, &list); err != nil {
			return err
		}
		if len(list) > 0 {
			live.objects = true
			return nil
		}
	}
	return nil
}

// compareClasses states which classes there are. Where they come from says how they are made, and is nothing by itself.
func compareClasses(d *kind.Diff[liveWorker], want WorkerProps, live liveWorker, set *kind.Operation[liveWorker]) {
	names := maps.Clone(want.DurableObjects)
	if names == nil {
		names = map[string]DurableObject{}
	}
	for name := range live.classes {
		names[name] = DurableObject{}
	}
	for _, name := range sortedKeys(names) {
		var w, h *DurableObject
		if c, ok := live.classes[name]; ok {
			h = &DurableObject{KeyValue: !c.sqlite}
		}
		if c, ok := want.DurableObjects[name]; ok {
			w = &DurableObject{KeyValue: c.KeyValue}
			if h != nil {
				w.KeyValue = h.KeyValue
			}
		}
		at := tree.Path("durableObjects").Key(name)
		reconcile.Value(d, at, w, h, set)
		if w != nil {
			reconcile.Written(d, at.Key("container"), contained(want, name), set)
		}
	}
}

// contained is what an upload says of a class with a container, "" of another one.
func contained(want WorkerProps, name string) string {
	if want.DurableObjects[name].Container {
		return name
	}
	return ""
}

// containers are the classes that have containers, as an upload names them.
func containers(want WorkerProps) []any {
	var all []any
	for _, name := range sortedKeys(want.DurableObjects) {
		if want.DurableObjects[name].Container {
			all = append(all, map[string]any{"class_name": name})
		}
	}
	return all
}

// dropped tells what becomes of classes that are declared no longer, "" when there are none.
func (u *update) dropped(live liveWorker) string {
	var deleted []string
	for _, name := range sortedKeys(live.classes) {
		if slices.Contains(u.want.DeletedClasses, name) {
			deleted = append(deleted, name)
		}
	}
	if len(deleted) == 0 {
		return ""
	}
	return "deletes all Durable Objects of " + strings.Join(deleted, ", ")
}

// wireMigration is one step, which changes classes.
type wireMigration struct {
	New         []string            `json:"new_classes,omitempty"`
	NewSQLite   []string            `json:"new_sqlite_classes,omitempty"`
	Renamed     []map[string]string `json:"renamed_classes,omitempty"`
	Transferred []map[string]string `json:"transferred_classes,omitempty"`
	Deleted     []string            `json:"deleted_classes,omitempty"`
}

// DroppedClassError says that a class of Durable Objects is declared no longer, and nothing says what is to become of it.
type DroppedClassError struct{ Class string }

func (e *DroppedClassError) Error() string {
	return fmt.Sprintf("the class %s has Durable Objects, and is declared no longer", e.Class)
}

// migration is what makes the classes that are there those that are wanted, for the paths that are to be changed; nil when
// they are.
func migration(want WorkerProps, live liveWorker, changed func(tree.Path) bool) (map[string]any, error) {
	var m wireMigration
	gone := map[string]bool{}
	for name := range live.classes {
		_, wanted := want.DurableObjects[name]
		gone[name] = !wanted && changed(tree.Path("durableObjects").Key(name))
	}
	for _, name := range sortedKeys(want.DurableObjects) {
		c := want.DurableObjects[name]
		if _, there := live.classes[name]; there || !changed(tree.Path("durableObjects").Key(name)) {
			continue
		}
		switch _, renamed := live.classes[c.RenamedFrom]; {
		case c.From != "":
			from := c.RenamedFrom
			if from == "" {
				from = name
			}
			m.Transferred = append(m.Transferred, map[string]string{"from": from, "from_script": string(c.From), "to": name})
		case renamed:
			m.Renamed = append(m.Renamed, map[string]string{"from": c.RenamedFrom, "to": name})
			delete(gone, c.RenamedFrom)
		case c.KeyValue:
			m.New = append(m.New, name)
		default:
			m.NewSQLite = append(m.NewSQLite, name)
		}
	}
	for _, name := range sortedKeys(gone) {
		if !gone[name] {
			continue
		}
		if !slices.Contains(want.DeletedClasses, name) {
			return nil, cloudflare.Invalid(reconcile.WithHint(&DroppedClassError{name},
				"name it in renamedFrom of the class that it is now, or in deletedClasses to delete all that its objects hold"))
		}
		m.Deleted = append(m.Deleted, name)
	}
	return m.wire(live.migrationTag), nil
}

// wire is the migration with its tags: the one that the Worker has, so that nobody else's comes between, and a new one.
func (m wireMigration) wire(old string) map[string]any {
	text := fmt.Sprint(m)
	if text == fmt.Sprint(wireMigration{}) {
		return nil
	}
	all := map[string]any{"new_tag": "athanor-" + digestOf(old, text), "steps": []any{m}}
	if old != "" {
		all["old_tag"] = old
	}
	return all
}
