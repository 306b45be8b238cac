package miniflare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// startSparing is start with spares, which begin right after each change.
func startSparing(t *testing.T, o Options) *Server {
	t.Helper()
	o.SpareAfter = time.Nanosecond
	return start(t, o)
}

// bySpare sets a Worker, and reports whether a spare has served that.
func bySpare(t *testing.T, s *Server, w Worker) (url string, spared bool) {
	t.Helper()
	before := s.spared
	url = set(t, s, w)
	return url, s.spared > before
}

// TestSpare: changes of the code alone are served by a spare, in a row too; others are not.
func TestSpare(t *testing.T) {
	t.Parallel()
	s := startSparing(t, Options{})
	staged := func(text, stage string) Worker {
		return esm("shop", "export default { fetch(request, env) { return new Response(`"+text+" ${env.STAGE}`) } }",
			map[string]any{"type": "plain_text", "name": "STAGE", "text": stage})
	}
	node := staged("six", "test")
	node.CompatibilityFlags = []string{"nodejs_compat"}
	var shop string
	for _, step := range []struct {
		worker Worker
		spared bool
		says   string
	}{
		{staged("one", "dev"), false, "200 one dev"},
		{staged("two", "dev"), true, "200 two dev"},
		{staged("three", "dev"), true, "200 three dev"},
		{staged("four", "dev"), true, "200 four dev"},
		{staged("five", "test"), false, "200 five test"},
		{node, false, "200 six test"},
		{node, true, "200 six test"},
		{esm("other", saying("one")), false, "200 one"},
		{esm("other", saying("two")), true, "200 two"},
	} {
		url, spared := bySpare(t, s, step.worker)
		if said := get(t, url); said != step.says || spared != step.spared {
			t.Errorf("it says %s, by a spare: %v; want %s, %v", said, spared, step.says, step.spared)
		}
		if step.worker.Name == "shop" {
			shop = url
		}
	}
	if said := get(t, shop); said != "200 six test" {
		t.Errorf("beside another it says %s", said)
	}
}

// everything is a Worker of modules of all kinds, with what it can export.
func everything() Worker {
	module := func(name, kind, content string) Module { return Module{name, kind, []byte(content)} }
	const js, cjs = "application/javascript+module", "application/javascript"
	return Worker{
		Name: "shop", Main: "src/index.js", CompatibilityDate: "2026-01-01", CompatibilityFlags: []string{"nodejs_compat"},
		Bindings: []map[string]any{
			{"type": "durable_object_namespace", "name": "COUNTER", "class_name": "Counter"},
			{"type": "service", "name": "SUMS", "service": "shop", "entrypoint": "Sums"},
			{"type": "workflow", "name": "FLOW", "workflow_name": "flow", "class_name": "Flow"},
		},
		Modules: []Module{
			module("src/index.js", js, `
import { DurableObject, WorkerEntrypoint, WorkflowEntrypoint } from "cloudflare:workers";
import assert from "node:assert";
import text from "./some.txt";
import data from "./some.bin";
import wasm from "./some.wasm";
import common from "./common.cjs";
import { back } from "../lib/other.js";
console.log("begins");
export function hello() { return "hello" }
export class Counter extends DurableObject {
	async fetch() {
		const n = (await this.ctx.storage.get("n") ?? 0) + 1;
		await this.ctx.storage.put("n", n);
		return new Response("counted");
	}
}
export class Sums extends WorkerEntrypoint { add(a, b) { return a + b } }
export class Flow extends WorkflowEntrypoint { async run() { return "ran" } }
const missing = (what) => import(what).then(() => "found", (error) => error.message);
export default { async fetch(request, env) {
	if (request.url.endsWith("/throw")) throw new TypeError("broken on purpose");
	const flow = await env.FLOW.create();
	return Response.json([text, new TextDecoder().decode(data), wasm instanceof WebAssembly.Module, common, back(), typeof assert.equal,
		await env.SUMS.add(1, 2), await (await env.COUNTER.get(env.COUNTER.idFromName("a")).fetch(request)).text(), typeof flow.id,
		Object.keys(await import("./index.js")), await missing("./none.js"), await missing("none"), new Error("where").stack]);
} }`),
			module("src/some.txt", "text/plain", "text"),
			module("src/some.bin", "application/octet-stream", "data"),
			module("src/some.wasm", "application/wasm", "\x00asm\x01\x00\x00\x00"),
			module("src/common.cjs", cjs, `module.exports = { more: require("../lib/more.cjs") }`),
			module("lib/more.cjs", cjs, `exports.more = 1`),
			module("lib/other.js", js, `import { hello } from "../src/index.js"; export const back = () => hello();`),
		},
	}
}

// TestSpareIsNoOther: what a spare makes of a Worker is what is made without one: answers, errors while it runs, and what it prints.
func TestSpareIsNoOther(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 100)
	s := startSparing(t, Options{Log: func(line string) { lines <- line }})
	var first []string
	for i := range 2 {
		url, spared := bySpare(t, s, everything())
		if spared != (i == 1) {
			t.Fatalf("start %d was by a spare: %v", i, spared)
		}
		said := []string{get(t, url), get(t, url+"/throw"), <-lines}
		if i == 0 {
			first = said
			if !strings.HasPrefix(said[0], `200 ["text","data",true,{"more":{"more":1}},"hello","function",3,"counted","string",["Counter","Flow","Sums","default","hello"],`) {
				t.Fatalf("it says %s", said[0])
			}
		}
		if !slices.Equal(said, first) {
			t.Errorf("start %d says %q, and the first %q", i, said, first)
		}
	}
	if len(lines) != 0 || first[2] != "begins" {
		t.Errorf("it prints %q, and %d lines more", first[2], len(lines))
	}
}

// TestSpareBroken: about code that does not start the same is said by a spare, and the next edit that starts is served.
func TestSpareBroken(t *testing.T) {
	t.Parallel()
	s := startSparing(t, Options{})
	broken := []string{
		"export default {\n  fetch() {", "\n\nmissing();\nexport default {}", `import "./none.js"; export default {}`, "export const n = 1; export default { fetch() {} }",
	}
	want := make([]error, len(broken))
	for i, code := range broken {
		if _, want[i] = s.Set(t.Context(), esm("shop", code)); want[i] == nil {
			t.Fatalf("%s starts", code)
		}
	}
	url := set(t, s, esm("shop", saying("good")))
	for i, code := range broken {
		if _, err := s.Set(t.Context(), esm("shop", code)); err == nil || err.Error() != want[i].Error() {
			t.Errorf("with a spare it says %v, and without one %v", err, want[i])
		}
		if said := get(t, url); said != "200 good" {
			t.Errorf("after %q: %s", code, said)
		}
		if _, spared := bySpare(t, s, esm("shop", saying("good"))); !spared {
			t.Errorf("the edit after %q is not by a spare", code)
		}
	}
}

// TestSpareExports: what a Worker exports may change, up to its default export, without which there is no spare.
func TestSpareExports(t *testing.T) {
	t.Parallel()
	s := startSparing(t, Options{})
	const sums = `import { WorkerEntrypoint } from "cloudflare:workers"; `
	for _, step := range []struct {
		code   string
		spared bool
		says   string
	}{
		{saying("one"), false, "200 one"},
		{sums + `export class Sums extends WorkerEntrypoint { add(a, b) { return a + b } }
			export default { async fetch(request, env, ctx) { return new Response(await ctx.exports.Sums.add(1, 2)) } }`, true, "200 3"},
		{sums + `export default class extends WorkerEntrypoint { fetch() { return new Response("class") } }`, true, "200 class"},
		{`export function scheduled() {}; export class Alone {}`, false, ""},
		{saying("again"), false, "200 again"},
	} {
		url, spared := bySpare(t, s, esm("shop", step.code))
		if spared != step.spared {
			t.Errorf("%s: by a spare: %v", step.code, spared)
		}
		if step.says == "" {
			continue // nothing there answers
		}
		if said := get(t, url); said != step.says {
			t.Errorf("%s: it says %s, want %s", step.code, said, step.says)
		}
	}
}

// TestSpareDisk: a spare that has seen other files of assets, or other folders of stored data, serves nothing.
func TestSpareDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "page.txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	s := startSparing(t, Options{})
	w := esm("shop", `export default { async fetch(request, env) { await env.KV.put("a", "b"); return new Response(await env.KV.get("a")) } }`,
		map[string]any{"type": "kv_namespace", "name": "KV", "namespace_id": "counts"})
	w.Assets = &Assets{Directory: dir}
	for _, spared := range []bool{false, true} {
		url, by := bySpare(t, s, w)
		if said := get(t, url+"/page.txt") + get(t, url); said != "200 one200 b" || by != spared {
			t.Errorf("it says %s, by a spare: %v; want %v", said, by, spared)
		}
	}
	write("other")
	url, spared := bySpare(t, s, w)
	if said := get(t, url+"/page.txt"); said != "200 other" || spared {
		t.Errorf("after a change of the assets it says %s, by a spare: %v", said, spared)
	}
	kv := filepath.Join(s.data, "kv")
	if err := os.RemoveAll(kv); err != nil {
		t.Fatal(err)
	}
	url, spared = bySpare(t, s, w)
	if said := get(t, url); said != "200 b" || spared {
		t.Errorf("after the folder was removed it says %s, by a spare: %v", said, spared)
	}
	if all, err := os.ReadDir(kv); err != nil || len(all) == 0 {
		t.Errorf("what is stored is not in the folder: %v, %v", all, err)
	}
}
