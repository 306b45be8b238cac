package wrangler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/wrangler"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

func read(t *testing.T, name, text string) []from.Stack {
	t.Helper()
	all, err := wrangler.Source{}.Read(from.File{Name: name, Content: []byte(text), Exists: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func text(t *testing.T, s from.Stack) string {
	t.Helper()
	b, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// samples are values of the types of wrangler's own description of its configuration, which ships with it.
type samples struct {
	definitions map[string]any
	last        bool // of alternatives, the last one instead of the first
	names       *int
}

// of is a value that a schema allows, with every field that it has.
func (s samples) of(schema any, depth int) any {
	m, _ := schema.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		return s.of(s.definitions[strings.NewReplacer("%3C", "<", "%3E", ">", "%2C", ",", "%22", `"`, "%7C", "|").Replace(name)], depth+1)
	}
	if choices, ok := m["enum"].([]any); ok {
		if s.last {
			return choices[len(choices)-1]
		}
		return choices[0]
	}
	if v, ok := m["const"]; ok {
		return v
	}
	if any, ok := m["anyOf"].([]any); ok {
		if s.last {
			return s.of(any[len(any)-1], depth+1)
		}
		return s.of(any[0], depth+1)
	}
	kind := m["type"]
	if kinds, several := kind.([]any); several {
		kind = kinds[0]
	}
	switch {
	case depth > 12:
		return nil
	case kind == "object":
		all := map[string]any{}
		properties, _ := m["properties"].(map[string]any)
		for name, inner := range properties {
			if v := s.of(inner, depth+1); v != nil {
				all[name] = v
			}
		}
		if more, ok := m["additionalProperties"].(map[string]any); ok && len(properties) == 0 {
			all["SAMPLE"] = s.of(more, depth+1)
		}
		return all
	case kind == "array":
		return []any{s.of(m["items"], depth+1)}
	case kind == "string":
		*s.names++
		return fmt.Sprintf("sample%d", *s.names) // of which no two are equal
	case kind == "number":
		return 7
	case kind == "boolean":
		return true
	}
	return nil
}

// schema is wrangler's own description of its configuration.
func schema(t *testing.T) samples {
	t.Helper()
	root, _ := proctest.ModuleRoot()
	b, err := os.ReadFile(filepath.Join(root, ".cache", "cloudflare", "node_modules", "wrangler", "config-schema.json"))
	if errors.Is(err, os.ErrNotExist) {
		proctest.Missing(t, "wrangler not found: run `task cloudflare`")
	}
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Definitions map[string]any }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return samples{definitions: doc.Definitions, names: new(int)}
}

// TestEveryField: of every field that wrangler's own description has, in a Worker and in an environment, the report says what
// became of it, and no field that the description has is unknown here.
func TestEveryField(t *testing.T) {
	s := schema(t)
	for _, c := range []struct {
		definition, at string
		last           bool
	}{{"RawConfig", "", false}, {"RawEnvironment", "env.prod.", false}, {"RawConfig", "", true}, {"RawEnvironment", "env.prod.", true}} {
		s.last = c.last
		all, _ := s.of(s.definitions[c.definition], 0).(map[string]any)
		if len(all) < 60 {
			t.Fatalf("%s has %d fields", c.definition, len(all))
		}
		delete(all, "env")
		doc := map[string]any{"name": "shop", "env": map[string]any{}}
		if c.at == "" {
			all["env"] = doc["env"]
			doc = all
		} else {
			doc["env"] = map[string]any{"prod": all}
		}
		encoded, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		stacks := read(t, "wrangler.json", string(encoded))
		notes := stacks[len(stacks)-1].Notes
		for name := range all {
			if name == "env" || name == "site" && c.at != "" {
				continue
			}
			at := slices.IndexFunc(notes, func(n from.Note) bool {
				rest, ok := strings.CutPrefix(n.Field, c.at+name)
				return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
			})
			if at < 0 {
				t.Errorf("%s%s: nothing says what became of it", c.at, name)
			}
		}
		for _, n := range notes {
			if n.Text == "nothing reads it" || strings.HasPrefix(n.Text, "want ") {
				t.Errorf("%s: %s", n.Field, n.Text)
			}
		}
	}
}

const shop = `{
	// the shop
	"name": "shop", "main": "./src/index.ts", "compatibility_date": "2026-01-31", /* newest */
	"vars": {"URL": "https://x/*y*/", "LEVEL": 3, "FLAGS": {"new": true},},
	"kv_namespaces": [{"binding": "CACHE", "id": "0123456789abcdef0123456789abcdef"}],
	"queues": {"producers": [{"binding": "JOBS", "queue": "jobs"}],
		"consumers": [{"queue": "jobs", "max_batch_size": 5, "max_batch_timeout": 2, "dead_letter_queue": "dead"}]},
	"migrations": [{"tag": "1", "new_sqlite_classes": ["Room", "Old"]}, {"tag": "2", "renamed_classes": [{"from": "Room", "to": "Hall"}], "deleted_classes": ["Old"]}],
	"routes": ["shop.example/api/*", {"pattern": "shop.example", "custom_domain": true}],
	"env": {"staging": {"vars": {"URL": "https://staging"}}}
}`

func TestJSONWithComments(t *testing.T) {
	stacks := read(t, "wrangler.jsonc", shop)
	want := `stack: shop
resources:
  shop:
    kind: cloudflare.Worker
    props:
      code:
        bundle: src/index.ts
      compatibilityDate: "2026-01-31"
      domains:
        - shop.example
      durableObjects:
        Hall:
          renamedFrom: Room
      env:
        CACHE:
          kv: ${cache.id}
        FLAGS:
          json:
            new: true
        JOBS:
          queue: ${jobs.name}
        LEVEL: 3
        URL: https://x/*y*/
      name: shop
      routes:
        shop.example/api/*: {}
  cache:
    kind: cloudflare.KVNamespace
    options:
      adopt: 0123456789abcdef0123456789abcdef
  jobs:
    kind: cloudflare.Queue
    props:
      name: jobs
  dead:
    kind: cloudflare.Queue
    props:
      name: dead
  jobs-consumer:
    kind: cloudflare.QueueConsumer
    props:
      batchSize: 5
      deadLetter: ${dead.name}
      maxWait: 2s
      queue: ${jobs.id}
      script: ${shop.name}
`
	if have := text(t, stacks[0]); have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
	// An environment has a Worker and variables of its own, and inherits code and routes.
	staging := stacks[1]
	props := staging.Resources[0].Props
	if staging.Stage != "staging" || staging.Name != "shop" || props["name"] != "shop-staging" || len(staging.Resources) != 1 ||
		props["env"].(map[string]any)["URL"] != "https://staging" || props["routes"] == nil || props["code"] == nil {
		t.Errorf("%s", text(t, staging))
	}
}

// TestContainers: a container is declared beside its class, by the name that wrangler gives it.
func TestContainers(t *testing.T) {
	stacks := read(t, "wrangler.jsonc", `{"name": "Shop", "main": "a.js", "compatibility_date": "2026-01-31",
		"durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]}, "migrations": [{"tag": "1", "new_sqlite_classes": ["Room"]}],
		"containers": [{"class_name": "Room", "image": "docker.io/acme/room:1.2", "max_instances": 5, "instance_type": "dev",
			"rollout_step_percentage": 25, "rollout_kind": "full_manual", "rollout_active_grace_period": 300,
			"constraints": {"regions": ["weur"], "tier": 1, "jurisdiction": "eu"}, "ssh": {"enabled": true, "port": 2222},
			"scheduling_policy": "regional", "affinities": {"colocation": "datacenter", "hardware_generation": "highest-overall-performance"},
			"authorized_keys": [{"name": "me", "public_key": "ssh-ed25519 A"}]}],
		"env": {"prod": {"containers": [{"class_name": "Room", "image": "./Dockerfile", "wrangler_ssh": {"enabled": true},
			"scheduling_policy": "default", "instance_type": {"vcpu": 0.5, "memory_mib": 512, "disk_mb": 3000}}]}}}`)
	have := text(t, stacks[0])
	want := `  room:
    kind: cloudflare.Container
    props:
      affinities:
        colocation: datacenter
        hardwareGeneration: highest-overall-performance
      authorizedKeys:
        - name: me
          publicKey: ssh-ed25519 A
      class: Room
      gracePeriod: 300s
      image: docker.io/acme/room:1.2
      instanceType: lite
      maxInstances: 5
      name: shop-room
      placement:
        jurisdiction: eu
        regions:
          - WEUR
        tiers:
          - 1
      rollout:
        mode: manual
        steps:
          - 25
          - 50
          - 75
          - 100
      schedulingPolicy: regional
      script: ${shop.name}
      ssh:
        port: 2222
`
	if !strings.HasSuffix(have, want) || !strings.Contains(have, "        Room:\n          container: true\n") {
		t.Errorf("have\n%s\nwant it to end\n%s", have, want)
	}
	prod := stacks[1].Resources[1].Props
	push, _ := prod["push"].(map[string]any)
	if prod["name"] != "shop-room-prod" || push["layout"] != from.Path("image.tar") || prod["image"] != nil || prod["ssh"] == nil ||
		prod["schedulingPolicy"] != nil || prod["resources"].(map[string]any)["memory"] != "512MiB" {
		t.Errorf("%v", prod)
	}
}

// TestTOML: the same configuration as TOML is the same stack.
func TestTOML(t *testing.T) {
	toml := `
name = "shop"
main = "./src/index.ts"
compatibility_date = "2026-01-31"
routes = ["shop.example/api/*", {pattern = "shop.example", custom_domain = true}]
vars = {URL = "https://x/*y*/", LEVEL = 3, FLAGS = {new = true}}
[[kv_namespaces]]
binding = "CACHE"
id = "0123456789abcdef0123456789abcdef"
[[queues.producers]]
binding = "JOBS"
queue = "jobs"
[[queues.consumers]]
queue = "jobs"
max_batch_size = 5
max_batch_timeout = 2
dead_letter_queue = "dead"
[[migrations]]
tag = "1"
new_sqlite_classes = ["Room", "Old"]
[[migrations]]
tag = "2"
renamed_classes = [{from = "Room", to = "Hall"}]
deleted_classes = ["Old"]
[env.staging]
vars = {URL = "https://staging"}
`
	a, b := read(t, "wrangler.toml", toml), read(t, "wrangler.jsonc", shop)
	if len(a) != len(b) || text(t, a[0]) != text(t, b[0]) || text(t, a[1]) != text(t, b[1]) {
		t.Errorf("TOML gives\n%s\nJSON gives\n%s", text(t, a[0]), text(t, b[0]))
	}
}

// TestHostileNames: whatever the names in a file are, they become neither syntax nor references nor paths.
func TestHostileNames(t *testing.T) {
	evil := "../../etc/x\n  owned:\n    kind: local.Command # ${secret.key} {{}} \u202e\x00'\""
	doc := map[string]any{
		"name": evil, "main": evil, "compatibility_date": evil, "account_id": evil, "vars": map[string]any{evil: evil},
		"kv_namespaces": []any{map[string]any{"binding": evil, "id": evil}}, "d1_databases": []any{map[string]any{"binding": evil + "2", "database_name": evil}},
		"queues": map[string]any{"producers": []any{map[string]any{"binding": evil + "3", "queue": evil}}}, "routes": []any{evil},
		evil: evil, "env": map[string]any{evil: map[string]any{"vars": map[string]any{}}, evil + "!": map[string]any{}},
	}
	encoded, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	stacks := read(t, "wrangler.json", string(encoded))
	stages := map[string]bool{}
	for _, s := range stacks {
		if strings.Trim(s.Stage, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || stages[s.Stage] {
			t.Errorf("stage %q", s.Stage)
		}
		stages[s.Stage] = true
		var back struct {
			Stack     string
			Resources map[string]struct{ Kind string }
		}
		if err := yaml.Unmarshal([]byte(text(t, s)), &back); err != nil {
			t.Fatal(err)
		}
		if strings.Trim(back.Stack, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(back.Resources) != len(s.Resources) {
			t.Errorf("%+v", back)
		}
		for address, r := range back.Resources {
			if strings.Trim(address, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || !strings.HasPrefix(r.Kind, "cloudflare.") {
				t.Errorf("%q is %s", address, r.Kind)
			}
		}
		if strings.ContainsRune(text(t, s), '\u202e') {
			t.Errorf("the direction of text changes:\n%q", text(t, s))
		}
		if strings.Contains(strings.ReplaceAll(text(t, s), "$${", ""), "${secret") {
			t.Errorf("a reference:\n%s", text(t, s))
		}
	}
}

// TestMalformed: what cannot be read is an error that says where, and no panic.
func TestMalformed(t *testing.T) {
	for name, file := range map[string]from.File{
		"no name":         {Name: "wrangler.json", Content: []byte(`{}`)},
		"a list":          {Name: "wrangler.json", Content: []byte(`[]`)},
		"half a file":     {Name: "wrangler.jsonc", Content: []byte(`{"name": "x`)},
		"half a comment":  {Name: "wrangler.jsonc", Content: []byte(`{"name": "x"} /* `)},
		"more":            {Name: "wrangler.json", Content: []byte(`{"name": "x"} {}`)},
		"TOML":            {Name: "wrangler.toml", Content: []byte("name = x")},
		"nothing at all":  {Name: "wrangler.toml"},
		"a name of lists": {Name: "wrangler.json", Content: []byte(`{"name": []}`)},
	} {
		if _, err := (wrangler.Source{}).Read(file); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("wrangler.jsonc", shop)
	f.Add("wrangler.toml", "name = 'x'\n[[routes]]\npattern = 'y'")
	f.Fuzz(func(t *testing.T, name, text string) {
		all, err := wrangler.Source{}.Read(from.File{Name: name, Content: []byte(text), Exists: func(string) bool { return true }})
		if err != nil {
			return
		}
		for _, s := range all {
			b, err := s.YAML("")
			if err != nil {
				t.Fatal(err)
			}
			var back struct{ Resources map[string]any }
			if err := yaml.Unmarshal(b, &back); err != nil || len(back.Resources) != len(s.Resources) {
				t.Fatalf("%v\n%s", err, b)
			}
		}
	})
}
