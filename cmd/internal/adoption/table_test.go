package adoption_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// TestAdoptTableNamesWhatExists compares the tables of other tools' types with the kinds that there are: each line names a kind, props
// and attributes that exist, and an identity of as many parts as the registry's primary identifier has.
func TestAdoptTableNamesWhatExists(t *testing.T) {
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"types.txt": 130, "cloudformation.txt": 25, "alchemy.txt": 15} {
		t.Run(file, func(t *testing.T) { checkTable(t, catalog, file, least) })
	}
}

// TestAdoptKindsAreThose compares what the tests of adopt/from/terraform take for kinds, which they cannot import, with the kinds. What
// differs is written with ATHANOR_UPDATE_KINDS=1.
func TestAdoptKindsAreThose(t *testing.T) {
	const file = "../../../adopt/from/terraform/testdata/kinds.json"
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writes := os.Getenv("ATHANOR_UPDATE_KINDS") != ""
	var have map[string]json.RawMessage
	if err := json.Unmarshal(text, &have); err != nil || len(have) < 20 {
		t.Fatalf("%d kinds, %v", len(have), err)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		k, err := catalog.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := k.Spec().Props()
		attrs, err2 := k.Spec().Attrs()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(map[string]any{"props": withoutDocs(fields), "attrs": withoutDocs(attrs)})
		if err != nil {
			t.Fatal(err)
		}
		if !writes && string(want) != string(have[name]) {
			t.Errorf("%s has other props or attributes in %s; it is written by: ATHANOR_UPDATE_KINDS=1 go test ./cmd/internal/adoption -run TestAdoptKindsAreThose", name, file)
		}
		lines = append(lines, strconv.Quote(name)+": "+string(want))
	}
	if writes {
		if err := os.WriteFile(file, []byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNativeTokensMeanTypes reads an object of each type of the registry as Pulumi's provider aws-native names it: the rule of its generator,
// https://github.com/pulumi/pulumi-aws-native/blob/master/provider/pkg/schema/gen.go, functions moduleName and typeToken, leaves no two types one name.
func TestNativeTokensMeanTypes(t *testing.T) {
	names, err := registry.Names()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var resources []any
	for _, typ := range names {
		parts := strings.Split(typ, "::")
		module, name := strings.ToLower(parts[1]), parts[2]
		if module == "config" {
			module = "configuration"
		}
		if strings.HasPrefix(module, "kinesisanalytics") && name == "ApplicationOutput" {
			name += "Resource"
		}
		token := "aws-native:" + module + ":" + name[:1] + strings.ToLower(name[1:]) // of a token's name the case says nothing
		urn := "urn:pulumi:prod::shop::" + token + "::it"
		want[urn] = typ
		resources = append(resources, map[string]any{"urn": urn, "type": token, "custom": true, "id": "it", "inputs": map[string]any{}, "outputs": map[string]any{}})
	}
	content, err := json.Marshal(map[string]any{"version": 3, "deployment": map[string]any{"manifest": map[string]any{}, "resources": resources}})
	if err != nil {
		t.Fatal(err)
	}
	source := terraform.Pulumi{
		Find: func(string) (reconcile.Any, error) { return nil, reconcile.ErrNoKind }, Types: registry.Names,
		Fields: func(string) (settable, readable []props.Field, err error) { return nil, nil, nil },
	}
	draft, err := source.Draft(from.File{Name: "shop.json", Content: content}, from.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, e := range draft.Stack(nil).Entries {
		if read++; e.Type != want[e.Source] {
			t.Errorf("%s is %s", e.Source, e.Type)
		}
	}
	if read != len(names) || read < 1000 {
		t.Errorf("%d of %d types are read", read, len(names))
	}
}

// TestTypesOfCloudflareAreDrafted makes an object of each type of Terraform that is a type of Cloudflare's API, with the attributes that its kind must be
// given: each is declared with the identity that the kind reads it by, and the kind takes what is declared.
func TestTypesOfCloudflareAreDrafted(t *testing.T) {
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../adopt/from/terraform/types.txt")
	if err != nil {
		t.Fatal(err)
	}
	const account, zone, id = "0123456789abcdef0123456789abcde0", "0123456789abcdef0123456789abcde1", "0123456789abcdef0123456789abcde2"
	var resources []any
	kinds, identities := map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.HasPrefix(words[0], "cloudflare_") || strings.Count(words[1], ".") != 2 || strings.Contains(line, " !") {
			continue
		}
		kind, err := catalog.Find(words[1])
		if err != nil {
			t.Fatal(err)
		}
		fields, err := kind.Spec().Props()
		if err != nil {
			t.Fatal(err)
		}
		attrs := map[string]any{"id": id, "account_id": account}
		for _, f := range fields {
			name := string(f.Path)
			if name == "zone" {
				name = "zone_id"
			}
			if f.Required && attrs[name] == nil {
				attrs[name] = sampleOf(f)
			}
		}
		if attrs["zone_id"] != nil {
			attrs["zone_id"] = zone
		}
		var parts []string
		for part := range strings.SplitSeq(words[2], "/") {
			names, isAttr := strings.CutPrefix(part, "{")
			first, _, _ := strings.Cut(strings.TrimSuffix(names, "}"), "?")
			if isAttr && attrs[first] == nil && !strings.Contains(names, "?") {
				attrs[first] = "part-" + first
			}
			for name := range strings.SplitSeq(strings.TrimSuffix(names, "}"), "?") {
				if v, ok := attrs[name].(string); isAttr && ok {
					part = v
					break
				}
			}
			parts = append(parts, part)
		}
		address := words[0] + ".it"
		kinds[address], identities[address] = words[1], strings.TrimPrefix(strings.Join(parts, "/"), "-")
		resources = append(resources, map[string]any{
			"mode": "managed", "type": words[0], "name": "it", "provider": `provider["registry.terraform.io/cloudflare/cloudflare"]`,
			"instances": []any{map[string]any{"schema_version": 0, "attributes": attrs}},
		})
	}
	content, err := json.Marshal(map[string]any{"version": 4, "terraform_version": "1.9.5", "serial": 1, "lineage": "x", "outputs": map[string]any{}, "resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	draft, err := terraform.Source{Find: catalog.Find}.Draft(from.File{Name: "all.tfstate", Content: content}, from.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stack := draft.Stack(nil)
	declared := map[string]from.Resource{}
	for _, r := range stack.Resources {
		declared[r.Address] = r
	}
	for _, e := range stack.Entries {
		r := declared[e.Address]
		if slices.Contains([]string{"cloudflare_ai_gateway_dynamic_routing.it", "cloudflare_flagship_flag.it", "cloudflare_zero_trust_risk_behavior.it"}, e.Source) {
			continue // the fields do not say what they need within their maps
		}
		if e.Outcome != from.Mapped || r.Kind != kinds[e.Source] || r.Adopt != identities[e.Source] {
			t.Errorf("%s: %s: %s: %s %q, want %s %q", e.Source, e.Outcome, e.Text, r.Kind, r.Adopt, kinds[e.Source], identities[e.Source])
		}
	}
	if len(stack.Entries) != len(kinds) || len(kinds) < 150 {
		t.Errorf("%d of %d types are drafted", len(stack.Entries), len(kinds))
	}
}

// sampleOf is a value of a prop.
func sampleOf(f props.Field) any {
	typ := f.Type
	if rest, ok := strings.CutPrefix(typ, "list of "); ok {
		f.Type = rest
		return []any{sampleOf(f)}
	}
	switch {
	case strings.HasPrefix(typ, "map of "):
		f.Type = strings.TrimPrefix(typ, "map of ")
		return map[string]any{"key": sampleOf(f)}
	case len(f.Enum) > 0:
		return f.Enum[0]
	case typ == "number":
		return 1
	case typ == "bool":
		return true
	case typ == "object" || len(f.Fields) > 0:
		object := map[string]any{}
		for n, inner := range f.Fields {
			if steps := inner.Path.Steps(); inner.Required || n == 0 { // one without any is not there
				object[steps[len(steps)-1].Key] = sampleOf(inner)
			}
		}
		if len(f.Fields) == 0 {
			object["key"] = "text"
		}
		return object
	}
	return "text of " + string(f.Path) // a secret is no other value
}

// withoutDocs are fields without what people read and what reading a state needs not.
func withoutDocs(fields []props.Field) []props.Field {
	all := []props.Field{}
	for _, f := range fields {
		f.Doc, f.Go, f.Min, f.Max, f.MaxItems, f.MaxLen = "", "", "", "", 0, 0
		if f.Fields = withoutDocs(f.Fields); len(f.Fields) == 0 {
			f.Fields = nil
		}
		all = append(all, f)
	}
	return all
}

func checkTable(t *testing.T, catalog *reconcile.Catalog, file string, least int) {
	text, err := os.ReadFile("../../../adopt/from/terraform/" + file)
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" || slices.Contains([]string{">", "=", "x"}, words[1]) || words[1][0] == '!' {
			continue
		}
		lines++
		kind, err := catalog.Find(words[1])
		if err != nil {
			t.Errorf("%s: %v", words[0], err)
			continue
		}
		fields, err := kind.Spec().Props()
		attrs, err2 := kind.Spec().Attrs()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		for _, word := range words[3:] {
			prop, isRule := "", false
			switch word[0] {
			case '-', '!', '+':
			case '^':
				prop, isRule = word[1:], true
			case '@':
				name, _, _ := strings.Cut(word[1:], "=")
				if !hasProp(attrs, []string{name}) && !hasProp(fields, []string{name}) {
					t.Errorf("%s: %s has no attribute %s", words[0], words[1], name)
				}
			default:
				prop, _, isRule = strings.Cut(word, "<")
			}
			if isRule && !hasProp(fields, strings.Split(prop, ".")) {
				t.Errorf("%s: %s has no prop %s", words[0], words[1], prop)
			}
		}
		if strings.Contains(words[1], "::") && file == "types.txt" {
			checkIdentity(t, words)
		}
	}
	if lines < least {
		t.Errorf("%d lines were compared", lines)
	}
}

// hasProp reports whether there is a prop at a path of names.
func hasProp(fields []props.Field, path []string) bool {
	for i, name := range path {
		n := slices.IndexFunc(fields, func(f props.Field) bool {
			steps := f.Path.Steps()
			return len(steps) > 0 && steps[len(steps)-1].Key == name
		})
		if n < 0 {
			return i > 0 && len(fields) == 0 // what has no fields takes any
		}
		fields = fields[n].Fields
	}
	return len(path) > 0
}

var hole = regexp.MustCompile(`\{[^}]*\}`)

// checkIdentity compares the parts of an identity with those of the primary identifier.
func checkIdentity(t *testing.T, words []string) {
	t.Helper()
	typ, err := registry.Lookup(words[1])
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(hole.ReplaceAllString(words[2], "x"), "|")
	if len(parts) != len(typ.ID) {
		t.Errorf("%s: the identity %s has %d parts, and %s is known by %v", words[0], words[2], len(parts), words[1], typ.ID)
	}
	wanted := strings.ToLower(string(typ.ID[0]))
	holes := hole.FindAllString(words[2], -1)
	if len(parts) == 1 && strings.HasSuffix(wanted, "arn") != strings.Contains(holes[0], "arn") && strings.HasSuffix(wanted, "arn") && holes[0] != "{id}" {
		t.Errorf("%s: the identity %s is no ARN, and %s is known by %v", words[0], words[2], words[1], typ.ID)
	}
	if len(parts) == 1 && !strings.HasSuffix(wanted, "arn") && strings.Contains(holes[0], "arn") && !strings.HasSuffix(wanted, "id") {
		t.Errorf("%s: the identity %s is an ARN, and %s is known by %v", words[0], words[2], words[1], typ.ID)
	}
}
