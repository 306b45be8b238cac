package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

var killAll = flag.Bool("kill.all", false, "kill each command before and after each of its changes (minutes); default: at two of them")

// killed is a stack with what Workers are bound to, two Workers that call each other, and what comes and goes with an update.
const killed = `stack: killed
secrets: {key: {file: key.txt}}
resources:
  seen: {kind: cloudflare.KVNamespace}
  spare: {kind: cloudflare.KVNamespace}
  db: {kind: cloudflare.D1Database, props: {migrations: migrations}}
  jobs: {kind: cloudflare.Queue, props: {messageRetention: 2h}}
  files: {kind: cloudflare.R2Bucket}
  api:
    kind: cloudflare.Worker
    props:
      code: {bundle: api.ts}
      assets: {directory: public, runWorkerFirstAt: ["/api/*"]}
      compatibilityDate: "2026-01-31"
      durableObjects: {Room: {}}
      env:
        SEEN: {kv: "${seen.id}"}
        DB: {d1: "${db.id}"}
        JOBS: {queue: "${jobs.name}"}
        FILES: {r2: "${files.name}"}
        ROOMS: {durableObject: Room}
        OTHER: {service: "${other.name}"}
        KEY: "${secret.key}"
      crons: ["17 3 * * *"]
      domains: [api.shop.example]
      workersDev: true
  other:
    kind: cloudflare.Worker
    props:
      code: {bundle: other.ts}
      compatibilityDate: "2026-01-31"
      env: {API: {service: "${api.name}"}}
  work: {kind: cloudflare.QueueConsumer, props: {queue: "${jobs.id}", script: "${other.name}", batchSize: 5}}
  www: {kind: cloudflare.DNSRecord, props: {zone: shop.example, name: www, type: A, content: 192.0.2.1}}
outputs: {worker: "${api.name}"}
`

// begins are the files that the stack begins with, and updated is what an update makes of them.
var (
	begins = map[string]string{
		"athanor.yaml": killed, "key.txt": "a-first-key\n", "public/index.html": "<h1>first</h1>\n",
		"migrations/0001_rooms.sql": "CREATE TABLE rooms (name TEXT);\n", "migrations/0002_by.sql": "",
		"api.ts": `import { DurableObject } from "cloudflare:workers";
export class Room extends DurableObject {}
export default { fetch: () => new Response("first") };
`,
		"other.ts": "export default { fetch: (_, env) => env.API.fetch(\"http://api/\"), queue() {} };\n",
	}
	updated = map[string]string{
		"athanor.yaml": strings.NewReplacer(
			"  spare: {kind: cloudflare.KVNamespace}", "  extra: {kind: cloudflare.KVNamespace}",
			"messageRetention: 2h", "messageRetention: 4h", "{Room: {}}", "{Hall: {renamedFrom: Room}}", "{durableObject: Room}", "{durableObject: Hall}",
			"17 3 * * *", "18 4 * * *", "[api.shop.example]", "[api.shop.example, www.api.shop.example]", "batchSize: 5", "batchSize: 6", "192.0.2.1", "192.0.2.2",
		).Replace(killed),
		"key.txt": "a-second-key\n", "public/index.html": "<h1>second</h1>\n",
		"migrations/0002_by.sql": "ALTER TABLE rooms ADD COLUMN made_by TEXT;\n",
		"api.ts": `import { DurableObject } from "cloudflare:workers";
export class Hall extends DurableObject {}
export default { fetch: () => new Response("second") };
`,
	}
)

// TestKilled: a first deploy, an update, an adoption of what has no owner tag and a destroy are killed before and after changing calls.
// The next run of the same command ends as an undisturbed one does, a plan after it shows nothing, and nothing is left in the end.
func TestKilled(t *testing.T) {
	k := &killing{service: newService(t, "../../cmd/athanor"), reference: map[string]string{}, calls: map[string]int{}}
	k.Folder = t.TempDir()
	k.life(nil)
	var cuts []cut
	for n := range slices.Max(slices.Collect(valuesOf(k.calls))) {
		cuts = append(cuts, cut{n + 1, false}, cut{n + 1, true})
	}
	if !*killAll {
		cuts = []cut{{2, false}, {4, true}}
	}
	for _, c := range cuts {
		k.life(&c)
	}
	k.t.Logf("%d kills, in %d commands that had ended before; changes of an undisturbed command: %v", k.kills, k.early, k.calls)
	if k.kills < len(cuts) {
		t.Errorf("%d of %d lives had a kill", k.kills, len(cuts))
	}
}

func valuesOf(m map[string]int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for _, n := range m {
			if !yield(n) {
				return
			}
		}
	}
}

// cut is where a command is killed: before its nth change arrives, or after it was made and before it was answered.
type cut struct {
	nth   int
	after bool
}

func (c cut) String() string {
	return fmt.Sprintf("killed %s change %d", map[bool]string{false: "before", true: "after"}[c.after], c.nth)
}

// killing is a stack that lives again and again.
type killing struct {
	*service
	// reference is the account after each command of an undisturbed life, and calls are the changes that the command makes.
	reference map[string]string
	calls     map[string]int

	kills, early int
}

// life goes from nothing to nothing. With a cut each of its commands is killed there, and run again.
func (k *killing) life(c *cut) {
	k.t.Helper()
	k.lay(begins)
	k.step(c, "first deploy", "deploy")
	k.lay(updated)
	k.step(c, "update", "deploy")
	k.disown()
	k.step(c, "adoption", "deploy", "--adopt")
	k.step(c, "destroy", "destroy", "--allow-delete", "**")
	if left := k.left(); len(left) > 0 {
		k.t.Fatalf("%v: left: %q", c, left)
	}
}

// lay writes files; one without text is deleted.
func (k *killing) lay(files map[string]string) {
	k.t.Helper()
	for name, text := range files {
		path := filepath.Join(k.Folder, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if text == "" {
			if err = os.Remove(path); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

// step runs a command, after it was killed at the cut, and compares the account with what an undisturbed one makes of it.
func (k *killing) step(c *cut, name string, args ...string) {
	k.t.Helper()
	k.Cloud.Reset()
	if c != nil {
		k.kill(*c, args...)
	}
	counts := k.Do(args...)
	have := k.account()
	if c == nil {
		k.reference[name], k.calls[name] = have, len(k.Cloud.Mutations())
		k.t.Logf("%s: %s", name, counts)
	} else if diff := cmp.Diff(k.reference[name], have); diff != "" {
		k.t.Fatalf("%s %v (-undisturbed +killed):\n%s", name, *c, diff)
	}
	if args[0] == "destroy" {
		return
	}
	if out, errs, code := k.Run("plan"); code != 0 {
		k.t.Fatalf("%s %v: a plan after it exits %d\n%s%s", name, c, code, out, errs)
	}
}

// kill begins a command and kills its process at a cut. What it had under way by then has its effect before this returns.
func (k *killing) kill(c cut, args ...string) {
	k.t.Helper()
	kind := cloudflaretest.Hold
	if c.after {
		kind = cloudflaretest.HoldAnswer
	}
	armed := k.Cloud.Inject(cloudflaretest.Fault{When: cloudflaretest.Mutating, Nth: c.nth, Kind: kind})
	defer armed.Disarm()
	cmd := k.Command(append(args, "--yes", "--json")...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			k.t.Fatalf("%v %v: %v\n%s", args, c, err, said.String())
		}
		k.early++
		return
	case <-armed.Reached():
	}
	if err := cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	if err, killed := errors.AsType[*exec.ExitError](<-ended); !killed || err.Exited() {
		k.t.Fatalf("%v %v ended by itself: %v\n%s", args, c, err, said.String())
	}
	k.kills++
	for slices.ContainsFunc(k.Cloud.Calls(), func(call cloudflaretest.Call) bool { return call.Fault != cloudflaretest.Hold && call.Status == 0 }) {
	}
}

// disown takes the owner tags away and goes on with an empty store: what is there is then as somebody else has made it.
func (k *killing) disown() {
	k.t.Helper()
	for _, w := range k.all("/workers/scripts") {
		k.Cloud.Do(k.t, http.MethodPatch, account+"/workers/scripts/"+w["id"].(string)+"/script-settings", obj{"tags": []any{}})
	}
	for _, r := range k.records() {
		k.Cloud.Do(k.t, http.MethodPatch, "/zones/"+k.zone()+"/dns_records/"+r["id"].(string),
			obj{"name": r["name"], "type": r["type"], "ttl": r["ttl"], "content": r["content"], "comment": ""})
	}
	k.Dir = k.t.TempDir() // the machine remembers how far a store was: this is another one
}

func (k *killing) zone() string {
	zones, _ := k.Cloud.Do(k.t, http.MethodGet, "/zones", nil).([]any)
	return zones[0].(obj)["id"].(string)
}

func (k *killing) records() []obj {
	var all []obj
	list, _ := k.Cloud.Do(k.t, http.MethodGet, "/zones/"+k.zone()+"/dns_records", nil).([]any)
	for _, r := range list {
		all = append(all, r.(obj))
	}
	return all
}

// account is what others see of the account, without what each creation has another of.
func (k *killing) account() string {
	k.t.Helper()
	var lines []string
	note := func(what string, seen any) {
		text, err := json.MarshalIndent(seen, "", " ")
		if err != nil {
			k.t.Fatal(err)
		}
		lines = append(lines, changing.ReplaceAllString(what+" "+trigger.ReplaceAllString(string(text), ""), "…"))
	}
	see := func(path string) {
		seen := k.Cloud.Do(k.t, http.MethodGet, account+path, nil)
		list, isList := seen.([]any)
		if !isList {
			list = []any{seen}
		}
		for _, one := range list {
			note(path, one)
		}
	}
	for _, w := range k.all("/workers/scripts") {
		name := w["id"].(string)
		for _, part := range []string{"settings", "schedules", "subdomain", "secrets"} {
			see("/workers/scripts/" + name + "/" + part)
		}
		files, _ := k.Cloud.Assets(name)
		for path, content := range files {
			note(name+path, string(content))
		}
	}
	for _, path := range []string{"/workers/domains", "/storage/kv/namespaces", "/r2/buckets"} {
		see(path)
	}
	for _, q := range k.all("/queues") {
		see("/queues/" + q["queue_id"].(string))
		see("/queues/" + q["queue_id"].(string) + "/consumers")
	}
	for _, db := range k.all("/d1/database") {
		note("database "+fmt.Sprint(db["name"]), k.Cloud.Do(k.t, http.MethodPost, account+"/d1/database/"+db["uuid"].(string)+"/query",
			obj{"sql": "SELECT name FROM d1_migrations ORDER BY id; SELECT sql FROM sqlite_master WHERE name = 'rooms'"}))
	}
	for _, r := range k.records() {
		note("record "+fmt.Sprint(r["name"]), []any{r["content"], r["comment"]})
	}
	slices.Sort(lines) // listings come in the order of creation, or of ids
	return strings.Join(lines, "\n")
}

// trigger says by which call a version was made: by an upload, or by a change of settings where a run cannot know that a killed one has uploaded
// the secret.
var trigger = regexp.MustCompile(`,?\s*"workers/triggered_by": "[a-z]*"`)

// changing are ids, times, durations, digests and the parts of an owner tag that tell one life from another.
var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{24,}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"(duration|served_by|sql_duration_ms|rows_\w+|last_row_id|size_after)": [^,\n]*|(store|generation|nonce)=[^ "]*`)
