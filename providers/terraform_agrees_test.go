package providers

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/terraform/terraformtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	tokens "github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// terraformTypes are the types of Cloudflare's Terraform provider that the kinds with props of their own are held to.
var terraformTypes = map[string]string{
	"cloudflare.APIToken": "account_token", "cloudflare.D1Database": "d1_database", "cloudflare.DNSRecord": "dns_record",
	"cloudflare.Hyperdrive": "hyperdrive_config", "cloudflare.KVNamespace": "workers_kv_namespace", "cloudflare.Queue": "queue",
	"cloudflare.QueueConsumer": "queue_consumer", "cloudflare.R2Bucket": "r2_bucket", "cloudflare.Ruleset": "ruleset",
	"cloudflare.UserToken": "api_token", "cloudflare.Worker": "workers_script", "cloudflare.WorkerDomain": "workers_custom_domain",
	"cloudflare.WorkerRoute": "workers_route", "cloudflare.Workflow": "workflow", "cloudflare.Zone": "zone", "cloudflare.ZoneSetting": "zone_setting",
}

// ofNoTerraformType are the kinds with props of their own that the provider has no type for, with the reason.
var ofNoTerraformType = map[string]string{
	"cloudflare.Container": "the provider has no containers",
	"cloudflare.Website":   "it is a Worker with a build before it",
}

// attributes are those of the provider for props whose names do not lead there by themselves, by kind and prop.
var attributes = map[string]string{
	"cloudflare.Queue name": "queue_name", "cloudflare.Worker name": "script_name", "cloudflare.Workflow name": "workflow_name",
	"cloudflare.QueueConsumer queue": "queue_id", "cloudflare.QueueConsumer script": "script_name", "cloudflare.QueueConsumer deadLetter": "dead_letter_queue",
	"cloudflare.QueueConsumer maxWait":           "settings.max_wait_time_ms",
	"cloudflare.QueueConsumer visibilityTimeout": "settings.visibility_timeout_ms",
	"cloudflare.Queue messageRetention":          "settings.message_retention_period",
	"cloudflare.D1Database locationHint":         "primary_location_hint", "cloudflare.D1Database readReplication": "read_replication.mode",
	"cloudflare.R2Bucket locationHint": "location", "cloudflare.WorkerDomain script": "service",
	"cloudflare.DNSRecord zone": "zone_id", "cloudflare.WorkerRoute zone": "zone_id", "cloudflare.WorkerDomain zone": "zone_id",
	"cloudflare.Ruleset zone": "zone_id", "cloudflare.ZoneSetting zone": "zone_id",
}

// fileAttributes are those for which the provider reads files, which are left out.
var fileAttributes = map[string][]tree.Path{"workers_script": {"assets", "content_file", "content_sha256"}}

// TestTerraformAgrees holds the kinds of Cloudflare to what Cloudflare's Terraform provider plans and refuses: what replaces an object, words and bounds,
// and what must be given. The provider is asked by its plugin protocol: its schema says the last of them alone.
func TestTerraformAgrees(t *testing.T) {
	t.Parallel()
	provider := terraformtest.Start(t, "cloudflare", map[string]any{"api_token": strings.Repeat("0", 40)})
	known, used, facts := &excuses{all: terraformDisagreements, pages: "https://developers.cloudflare.com/"}, map[string]bool{}, 0
	for _, s := range ofCloudflare() {
		for _, kind := range s.Kinds {
			name := kind.Spec().Type
			typ := terraformTypes[name]
			if (typ == "") == (ofNoTerraformType[name] == "") {
				t.Errorf("%s is held to no type of the provider, or to one for no reason: see terraformTypes and ofNoTerraformType", name)
			}
			if typ == "" {
				continue
			}
			its := provider.Type("cloudflare_"+typ, fileAttributes[typ]...)
			j := judgeOf(t, kind, its.Attributes, its.Replaces, used)
			facts += j.facts
			for _, d := range j.found {
				if key := fmt.Sprint(name, " ", d.path, " ", d.fact); !known.cover(key) {
					t.Errorf("%s: %s, and cloudflare_%s %s: %s", key, d.ours, typ, j.attributes[d.path].Path, d.theirs)
				}
			}
		}
	}
	known.check(t)
	for key := range attributes {
		if !used[key] {
			t.Errorf("attributes: %s is not asked for", key)
		}
	}
	if facts < 100 {
		t.Errorf("only %d facts are compared", facts)
	}
	t.Logf("%d facts agree, %d do not", facts-len(known.used), len(known.used))
}

// terraformDisagreements are the facts of which the service says what the kind does, by kind, prop and fact.
var terraformDisagreements = map[string]disagreement{
	"cloudflare.D1Database locationHint replaces":     {"a hint counts once, when the database is created", "https://developers.cloudflare.com/d1/configuration/data-location/"},
	"cloudflare.DNSRecord name replaces":              {"a record is found by its name, and the new one answers before the old one goes", "https://developers.cloudflare.com/api/resources/dns/subresources/records/methods/create/"},
	"cloudflare.DNSRecord ttl required":               {"what the call must say is 1 where nobody declares it, which is automatic", "https://developers.cloudflare.com/dns/manage-dns-records/reference/ttl/"},
	"cloudflare.Queue name replaces":                  {"Workers are bound to a queue by its name, and no page says that a queue can be renamed", "https://developers.cloudflare.com/queues/configuration/configure-queues/"},
	"cloudflare.QueueConsumer type replaces":          {"a queue has one consumer of each type, and the two have other settings", "https://developers.cloudflare.com/queues/configuration/pull-consumers/"},
	"cloudflare.QueueConsumer script replaces":        {"a consumer is known by its Worker: that of another one may be somebody else's", "https://developers.cloudflare.com/queues/configuration/configure-queues/"},
	"cloudflare.R2Bucket jurisdiction replaces":       {"a bucket stays in its jurisdiction, and is another one in another", "https://developers.cloudflare.com/r2/reference/data-location/"},
	"cloudflare.R2Bucket locationHint replaces":       {"a hint counts once, when the bucket is created", "https://developers.cloudflare.com/r2/reference/data-location/"},
	"cloudflare.Ruleset rules required":               {"who declares no rule declares an empty list", "https://developers.cloudflare.com/ruleset-engine/rulesets-api/update/"},
	"cloudflare.Ruleset rules.*.rateLimit.period min": {"the shortest period that is offered is 10 s", "https://developers.cloudflare.com/waf/rate-limiting-rules/parameters/"},
	"cloudflare.Worker placement.mode enum":           {"it is targeted where a region, a host or a hostname is declared", "https://developers.cloudflare.com/workers/configuration/placement/"},
}

// judge compares the facts of a kind with those of the provider's type.
type judge struct {
	kind string
	all  []terraformtest.Attribute
	// replaces says of one of them whether another value replaces an object.
	replaces func(tree.Path) bool
	// attributes are the provider's, by the paths of props.
	attributes map[tree.Path]terraformtest.Attribute
	facts      int
	found      []difference
	used       map[string]bool // keys of attributes
}

func judgeOf(t *testing.T, kind reconcile.Any, all []terraformtest.Attribute, replaces func(tree.Path) bool, used map[string]bool) *judge {
	t.Helper()
	spec := kind.Spec()
	fields, err := spec.Props()
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{kind: spec.Type, all: all, replaces: replaces, attributes: map[tree.Path]terraformtest.Attribute{}, used: used}
	j.compare(fields, false)
	return j
}

// compare compares fields, which are inside of one whose change replaces or not.
func (j *judge) compare(fields []props.Field, replaces bool) {
	for _, f := range fields {
		inner := replaces || f.Replaces
		if a, ok := j.attribute(f.Path); ok {
			j.attributes[f.Path] = a
			j.field(f, a, inner)
		}
		j.compare(f.Fields, inner)
	}
}

// attribute is the provider's for a prop: the one of its name, or the only one whose name ends so.
func (j *judge) attribute(path tree.Path) (found terraformtest.Attribute, ok bool) {
	plain := strings.NewReplacer("_", "", ".", "", "*", "")
	key := fmt.Sprint(j.kind, " ", path)
	name := attributes[key]
	if name != "" {
		j.used[key] = true
	} else {
		name = string(path)
	}
	name = strings.ToLower(plain.Replace(name))
	var ends []terraformtest.Attribute
	for _, a := range j.all {
		switch its := plain.Replace(string(a.Path)); {
		case its == name:
			return a, true
		case strings.HasSuffix(its, name):
			ends = append(ends, a)
		}
	}
	if len(ends) != 1 {
		return found, false
	}
	return ends[0], true
}

func (j *judge) differ(f props.Field, fact string, ours, theirs any) {
	j.found = append(j.found, difference{f.Path, fact, fmt.Sprint(ours), fmt.Sprint(theirs)})
}

var (
	oneOf   = regexp.MustCompile(`value must be one of: \[(.*?)\], got`)
	between = regexp.MustCompile(`value must be between ([-\d.e+]+) and ([-\d.e+]+)`)
	atLeast = regexp.MustCompile(`value must be at least ([-\d.e+]+)`)
	atMost  = regexp.MustCompile(`value must be at most ([-\d.e+]+)`)
)

func (j *judge) field(f props.Field, a terraformtest.Attribute, replaces bool) {
	isDefault := f.Default != "" && !strings.HasPrefix(f.Default, "none")
	if !strings.HasSuffix(f.Default, "is generated") && !strings.Contains(string(a.Path), ".") {
		if j.facts++; f.Required != a.Required && !(a.Required && isDefault) {
			j.differ(f, "required", f.Required, a.Required)
		}
	}
	if a.Holder {
		return
	}
	theirs := j.replaces(a.Path)
	if j.facts++; replaces != theirs {
		j.differ(f, "replaces", replaces, theirs)
	}
	for _, reason := range a.Refusals {
		if m := oneOf.FindStringSubmatch(reason); m != nil && len(f.Enum) > 0 {
			j.words(f, m[1])
			break
		}
	}
	least, most := "", ""
	for _, reason := range a.Refusals {
		if m := between.FindStringSubmatch(reason); m != nil {
			least, most = m[1], m[2]
		}
		if m := atLeast.FindStringSubmatch(reason); m != nil {
			least = m[1]
		}
		if m := atMost.FindStringSubmatch(reason); m != nil {
			most = m[1]
		}
	}
	j.bound(f, "min", f.Min, least, a)
	j.bound(f, "max", f.Max, most, a)
}

func (j *judge) words(f props.Field, list string) {
	var theirs []string
	for word := range strings.FieldsSeq(list) {
		theirs = append(theirs, strings.Trim(word, `",`))
	}
	slices.Sort(theirs)
	ours := slices.Sorted(slices.Values(f.Enum))
	if j.facts++; !slices.Equal(ours, theirs) {
		j.differ(f, "enum", ours, theirs)
	}
}

// bound compares a bound of a number, or of a duration in the unit that the name of the attribute says.
func (j *judge) bound(f props.Field, fact, ours, theirs string, a terraformtest.Attribute) {
	if theirs == "" || !slices.Contains([]string{"int", "number", "duration"}, f.Type) {
		return
	}
	want, err := strconv.ParseFloat(theirs, 64)
	have := 0.0
	if f.Type == "duration" {
		unit := time.Second
		if strings.HasSuffix(string(a.Path), "_ms") {
			unit = time.Millisecond
		}
		var d time.Duration
		if ours != "" {
			d, err = tokens.ParseDuration(ours)
		}
		have = float64(d) / float64(unit)
	} else if ours != "" {
		have, err = strconv.ParseFloat(ours, 64)
	}
	if j.facts++; err != nil || ours == "" || have != want {
		j.differ(f, fact, ours, theirs)
	}
}

// TestTerraformCanDisagree: a fact that a kind and a type do not agree on is told, of each sort.
func TestTerraformCanDisagree(t *testing.T) {
	t.Parallel()
	var consumer reconcile.Any
	for _, s := range ofCloudflare() {
		for _, kind := range s.Kinds {
			if kind.Spec().Type == "cloudflare.QueueConsumer" {
				consumer = kind
			}
		}
	}
	j := judgeOf(t, consumer, []terraformtest.Attribute{
		{Path: "queue_id"},
		{Path: "type", Required: true, Refusals: []string{`value must be one of: ["worker" "pull"], got: ""`}},
		{Path: "settings", Holder: true},
		{Path: "settings.batch_size", Refusals: []string{"value must be between 2 and 100.000000, got"}},
		{Path: "settings.max_wait_time_ms", Refusals: []string{"value must be at least 0, got", "value must be at most 30000, got"}},
	}, func(path tree.Path) bool { return path != "settings.max_wait_time_ms" }, map[string]bool{})
	var have []string
	for _, d := range j.found {
		have = append(have, fmt.Sprint(d.path, " ", d.fact, ": ", d.ours, ", ", d.theirs))
	}
	want := []string{
		"queue required: true, false", "type enum: [http_pull worker], [pull worker]", "batchSize replaces: false, true",
		"batchSize min: 1, 2", "maxWait max: 60s, 30000",
	}
	if !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}
