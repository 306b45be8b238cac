package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// runtimes waits until so many processes of workerd work in the folder of a world, and returns their process ids.
func (w *world) runtimes(want int) []string {
	w.t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		if err != nil {
			w.t.Fatal(err)
		}
		var all []string
		for _, link := range links {
			process := filepath.Dir(link)
			at, _ := os.Readlink(link) // others come and go
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			if strings.HasPrefix(at, w.dir) && string(name) == "workerd\n" {
				all = append(all, filepath.Base(process))
			}
		}
		if len(all) == want {
			return all
		}
		if time.Now().After(limit) {
			w.t.Fatalf("runtimes %v, want %d", all, want)
		}
	}
}

// TestDevSpare: a session with Workers has a second runtime, which waits for an edit and then is the one that answers. Another one waits for
// the next edit.
func TestDevSpare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `stack: spare
resources:
  api: {kind: cloudflare.Worker, props: {code: {bundle: index.js}, compatibilityDate: "2026-01-31"}}
outputs: {url: "${api.url}"}
`)
	w.packages()
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "CLOUDFLARE_") })
	says := func(text string) string { return "export default { fetch: () => new Response('" + text + "') };\n" }
	w.write("index.js", says("one"))
	s := w.dev()
	url := urlOf(s.deployed(map[string]float64{"created": 1}))
	both := w.runtimes(2)
	for _, text := range []string{"two", "three"} {
		w.save("index.js", says(text))
		s.deployed(map[string]float64{"updated": 1})
		if have := w.get(url); have != text {
			t.Errorf("it answers %q, want %q", have, text)
		}
		now := w.runtimes(2)
		if stays := slices.DeleteFunc(slices.Clone(now), func(pid string) bool { return !slices.Contains(both, pid) }); len(stays) != 1 {
			t.Errorf("the edit to %q was answered by %v, where there were %v: none of them had waited", text, now, both)
		}
		both = now
	}
	s.stop(0)
	w.runtimes(0)
}
