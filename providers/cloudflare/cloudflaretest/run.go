package cloudflaretest

import (
	"maps"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Run runs the Workers of the account as they were uploaded, for the rest of the test, in Cloudflare's own runtime, and
// gives the address of one of them. What they are bound to is there: the databases with what they hold here, all else
// empty. After another upload it is called again; addresses stay.
func (s *Server) Run(t testing.TB, name string) (url string) {
	t.Helper()
	if url = s.RunAll(t)[name]; url == "" {
		t.Fatalf("there is no Worker %s", name)
	}
	return url
}

// RunAll is [Server.Run] with the addresses of all Workers, by their names.
func (s *Server) RunAll(t testing.TB) map[string]string {
	t.Helper()
	if s.local == nil {
		dir, err := folder()
		if err != nil {
			t.Fatal(err)
		}
		local, err := miniflare.Start(t.Context(), miniflare.Options{Packages: []string{dir}, Log: func(line string) { s.world.printed(line) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(local.Close)
		s.local = local
	}
	workers, databases := s.runnable(t)
	for id, base := range databases {
		done, filled := s.filled[id]
		sql := base.whole
		if filled {
			sql = base.written[done:]
		}
		if len(sql) == 0 {
			continue
		}
		if _, err := s.local.Query(t.Context(), id, sql...); err != nil {
			t.Fatal(err)
		}
		if s.filled == nil {
			s.filled = map[string]int{}
		}
		s.filled[id] = len(base.written)
	}
	urls, err := s.local.SetAll(t.Context(), workers...)
	if err != nil {
		t.Fatal(err)
	}
	return urls
}

// Packages puts the packages from npm that the tests have into a folder, as npm would. Without them, or without Node.js, the
// test is skipped, or fails when $ATHANOR_NO_SKIP is set.
func Packages(t testing.TB, dir string) {
	t.Helper()
	from, err := folder()
	if err == nil {
		_, err = os.Stat(filepath.Join(from, "node_modules", "miniflare"))
	}
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		proctest.Missing(t, "miniflare not found: run `task cloudflare` (needs Node.js): %v", err)
	}
	if err := os.Symlink(filepath.Join(from, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

// printed shows what a Worker prints.
func (w *world) printed(line string) {
	w.over.Lock()
	defer w.over.Unlock()
	if !w.ended {
		w.report.Log(line)
	}
}

// runnable are the Workers of the account, those of which there is code, and the databases as the SQL that makes them.
func (s *Server) runnable(t testing.TB) (workers []miniflare.Worker, databases map[string]contents) {
	t.Helper()
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.workers {
		if k.account == s.Account && len(k.live().upload.Modules) > 0 {
			workers = append(workers, w.runs(t, k))
		}
	}
	databases = map[string]contents{}
	for _, d := range w.bases {
		if d.account != s.Account || w.sqlite == nil {
			continue
		}
		sql, err := w.sqlite.dump(d.id)
		if err != nil {
			t.Fatal(err)
		}
		databases[d.id] = contents{whole: sql, written: slices.Clone(d.written)}
	}
	return workers, databases
}

// contents are the statements that make a database as it is, and those that have changed it one by one: a Worker that runs has
// the first, and gets what is new of the second without losing what it wrote itself.
type contents struct{ whole, written []string }

// runs is a Worker as it is to run here.
func (w *world) runs(t testing.TB, k *worker) miniflare.Worker {
	t.Helper()
	v := k.live()
	r := miniflare.Worker{Name: k.name}
	r.Main, _ = v.upload.Metadata["main_module"].(string)
	r.CompatibilityDate, _ = v.settings["compatibility_date"].(string)
	r.CompatibilityFlags = texts(v.settings["compatibility_flags"])
	for _, m := range v.upload.Modules {
		r.Modules = append(r.Modules, miniflare.Module(m))
	}
	for _, b := range v.bindings {
		r.Bindings = append(r.Bindings, maps.Clone(b))
	}
	for _, q := range w.queues {
		for _, c := range q.consumers {
			if q.account == k.account && c["script_name"] == k.name {
				r.Consumers = append(r.Consumers, consumes(q, c))
			}
		}
	}
	if v.assets != nil {
		r.Assets = v.assets.written(t)
	}
	return r
}

// consumes is a consumer of a queue as it is to run here.
func consumes(q *queue, c object) miniflare.Consumer {
	settings, _ := c["settings"].(object)
	number := func(name string) int {
		switch n := settings[name].(type) {
		case int:
			return n
		case float64:
			return int(n)
		}
		return 0
	}
	dead, _ := c["dead_letter_queue"].(string)
	return miniflare.Consumer{
		Queue: q.name, BatchSize: number("batch_size"), BatchTimeout: time.Duration(number("max_wait_time_ms")) * time.Millisecond,
		MaxRetries: new(number("max_retries")), RetryDelay: time.Duration(number("retry_delay")) * time.Second, DeadLetter: dead,
	}
}

// written puts static files into a folder.
func (a *assets) written(t testing.TB) *miniflare.Assets {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, content []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if kind, _, err := mime.ParseMediaType(a.files[name].kind); err != nil || kind == "" {
			t.Errorf("asset %s: content type %q", name, a.files[name].kind)
		}
		put(name, a.files[name].content)
	}
	for _, name := range []string{"_headers", "_redirects"} {
		if text, _ := a.config[name].(string); text != "" {
			put(name, []byte(text))
		}
	}
	return &miniflare.Assets{Directory: dir, Config: a.config}
}
