package terraform

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// way is how an object of a type is found that state does not have. The zero value is none.
type way struct {
	// id is its import id, made of props as [filled] makes it. For a list it may name attributes of what is found there.
	id string
	// seeded: the provider is asked to read what it would create, under this id. Its import says absent of what exists, or there is none.
	seeded bool
	// content: an object that equals the declaration is ours, whatever made it. Another one is refused.
	content bool
	// empty is an attribute that is empty where nothing exists: the provider never says absent.
	empty string
	// list is where its id is looked up, for objects whose id the service chooses.
	list *listing
	// documented: the id is that of the provider's documentation, and no test proves that it finds what exists.
	documented bool
}

// listing is a data source that lists the objects of a type.
type listing struct {
	source string
	// query are its arguments, which are props of the same names.
	query []string
	// match are the attributes of what is listed that equal the props of the same names.
	match []string
}

// ways are those of all types of which a test with the real provider shows that they find what exists and nothing else
// (TestTerraformFinds), and of the types that are used most of other providers, by their documentation.
var ways = sync.OnceValue(func() map[string]way {
	const account, zone = "account_id", "zone_id"
	all := map[string]way{
		"postgresql_role":                      {id: "{name}"},
		"postgresql_database":                  {id: "{name}"},
		"postgresql_schema":                    {id: "{database}.{name}"},
		"postgresql_extension":                 {id: "{database}.{name}"},
		"postgresql_physical_replication_slot": {id: "{name}"},
		"postgresql_function":                  {id: "{database}.{schema|public}.{name}({arg.*.type})"},
		"postgresql_server":                    {id: "{server_name}", seeded: true},
		"postgresql_user_mapping":              {id: "{user_name}.{server_name}", seeded: true},
		"postgresql_publication":               {id: "{database}.{name}", seeded: true},
		"postgresql_replication_slot":          {id: "{database}.{name}", seeded: true},
		"postgresql_subscription":              {id: "{database}.{name}", seeded: true},
		"postgresql_security_label":            {id: "{label_provider}.{object_type}.{object_name}", seeded: true},
		"postgresql_grant":                     {id: "{role}_{database}_{schema|}_{object_type}", seeded: true, content: true, empty: "privileges"},
		"postgresql_grant_role":                {id: "{role}_{grant_role}", seeded: true, content: true},
		"postgresql_default_privileges":        {id: "{role}_{database}_{schema|}_{owner}_{object_type}", seeded: true, content: true},

		"cloudflare_workers_kv":            {id: "{key_name}", seeded: true},
		"cloudflare_r2_bucket":             {id: "{name}", seeded: true},
		"cloudflare_workers_script":        {id: "{script_name}", seeded: true},
		"cloudflare_workflow":              {id: "{workflow_name}", seeded: true},
		"cloudflare_queue":                 {id: "{account_id}/{queue_id}", list: &listing{"cloudflare_queues", []string{account}, []string{"queue_name"}}},
		"cloudflare_workers_kv_namespace":  {id: "{account_id}/{id}", list: &listing{"cloudflare_workers_kv_namespaces", []string{account}, []string{"title"}}},
		"cloudflare_d1_database":           {id: "{account_id}/{uuid}", list: &listing{"cloudflare_d1_databases", []string{account, "name"}, []string{"name"}}},
		"cloudflare_dns_record":            {id: "{zone_id}/{id}", list: &listing{"cloudflare_dns_records", []string{zone, "type"}, []string{"name", "type", "content"}}},
		"cloudflare_workers_route":         {id: "{zone_id}/{id}", list: &listing{"cloudflare_workers_routes", []string{zone}, []string{"pattern"}}},
		"cloudflare_workers_custom_domain": {id: "{account_id}/{id}", list: &listing{"cloudflare_workers_custom_domains", []string{account}, []string{"hostname"}}},
	}
	for name, id := range map[string]string{
		"aws_s3_bucket": "{bucket}", "aws_iam_role": "{name}", "aws_iam_role_policy_attachment": "{role}/{policy_arn}", "aws_cloudwatch_log_group": "{name}",
		"aws_lambda_function": "{function_name}", "aws_dynamodb_table": "{name}",
		"azurerm_resource_group": "/subscriptions/{subscription_id}/resourceGroups/{name}",
		"google_storage_bucket":  "{project}/{name}", "google_project_service": "{project}/{service}", "google_compute_network": "{project}/{name}",
		"google_pubsub_topic":  "{project}/{name}",
		"kubernetes_namespace": "{metadata.0.name}", "kubernetes_secret": "{metadata.0.namespace|default}/{metadata.0.name}",
		"kubernetes_config_map": "{metadata.0.namespace|default}/{metadata.0.name}", "kubernetes_deployment": "{metadata.0.namespace|default}/{metadata.0.name}",
		"kubernetes_service": "{metadata.0.namespace|default}/{metadata.0.name}", "kubernetes_service_account": "{metadata.0.namespace|default}/{metadata.0.name}",
		"helm_release": "{namespace|default}/{name}", "github_repository": "{name}", "vault_mount": "{path}", "vault_policy": "{name}",
	} {
		all[name] = way{id: id, documented: true}
	}
	return all
})

// blank is a prop in the template of an id: {path}, or {path|default}.
var blank = regexp.MustCompile(`\{([^{}|]+)(\|[^{}]*)?\}`)

// shownID is the template of an id for people.
func shownID(id string) string { return "`" + blank.ReplaceAllString(id, "{$1}") + "`" }

// filled is an id of a template, with the values of props in it. One that is not declared is that of the provider's configuration, then its
// default. Without the value of each, or where one is known only later, there is none.
func filled(template string, want, config attributes) (string, bool) {
	whole := true
	id := blank.ReplaceAllStringFunc(template, func(found string) string {
		parts := blank.FindStringSubmatch(found)
		if before, after, each := strings.Cut(parts[1], ".*."); each {
			text, ok := spelt(want[before], after)
			whole = whole && ok
			return text
		}
		v, ok := textAt(want, parts[1])
		if !ok {
			v, ok = textAt(config, parts[1])
		}
		if !ok && parts[2] != "" {
			return parts[2][1:]
		}
		whole = whole && ok && v != "" && !token.Has(v)
		return v
	})
	return id, whole
}

// documentedID says under which id an object is by the documentation of its provider, "" where that is not known here.
func (k *kind) documentedID(p *program, s site) string {
	if w := ways()[k.Name]; w.documented && s.Want != nil {
		if id, ok := filled(w.id, s.Want, p.settings.Config); ok {
			return " (its id is " + id + ", by the documentation)"
		}
	}
	return ""
}

// textAt is a text at a path of names and places.
func textAt(props attributes, path string) (string, bool) {
	var v any = props
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			if len(at) != 1 {
				return "", false
			}
			v = at[0]
		default:
			return "", false
		}
	}
	text, ok := v.(string)
	return text, ok
}

// spelt are the types of the arguments of a function, of which PostgreSQL's own spelling alone is in its id.
func spelt(args any, name string) (string, bool) {
	list, _ := args.([]any)
	types := make([]string, 0, len(list))
	for _, arg := range list {
		one, _ := arg.(map[string]any)
		if mode, _ := one["mode"].(string); mode != "" && mode != "IN" {
			return "", false
		}
		typ, _ := one[name].(string)
		if !slices.Contains([]string{"integer", "bigint", "smallint", "text", "boolean", "uuid", "json", "jsonb", "numeric", "date", "real", "bytea"}, typ) {
			return "", false
		}
		types = append(types, typ)
	}
	return strings.Join(types, ","), true
}

// search looks for an object that state does not have, by what is declared. searched is false where the type has no way that tells for certain, or
// the declaration does not say enough yet.
func (k *kind) search(ctx context.Context, p *program, s site) (key string, found seen, searched bool, err error) {
	w, ok := ways()[k.Name]
	nothing := none(k.Type)
	if !ok || s.Want == nil {
		return "", nothing, false, nil
	}
	id := ""
	switch {
	case w.list != nil:
		if id, searched, err = k.listed(ctx, p, w, s.Want); err != nil || !searched || id == "" {
			return "", nothing, searched, err
		}
		found, err = p.find(ctx, k.Type, id)
	case w.seeded && !isWhole(s.Want):
		return "", nothing, false, nil
	default:
		if id, ok = filled(w.id, s.Want, p.settings.Config); !ok {
			return "", nothing, false, nil
		}
		if w.seeded {
			found, err = k.readAsPlanned(ctx, p, s, id)
		} else {
			found, err = p.find(ctx, k.Type, id)
		}
	}
	if w.documented && (err != nil || found.state.IsNull()) {
		return "", nothing, false, nil
	}
	if err == nil && w.empty != "" && !found.state.IsNull() {
		if v := found.state.GetAttr(w.empty); v.IsNull() || v.LengthInt() == 0 {
			found = nothing
		}
	}
	return keyWith(id, s.Nonce), found, true, err
}

// readAsPlanned reads an object as if it had been created as declared, under this id. What is secret is not taken for written.
func (k *kind) readAsPlanned(ctx context.Context, p *program, s site, id string) (seen, error) {
	absent := none(k.Type)
	config, err := k.config(s.Want, known)
	if err != nil {
		return absent, err
	}
	plan, err := p.creation(ctx, k.Type, s.Address, config)
	if err != nil || plan.state.IsNull() {
		return absent, err
	}
	members := plan.state.AsValueMap()
	for name, a := range k.Block.Attributes {
		if a.Sensitive || a.WriteOnly {
			members[name] = cty.NullVal(a.Type)
		}
	}
	members["id"] = cty.StringVal(id)
	return p.read(ctx, k.Type, seen{state: cty.UnknownAsNull(cty.ObjectVal(members)), private: plan.private})
}

// listed is the id of the one object in a list that has the values which are declared, "" where none has. Of several nobody can tell which is meant.
func (k *kind) listed(ctx context.Context, p *program, w way, want attributes) (id string, searched bool, err error) {
	source := p.schema.Data[w.list.source]
	if source == nil {
		return "", false, nil // another version of the provider
	}
	query := attributes{}
	for _, name := range slices.Concat(w.list.query, w.list.match) {
		v, ok := want[name].(string)
		if !ok || token.Has(v) {
			return "", false, nil
		}
		if slices.Contains(w.list.query, name) {
			query[name] = v
		}
	}
	config, err := value.Config(source.Block, query, known)
	if err != nil {
		return "", false, err
	}
	answer, err := p.ask(ctx, source, config)
	if err != nil {
		return "", false, err
	}
	told, _ := value.Tree(answer).(map[string]any)
	objects, _ := told["result"].([]any)
	var ids []string
	for _, o := range objects {
		one, _ := o.(map[string]any)
		if slices.ContainsFunc(w.list.match, func(name string) bool { return !tree.Equal(one[name], want[name]) }) {
			continue
		}
		of, ok := filled(w.id, one, want)
		if !ok {
			return "", false, fmt.Errorf("%s lists a %s without an id", w.list.source, k.Name)
		}
		ids = append(ids, of)
	}
	if len(ids) > 1 {
		return "", false, nil
	}
	return strings.Join(ids, ""), true, nil
}
