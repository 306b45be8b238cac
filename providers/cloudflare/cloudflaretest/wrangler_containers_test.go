package cloudflaretest

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// wranglerContainers: wrangler deploys a Worker whose class has a container, lists it, and changes it by a rollout, all of which it finds here as at
// Cloudflare. What it deployed is adopted by what its configuration says, changed, and found unchanged by wrangler after that; a destroy deletes the
// application before the Worker.
func wranglerContainers(t *testing.T) {
	s := Start(t)
	s.Setenv(t)
	dir := t.TempDir()
	deploy := func(image string) string {
		t.Helper()
		for name, text := range map[string]string{
			"index.js": `import { DurableObject } from "cloudflare:workers";
export class Room extends DurableObject { async fetch() { return new Response(String(this.ctx.container === undefined)) } }
export default { fetch(r, env) { return env.ROOM.get(env.ROOM.idFromName("a")).fetch(r) } };`,
			"wrangler.json": `{"name": "rooms", "main": "index.js", "compatibility_date": "2026-01-31",
				"durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]}, "migrations": [{"tag": "1", "new_sqlite_classes": ["Room"]}],
				"containers": [{"class_name": "Room", "image": "` + image + `", "max_instances": 3, "instance_type": "basic"}]}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return wranglerIn(t, dir, s, "deploy")
	}
	if said := deploy("docker.io/acme/room:1"); !strings.Contains(said, "Created application") {
		t.Errorf("wrangler deploys:\n%s", said)
	}
	listed := func() (all []object) {
		t.Helper()
		said := wrangler(t, s, "containers", "list")
		if err := json.Unmarshal([]byte(said), &all); err != nil || len(all) != 1 || all[0]["name"] != "rooms-room" {
			t.Fatalf("wrangler lists:\n%s", said)
		}
		return all
	}
	id, _ := listed()[0]["id"].(string)
	if said := wrangler(t, s, "containers", "info", id); !strings.Contains(said, "docker.io/acme/room:1") {
		t.Errorf("wrangler shows:\n%s", said)
	}
	if said := deploy("docker.io/acme/room:2"); !strings.Contains(said, "Modified application") || len(s.Rollouts("rooms-room")) != 1 {
		t.Errorf("wrangler changes the image:\n%s", said)
	}

	a := newAdopting(t, dir)
	p := a.plan(true)
	for _, action := range p.Actions {
		if action.Action != engine.Adopt && action.Action != engine.Recover {
			t.Errorf("%s: %s %s", action.Address, action.Action, action.Problem)
		}
		for _, r := range action.Reasons { // nothing tells which classes of a Worker have containers
			if !slices.Contains(ownership, r.Path) && r.Path != "durableObjects.Room.container" {
				t.Errorf("%s differs in %s: %v → %v", action.Address, r.Path, r.Have, r.Want)
			}
		}
	}
	a.apply(p)
	s.Reset()
	if again := a.apply(a.plan(false)); again.Unchanged != len(a.g.Resources) || len(s.Wrote()) > 0 {
		t.Errorf("the second deploy: %+v %v", again, s.Wrote())
	}
	for i, r := range a.g.Resources {
		if r.Kind == "cloudflare.Container" {
			a.g.Resources[i].Props["image"] = "docker.io/acme/room:3"
		}
	}
	if got := a.apply(a.plan(false)); got.Updated != 1 || len(s.Rollouts("rooms-room")) != 2 {
		t.Errorf("another image: %+v", got)
	}
	if said := deploy("docker.io/acme/room:3"); !strings.Contains(said, "no changes rooms-room") {
		t.Errorf("wrangler finds what was deployed:\n%s", said)
	}
	t.Run("runs", func(t *testing.T) {
		res, err := http.Get(s.Run(t, "rooms"))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if have, err := io.ReadAll(res.Body); err != nil || string(have) != "true" {
			t.Errorf("without a container on this machine an object answers %s, %v", have, err)
		}
	})

	s.Reset()
	g := &engine.Graph{Format: engine.GraphFormat, Stack: a.g.Stack, Stage: a.g.Stage, Dir: dir}
	p, err := a.e.PlanDestroy(t.Context(), statestore.Stage{Stack: g.Stack, Name: g.Stage}, g, engine.PlanOptions{AllowDelete: []string{"**"}})
	if err != nil {
		t.Fatal(err)
	}
	a.apply(p)
	wrote := s.Wrote()
	application, worker := slices.Index(wrote, "Containers.DeleteContainerApplication"), slices.Index(wrote, "Workers.DeleteScript")
	if application < 0 || worker < application {
		t.Errorf("the destroy wrote %v", wrote)
	}
}
