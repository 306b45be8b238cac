//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// TestTerraformFindsLabels shows that a security label is found without state, and told apart from one that does not exist. A server permits a label by a
// module, and no package has one: the test writes into the catalog what the server would, and without that the creation is the server's error.
func TestTerraformFindsLabels(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	address, config, role := db.address.String(), db.config(), "label"+strings.ToLower(rand.Text()[:8])
	pgtest.Exec(t, address, "create role "+role)
	catalog := func(statement string) {
		t.Helper()
		pgtest.Exec(t, address, "set allow_system_table_mods = on; "+statement)
	}
	w := newWorld(t, fmt.Sprintf(`stack: labels
providers: {db: {terraform: cyrilgdn/postgresql, path: %s, config: %s}}
resources:
  mark: {kind: tf.postgresql_security_label, provider: db, props: {object_type: role, object_name: %s, label_provider: guard, label: secret}}
`, program, config, role))
	allow := []string{"--allow", "program=" + program, "--allow", "identity=" + config}
	says := func(code int, want string, args ...string) {
		t.Helper()
		p := w.start("athanor", append(args, allow...)...)
		p.end(code)
		if said := p.out.String() + p.errs.String(); !strings.Contains(said, want) {
			t.Errorf("%v says\n%s\nwant %q", args, said, want)
		}
	}
	says(2, "1 to create", "plan")
	catalog(fmt.Sprintf("insert into pg_shseclabel values ('%s'::regrole, 'pg_authid'::regclass, 'guard', 'secret')", role))
	says(1, "exists, and nothing says who owns it", "plan")
	says(0, "", "deploy", "--adopt", "--yes")
	says(0, "", "plan")
	catalog("update pg_shseclabel set label = 'public' where provider = 'guard'")
	says(2, "label:  secret → public", "drift")
	catalog("delete from pg_shseclabel where provider = 'guard'")
	says(2, "deleted outside athanor", "drift")
	says(4, `security label provider "guard" is not loaded`, "deploy", "--yes")
	says(2, "1 to create", "plan") // the label is known not to be there, though its creation was begun
}

// TestTerraformWriteOnly creates a role with a password that its provider writes and never reads. Neither state nor what is printed holds it, a plan after it
// finds nothing to do, and another one is written when the attribute that the provider has for it says so.
func TestTerraformWriteOnly(t *testing.T) {
	t.Parallel()
	program := peer(t, "postgresql")
	db := newDatabase(t)
	config, role := db.config(), "wo"+strings.ToLower(rand.Text()[:8])
	w := newWorld(t, "")
	allow := []string{"--allow", "program=" + program, "--allow", "identity=" + config}
	printed := ""
	run := func(code int, args ...string) string {
		t.Helper()
		said := w.run(code, append(args, allow...)...)
		printed += said
		return said
	}
	secrets := []string{"first-" + rand.Text(), "second-" + rand.Text()}
	stack := func(secret int, version string) {
		w.env = append(w.env, "ATHANOR_SECRET_PG="+secrets[secret])
		w.write("athanor.yaml", fmt.Sprintf(`stack: shop
secrets: {pg: {env: ATHANOR_SECRET_PG}}
providers: {db: {terraform: cyrilgdn/postgresql, path: %s, config: %s}}
resources:
  app: {kind: tf.postgresql_role, provider: db, props: {name: %s, login: true, password_wo: "${secret.pg}", password_wo_version: "%s"}}
`, program, config, role, version))
	}
	conn := pgtest.Connect(t, db.address.String())
	written := func() (hash string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "select coalesce(rolpassword, '') from pg_authid where rolname = $1", role).Scan(&hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	stack(0, "1")
	run(0, "deploy", "--yes")
	run(0, "plan")
	first := written()
	if first == "" {
		t.Error("the role has no password")
	}
	stack(1, "1")
	run(0, "plan") // the provider sees the version alone
	stack(1, "2")
	if said := run(2, "plan"); !strings.Contains(said, "password_wo_version:  1 → 2") {
		t.Errorf("the plan says\n%s", said)
	}
	run(0, "deploy", "--yes")
	run(0, "plan")
	if second := written(); second == "" || second == first {
		t.Error("the other password is not written")
	}
	run(0, "destroy", "--yes")
	state, err := os.ReadFile(filepath.Join(w.dir, athanorFolder, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if strings.Contains(string(state), secret) || strings.Contains(printed, secret) {
			t.Error("a password is in state or in what is printed")
		}
	}
}

// TestTerraformUpgradesState adopts an object of a state file that an older version of its provider wrote, which the provider brings to its own schema. What a newer
// version wrote is an error that says so.
func TestTerraformUpgradesState(t *testing.T) {
	t.Parallel()
	program := peer(t, "random")
	w := newWorld(t, `stack: bridge
providers: {rnd: {terraform: hashicorp/random, path: `+program+`}}
resources: {pass: {kind: tf.random_password, provider: rnd, props: {length: 12}, options: {adopt: "tfstate:old.tfstate#random_password.pass"}}}
outputs: {result: "${pass.result}", hash: "${pass.bcrypt_hash}"}
`)
	w.env = append(w.env, "ATHANOR_ALLOW=program="+program)
	state := func(version int) {
		w.write("old.tfstate", fmt.Sprintf(`{"version": 4, "terraform_version": "1.0.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": [
  {"mode": "managed", "type": "random_password", "name": "pass", "provider": "provider[\"registry.terraform.io/hashicorp/random\"]", "instances": [
    {"schema_version": %d, "private": "bnVsbA==", "attributes": {"id": "none", "keepers": null, "length": 12, "lower": true, "min_lower": 0, "min_numeric": 0,
     "min_special": 0, "min_upper": 0, "number": true, "override_special": null, "result": "correcthorse", "special": true, "upper": true}}]}]}`, version))
	}
	state(99)
	p := w.start("athanor", "plan")
	p.end(1)
	if said := p.errs.String() + p.out.String(); !strings.Contains(said, "written by a newer version of its provider (schema 99") {
		t.Errorf("it says\n%s", said)
	}
	state(0) // which had neither numeric nor bcrypt_hash
	w.run(0, "deploy", "--yes")
	w.run(0, "plan")
	if got := strings.TrimSpace(w.run(0, "output", "result", "--reveal")); got != "correcthorse" {
		t.Errorf("the password is %s", got)
	}
	if got := w.run(0, "output", "hash", "--reveal"); !strings.HasPrefix(got, "$2a$") {
		t.Errorf("its hash is %s", got)
	}
}
