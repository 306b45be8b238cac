//go:build peers

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// importedBy is the id by which the object of a type is imported, of its attributes. An empty one is for what athanor finds by what is
// declared. Types that are not here have no ider.
var importedBy = map[string]string{
	"random_bytes": "{base64}", "random_id": "{prefix},{id}", "random_integer": "{result},{min},{max}", "random_password": "{result}",
	"random_string": "{result}", "random_uuid": "{result}",
	"local_file": "", "local_sensitive_file": "",
	"postgresql_role": "", "postgresql_database": "", "postgresql_schema": "", "postgresql_extension": "",
	"cloudflare_workers_kv_namespace":  "{account_id}/{id}",
	"cloudflare_workers_kv":            "{account_id}/{namespace_id}/{key_name}",
	"cloudflare_r2_bucket":             "{account_id}/{name}/default",
	"cloudflare_queue":                 "{account_id}/{queue_id}",
	"cloudflare_d1_database":           "{account_id}/{id}",
	"cloudflare_hyperdrive_config":     "{account_id}/{id}",
	"cloudflare_dns_record":            "{zone_id}/{id}",
	"cloudflare_zone_setting":          "{zone_id}/{setting_id}",
	"cloudflare_ruleset":               "zones/{zone_id}/{id}",
	"cloudflare_workers_script":        "{account_id}/{script_name}",
	"cloudflare_workers_cron_trigger":  "{account_id}/{script_name}",
	"cloudflare_workers_route":         "{zone_id}/{id}",
	"cloudflare_workers_custom_domain": "{account_id}/{id}",
	"cloudflare_workflow":              "{account_id}/{workflow_name}",
	"cloudflare_zone":                  "{id}",
}

// declaredAlike is a stack of Terraform providers, which is written for athanor and for tofu.
type declaredAlike struct {
	Stack     string
	Providers map[string]struct {
		Terraform, Path string
		Config          map[string]any `yaml:",omitempty"`
		Env             []string       `yaml:",omitempty"`
	}
	Resources map[string]*struct {
		Kind, Provider string
		Props          map[string]any
		Options        map[string]any `yaml:",omitempty"`
	}
}

// typ is the type of a resource by the provider's name.
func (d *declaredAlike) typ(name string) string {
	return strings.TrimPrefix(d.Resources[name].Kind, "tf.")
}

// referred is a reference to a resource in a text.
var referred = regexp.MustCompile(`\$\{(\w+)\.(\w+)\}`)

// mapped is a value with each text of it changed.
func mapped(v any, text func(string) string) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = mapped(v[i], text)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name := range v {
			all[name] = mapped(v[name], text)
		}
		return all
	}
	return v
}

// tofu is the same configuration for tofu, in JSON.
func (d *declaredAlike) tofu(t *testing.T) string {
	t.Helper()
	required, configured, resources := map[string]any{}, map[string]any{}, map[string]map[string]any{}
	for _, p := range d.Providers {
		name := filepath.Base(p.Terraform)
		required[name] = map[string]any{"source": p.Terraform}
		configured[name] = p.Config
		if p.Config == nil {
			configured[name] = map[string]any{}
		}
	}
	for name, r := range d.Resources {
		if resources[d.typ(name)] == nil {
			resources[d.typ(name)] = map[string]any{}
		}
		resources[d.typ(name)][name] = mapped(r.Props, func(text string) string {
			return referred.ReplaceAllStringFunc(text, func(found string) string {
				parts := referred.FindStringSubmatch(found)
				return "${" + d.typ(parts[1]) + "." + parts[1] + "." + parts[2] + "}"
			})
		})
	}
	text, err := json.MarshalIndent(map[string]any{"terraform": map[string]any{"required_providers": required}, "provider": configured, "resource": resources}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// instance is a resource in a state of tofu.
type instance struct {
	SchemaVersion int64          `json:"schema_version"`
	Attributes    map[string]any `json:"attributes"`
}

// heldByTofu is the part of a state of tofu that the tests need.
type heldByTofu struct {
	Version   int    `json:"version"`
	Tool      string `json:"terraform_version"`
	Serial    int    `json:"serial"`
	Lineage   string `json:"lineage"`
	Resources []struct {
		Mode      string     `json:"mode"`
		Type      string     `json:"type"`
		Name      string     `json:"name"`
		Provider  string     `json:"provider"`
		Instances []instance `json:"instances"`
	} `json:"resources"`
}

// exact reads JSON without a loss of digits.
func exact(t *testing.T, text string, into any) {
	t.Helper()
	from := json.NewDecoder(strings.NewReader(text))
	from.UseNumber()
	if err := from.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// dynamic is the value of an attribute that may be of any type, which a state of tofu holds with its type.
func dynamic(v map[string]any) (any, bool) {
	inner, ok := v["value"]
	return inner, ok && len(v) == 2 && v["type"] != nil
}

// leaves adds the values of a tree by their paths, but for those that are null.
func leaves(at string, v any, into map[string]string) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		if inner, ok := dynamic(v); ok {
			leaves(at, inner, into)
			return
		}
		for name := range v {
			leaves(at+"."+name, v[name], into)
		}
	case []any:
		for i := range v {
			leaves(fmt.Sprintf("%s[%d]", at, i), v[i], into)
		}
	default:
		into[strings.TrimPrefix(at, ".")] = fmt.Sprint(v)
	}
}

// sameRow is what the test finds of a type.
type sameRow struct{ attributes, tofu, athanor string }

// alike is one stack in one folder, for both.
type alike struct {
	*tofu
	declared declaredAlike
	allow    []string
}

func (a *alike) athanor(want int, args ...string) string {
	a.t.Helper()
	out := a.run(want, append(args, a.allow...)...)
	if a.t.Failed() {
		a.t.FailNow() // what comes next would fail of it
	}
	return out
}

// applied is the state that tofu has.
func (a *alike) applied() (s heldByTofu) {
	a.t.Helper()
	exact(a.t, a.read("terraform.tfstate"), &s)
	return s
}

// of is the instance of a resource.
func (s *heldByTofu) of(t *testing.T, name string) *instance {
	t.Helper()
	for i := range s.Resources {
		if s.Resources[i].Name == name && s.Resources[i].Mode == "managed" {
			return &s.Resources[i].Instances[0]
		}
	}
	t.Fatalf("tofu has no %s", name)
	return nil
}

// wants are the attributes that a plan of tofu would change, by resource.
func (a *alike) wants() map[string]string {
	a.t.Helper()
	a.tofu.tofu("", "plan", "-no-color", "-input=false", "-out=tofu.plan")
	cmd := limited(a.t, a.program, "show", "-json", "tofu.plan")
	cmd.Dir, cmd.Env = a.dir, a.env
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatal(err)
	}
	var plan struct {
		Changes []struct {
			Name   string
			Change struct {
				Actions       []string
				Before, After map[string]any
				Unknown       map[string]any `json:"after_unknown"`
			}
		} `json:"resource_changes"`
	}
	exact(a.t, string(out), &plan)
	all := map[string]string{}
	for _, c := range plan.Changes {
		if slices.Equal(c.Change.Actions, []string{"no-op"}) {
			continue
		}
		names := map[string]bool{}
		for name, after := range c.Change.After {
			if fmt.Sprint(after) != fmt.Sprint(c.Change.Before[name]) {
				names[name] = true
			}
		}
		for name, unknown := range c.Change.Unknown {
			if unknown == true {
				names[name] = true
			}
		}
		all[c.Name] = strings.Join(c.Change.Actions, ", ") + ": " + quoted(slices.Sorted(maps.Keys(names)))
	}
	return all
}

// quoted are names as they stand in a table.
func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// made are the attributes that athanor tells of each resource.
func (a *alike) made() map[string]map[string]any {
	a.t.Helper()
	all := map[string]map[string]any{}
	for name := range a.declared.Resources {
		var shown struct {
			Generations []struct{ Attributes map[string]any }
		}
		exact(a.t, a.run(0, "state", "show", name, "--reveal", "--json"), &shown)
		all[name] = shown.Generations[len(shown.Generations)-1].Attributes
		delete(all[name], "athanor:object")
	}
	return all
}

// compare says where athanor's attributes are not those of two runs of tofu. What differs between these is the provider's chance: there
// must be something, and nothing else is known of it. What is random may be the same in both, so there only what is declared counts.
func compare(one, two, ours, declared map[string]any, random bool) []string {
	first, second, have := map[string]string{}, map[string]string{}, map[string]string{}
	if random {
		two = maps.Clone(two)
		for name := range two {
			if _, given := declared[name]; !given {
				two[name] = "another value"
			}
		}
	}
	leaves("", one, first)
	leaves("", two, second)
	leaves("", ours, have)
	other := []string{}
	for path, want := range first {
		got, has := have[path]
		if !has || want == second[path] && got != want {
			other = append(other, fmt.Sprintf("%s: %q, tofu has %q", path, got, want))
		}
	}
	for path, got := range have {
		_, in := first[path]
		_, also := second[path]
		if !in && !also {
			other = append(other, fmt.Sprintf("%s: %q, tofu has nothing", path, got))
		}
	}
	slices.Sort(other)
	return other
}

// run deploys the stack with both in turn, and lets each take over what the other made.
func (a *alike) rows() map[string]sameRow {
	t := a.t
	t.Helper()
	text, err := yaml.Marshal(a.declared)
	if err != nil {
		t.Fatal(err)
	}
	// tofu alone: what it makes, and what it would change at once.
	a.write("main.tf.json", a.declared.tofu(t))
	a.tofu.tofu("", "apply", "-auto-approve", "-no-color", "-input=false")
	first, own := a.applied(), a.wants()
	a.tofu.tofu("", "apply", "-refresh-only", "-auto-approve", "-no-color", "-input=false")
	read := a.applied()
	a.tofu.tofu("", "destroy", "-auto-approve", "-no-color", "-input=false")

	// athanor, and tofu after it, which is handed the attributes as its state: it refreshes them, and plans.
	a.write("athanor.yaml", string(text))
	a.athanor(0, "deploy", "--yes")
	a.athanor(0, "plan")
	ours, handed := a.made(), first
	handed.Serial, handed.Resources = 1, slices.Clone(first.Resources)
	for i, r := range handed.Resources {
		given := maps.Clone(ours[r.Name])
		for name, v := range r.Instances[0].Attributes {
			if v, ok := v.(map[string]any); ok && given[name] != nil {
				if _, ok := dynamic(v); ok {
					given[name] = map[string]any{"type": v["type"], "value": given[name]}
				}
			}
		}
		handed.Resources[i].Instances = []instance{{r.Instances[0].SchemaVersion, given}}
	}
	state, err := json.Marshal(handed)
	if err != nil {
		t.Fatal(err)
	}
	a.write("terraform.tfstate", string(state))
	after := a.wants()
	a.athanor(0, "destroy", "--yes")
	if err := os.Remove(filepath.Join(a.dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}

	// tofu again, and athanor after it, which adopts by the id that the provider imports by. Each resource is looked at by itself: what
	// others would give it stands there.
	a.tofu.tofu("", "apply", "-auto-approve", "-no-color", "-input=false")
	second := a.applied()
	adopted := a.declared
	adopted.Resources = maps.Clone(a.declared.Resources)
	for name, r := range a.declared.Resources {
		template, ok := importedBy[a.declared.typ(name)]
		if !ok {
			delete(adopted.Resources, name)
			continue
		}
		declared := *r
		declared.Props, _ = mapped(r.Props, func(text string) string {
			return referred.ReplaceAllStringFunc(text, func(found string) string {
				parts := referred.FindStringSubmatch(found)
				return fmt.Sprint(second.of(t, parts[1]).Attributes[parts[2]])
			})
		}).(map[string]any)
		if template != "" {
			id := regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(template, func(found string) string {
				return fmt.Sprint(second.of(t, name).Attributes[strings.Trim(found, "{}")])
			})
			declared.Options = map[string]any{"adopt": id}
		}
		adopted.Resources[name] = &declared
	}
	took := map[string]string{}
	if len(adopted.Resources) > 0 {
		took = a.adopts(&adopted)
	}
	still := a.wants()
	a.tofu.tofu("", "destroy", "-auto-approve", "-no-color", "-input=false")

	rows := map[string]sameRow{}
	for _, name := range slices.Sorted(maps.Keys(a.declared.Resources)) {
		row := sameRow{"same", "nothing", "no id"}
		declared, random := a.declared.Resources[name].Props, strings.HasPrefix(a.declared.typ(name), "random_")
		other := compare(first.of(t, name).Attributes, second.of(t, name).Attributes, ours[name], declared, random)
		if len(other) > 0 && len(compare(read.of(t, name).Attributes, second.of(t, name).Attributes, ours[name], declared, random)) == 0 {
			other, row.attributes = nil, "same as after tofu's refresh"
		}
		if len(other) > 0 {
			t.Errorf("%s (%s): other attributes than tofu's:\n%s", name, a.declared.typ(name), strings.Join(other, "\n"))
			row.attributes = "other"
		}
		if after[name] != own[name] {
			t.Errorf("%s (%s): after athanor tofu would %q, after itself %q", name, a.declared.typ(name), after[name], own[name])
		}
		if still[name] != own[name] {
			t.Errorf("%s (%s): after athanor adopted tofu would %q, after itself %q", name, a.declared.typ(name), still[name], own[name])
		}
		if own[name] != "" {
			row.tofu = after[name] + ", as after itself"
		}
		if said, ok := took[name]; ok {
			row.athanor = said
		}
		if other, ok := rows[a.declared.typ(name)]; ok && row.athanor == "nothing" { // of two of a type, the one that differs is shown
			row.athanor = other.athanor
		}
		rows[a.declared.typ(name)] = row
	}
	return rows
}

// refused is why a plan does not adopt.
var refused = regexp.MustCompile(`cannot be adopted as declared: needs replacing: ([^"]+)"`)

// adoptAction is what a plan says of a resource.
type adoptAction struct {
	Address, Action string
	Reasons         []struct{ Path string }
	raw             json.RawMessage
}

// plansToAdopt writes the stack, and gives what a plan of it that adopts says.
func (a *alike) plansToAdopt(d *declaredAlike) []adoptAction {
	a.t.Helper()
	text, err := yaml.Marshal(d)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write("athanor.yaml", string(text))
	p := a.start("athanor", append([]string{"plan", "--adopt", "--json"}, a.allow...)...)
	if code := <-p.ended; code != 2 && code != 1 {
		a.t.Fatalf("exit code %d: %s%s", code, p.out.String(), p.errs.String())
	}
	var plan struct{ Actions []json.RawMessage }
	exact(a.t, p.out.String(), &plan)
	all := make([]adoptAction, len(plan.Actions))
	for i, raw := range plan.Actions {
		exact(a.t, string(raw), &all[i])
		all[i].raw = raw
	}
	return all
}

// adopts takes over what tofu has made, and gives what athanor would change of each resource. It then changes that, and finds
// nothing to do.
func (a *alike) adopts(d *declaredAlike) map[string]string {
	t := a.t
	t.Helper()
	took, plan := map[string]string{}, a.plansToAdopt(d)
	for _, action := range plan {
		if found := refused.FindStringSubmatch(string(action.raw)); action.Action == "blocked" && found != nil {
			took[action.Address] = "refused, replaces `" + found[1] + "`"
			delete(d.Resources, action.Address)
		}
	}
	if len(took) > 0 {
		plan = a.plansToAdopt(d)
	}
	for _, action := range plan {
		names := []string{}
		for _, reason := range action.Reasons {
			names = append(names, reason.Path)
		}
		slices.Sort(names)
		took[action.Address] = "nothing"
		if len(names) > 0 {
			took[action.Address] = quoted(slices.Compact(names))
		}
		if action.Action != "adopt" && action.Action != "recover" {
			took[action.Address] = action.Action + ": " + took[action.Address]
		}
	}
	for name := range d.Resources {
		if took[name] == "" {
			t.Errorf("the plan to adopt does not have %s", name)
		}
	}
	a.athanor(0, "deploy", "--adopt", "--yes")
	a.athanor(0, "plan")
	return took
}

// TestRealTofuMakesTheSame deploys one configuration of each of six real providers with the real tofu and with athanor: both make the same
// attributes, tofu plans after athanor what it plans after itself, and athanor adopts by import what tofu made. The table in
// docs/terraform-providers.md is what is found here, and is written anew under $ATHANOR_UPDATE.
func TestRealTofuMakesTheSame(t *testing.T) {
	rows := map[string]sameRow{}
	peers := os.Getenv("ATHANOR_PEERS")
	begin := func(t *testing.T, stack string, values ...string) *alike {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", "terraform", stack+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		a := &alike{tofu: newTofu(t)}
		if err := yaml.Unmarshal([]byte(strings.NewReplacer(values...).Replace(edits.ReplaceAllString(string(text), "$1"))), &a.declared); err != nil {
			t.Fatal(err)
		}
		for _, p := range a.declared.Providers {
			a.allow = append(a.allow, "--allow", "program="+p.Path)
		}
		return a
	}
	t.Run("small", func(t *testing.T) {
		a := begin(t, "small", "PROGRAM", filepath.Join(peers, "terraform-provider"))
		maps.Copy(rows, a.rows())
		if a.has("out.txt") || a.has("hidden.txt") {
			t.Error("files are left")
		}
	})
	t.Run("postgresql", func(t *testing.T) {
		db := newDatabase(t)
		address, config := db.address.String(), db.config()
		a := begin(t, "postgresql", "PROGRAM", filepath.Join(peers, "terraform-provider-postgresql"), "CONFIG", config)
		a.allow = append(a.allow, "--allow", "identity="+config)
		maps.Copy(rows, a.rows())
		var left int
		query := `select (select count(*) from pg_roles where rolname like 'same\_%') + (select count(*) from pg_database where datname like 'same\_%')`
		if err := pgtest.Connect(t, address).QueryRow(t.Context(), query).Scan(&left); err != nil || left > 0 {
			t.Errorf("%d objects are left (%v)", left, err)
		}
	})
	t.Run("cloudflare", func(t *testing.T) {
		s := cloudflaretest.Start(t)
		s.WithDatabases(t)
		base := s.Env()["CLOUDFLARE_API_BASE_URL"]
		a := begin(t, "cloudflare", "PROGRAM", filepath.Join(peers, "terraform-provider-cloudflare"), "BASE", base, "ACCOUNT", s.Account,
			"ZONE", s.AddZone(s.Account, "shop.example"))
		a.env = append(a.env, "CLOUDFLARE_API_TOKEN="+s.Token)
		a.allow = append(a.allow, "--allow", fmt.Sprintf(`identity={"base_url":%q}`, base), "--allow", `env=["CLOUDFLARE_API_TOKEN"]`)
		maps.Copy(rows, a.rows())
		for _, path := range []string{"/workers/scripts", "/storage/kv/namespaces", "/queues", "/d1/database", "/hyperdrive/configs", "/workflows", "/workers/domains"} {
			if left, _ := s.Do(t, "GET", "/accounts/"+s.Account+path, nil).([]any); len(left) > 0 {
				t.Errorf("%s: %d objects are left", path, len(left))
			}
		}
	})
	if !t.Failed() {
		wantTable(t, "../../docs/terraform-providers.md", rows)
	}
}

// wantTable compares the table of a page, which begins and ends at lines of its own, or writes it.
func wantTable(t *testing.T, page string, rows map[string]sameRow) {
	t.Helper()
	var lines strings.Builder
	for _, typ := range slices.Sorted(maps.Keys(rows)) {
		row := rows[typ]
		fmt.Fprintf(&lines, "| `%s` | %s | %s | %s |\n", typ, row.attributes, row.tofu, row.athanor)
	}
	wantLines(t, page, "| type | attributes | tofu after athanor | athanor after tofu |\n|---|---|---|---|\n", lines.String())
}

// wantLines compares the table of a page that has this head, or writes it.
func wantLines(t *testing.T, page, head, lines string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(text, []byte(head))
	_, after, ended := bytes.Cut(rest, []byte("\n\n"))
	if !found || !ended {
		t.Fatalf("%s has no table of %q", page, head)
	}
	want := string(before) + head + lines + "\n" + string(after)
	if os.Getenv("ATHANOR_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // it is a page for everybody
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s shows another table than what is found (ATHANOR_UPDATE=1 writes it):\n%s", page, head+lines)
	}
}
