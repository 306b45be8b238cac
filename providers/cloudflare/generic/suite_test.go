package generic

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const zoneName = "example.com"

// suite is the conformance suite for one type.
type suite struct {
	typ      string
	base     obj
	variants []kindtest.Variant
	steady   map[tree.Path]string
	silent   map[tree.Path]string
	others   map[tree.Path][]any
	// other has another value than the first variant for every property.
	other obj
	// before are objects that must exist: a call for each.
	before []call
}

type call struct {
	method, path string
	body         any
}

func kindOf(t testing.TB, name string) *kind {
	t.Helper()
	typ, err := schema.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return newKind(typ)
}

// place is where the objects of a type are on the server.
func (k *kind) place(zone string, want obj) string {
	path := k.Path
	if textAt(want, schema.Zone) == "" {
		path = strings.Replace(path, "{scope}", "accounts/ACCOUNT", 1)
	}
	path = strings.NewReplacer("{scope}", "zones/"+zone, "{account_id}", "ACCOUNT", "{zone_id}", zone).Replace(path)
	for _, parent := range k.Parents() {
		path = strings.Replace(path, "{"+parent+"}", textAt(want, parent), 1)
	}
	return path
}

const onlyWritten = "it cannot be read back"

func (s suite) suite(t *testing.T) kindtest.Suite {
	t.Helper()
	out, _ := s.withEdit(t)
	return out
}

// edits writes a property of an object on the server of a world.
type edits func(w kindtest.World, id, name string, value any)

// withEdit is the suite, and what writes any property behind the kind's back.
func (s suite) withEdit(t *testing.T) (kindtest.Suite, edits) {
	t.Helper()
	return s.withWorlds(t, cloudflaretest.Worlds{})
}

func (s suite) withWorlds(t *testing.T, worlds cloudflaretest.Worlds) (kindtest.Suite, edits) {
	t.Helper()
	k := kindOf(t, s.typ)
	zones := map[*cloudflaretest.Server]string{}
	whole, err := Kind(s.typ)
	if err != nil {
		t.Fatal(err)
	}
	out := kindtest.Suite{
		Kind: whole, Base: s.base, Variants: s.variants, Silent: maps.Clone(s.silent), Steady: maps.Clone(s.steady),
		Open: map[tree.Path]string{}, Unreadable: map[tree.Path]string{}, Alias: map[tree.Path]tree.Path{},
		Others: s.others, Fault: cloudflaretest.FaultOf("Turnstile"), MayBeDenied: map[string]string{},
		Ordered: map[tree.Path]string{"": "the schema says which lists are sets"},
	}
	if k.Token != nil {
		out.MayBeDenied[k.Token.Name] = "the token of a connector takes the permission to write, which a plan need not have"
	}
	if out.Steady == nil {
		out.Steady = map[tree.Path]string{}
	}
	if out.Silent == nil {
		out.Silent = map[tree.Path]string{}
	}
	make := worlds.Make(func(t kindtest.T, server *cloudflaretest.Server) {
		if slices.Contains(k.Parents(), schema.Zone) {
			made := server.Do(t, http.MethodPost, "/zones", obj{"name": zoneName, "account": obj{"id": server.Account}})
			zones[server] = made.(obj)["id"].(string)
		}
		for _, c := range s.before {
			server.Do(t, c.method, strings.ReplaceAll(c.path, "ZONE", zones[server]), c.body)
		}
	}, func(_ kindtest.T, server *cloudflaretest.Server) []any {
		var all []any
		places := []string{k.place(zones[server], s.base)}
		if k.ZoneOptional() && s.base[schema.Zone] != nil { // without it the object moves to the account
			ofAccount := maps.Clone(s.base)
			delete(ofAccount, schema.Zone)
			places = append(places, k.place("", ofAccount))
		}
		for _, place := range places {
			for _, o := range server.Objects(place) {
				all = append(all, k.compared(o))
			}
		}
		return all
	})
	out.World = func(t kindtest.T) kindtest.World {
		w := make(t)
		if server := worlds.Of(w); zones[server] != "" {
			if _, err := cloudflare.ZoneOf(t.Context(), w.Cloud, zoneName); err != nil {
				t.Fatalf("%v", err)
			}
		}
		return w
	}
	if k.List == nil && k.ID != k.NameShown {
		out.Unfindable, out.Unanswered = "the API lists none, and chooses the id", errCannotTell
	}
	for _, p := range slices.Concat(k.WriteOnly, k.Hidden) {
		out.Unreadable[p] = onlyWritten
	}
	for _, name := range k.Known {
		p := tree.Path("").Key(name)
		out.Silent[p], out.Steady[p] = "it says what an object has that is taken over", "only the call that creates shows it"
	}
	for _, name := range k.OnceShown {
		out.Unreadable[tree.Path("").Key(name)] = "only the call that creates shows it"
	}
	maps.Copy(out.Unreadable, k.Refused)
	out.Hands = map[tree.Path]kindtest.Hand{"": func(_ kindtest.T, w kindtest.World, to kindtest.Edited) {
		server := worlds.Of(w)
		server.RemoveObject(k.place(zones[server], s.base), textAt(to.Attrs, k.ID))
	}}
	eachLeaf(s.base, func(p tree.Path, _ any) {
		if k.WriteOnlyAt(p) {
			out.Rewritten = onlyWritten
		}
	})
	for _, parent := range k.Parents() {
		out.Steady[tree.Path(parent)] = "it is a part of the path"
	}
	fields, err := whole.Spec().Props()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(out.Steady, s.unreached(fields))
	for name := range k.Root.Properties {
		p := tree.Path("").Key(name)
		switch {
		case name == k.ID, name == k.NameProp && k.NameShown != name:
			out.Steady[p] = "it is a part of the path"
		case out.Steady[p] != "", k.WriteOnlyAt(p):
		case k.FixedAt(p) && s.base[name] == nil && k.Shape != schema.Setting:
			out.Steady[p] = "nothing changes it after the creation"
		case !s.declares(name):
		default:
			if name != k.Tag && name != k.NameProp {
				out.Open[p] = "what is not set is not managed"
			}
			out.Hands[p] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				t.Helper()
				server := worlds.Of(w)
				place := k.place(zones[server], s.base)
				value := to.Value
				if name == k.Tag {
					at := slices.IndexFunc(server.Objects(place), func(o obj) bool { return textAt(o, k.ID) == textAt(to.Attrs, k.ID) })
					_, line := untagged(textAt(server.Objects(place)[at], k.Tag))
					value = strings.TrimSpace(to.Text() + " " + line)
				}
				server.EditObject(t, place, textAt(to.Attrs, k.ID), name, value)
			}
		}
	}
	return out, func(w kindtest.World, id, name string, value any) {
		worlds.Of(w).EditObject(t, k.place(zones[worlds.Of(w)], s.base), id, name, value)
	}
}

// compared is an object as objects of a world are compared: what can be declared, without what differs between two
// creations, and without what the server adds.
func (k *kind) compared(o obj) obj {
	out := obj{}
	for name, v := range o {
		if k.Root.Properties[name] == nil || name == k.NameProp || name == k.ID || v == "" || ownValue.MatchString(fmt.Sprint(v)) {
			continue
		}
		out[name] = v
		if name == k.Tag {
			own, _ := untagged(textAt(o, name))
			out[name] = own
		}
	}
	return out
}

// unreached are the leaves that no sample of the suite has, or that have one value, with the reason. Where a property has one of
// several forms, samples have the first of them.
func (s suite) unreached(fields []props.Field) map[tree.Path]string {
	values := map[tree.Path][]any{}
	for _, m := range []obj{s.base, s.variants[0].Props, s.other} {
		eachLeaf(m, func(p tree.Path, v any) { values[p] = append(values[p], v) })
	}
	out := map[tree.Path]string{}
	var visit func([]props.Field)
	visit = func(fields []props.Field) {
		for _, f := range fields {
			switch have := values[f.Path]; {
			case len(f.Fields) > 0:
				visit(f.Fields)
			case !s.declares(f.Path.Steps()[0].Key), strings.HasPrefix(f.Type, "map "):
			case len(have) == 0 && len(f.Path.Steps()) > 1:
				out[f.Path] = "it belongs to another form of its object than the samples have"
			case len(f.Enum) == 1:
				out[f.Path] = "the API knows one value for it"
			case formOf[strings.TrimPrefix(s.typ, schema.Prefix)] != nil && isOne(have):
				out[f.Path] = "it says which form its object has"
			}
		}
	}
	visit(fields)
	return out
}

// isOne reports whether all values are the same one.
func isOne(values []any) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { return !tree.Equal(v, values[0]) })
}

// eachLeaf calls do for each value, by its path with * for elements.
func eachLeaf(m obj, do func(tree.Path, any)) {
	tree.Walk(m, func(p tree.Path, v any) bool {
		var at tree.Path
		for _, step := range p.Steps() {
			if step.Index >= 0 {
				at = at.Any()
			} else {
				at = at.Key(step.Key)
			}
		}
		do(at, v)
		return true
	})
}

// ownValue is a value of the server's own: some text, or an id.
var ownValue = regexp.MustCompile(`^(own|[0-9a-f]{32})$`)

// declares reports whether the base or a variant has a property.
func (s suite) declares(name string) bool {
	_, declared := s.base[name]
	return declared || slices.ContainsFunc(s.variants, func(v kindtest.Variant) bool { _, ok := v.Props[name]; return ok })
}

// samplePath is the path of one object of a type, or of its collection, with x for every part that differs.
func (k *kind) samplePath(ofObject bool) string {
	path := strings.Replace(k.Path, "{scope}", "accounts/x", 1)
	if ofObject && k.ID != "" {
		path += "/x"
	}
	return variable.ReplaceAllString(path, "x")
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// oneForm are lists that samples have entries of one form in: the operation that changes them takes no others, or the description
// does not tell the forms apart.
var oneForm = map[string][]string{
	"zerotrust.DlpProfileCustom": {"entries"},
	"workers.BetaWorkerVersion":  {"bindings"},
}

// formOf gives a sample of a type the one form that all its samples have, where an object has one of several: a request is described as
// having the properties of all forms together, and an answer shows those of one.
var formOf = map[string]func(sample obj){
	"connectivity.DirectoryService": func(m obj) { // by addresses, and not by a name
		host := m["host"].(obj)
		delete(host, "hostname")
		delete(host, "resolver_network")
		if host["ipv4"] == nil {
			m["host"] = obj{"ipv4": "sample-ipv4", "network": obj{"tunnel_id": "sample-tunnel-id"}}
		}
	},
	"spectrum.App": func(m obj) {
		if edge, ok := m["edge_ips"].(obj); ok {
			delete(edge, "connectivity")
			edge["type"] = "static"
		}
	},
	"tokenvalidation.Configuration": func(m obj) { // without one of its properties, a key of this form is a key of no form
		keys := m["credentials"].(obj)["keys"].(list)
		if len(keys) == 3 {
			m["credentials"] = obj{"keys": keys[2:]}
		} else {
			m["credentials"] = obj{"keys": list{obj{"alg": "RS256", "e": "sample-e", "kid": "sample-kid", "kty": "RSA", "n": "sample-n"}}}
		}
	},
	"zerotrust.AccessIdentityProvider": func(m obj) {
		config := m["config"].(obj)
		m["config"], m["type"] = obj{}, "github"
		for _, name := range []string{"client_id", "client_secret"} {
			if v, there := config[name]; there {
				m["config"].(obj)[name] = v
			}
		}
	},
	"zerotrust.DevicePosture": func(obj) {}, // the first form, which is for one system
	"zerotrust.GatewayProxyEndpoint": func(m obj) {
		if m["kind"] = "ip"; m["ips"] == nil {
			m["ips"] = list{"sample-ips"}
		}
	},
}

// sampled is the suite of a type with values that its description allows.
func sampled(t *testing.T, name string) suite {
	t.Helper()
	k := kindOf(t, name)
	method, path := http.MethodPost, k.samplePath(false)
	if k.Create == nil || k.Create.Method == http.MethodPut {
		op := k.Update
		if op == nil {
			op = k.Patch
		}
		method, path = op.Method, k.samplePath(true)
	}
	s := suite{typ: name, base: cloudflaretest.SampleBody(t, method, path, cloudflaretest.Least)}
	full, other := cloudflaretest.SampleBody(t, method, path, cloudflaretest.Full), cloudflaretest.SampleBody(t, method, path, cloudflaretest.Other)
	for i, m := range []obj{s.base, full, other} {
		for p := range k.Refused {
			delete(m, string(p))
		}
		switch {
		case k.NameProp == "":
		case k.NameGiven:
			m[k.NameProp] = []string{"given.example.com", "given.example.com", "other.example.com"}[i]
		case i == 0:
			delete(m, k.NameProp)
		}
		for _, parent := range k.Parents() {
			switch {
			case parent != schema.Zone:
				m[parent] = "x1"
			case !k.ZoneOptional():
				m[parent] = zoneName
			}
		}
	}
	if form := formOf[strings.TrimPrefix(name, schema.Prefix)]; form != nil {
		for _, m := range []obj{s.base, full, other} {
			form(m)
		}
	}
	for _, prop := range oneForm[strings.TrimPrefix(name, schema.Prefix)] {
		for _, m := range []obj{full, other} {
			if forms, ok := m[prop].([]any); ok {
				m[prop] = forms[:1]
			}
		}
	}
	s.variants = []kindtest.Variant{{Name: "full", Props: full}}
	s.other = other
	s.others = map[tree.Path][]any{}
	eachLeaf(other, func(at tree.Path, v any) { s.others[at] = append(s.others[at], v) })
	return s
}
