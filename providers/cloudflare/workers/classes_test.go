package workers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestClasses: classes of Durable Objects come, are renamed, are taken over from another Worker, and go with leave alone.
func TestClasses(t *testing.T) {
	t.Parallel()
	l := begin(t)
	declared := func(classes obj) obj { return with(plain(), obj{"durableObjects": classes, "deletedClasses": nil}) }
	classes := func() string {
		t.Helper()
		var names []string
		for _, c := range l.Do(t, http.MethodGet, account+"/workers/durable_objects/namespaces", nil).([]any) {
			if c := c.(obj); c["script"] == l.out.Identity {
				names = append(names, fmt.Sprint(c["class"], " ", c["id"]))
			}
		}
		slices.Sort(names)
		return strings.Join(names, ", ")
	}
	bound := with(declared(obj{"Room": obj{}}), obj{"env": obj{"ROOM": obj{"durableObject": "Room"}}})
	l.wrote("a class", l.to(bound), "PutScript")
	_, id, _ := strings.Cut(classes(), " ")
	l.AddDurableObject(l.out.Identity, "Room")

	err := l.try(declared(nil))
	if dropped, ok := errors.AsType[*DroppedClassError](err); !ok || dropped.Class != "Room" || len(l.Wrote()) != 0 {
		t.Errorf("a class that is declared no longer: %v, wrote %v", err, l.Wrote())
	}
	renamed := with(declared(obj{"Desk": obj{"renamedFrom": "Room"}}), obj{"code": obj{"script": "export class Desk {} export class Boxx {} export default {}"}})
	armed := l.Inject(cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.Refuse, Code: "10079", Status: 412}) // somebody came between
	l.to(renamed)
	if armed.Fired() != 1 {
		t.Error("nobody came between")
	}
	if have := classes(); have != "Desk "+id {
		t.Errorf("renamed: %s, want Desk %s", have, id)
	}
	l.wrote("what was renamed once", l.to(renamed))
	taken := with(renamed, obj{"durableObjects": obj{"Desk": obj{"renamedFrom": "Room"}, "Boxx": obj{"from": "auth"}}})
	l.Upload(t, "auth", cloudflaretest.Upload{ // it has the class no longer, but its objects
		Metadata: obj{"main_module": "index.js", "compatibility_date": date},
		Modules:  []cloudflaretest.Module{{Name: "index.js", Type: esm, Content: []byte("export class Box {} export class Boxx {} export default {}")}},
	})
	l.to(taken)
	if have := classes(); !strings.Contains(have, "Boxx ") || !strings.Contains(have, "Desk "+id) {
		t.Errorf("taken over: %s", have)
	}
	look, err := l.kind.Look(t.Context(), l.job(taken))
	if err != nil || !look.Holds {
		t.Errorf("a Worker with an object holds data: %v, %v", look.Holds, err)
	}
	if err := l.kind.Delete(t.Context(), l.job(nil)); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("deleted without leave: %v", err)
	}
	l.to(with(declared(obj{"Boxx": obj{}}), obj{"code": renamed["code"], "deletedClasses": list{"Desk"}}))
	if have := classes(); strings.Contains(have, "Desk") {
		t.Errorf("after the deletion: %s", have)
	}
}

// TestContainerClass: an upload names the classes that have containers. Nothing shows that again, so that it is noted, uploaded once more
// where it changes, and kept by changes of other props.
func TestContainerClass(t *testing.T) {
	t.Parallel()
	l := begin(t)
	declared := func(room obj, more obj) obj {
		p := obj{
			"code":              obj{"script": "export class Room {} export default { fetch() { return new Response('ok') } }"},
			"compatibilityDate": date, "durableObjects": obj{"Room": room},
		}
		return with(p, more)
	}
	named := func() any {
		all := l.Uploads(l.out.Identity)
		return all[len(all)-1].Metadata["containers"]
	}
	l.to(declared(obj{}, nil))
	if have := named(); have != nil {
		t.Errorf("a class without a container: %v", have)
	}
	l.wrote("a class with a container beside it", l.to(declared(obj{}, obj{
		"durableObjects": obj{"Room": obj{}, "Hall": obj{"container": true}},
		"code":           obj{"script": "export class Room {} export class Hall {} export default { fetch() { return new Response('ok') } }"},
	})), "PutScript")
	l.to(declared(obj{}, obj{"deletedClasses": list{"Hall"}}))
	l.wrote("a class with a container", l.to(declared(obj{"container": true}, nil)), "PutScript")
	if have := fmt.Sprint(named()); have != "[map[class_name:Room]]" {
		t.Errorf("with a container: %s", have)
	}
	l.wrote("nothing", l.to(declared(obj{"container": true}, nil)))
	l.wrote("a variable", l.to(declared(obj{"container": true}, obj{"env": obj{"A": "b"}})), "PatchScriptScriptAndVersionSetting")
	if have := fmt.Sprint(named()); have != "[map[class_name:Room]]" {
		t.Errorf("after another change: %s", have)
	}
	l.wrote("a class without one", l.to(declared(obj{}, obj{"env": obj{"A": "b"}})), "PutScript")
	if have := named(); have != nil {
		t.Errorf("without one again: %v", have)
	}
}
