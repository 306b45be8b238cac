//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// The variables of a provider that cuts: the real one, the number of the change at which it kills the process that
// started it, and whether it does so after the real one answered.
const (
	cutReal  = "CUT_REAL"
	cutAt    = "CUT_AT"
	cutAfter = "CUT_AFTER"
	// cutPIDs names a file in which each such provider writes its process. It then ends with the process that started
	// it, as does the real one.
	cutPIDs = "CUT_PIDS"
)

// cuttingProvider is the real provider of $CUT_REAL with a hand between: at a change it kills athanor, before the real provider is asked
// or when it has answered.
func cuttingProvider() {
	if err := serveCutting(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveCutting() error {
	folder, own := os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), ""
	if folder == "" { // tofu names none
		var err error
		if own, err = os.MkdirTemp("", "cut"); err != nil {
			return err
		}
		defer os.RemoveAll(own)
		folder = own
	}
	actual := exec.CommandContext(context.Background(), os.Getenv(cutReal)) //nolint:gosec // the test names it
	actual.Stderr = os.Stderr
	runtime.LockOSThread() // the kernel ends the real one with the thread that started it
	bind(actual)
	out, err := actual.StdoutPipe()
	if err != nil {
		return err
	}
	if err := actual.Start(); err != nil {
		return err
	}
	if err := outlivesNobody(actual.Process, own, os.Getenv(cutPIDs)); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimSpace(line), "|")
	behind := parts[3]
	parts[3] = filepath.Join(folder, "cut")
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", parts[3])
	if err != nil {
		return err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	cut := &cutting{actual: actual.Process, own: own, at: os.Getenv(cutAt), after: os.Getenv(cutAfter) != "", proxy: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "provider"}) },
		FlushInterval: -1,
		Transport: &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", behind)
		}},
	}}
	server := &http.Server{Handler: cut, Protocols: protocols} //nolint:gosec // nobody else reaches it
	fmt.Println(strings.Join(parts, "|"))
	go func() { _ = server.Serve(listener) }()
	err = actual.Wait()
	cut.mu.Lock() // a cut ends this process, and not before its parent
	return err
}

// outlivesNobody ends this process and the real provider when the process that started this one has ended, removes the
// folder of its socket, and says so in a file before.
func outlivesNobody(actual *os.Process, own, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, os.Getpid(), actual.Pid); err != nil {
		return err
	}
	started := os.Getppid()
	go func() {
		for os.Getppid() == started {
			time.Sleep(2 * time.Millisecond) // until the kernel gives this process to another one
		}
		_, _ = actual.Kill(), f.Close()
		_, _ = actual.Wait()
		_ = os.RemoveAll(own)
		os.Exit(1)
	}()
	return nil
}

// cutting counts changes.
type cutting struct {
	actual *os.Process
	own    string // the folder of its socket, if it made one
	at     string
	after  bool
	proxy  http.Handler
	mu     sync.Mutex
	seen   int
}

func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/ApplyResourceChange") {
		c.mu.Lock()
		c.seen++
		now := strconv.Itoa(c.seen) == c.at
		c.mu.Unlock()
		switch {
		case now && c.after:
			c.proxy.ServeHTTP(discarded{}, r)
			c.cut()
		case now:
			c.cut()
		}
	}
	c.proxy.ServeHTTP(w, r)
}

// cut ends the real provider, who started this process as a machine without power does, and then this process.
func (c *cutting) cut() {
	c.mu.Lock()         // for ever
	_ = c.actual.Kill() // nobody else would
	_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
	_ = os.RemoveAll(c.own)
	os.Exit(1)
}

// discarded is an answer that nobody gets.
type discarded struct{}

func (discarded) Header() http.Header            { return http.Header{} }
func (discarded) Write(data []byte) (int, error) { return len(data), nil }
func (discarded) WriteHeader(int)                {}

// quiet waits until a database serves nobody but conn: a server ends a statement whose client was killed, and what it makes would be there later.
func quiet(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		var others int
		query := "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
		if err := conn.QueryRow(t.Context(), query).Scan(&others); err != nil {
			t.Fatal(err)
		}
		if others == 0 {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("%d connections of a provider that was killed are open", others)
		}
	}
}

// TestTerraformCuts kills athanor at each change that it asks a real provider for, before it is made and after. The next command, the same
// deployment, another one or a destruction, continues: nothing is made twice, and nothing is left.
func TestTerraformCuts(t *testing.T) {
	t.Parallel()
	postgres, files := peer(t, "postgresql"), peer(t, "local")
	db := newDatabase(t)
	address, config := db.address.String(), db.config()
	cutter, err := exec.LookPath("athanor-cut")
	if err != nil {
		t.Fatal(err)
	}
	conn := pgtest.Connect(t, address)
	count := func(query string) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	made := func() string {
		return fmt.Sprintf("roles %d, databases %d, schemas %d", count("select count(*) from pg_roles where rolname like 'cut\\_%'"),
			count("select count(*) from pg_database where datname like 'cut\\_%'"), count("select count(*) from pg_namespace where nspname like 'cut\\_%'"))
	}
	for _, c := range []struct {
		name, real, config, resources, whole string
		ask                                  int // of how many cuts somebody may have to say what is there
	}{
		{"files", files, "{}", `
  one: {kind: tf.local_file, provider: it, props: {filename: one.txt, content: TEXT}}
  two: {kind: tf.local_file, provider: it, props: {filename: two.txt, content: "TEXT ${one.id}"}}
`, "", 0},
		{"postgres", postgres, config, `
  app:   {kind: tf.postgresql_role, provider: it, props: {name: cut_app, login: true, password: TEXT}}
  shop:  {kind: tf.postgresql_database, provider: it, props: {name: cut_shop, owner: "${app.name}"}}
  web:   {kind: tf.postgresql_schema, provider: it, props: {name: cut_web, owner: "${app.name}"}, options: {dependsOn: [shop]}} # or a cut before it might be one after shop
`, "roles 1, databases 1, schemas 1", 3},
	} {
		if c.name != "files" && !proctest.Whole() {
			continue // a database is asked every night
		}
		t.Run(c.name, func(t *testing.T) {
			cuts, told := 0, 0
			for number := 1; ; number++ {
				for _, after := range []string{"", "yes"} {
					w := newWorld(t, "")
					w.env = append(w.env, cutReal+"="+c.real, cutAfter+"="+after)
					write := func(text string) {
						w.write("athanor.yaml", "stack: cut\nproviders:\n  it: {terraform: tests/cut, path: "+cutter+", config: "+c.config+
							", env: ["+cutReal+", "+cutAt+", "+cutAfter+"]}\nresources:"+strings.ReplaceAll(c.resources, "TEXT", text))
					}
					allow := []string{"--allow", "program=" + cutter, "--allow", `env=["CUT_REAL","CUT_AT","CUT_AFTER"]`, "--allow", "identity=" + c.config}
					write("first")
					env := w.env
					w.env = append(env, cutAt+"="+strconv.Itoa(number))
					p := w.start("athanor", append([]string{"deploy", "--yes"}, allow...)...)
					code := <-p.ended
					w.env = env
					if code == 0 { // there are no more changes to cut at
						w.run(0, append([]string{"destroy", "--yes"}, allow...)...)
						if cuts == 0 {
							t.Error("nothing was cut")
						}
						if told > c.ask {
							t.Errorf("after %d cuts somebody had to say what is there, want %d", told, c.ask)
						}
						t.Logf("%d cuts, after %d of which somebody had to say what is there", cuts, told)
						return
					}
					if code != -1 { // it ended by itself
						t.Fatalf("cut %d, after %q: exit code %d\n%s", number, after, code, p.errs.String())
					}
					cuts++
					quiet(t, conn)
					next := (2*cuts + 2) % 3 // both before an answer and after it, each of the three has its turn
					// What the next command cannot tell it says, and names the ways out, which work.
					goOn := func(args ...string) {
						t.Helper()
						p := w.start("athanor", append(args, allow...)...)
						if code := <-p.ended; code == 0 {
							return
						}
						told++
						said := p.out.String() + p.errs.String()
						if !strings.Contains(said, "begun and not answered") && !strings.Contains(said, "nothing says who owns it") {
							t.Errorf("cut %d, after %q: %v says\n%s", number, after, args, said)
						}
						write("first")
						for range 2 {
							for _, name := range []string{"one", "two", "app", "shop", "web"} {
								if strings.Contains(said, "athanor state rm "+name) {
									w.run(0, append([]string{"state", "rm", name, "--yes"}, allow...)...)
								}
							}
							p := w.start("athanor", append([]string{"deploy", "--yes", "--adopt"}, allow...)...)
							if code := <-p.ended; code == 0 {
								return
							}
							said = p.out.String() + p.errs.String()
						}
						t.Errorf("cut %d, after %q: no way out of\n%s", number, after, said)
					}
					switch next {
					case 0:
						goOn("deploy", "--yes")
					case 2:
						goOn("destroy", "--yes")
					case 1:
						write("second")
						goOn("deploy", "--yes")
					}
					if next != 2 {
						w.run(0, append([]string{"plan"}, allow...)...)
						if got := made(); c.whole != "" && got != c.whole {
							t.Errorf("cut %d, after %q: %s, want %s", number, after, got, c.whole)
						}
					}
					w.run(0, append([]string{"destroy", "--yes"}, allow...)...)
					if got := made(); got != "roles 0, databases 0, schemas 0" || w.has("one.txt") || w.has("two.txt") {
						t.Errorf("cut %d, after %q, then %d: left %s, files %t %t", number, after, next, got, w.has("one.txt"), w.has("two.txt"))
					}
				}
			}
		})
	}
}
