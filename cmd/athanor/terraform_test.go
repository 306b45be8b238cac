//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// peer is the program of a real Terraform provider.
func peer(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("ATHANOR_PEERS")
	if dir == "" {
		t.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	return filepath.Join(dir, "terraform-provider-"+name)
}

// TestTerraformProvider leads objects of two real providers through their life: what they make is what is declared, what changed
// outside is seen, and nothing is left.
func TestTerraformProvider(t *testing.T) {
	t.Parallel()
	random, files := peer(t, "random"), peer(t, "local")
	w := newWorld(t, "")
	w.env = append(w.env, "ATHANOR_ALLOW=program="+random+",program="+files)
	stack := func(length, keeper, text string) {
		w.write("athanor.yaml", `stack: bridge
providers:
  rnd: {terraform: hashicorp/random, path: `+random+`}
  loc: {terraform: hashicorp/local, path: `+files+`}
resources:
  id:   {kind: tf.random_id, provider: rnd, props: {byte_length: 4, keepers: {a: `+keeper+`}}}
  pass: {kind: tf.random_password, provider: rnd, props: {length: `+length+`}}
  note: {kind: tf.local_file, provider: loc, props: {filename: out.txt, content: "`+text+` ${id.hex}", file_permission: "0600"}}
outputs: {hex: "${id.hex}"}
`)
	}
	stack("20", "one", "first")
	w.run(2, "plan")
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	hex := strings.TrimSpace(w.run(0, "output", "hex"))
	if got := w.read("out.txt"); got != "first "+hex {
		t.Errorf("the file holds %q, the id is %q", got, hex)
	}
	state, err := os.ReadFile(filepath.Join(w.dir, ".athanor", "state.db"))
	if err != nil || strings.Contains(string(state), hex) {
		t.Errorf("state holds the id in clear, or is not there: %v", err)
	}

	stack("24", "one", "second")
	plan := w.run(2, "plan")
	if !strings.Contains(plan, "length:  20 → 24  (replaces)") || !strings.Contains(plan, "2 to replace, 1 unchanged") {
		t.Errorf("the plan says\n%s", plan)
	}
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	if got := w.read("out.txt"); got != "second "+hex {
		t.Errorf("the file holds %q, the id is %q", got, hex)
	}

	w.write("out.txt", "somebody else's")
	if said := w.run(2, "drift"); !strings.Contains(said, "note") {
		t.Errorf("drift says\n%s", said)
	}
	w.run(0, "deploy", "--yes")
	stack("24", "two", "second")
	if said := w.run(2, "plan"); !strings.Contains(said, "known after id is replaced") {
		t.Errorf("the plan says\n%s", said)
	}
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	if now := strings.TrimSpace(w.run(0, "output", "hex")); now == hex || w.read("out.txt") != "second "+now {
		t.Errorf("the id was %s and is %s, the file holds %q", hex, now, w.read("out.txt"))
	}
	w.run(0, "destroy", "--yes")
	if w.has("out.txt") {
		t.Error("destroy leaves the file")
	}
}

// edits are the two versions of a value in a stack: <one|two>.
var edits = regexp.MustCompile(`<([^|<>]*)\|([^|<>]*)>`)

// TestTerraformTypes leads one resource of each type of a real provider through its life: made, nothing to do, changed, nothing to do,
// deleted. The provider of Cloudflare, which is asked every night, speaks version 6 of the protocol, the others version 5.
func TestTerraformTypes(t *testing.T) {
	t.Parallel()
	t.Run("small", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "")
		programs := peer(t, "")
		programs = strings.TrimSuffix(programs, "-")
		w.env = append(w.env, fmt.Sprintf("ATHANOR_ALLOW=program=%[1]s-random,program=%[1]s-local,program=%[1]s-null,program=%[1]s-tls", programs))
		leadTypes(t, w, "small", "word", "PROGRAM", programs)
		for _, name := range []string{"out.txt", "hidden.txt"} {
			if w.has(name) {
				t.Errorf("destroy leaves %s", name)
			}
		}
	})
	nightly(t, "cloudflare", func(t *testing.T) {
		t.Parallel()
		program, s := peer(t, "cloudflare"), cloudflaretest.Start(t)
		s.WithDatabases(t)
		base := s.Env()["CLOUDFLARE_API_BASE_URL"]
		w := newWorld(t, "")
		w.env = append(w.env, "CLOUDFLARE_API_TOKEN="+s.Token,
			fmt.Sprintf(`ATHANOR_ALLOW=program=%s,identity={"base_url":%q},env=["CLOUDFLARE_API_TOKEN"]`, program, base))
		leadTypes(t, w, "cloudflare", "ns", "PROGRAM", program, "BASE", base, "ACCOUNT", s.Account, "ZONE", s.AddZone(s.Account, "shop.example"))
		for _, path := range []string{"/workers/scripts", "/storage/kv/namespaces", "/queues", "/d1/database", "/hyperdrive/configs", "/workflows", "/workers/domains"} {
			if left, _ := s.Do(t, "GET", "/accounts/"+s.Account+path, nil).([]any); len(left) > 0 {
				t.Errorf("%s: %d objects are left", path, len(left))
			}
		}
	})
}

// leadTypes leads the resources of a stack in testdata/terraform through their life. One of them is shown.
func leadTypes(t *testing.T, w *world, name, shown string, values ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "terraform", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, version := range []string{"$1", "$2"} {
		w.write("athanor.yaml", strings.NewReplacer(values...).Replace(edits.ReplaceAllString(string(text), version)))
		w.run(2, "plan")
		w.run(0, "deploy", "--yes")
		w.run(0, "plan")
		w.run(0, "drift")
		id = w.run(0, "output")
	}
	if id == "" || strings.Contains(id, "(secret)") {
		t.Errorf("the output is %q: an id is no secret", id)
	}
	if said := w.run(0, "state", "show", shown); !regexp.MustCompile(`\n +id +\(secret\)\n`).MatchString(said) {
		t.Errorf("what is secret of a kind whose provider is not started is unknown, and state shows\n%s", said)
	}
	w.run(0, "destroy", "--yes")
}

// TestTerraformProviderRefuses tells what is wrong with a declaration, a program, or the leave to run it.
func TestTerraformProviderRefuses(t *testing.T) {
	t.Parallel()
	random := peer(t, "random")
	w := newWorld(t, "")
	w.write("script", "#!/bin/sh\necho this is no provider\n")
	if err := os.Chmod(filepath.Join(w.dir, "script"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	allowed := append(w.env, "ATHANOR_ALLOW=program="+random+",program="+filepath.Join(w.dir, "script"))
	for _, c := range []struct {
		name, program, resource, want string
		allowed                       bool
	}{
		{"no leave", random, "{kind: tf.random_id, provider: rnd, props: {byte_length: 4}}", "runs " + random + "; nobody has allowed it", false},
		{"no provider", filepath.Join(w.dir, "script"), "{kind: tf.random_id, provider: rnd, props: {byte_length: 4}}", "this is no provider", true},
		{"unknown prop", random, "{kind: tf.random_id, provider: rnd, props: {byte_lenght: 4}}", "did you mean byte_length?", true},
		{"required prop", random, "{kind: tf.random_id, provider: rnd, props: {prefix: a}}", "byte_length", true},
		{"computed prop", random, "{kind: tf.random_id, provider: rnd, props: {byte_length: 4, hex: ab}}", "cannot be declared", true},
		{"another type", random, "{kind: tf.random_id, provider: rnd, props: {byte_length: many}}", "want number", true},
		{"unknown type", random, "{kind: tf.random_ids, provider: rnd, props: {byte_length: 4}}", "did you mean tf.random_id?", true},
		{"what the provider refuses", random, "{kind: tf.random_integer, provider: rnd, props: {min: 3, max: 1}}", "ax", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := *w
			x.t = t
			if c.allowed {
				x.env = allowed
			}
			x.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random, path: "+c.program+"}}\nresources: {a: "+c.resource+"}\n")
			p := x.start("athanor", "deploy", "--yes")
			if code := <-p.ended; code != 1 && code != 4 {
				t.Errorf("exit code %d", code)
			}
			if said := p.out.String() + p.errs.String(); !strings.Contains(said, c.want) || strings.Contains(said, "panic") {
				t.Errorf("it says\n%s\nwant %q", said, c.want)
			}
		})
	}
}

// TestTerraformPostgres leads roles, a database, a schema and a grant of the real provider through their life on a real server, with
// state lost in between: what is there is found by its name and not made twice.
func TestTerraformPostgres(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	address, database, role := db.address.String(), db.name, "app"+strings.ToLower(rand.Text()[:8])
	config := db.config()
	w := newWorld(t, "")
	run := func(want int, args ...string) string {
		t.Helper()
		return w.run(want, append(args, "--allow", "program="+program, "--allow", "identity="+config)...)
	}
	stack := func(role, privileges string) {
		w.write("athanor.yaml", `stack: shop
providers: {db: {terraform: cyrilgdn/postgresql, path: `+program+`, config: `+config+`}}
resources:
  word:  {kind: random.Password, props: {length: 20}}
  app:   {kind: tf.postgresql_role, provider: db, props: {name: `+role+`, login: true, password: "${word.value}"}}
  web:   {kind: tf.postgresql_schema, provider: db, props: {name: web, owner: "${app.name}"}}
  grant: {kind: tf.postgresql_grant, provider: db, props: {database: `+database+`, role: "${app.name}", schema: "${web.name}", object_type: schema, privileges: `+privileges+`}}
`)
	}
	conn := pgtest.Connect(t, address)
	roles := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "select count(*) from pg_roles where rolname like $1", role+"%").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	stack(role, "[USAGE]")
	run(0, "deploy", "--yes")
	run(0, "plan")
	stack(role, "[USAGE, CREATE]")
	run(0, "deploy", "--yes")
	run(0, "plan")
	pgtest.Exec(t, address, "alter role "+role+" connection limit 3")
	if said := run(2, "drift"); !strings.Contains(said, "connection_limit:  -1 → 3") {
		t.Errorf("drift says\n%s", said)
	}
	run(0, "deploy", "--yes")
	stack(role+"2", "[USAGE, CREATE]") // the provider renames it in place
	run(0, "deploy", "--yes")
	run(0, "plan")
	if n := roles(); n != 1 {
		t.Errorf("%d roles", n)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, ".athanor")); err != nil {
		t.Fatal(err)
	}
	if said := run(1, "plan"); !strings.Contains(said, "exists, and nothing says who owns it") {
		t.Errorf("the plan says\n%s", said)
	}
	run(0, "deploy", "--yes", "--adopt")
	run(0, "plan")
	run(0, "destroy", "--yes")
	if n := roles(); n != 0 {
		t.Errorf("destroy leaves %d roles", n)
	}
}

// database is one of its own on a PostgreSQL server, which a port of this machine leads to.
type database struct {
	address *url.URL
	name    string
	port    int
}

func newDatabase(t *testing.T) database {
	t.Helper()
	return databaseOf(t, pgtest.Start(t))
}

// databaseOf is a new database of a server.
func databaseOf(t *testing.T, server *pgtest.Server) database {
	t.Helper()
	address, err := url.Parse(server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	return database{address, strings.TrimPrefix(address.Path, "/"), forwarded(t, filepath.Join(address.Query().Get("host"), ".s.PGSQL.5432"))}
}

// config is the configuration of a provider that reaches the database as its superuser.
func (d database) config() string {
	return fmt.Sprintf(`{"database":%q,"host":"127.0.0.1","port":%d,"sslmode":"disable","username":%q}`, d.name, d.port, pgtest.Superuser)
}

// forwarded is a port of this machine that leads to a socket: the provider knows ports alone.
func forwarded(t *testing.T, socket string) int {
	t.Helper()
	front, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		for {
			in, err := front.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(context.Background(), "unix", socket)
			if err != nil {
				_ = in.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				}()
			}
		}
	}()
	return front.Addr().(*net.TCPAddr).Port
}

// TestTerraformProviderOfAStranger plans a stranger's stack: its provider is not started, whatever the user allowed at home.
func TestTerraformProviderOfAStranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	program := filepath.Join(w.dir, "provider")
	w.write("provider", "#!/bin/sh\ntouch started\n")
	if err := os.Chmod(program, 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	w.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random, path: "+program+"}}\n"+
		"resources: {a: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}\n")
	p := w.start("athanor", "plan", "--untrusted", "--allow", "program="+program)
	p.end(1)
	if said := p.errs.String(); !strings.Contains(said, "no provider is started for a stranger's stack") || w.has("started") {
		t.Errorf("started %t, it says\n%s", w.has("started"), said)
	}
}

// TestTerraformProviderIsAllowedFirst lists what a stack asks for, and starts nothing of it.
func TestTerraformProviderIsAllowedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("provider", "#!/bin/sh\ntouch started\n")
	if err := os.Chmod(filepath.Join(w.dir, "provider"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	w.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random, path: provider}}\n"+
		"resources: {a: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}\n")
	said := w.run(0, "allow", "--json")
	if want := `"kind":"program","value":"` + filepath.Join(w.dir, "provider") + `"`; !strings.Contains(said, want) || w.has("started") {
		t.Errorf("started %t, it says\n%s\nwant %s", w.has("started"), said, want)
	}
}

// TestTerraformInstalled installs a real provider from a mirror when the user allows that, locks it, and runs what was approved alone.
func TestTerraformInstalled(t *testing.T) {
	t.Parallel()
	program := peer(t, "random")
	w := newWorld(t, "")
	mirror := mirrorOf(t, "hashicorp/random", "3.9.0", program)
	w.env = append(w.env, "ATHANOR_PROVIDER_MIRROR="+mirror, "XDG_CACHE_HOME="+t.TempDir())
	w.write("athanor.yaml", `stack: bridge
providers: {rnd: {terraform: hashicorp/random, version: "~> 3.1"}}
resources: {id: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}
outputs: {hex: "${id.hex}"}
`)
	refused := func(want string, args ...string) {
		t.Helper()
		p := w.start("athanor", args...)
		p.end(1)
		if said := p.out.String() + p.errs.String(); !strings.Contains(said, want) {
			t.Errorf("it says\n%s\nwant %q", said, want)
		}
	}
	refused("runs registry.opentofu.org/hashicorp/random; nobody has allowed it", "plan")
	refused("no provider is started for a stranger's stack", "plan", "--untrusted", "--allow", "program=hashicorp/random")
	if w.has("athanor.lock") {
		t.Fatal("it is installed though nobody allowed that")
	}
	w.run(2, "plan", "--allow", "program=hashicorp/random")
	lock := w.read("athanor.lock")
	if !strings.Contains(lock, `"version": "3.9.0"`) || !strings.Contains(lock, `"h1:`) {
		t.Errorf("the lock holds\n%s", lock)
	}
	refused("runs registry.opentofu.org/hashicorp/random 3.9.0 h1:", "plan")
	w.run(0, "allow", "--yes")
	if err := os.RemoveAll(mirror); err != nil { // from here on nothing is fetched
		t.Fatal(err)
	}
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	// Somebody changes what is locked: what the user approved was something else.
	hash := regexp.MustCompile(`h1:[^"]+`).FindString(lock)
	w.write("athanor.lock", strings.ReplaceAll(lock, hash, "h1:"+strings.Repeat("A", 43)+"="))
	refused("nobody has allowed it", "plan")
	refused("installing registry.opentofu.org/hashicorp/random: ", "plan", "--allow", "program=hashicorp/random")
	w.write("athanor.lock", lock)
	w.run(0, "destroy", "--yes")
}

// TestTerraformExample deploys examples/postgres on a real server, as its first lines say: the user allows what it asks for, the role can
// sign in to its database with its password, and nothing is left.
func TestTerraformExample(t *testing.T) {
	t.Parallel()
	program, db := peer(t, "postgresql"), newDatabase(t)
	text, err := os.ReadFile("../../examples/postgres/athanor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, string(text))
	w.env = append(w.env, "ATHANOR_PROVIDER_MIRROR="+mirrorOf(t, "cyrilgdn/postgresql", "1.26.0", program), "XDG_CACHE_HOME="+t.TempDir(),
		"PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", db.port), "PGUSER="+pgtest.Superuser, "PGSSLMODE=disable")
	name := "ex" + strings.ToLower(rand.Text()[:8])
	w.run(0, "allow", "--yes", "--config", "name="+name)
	w.run(0, "deploy", "--yes", "--config", "name="+name)
	w.run(0, "plan", "--config", "name="+name)
	password := strings.TrimSpace(w.run(0, "output", "password", "--reveal"))
	as := *db.address
	as.User, as.Path = url.UserPassword(name+"_app", password), "/"+name
	conn := pgtest.Connect(t, as.String())
	var user, database string
	if err := conn.QueryRow(t.Context(), "select current_user, current_database()").Scan(&user, &database); err != nil || user != name+"_app" || database != name {
		t.Errorf("%s in %s (%v)", user, database, err)
	}
	if err := conn.Close(t.Context()); err != nil { // a database in use cannot be dropped
		t.Fatal(err)
	}
	w.run(0, "destroy", "--yes", "--config", "name="+name)
	var left int
	query := "select (select count(*) from pg_roles where rolname like $1) + (select count(*) from pg_database where datname like $1)"
	if err := pgtest.Connect(t, db.address.String()).QueryRow(t.Context(), query, name+"%").Scan(&left); err != nil || left > 0 {
		t.Errorf("destroy leaves %d (%v)", left, err)
	}
}

// mirrorOf is a folder of providers with one, unpacked.
func mirrorOf(t *testing.T, source, version, program string) string {
	t.Helper()
	mirror := t.TempDir()
	folder := filepath.Join(mirror, "registry.opentofu.org", filepath.FromSlash(source), version, runtime.GOOS+"_"+runtime.GOARCH)
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, filepath.Base(program)), data, 0o700) //nolint:gosec // it is a program
	}
	if err != nil {
		t.Fatal(err)
	}
	return mirror
}

// TestTerraformApprovedByHash: who allowed a provider approved what came then. Without its lock file another version may be fetched, and does
// not run, whether the stack is YAML or a graph.
func TestTerraformApprovedByHash(t *testing.T) {
	t.Parallel()
	program := peer(t, "random")
	w := newWorld(t, `stack: bridge
providers: {rnd: {terraform: hashicorp/random}}
resources: {id: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}
`)
	w.write("terraform-provider-random", "#!/bin/sh\ntouch started\n")
	env := append(w.env, "XDG_CACHE_HOME="+t.TempDir())
	w.env = append(env, "ATHANOR_PROVIDER_MIRROR="+mirrorOf(t, "hashicorp/random", "3.9.0", program))
	w.run(0, "allow", "--yes")
	w.run(2, "plan")
	w.write("stack.json", w.run(0, "graph", "--json"))
	w.env = append(env, "ATHANOR_PROVIDER_MIRROR="+mirrorOf(t, "hashicorp/random", "3.9.1", filepath.Join(w.dir, "terraform-provider-random")))
	for _, target := range []string{"athanor.yaml", "stack.json"} {
		if err := os.Remove(filepath.Join(w.dir, "athanor.lock")); err != nil {
			t.Fatal(err)
		}
		if target == "stack.json" {
			w.run(0, "allow", target, "--yes") // its places are others, and a graph tells the source alone
		}
		p := w.start("athanor", "plan", target)
		p.end(1)
		if said := p.out.String() + p.errs.String(); !strings.Contains(said, "runs registry.opentofu.org/hashicorp/random 3.9.1 h1:") || w.has("started") {
			t.Errorf("%s: started %t, it says\n%s", target, w.has("started"), said)
		}
	}
}

// athanorFolder is that of the state of a stack.
const athanorFolder = ".athanor"

// findsAll deploys a stack, takes state away, and wants each resource of a type that is found without state to be found, with nothing to change
// but the paths of differs; then it deletes all with state, and wants each to be absent without.
func findsAll(t *testing.T, w *world, run func(want int, args ...string) string, differs map[string]string, unfound ...string) {
	t.Helper()
	type action struct {
		Address, Action string
		Reasons         []struct{ Path string }
	}
	actions := func(code int, args ...string) []action {
		t.Helper()
		var plan struct{ Actions []action }
		if err := json.Unmarshal([]byte(run(code, append([]string{"plan", "--json"}, args...)...)), &plan); err != nil {
			t.Fatal(err)
		}
		return plan.Actions
	}
	run(0, "deploy", "--yes")
	state, away := filepath.Join(w.dir, athanorFolder), filepath.Join(t.TempDir(), "state")
	if err := os.Rename(state, away); err != nil {
		t.Fatal(err)
	}
	for _, a := range actions(2, "--adopt") {
		paths := []string{}
		for _, r := range a.Reasons {
			paths = append(paths, r.Path)
		}
		isFound := a.Action == "adopt" || a.Action == "recover"
		if want := !slices.Contains(unfound, a.Address); isFound != want {
			t.Errorf("%s exists and is found %t, want %t: the plan would %s it", a.Address, isFound, want, a.Action)
		}
		if got := strings.Join(slices.Compact(slices.Sorted(slices.Values(paths))), " "); isFound && got != differs[a.Address] {
			t.Errorf("%s is found, and the plan would change %q of it, want %q", a.Address, got, differs[a.Address])
		}
	}
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, state); err != nil {
		t.Fatal(err)
	}
	run(0, "destroy", "--yes")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	for _, a := range actions(2) {
		if a.Action != "create" {
			t.Errorf("%s was deleted, and the plan would %s it", a.Address, a.Action)
		}
	}
}

// TestTerraformFinds shows of each type that is said to be found without state that it is: what exists is found with nothing to change but what
// the provider does not read, and what was deleted is not. Cloudflare and logical replication are asked every night.
func TestTerraformFinds(t *testing.T) {
	t.Parallel()
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		program := peer(t, "postgresql")
		db := newDatabase(t)
		database, prefix := db.name, "find"+strings.ToLower(rand.Text()[:8])
		config := db.config()
		w := newWorld(t, strings.NewReplacer("PROGRAM", program, "CONFIG", config, "NAME", prefix, "DATABASE", database).Replace(`stack: finds
providers: {db: {terraform: cyrilgdn/postgresql, path: PROGRAM, config: CONFIG}}
resources:
  app:     {kind: tf.postgresql_role, provider: db, props: {name: NAME_app, login: true}}
  reader:  {kind: tf.postgresql_role, provider: db, props: {name: NAME_reader}}
  shop:    {kind: tf.postgresql_database, provider: db, props: {name: NAME_shop, owner: "${app.name}"}}
  web:     {kind: tf.postgresql_schema, provider: db, props: {name: NAME_web, owner: "${app.name}"}}
  fdw:     {kind: tf.postgresql_extension, provider: db, props: {name: postgres_fdw}}
  far:     {kind: tf.postgresql_server, provider: db, props: {server_name: NAME_far, fdw_name: "${fdw.name}", options: {host: far.example}}}
  mapped:  {kind: tf.postgresql_user_mapping, provider: db, props: {user_name: "${app.name}", server_name: "${far.server_name}", options: {user: ada}}}
  member:  {kind: tf.postgresql_grant_role, provider: db, props: {role: "${app.name}", grant_role: "${reader.name}"}}
  grant:   {kind: tf.postgresql_grant, provider: db, props: {database: DATABASE, role: "${reader.name}", schema: "${web.name}", object_type: schema, privileges: [USAGE]}}
  connect: {kind: tf.postgresql_grant, provider: db, props: {database: DATABASE, role: "${reader.name}", object_type: database, privileges: [CONNECT]}}
  default: {kind: tf.postgresql_default_privileges, provider: db, props: {database: DATABASE, role: "${reader.name}", owner: "${app.name}", schema: "${web.name}", object_type: table, privileges: [SELECT]}}
  add:
    kind: tf.postgresql_function
    provider: db
    props:
      name: NAME_add
      database: DATABASE
      schema: "${web.name}"
      returns: integer
      language: plpgsql
      arg: [{name: i, type: integer}, {name: j, type: integer}]
      body: "BEGIN RETURN i + j; END;"
  slot:    {kind: tf.postgresql_physical_replication_slot, provider: db, props: {name: NAME_slot}}
`))
		run := func(want int, args ...string) string {
			t.Helper()
			return w.run(want, append(args, "--allow", "program="+program, "--allow", "identity="+config)...)
		}
		findsAll(t, w, run, map[string]string{"app": "roles", "web": "if_not_exists"}) // the role's own roles, and a grant of one, are for the same
	})
	nightly(t, "postgresql logical", func(t *testing.T) {
		t.Parallel()
		program, server := peer(t, "postgresql"), pgtest.Launch(t, "wal_level=logical")
		db := databaseOf(t, server)
		config := db.config()
		w := newWorld(t, strings.NewReplacer("PROGRAM", program, "CONFIG", config, "DATABASE", db.name, "PORT", strconv.Itoa(db.port)).Replace(`stack: finds
providers: {db: {terraform: cyrilgdn/postgresql, path: PROGRAM, config: CONFIG}}
resources:
  news:   {kind: tf.postgresql_publication, provider: db, props: {name: news, all_tables: true}}
  slot:   {kind: tf.postgresql_replication_slot, provider: db, props: {name: news_slot, plugin: pgoutput}}
  reads:
    kind: tf.postgresql_subscription
    provider: db
    props:
      name: reads
      conninfo: "host=127.0.0.1 port=PORT dbname=DATABASE user=postgres"
      publications: ["${news.name}"]
      create_slot: false
      slot_name: "${slot.name}"
`))
		run := func(want int, args ...string) string {
			t.Helper()
			return w.run(want, append(args, "--allow", "program="+program, "--allow", "identity="+config)...)
		}
		findsAll(t, w, run, map[string]string{})
	})
	nightly(t, "cloudflare", func(t *testing.T) {
		t.Parallel()
		program, s := peer(t, "cloudflare"), cloudflaretest.Start(t)
		s.WithDatabases(t)
		base := s.Env()["CLOUDFLARE_API_BASE_URL"]
		text, err := os.ReadFile(filepath.Join("testdata", "terraform", "cloudflare.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, strings.NewReplacer("PROGRAM", program, "BASE", base, "ACCOUNT", s.Account, "ZONE", s.AddZone(s.Account, "shop.example")).
			Replace(edits.ReplaceAllString(string(text), "$1")))
		w.env = append(w.env, "CLOUDFLARE_API_TOKEN="+s.Token,
			fmt.Sprintf(`ATHANOR_ALLOW=program=%s,identity={"base_url":%q},env=["CLOUDFLARE_API_TOKEN"]`, program, base))
		findsAll(t, w, w.run, map[string]string{"flow": "schedules"},
			"cors", "managed", "consumer", "hyper", "setting", "rules", "sub", "cron", "zone")
	})
}

// TestTerraformKinds documents the types of a provider, describes them to editors, and writes Go structs that compile, with a stack that names the
// provider and without one.
func TestTerraformKinds(t *testing.T) {
	t.Parallel()
	program := peer(t, "random")
	w := newWorld(t, "")
	w.env = append(w.env, "ATHANOR_PROVIDER_MIRROR="+mirrorOf(t, "hashicorp/random", "3.9.0", program), "XDG_CACHE_HOME="+t.TempDir())
	says := func(said string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(said, text) {
				t.Errorf("it says\n%.2000s\nwant %q", said, text)
			}
		}
	}
	refused := func(want []string, args ...string) {
		t.Helper()
		p := w.start("athanor", args...)
		p.end(1)
		says(p.out.String()+p.errs.String(), want...)
	}
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	refused([]string{"neither an athanor.yaml nor a Go main package", "athanor kinds tf:NAMESPACE/NAME tf.random_id"}, "kinds", "tf.random_id")
	refused([]string{"hashicorp/random; nobody has allowed it", "--allow program="}, "kinds", "tf:hashicorp/random")
	allow := []string{"--allow", "program=hashicorp/random"}
	says(w.run(0, append([]string{"kinds", "tf:hashicorp/random"}, allow...)...), "tf.random_id\n", "tf.random_password\n")
	if w.has("athanor.lock") {
		t.Error("a provider that no stack names is locked here")
	}
	id := w.run(0, append([]string{"kinds", "tf:hashicorp/random", "tf.random_id"}, allow...)...)
	says(id, "hashicorp/random 3.9.0", "byte_length  number  (required)", "Objects are in state alone")
	says(w.run(0, "kinds", "tf:"+program, "tf.random_id", "--allow", "program="+program), "byte_length  number  (required)")
	says(w.run(0, append([]string{"schema", "tf:hashicorp/random"}, allow...)...), `"tf.random_pet"`, `"byte_length"`)

	w.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random}}\nresources: {a: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}\n")
	says(w.run(0, append([]string{"kinds", "tf.random_id"}, allow...)...), "byte_length  number  (required)")
	says(w.run(0, append([]string{"schema", "tf.random_id"}, allow...)...), `"byte_length"`)
	// The folder of a relative path is that of the stack, and an error names the provider, its version and the resource.
	w.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random}}\nresources: {it: {kind: tf.random_password, provider: rnd, props: {length: 0}}}\n")
	refused([]string{"it: observe: hashicorp/random 3.9.0: "}, append([]string{"plan"}, allow...)...)
	if err := os.MkdirAll(filepath.Join(w.dir, "sub", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("sub/athanor.yaml", "stack: sub\nproviders: {rnd: {terraform: hashicorp/random, path: bin/provider}}\nresources: {a: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}\n")
	if err := os.Link(program, filepath.Join(w.dir, "sub", "bin", "provider")); err != nil {
		data, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, "sub", "bin", "provider"), data, 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	w.run(2, "plan", "sub", "--allow", "program="+filepath.Join(w.dir, "sub", "bin", "provider"))
	w.write("athanor.yaml", "stack: bridge\nproviders: {rnd: {terraform: hashicorp/random}}\nresources: {a: {kind: tf.random_id, provider: rnd, props: {byte_length: 4}}}\n")
	// The structs compile as a package of this module, which a map of files puts there.
	overlaid := t.TempDir()
	structs, replaced := filepath.Join(overlaid, "random.go"), filepath.Join(overlaid, "overlay.json")
	if err := os.WriteFile(structs, []byte(w.run(0, append([]string{"generate", "tf:hashicorp/random"}, allow...)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{absoluteOf(t, "../internal/generated/random/random.go"): structs}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(replaced, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", replaced, "../internal/generated/random")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	refused([]string{`unknown kind "tf.random_ids"`, "did you mean tf.random_id?"}, append([]string{"kinds", "tf.random_ids"}, allow...)...)
}

func absoluteOf(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// TestTerraformMovesIn adopts what Terraform has made of types that have no kind of ours: as types of their own providers, with the private data of the
// state, and nothing to change. Without the permission to run the provider the report says what is missing.
func TestTerraformMovesIn(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	address, database, role := db.address.String(), db.name, "move"+strings.ToLower(rand.Text()[:8])
	pgtest.Exec(t, address, "create role "+role+" login password 'correct-horse' connection limit 3")
	pgtest.Exec(t, address, "create role "+role+"_reader")
	pgtest.Exec(t, address, "grant connect on database "+database+" to "+role+"_reader")
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	// What OpenTofu writes of these, but for null attributes.
	w.write("shop.tfstate", strings.NewReplacer("ROLE", role, "DATABASE", database).Replace(`{
  "version": 4, "terraform_version": "1.9.0", "serial": 3, "lineage": "5c8d", "outputs": {},
  "resources": [
    {"mode": "managed", "type": "postgresql_role", "name": "app", "provider": "provider[\"registry.opentofu.org/cyrilgdn/postgresql\"]", "instances": [
      {"schema_version": 0, "private": "bnVsbA==", "sensitive_attributes": [], "attributes": {"id": "ROLE", "name": "ROLE", "login": true, "password": "correct-horse",
       "connection_limit": 3, "inherit": true, "encrypted_password": true, "valid_until": "infinity", "roles": [], "search_path": [], "skip_drop_role": false,
       "skip_reassign_owned": false, "statement_timeout": 0, "idle_in_transaction_session_timeout": 0, "assume_role": "", "superuser": false, "replication": false,
       "bypass_row_level_security": false, "create_database": false, "create_role": false}}]},
    {"mode": "managed", "type": "postgresql_role", "name": "reader", "provider": "provider[\"registry.opentofu.org/cyrilgdn/postgresql\"]", "instances": [
      {"schema_version": 0, "private": "bnVsbA==", "attributes": {"id": "ROLE_reader", "name": "ROLE_reader", "login": false, "password": "", "connection_limit": -1,
       "inherit": true, "encrypted_password": true, "valid_until": "infinity", "roles": [], "search_path": []}}]},
    {"mode": "managed", "type": "postgresql_grant", "name": "connect", "provider": "provider[\"registry.opentofu.org/cyrilgdn/postgresql\"]", "instances": [
      {"schema_version": 0, "private": "bnVsbA==", "dependencies": ["postgresql_role.reader"], "attributes": {"id": "ROLE_reader_DATABASE_database", "role": "ROLE_reader",
       "database": "DATABASE", "object_type": "database", "privileges": ["CONNECT"], "with_grant_option": false, "objects": [], "columns": [], "schema": ""}}]}
  ]}
`))
	w.env = append(w.env, "ATHANOR_PROVIDER_MIRROR="+mirrorOf(t, "cyrilgdn/postgresql", "1.26.0", program), "XDG_CACHE_HOME="+t.TempDir())
	p := w.start("athanor", "adopt", "--from", "shop.tfstate")
	p.end(0)
	if said := p.errs.String(); !strings.Contains(said, "not adopted: postgresql_role.app") || !strings.Contains(said, "as tf.postgresql_role of its own provider: ") ||
		!strings.Contains(said, "nobody has allowed it") {
		t.Errorf("without a permission it says\n%s", said)
	}
	allow := []string{"--allow", "program=cyrilgdn/postgresql"}
	text := w.run(0, append([]string{"adopt", "--from", "shop.tfstate"}, allow...)...)
	for _, want := range []string{"kind: tf.postgresql_role", "terraform: cyrilgdn/postgresql", "adopt: tfstate:shop.tfstate#postgresql_role.app", "role: ${reader.name}"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "correct-horse") {
		t.Errorf("the stack holds a password\n%s", text)
	}
	program = w.run(0, append([]string{"adopt", "--from", "shop.tfstate", "--go", "--stage", "go"}, allow...)...)
	for _, want := range []string{`tfPostgresql := s.With("tf", map[string]any{"terraform": "cyrilgdn/postgresql"})`, `tfPostgresql.Resource("tf.postgresql_role", "app"`} {
		if !strings.Contains(program, want) {
			t.Errorf("there is no %s in\n%s", want, program)
		}
	}
	config := db.config()
	w.write("athanor.yaml", strings.Replace(text, "terraform: cyrilgdn/postgresql\n", "terraform: cyrilgdn/postgresql\n    config: "+config+"\n", 1))
	allow = append(allow, "--allow", "identity="+config)
	var plan struct {
		Actions []struct {
			Address, Action string
			Reasons         []any
		}
	}
	if err := json.Unmarshal([]byte(w.run(2, append([]string{"plan", "--adopt", "--json"}, allow...)...)), &plan); err != nil {
		t.Fatal(err)
	}
	for _, a := range plan.Actions {
		if a.Action != "adopt" && a.Action != "recover" || len(a.Reasons) > 0 {
			t.Errorf("%s: the plan would %s it, and change %v", a.Address, a.Action, a.Reasons)
		}
	}
	w.run(0, append([]string{"deploy", "--adopt", "--yes"}, allow...)...)
	w.run(0, append([]string{"plan"}, allow...)...)
	if err := os.Remove(filepath.Join(w.dir, "shop.tfstate")); err != nil { // it is needed no more
		t.Fatal(err)
	}
	w.run(0, append([]string{"plan"}, allow...)...)
	w.run(0, append([]string{"destroy", "--yes"}, allow...)...)
	var left int
	if err := pgtest.Connect(t, address).QueryRow(t.Context(), "select count(*) from pg_roles where rolname like $1", role+"%").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d roles are left (%v)", left, err)
	}
}
