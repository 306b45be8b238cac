//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// TestTerraformConfigOfTheStack configures a provider from a secret and from what the same stack makes: it is planned before that exists, what
// it makes is found again, a change of the secret changes nothing else, and its objects are deleted without the program.
func TestTerraformConfigOfTheStack(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	address, database, admin := db.address.String(), db.name, "adm"+strings.ToLower(rand.Text()[:8])
	root := db.config()
	inner := fmt.Sprintf(`{"database":%q,"host":"127.0.0.1","password":"${admin.password}","port":%d,"sslmode":"disable","username":"${admin.name}"}`, database, db.port)
	secret := strings.Replace(root, `"port"`, `"password":"${secret.pg}","port"`, 1) // the server asks its superuser for no password
	w := newWorld(t, "")
	first, second := "s3cr3t-"+rand.Text(), "0ther-"+rand.Text()
	w.env = append(w.env, "ATHANOR_SECRET_PG="+first)
	allow := []string{"--allow", "program=" + program, "--allow", "identity=" + root, "--allow", "identity=" + inner, "--allow", "identity=" + secret}
	run := func(want int, args ...string) string {
		t.Helper()
		return w.run(want, append(args, allow...)...)
	}
	stack := func(more, read string) {
		w.write("athanor.yaml", `stack: shop
secrets: {pg: {env: ATHANOR_SECRET_PG}}
providers:
  root: {terraform: cyrilgdn/postgresql, path: `+program+`, config: `+root+`}
  me:   {terraform: cyrilgdn/postgresql, path: `+program+`, config: `+secret+`}
  app:  {terraform: cyrilgdn/postgresql, path: `+program+`, config: `+inner+`}
resources:
  admin: {kind: tf.postgresql_role, provider: root, props: {name: `+admin+`, login: true, superuser: true, password: "${secret.pg}"}}
  web:   {kind: tf.postgresql_schema, provider: app, props: {name: web}}
`+more+read)
	}
	stack("", "")
	p := w.start("athanor", "plan", "--allow", "program="+program, "--allow", "identity="+root, "--allow", "identity="+secret)
	p.end(1)
	if said := p.errs.String(); !strings.Contains(said, `"username":"${admin.name}"`) || !strings.Contains(said, "nobody has allowed it") {
		t.Errorf("without a permission for the configuration it says\n%s", said)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		p := w.start("athanor", append(args, allow...)...)
		p.end(1)
		if said := p.errs.String(); !strings.Contains(said, want) {
			t.Errorf("it says\n%s\nwant %q", said, want)
		}
	}
	whole := w.read("athanor.yaml")
	w.write("athanor.yaml", strings.Replace(whole, "${admin.name}", "${nobody.name}", 1))
	refused("nobody has allowed it", "plan") // who may be reached is asked first
	w.write("athanor.yaml", strings.Replace(whole, "${admin.name}", "${admin.name}${web.nmae}", 1))
	allow = append(allow, "--allow", "identity="+strings.Replace(inner, "${admin.name}", "${admin.name}${web.nmae}", 1))
	refused("did you mean name?", "plan")
	w.write("athanor.yaml", strings.Replace(whole, "  app:  {", "  app:  {account: '${admin.name}', ", 1))
	refused("${admin.name}: places must be known", "plan")
	w.write("athanor.yaml", whole)
	graph := run(0, "graph", "--json")
	forged := regexp.MustCompile(`("props":\s*\{[^{}]*"provider":\s*\{[^{}]*"host":\s*)"127.0.0.1"`).ReplaceAllString(graph, `$1"192.0.2.1"`)
	if forged == graph {
		t.Errorf("there is no configuration among props in\n%s", graph)
	}
	w.write("forged.json", forged)
	refused("web: provider is not what the settings of its provider say", "plan", "forged.json")
	plan := run(2, "plan")
	if !strings.Contains(plan, "2 to create") || !strings.Contains(plan, "provider.username:  ${admin.name}, known after admin is created") {
		t.Errorf("the plan says\n%s", plan)
	}
	all := plan + run(2, "plan", "--json") + run(0, "deploy", "--yes") + run(0, "plan", "--json") + run(0, "drift")
	all += run(0, "state", "show", "web") + run(0, "graph", "--json")
	var owner string
	if err := pgtest.Connect(t, address).QueryRow(t.Context(), "select nspowner::regrole::text from pg_namespace where nspname = 'web'").Scan(&owner); err != nil || owner != admin {
		t.Errorf("the schema is of %q (%v): another one made it", owner, err)
	}

	// The secret changes: the role is changed first, and what is reached with it stays.
	w.env = append(w.env, "ATHANOR_SECRET_PG="+second)
	stack("  more: {kind: tf.postgresql_schema, provider: app, props: {name: more}}\n", `
read:
  schemas: {kind: tf.postgresql_schemas, provider: me, query: {database: `+database+`, include_system_schemas: false, like_any_patterns: [web]}}
outputs: {schemas: "${schemas.schemas}"}
`)
	plan = run(2, "plan")
	if !strings.Contains(plan, "may update\n      provider.password:  (secret), known later") || !strings.Contains(plan, "1 to create, 2 to update") {
		t.Errorf("with another secret the plan says\n%s", plan)
	}
	all += plan + run(0, "deploy", "--yes") + run(0, "plan")

	if got := run(0, "output", "schemas"); !strings.Contains(got, "web") {
		t.Errorf("the schemas are %s", got)
	}
	state, err := os.ReadFile(filepath.Join(w.dir, ".athanor", "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first, second} {
		if strings.Contains(string(state), secret) || strings.Contains(all, secret) {
			t.Error("a secret is in state or in what is printed in clear")
		}
	}

	// What is declared no more is reached with what state has of the configuration.
	stack("", "")
	run(0, "deploy", "--yes")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	run(0, "destroy", "--yes", "--stack", "shop")
	var left int
	query := "select (select count(*) from pg_roles where rolname = $1) + (select count(*) from pg_namespace where nspname in ('web', 'more'))"
	if err := pgtest.Connect(t, address).QueryRow(t.Context(), query, admin).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d objects are left (%v)", left, err)
	}
}

// TestTerraformReadsWhatIsMade plays the example of the design: a data source asks for what the same stack makes, by a provider whose configuration holds a
// secret, and one is asked by a provider that the stack configures. Both are read by the run that makes it, and while planning from then on.
func TestTerraformReadsWhatIsMade(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	name := "read" + strings.ToLower(rand.Text()[:8])
	root := strings.Replace(db.config(), `"port"`, `"password":"${secret.pg}","port"`, 1)
	inner := fmt.Sprintf(`{"database":"${shop.name}","host":"127.0.0.1","password":"${secret.app}","port":%d,"sslmode":"disable","username":"${app.name}"}`, db.port)
	w := newWorld(t, "")
	w.env = append(w.env, "ATHANOR_SECRET_PG=pg-"+rand.Text(), "ATHANOR_SECRET_APP=app-"+rand.Text())
	stack := func(web string) {
		w.write("athanor.yaml", strings.NewReplacer("PROGRAM", program, "ROOT", root, "INNER", inner, "NAME", name, "WEB", web).Replace(`stack: shop
secrets: {pg: {env: ATHANOR_SECRET_PG}, app: {env: ATHANOR_SECRET_APP}}
providers:
  db:   {terraform: cyrilgdn/postgresql, path: PROGRAM, config: ROOT}
  mine: {terraform: cyrilgdn/postgresql, path: PROGRAM, config: INNER}
resources:
  app:  {kind: tf.postgresql_role, provider: db, props: {name: NAME, login: true, password: "${secret.app}"}}
  shop: {kind: tf.postgresql_database, provider: db, props: {name: NAME, owner: "${app.name}"}}
WEB
read:
  me:    {kind: tf.postgresql_schemas, provider: db, query: {database: "${shop.name}"}}
  own:   {kind: tf.data.postgresql_schemas, provider: mine, query: {database: "${me.database}", like_any_patterns: ["we%"]}}
outputs: {schemas: "${me.schemas}", own: "${own.schemas}"}
`))
	}
	run := func(want int, args ...string) string {
		t.Helper()
		return w.run(want, append(args, "--allow", "program="+program, "--allow", "identity="+root, "--allow", "identity="+inner)...)
	}
	stack("")
	plan := run(2, "plan")
	if !strings.Contains(plan, "2 to create") || !strings.Contains(plan, "known after me") {
		t.Errorf("before the database is there the plan says\n%s", plan)
	}
	run(0, "deploy", "--yes")
	if got := run(0, "output", "schemas"); !strings.Contains(got, "public") {
		t.Errorf("the schemas are %s", got)
	}
	run(0, "plan")

	// What is made of an answer follows it, and goes before what was asked for.
	stack(`  web:  {kind: tf.postgresql_schema, provider: mine, props: {name: "web_${me.database}"}}`)
	plan = run(2, "plan")
	if !strings.Contains(plan, "1 to create") || !strings.Contains(plan, "web_"+name) {
		t.Errorf("with a schema the plan says\n%s", plan)
	}
	run(0, "deploy", "--yes")
	run(2, "plan") // own was read before the schema was there, and nothing said that it comes after
	run(0, "deploy", "--yes")
	if got := run(0, "output", "own"); !strings.Contains(got, "web_"+name) {
		t.Errorf("its own schemas are %s", got)
	}
	run(0, "plan")
	run(0, "drift")
	run(0, "destroy", "--yes")
	var left int
	query := "select (select count(*) from pg_roles where rolname = $1) + (select count(*) from pg_database where datname = $1)"
	if err := pgtest.Connect(t, db.address.String()).QueryRow(t.Context(), query, name).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d objects are left (%v)", left, err)
	}
}

// TestTerraformMovesAType adopts an object of a state file that version 4 of the real provider of Cloudflare wrote, where its type had another name.
func TestTerraformMovesAType(t *testing.T) {
	t.Parallel()
	program, s := peer(t, "cloudflare"), cloudflaretest.Start(t)
	base, zone := s.Env()["CLOUDFLARE_API_BASE_URL"], s.AddZone(s.Account, "shop.example")
	made, _ := s.Do(t, "POST", "/zones/"+zone+"/dns_records", map[string]any{"type": "A", "name": "www.shop.example", "content": "192.0.2.1", "ttl": 300}).(map[string]any)
	id := fmt.Sprint(made["id"])
	w := newWorld(t, "")
	w.env = append(w.env, "CLOUDFLARE_API_TOKEN="+s.Token, fmt.Sprintf(`ATHANOR_ALLOW=program=%s,identity={"base_url":%q},env=["CLOUDFLARE_API_TOKEN"]`, program, base))
	w.write("old.tfstate", strings.NewReplacer("ID", id, "ZONE", zone).Replace(`{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": [
  {"mode": "managed", "type": "cloudflare_record", "name": "www", "provider": "provider[\"registry.terraform.io/cloudflare/cloudflare\"]", "instances": [
    {"schema_version": 3, "private": "bnVsbA==", "attributes": {"id": "ID", "zone_id": "ZONE", "name": "www.shop.example", "hostname": "www.shop.example", "type": "A",
     "value": "192.0.2.1", "content": "192.0.2.1", "ttl": 300, "priority": null, "proxied": false, "proxiable": true, "allow_overwrite": null, "comment": "", "tags": [],
     "data": [], "metadata": {}, "created_on": "2026-01-02T03:04:05Z", "modified_on": "2026-01-02T03:04:05Z", "timeouts": null}}]}]}`))
	w.write("athanor.yaml", `stack: dns
providers: {cf: {terraform: cloudflare/cloudflare, path: `+program+`, config: {base_url: "`+base+`"}, env: [CLOUDFLARE_API_TOKEN]}}
resources:
  www:
    kind: tf.cloudflare_dns_record
    provider: cf
    props: {zone_id: `+zone+`, name: www.shop.example, type: A, content: 192.0.2.1, ttl: 300}
    options: {adopt: "tfstate:old.tfstate#cloudflare_record.www"}
`)
	if said := w.run(2, "plan"); !strings.Contains(said, "adopt") {
		t.Errorf("the plan says\n%s", said)
	}
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	if all, _ := s.Do(t, "GET", "/zones/"+zone+"/dns_records", nil).([]any); len(all) != 1 {
		t.Errorf("%d records", len(all))
	}
	w.run(0, "destroy", "--yes")
	if all, _ := s.Do(t, "GET", "/zones/"+zone+"/dns_records", nil).([]any); len(all) != 0 {
		t.Errorf("destroy leaves %d records", len(all))
	}
}
