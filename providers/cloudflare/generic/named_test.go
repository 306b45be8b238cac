package generic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestDocumented takes every resource of the examples in the documentation through a life.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cloudflare-types.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var stack struct {
			Resources map[string]struct {
				Kind  string
				Props obj
			}
		}
		if err := yaml.Unmarshal([]byte(regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(block[1], "x1")), &stack); err != nil {
			t.Fatal(err)
		}
		for name, r := range stack.Resources {
			props, err := tree.Of(r.Props)
			if err != nil {
				t.Fatal(err)
			}
			kinds[r.Kind] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				life(t, suite{typ: r.Kind, base: props.(obj), variants: []kindtest.Variant{{Name: "same", Props: props.(obj)}}})
			})
		}
	}
	for _, name := range []string{
		"vectorize.Index", "aigateway.Gateway", "secretsstore.Secret", "zerotrust.AccessApplication", "zerotrust.AccessPolicy",
		"zerotrust.AccessServiceToken", "zerotrust.Tunnel", "zerotrust.TunnelConfiguration", "zerotrust.TunnelRoute", "turnstile.Widget",
		"emailrouting.Rule", "workersforplatforms.DispatchNamespace", "r2.BucketLock", "pipelines.Pipeline", "logpush.Job",
		"customhostnames.Hostname", "loadbalancers.LoadBalancer", "rules.List", "pages.Project", "customcertificates.Certificate",
		"images.Variant", "stream.LiveInput", "waitingrooms.WaitingRoom",
	} {
		if !kinds[schema.Prefix+name] {
			t.Errorf("no example of %s", name)
		}
	}
}

// declared is a resource on a server of its own, reconciled once.
type declared struct {
	t      *testing.T
	server *cloudflaretest.Server
	kind   reconcile.Any
	last   reconcile.Outcome
	had    obj
}

func settled(t *testing.T, name string, props obj) *declared {
	t.Helper()
	whole, err := Kind(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &declared{t: t, server: cloudflaretest.Start(t), kind: whole, had: props}
	d.last = d.server.Settled(t, whole, props, nil)
	return d
}

// job is the resource as it is declared now, with what is in state.
func (d *declared) job(props obj) *reconcile.Job {
	d.t.Helper()
	job := d.server.Job(d.t, d.kind, props, &d.last)
	job.Had, job.Written = d.had, d.last.Written
	job.Digest = func(_ string, value []byte) string { return string(value) }
	return job
}

func (d *declared) differences(props obj) []reconcile.Step {
	d.t.Helper()
	look, err := d.kind.Look(d.t.Context(), d.job(props))
	if err != nil {
		d.t.Fatal(err)
	}
	return look.Steps
}

func pathsOf(steps []reconcile.Step) (all []string) {
	for _, s := range steps {
		path := string(s.Path)
		if s.Replaces {
			path += " replaces"
		}
		all = append(all, path)
	}
	return all
}

// TestReplaces: what the API cannot change in place replaces, and all else does not.
func TestReplaces(t *testing.T) {
	for _, c := range []struct {
		typ         string
		from, other obj
		want        []string
	}{
		{"turnstile.Widget", obj{"mode": "managed", "domains": list{"a.example"}, "region": "world"}, obj{"mode": "invisible", "domains": list{"a.example"}, "region": "china"}, []string{"mode", "region replaces"}},
		{"rules.List", obj{"name": "office", "kind": "ip"}, obj{"name": "office", "kind": "asn", "description": "x"}, []string{"description", "kind replaces"}},
		{"vectorize.Index", obj{"config": obj{"dimensions": int64(3), "metric": "cosine"}}, obj{"config": obj{"dimensions": int64(4), "metric": "cosine"}}, []string{"config replaces"}},
		{"zerotrust.Tunnel", obj{"config_src": "cloudflare"}, obj{"config_src": "local"}, []string{"config_src replaces"}},
	} {
		t.Run(c.typ, func(t *testing.T) {
			t.Parallel()
			if have := pathsOf(settled(t, schema.Prefix+c.typ, c.from).differences(c.other)); !slices.Equal(have, c.want) {
				t.Errorf("have %q, want %q", have, c.want)
			}
		})
	}
}

// TestOwnValues: what the service adds to an object is no drift, and neither is another order where that does not count.
func TestOwnValues(t *testing.T) {
	d := settled(t, "cloudflare.turnstile.Widget", obj{"mode": "managed", "domains": list{"a.example", "b.example"}})
	if d.last.Attrs["region"] == nil || d.last.Attrs["ephemeral_id"] == nil {
		t.Fatalf("the server adds nothing: %v", d.last.Attrs)
	}
	if have := d.differences(obj{"mode": "managed", "domains": list{"b.example", "a.example"}}); len(have) > 0 {
		t.Errorf("%v", have)
	}
	if have := pathsOf(d.differences(obj{"mode": "managed", "domains": list{"a.example", "c.example"}})); !slices.Equal(have, []string{"domains"}) {
		t.Errorf("%v", have)
	}
}

// TestWriteOnly: what is never shown differs when its declaration does, is sent along with every change, and is shown nowhere.
func TestWriteOnly(t *testing.T) {
	props := func(value, comment string) obj {
		return obj{"name": "KEY", "store_id": "x1", "scopes": list{"workers"}, "value": value, "comment": comment}
	}
	whole, err := Kind("cloudflare.secretsstore.Secret")
	if err != nil {
		t.Fatal(err)
	}
	d := &declared{t: t, server: cloudflaretest.Start(t), kind: whole}
	d.had = props("one", "")
	settle := func(p obj) {
		t.Helper()
		job := d.job(p)
		if d.last.Identity == "" {
			job.ID, job.Last, job.Had = "", nil, nil
		}
		if d.last, err = whole.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
			t.Fatal(err)
		}
		d.had = p
	}
	settle(props("one", ""))
	place := "/accounts/ACCOUNT/secrets_store/stores/x1/secrets"
	d.server.EditObject(t, place, d.last.Attrs["id"].(string), "value", "somebody else's")
	if have := d.differences(props("one", "")); len(have) > 0 {
		t.Errorf("what is never shown differs: %v", have)
	}
	steps := d.differences(props("two", ""))
	if have := pathsOf(steps); !slices.Equal(have, []string{"value"}) || steps[0].Want != reconcile.Mask {
		t.Errorf("%v", steps)
	}
	d.server.Reset()
	settle(props("two", "of the shop"))
	patches := d.server.Mutations()
	if len(patches) != 1 || patches[0].Method != http.MethodPatch || !strings.Contains(string(patches[0].Body), `"value":"two"`) {
		t.Errorf("%+v", patches)
	}
}

// TestWaits: a run ends well, and says what somebody must do.
func TestWaits(t *testing.T) {
	d := settled(t, "cloudflare.emailrouting.Address", obj{"email": "team@example.org"})
	place := "/accounts/ACCOUNT/email/routing/addresses"
	d.server.EditObject(t, place, d.last.Attrs["id"].(string), "verified", nil)
	look, err := d.kind.Look(t.Context(), d.job(d.had))
	if err != nil || !strings.Contains(look.Waiting, "open the link") {
		t.Errorf("%+v, %v", look, err)
	}
	d.server.EditObject(t, place, d.last.Attrs["id"].(string), "verified", "2026-01-01T00:00:00Z")
	if look, err = d.kind.Look(t.Context(), d.job(d.had)); err != nil || look.Waiting != "" {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestAdopts: an object is found by its id, and by its name where several ids are no name.
func TestAdopts(t *testing.T) {
	d := settled(t, "cloudflare.turnstile.Widget", obj{"name": "login", "mode": "managed", "domains": list{"a.example"}})
	for _, id := range []string{d.last.Identity, "login"} {
		job := d.server.Job(t, d.kind, obj{"mode": "managed", "domains": list{"a.example"}}, nil)
		job.ID = id
		look, err := d.kind.Look(t.Context(), job)
		if err != nil || look.Absent || look.Identity != d.last.Identity {
			t.Errorf("%s: %+v, %v", id, look.Identity, err)
		}
	}
}

// TestAdoptsSecret: a service token that is taken over by its id has the secret that is declared, which nothing shows. Found by its name, it is replaced.
func TestAdoptsSecret(t *testing.T) {
	const name = "cloudflare.zerotrust.AccessServiceToken"
	d := settled(t, name, obj{"name": "ci"})
	secret := d.last.Attrs["client_secret"]
	for what, c := range map[string]struct {
		id    string
		props obj
		lost  int
	}{
		"by its id":        {d.last.Identity, obj{"name": "ci", "client_secret": secret}, 0},
		"without a secret": {d.last.Identity, obj{"name": "ci"}, 1},
		"by its name":      {"", obj{"name": "ci", "client_secret": secret}, 1},
	} {
		job := d.server.Job(t, d.kind, c.props, nil)
		job.ID = c.id
		look, err := d.kind.Look(t.Context(), job)
		if err != nil || look.Absent || len(look.Steps) != c.lost || c.lost == 0 && look.Attrs["client_secret"] != secret {
			t.Errorf("%s: %+v, %v", what, look.Steps, err)
		}
	}
	if look, err := d.kind.Look(t.Context(), d.job(obj{"name": "ci", "client_secret": "another"})); err != nil || len(look.Steps) > 0 {
		t.Errorf("what state has counts: %+v, %v", look.Steps, err)
	}
	fields, err := d.kind.Spec().Props()
	if err != nil || !slices.ContainsFunc(fields, func(f props.Field) bool { return f.Path == "client_secret" && f.Secret }) {
		t.Errorf("the secret is none: %v", err)
	}
	if err := d.kind.Decode(&reconcile.Job{Props: obj{"name": "ci", "client_secret": list{}}}); err == nil {
		t.Error("a list is a secret")
	}
}

// TestTunnelToken: the token that cloudflared runs with is an attribute of a tunnel, secret, and another one with another secret.
func TestTunnelToken(t *testing.T) {
	for _, name := range []string{"cloudflare.zerotrust.Tunnel", "cloudflare.zerotrust.WarpConnector"} {
		d := settled(t, name, obj{})
		text, err := base64.StdEncoding.DecodeString(fmt.Sprint(d.last.Attrs["token"]))
		if err != nil {
			t.Fatalf("the token of %s is %v: %v", name, d.last.Attrs["token"], err)
		}
		var token struct {
			Account string `json:"a"`
			Tunnel  string `json:"t"`
			Secret  []byte `json:"s"`
		}
		if err := json.Unmarshal(text, &token); err != nil || token.Account != d.server.Account || token.Tunnel != d.last.Attrs["id"] || len(token.Secret) < 32 {
			t.Errorf("the token of %s says %s (%v)", name, text, err)
		}
		attrs, err := d.kind.Spec().Attrs()
		if err != nil || !slices.ContainsFunc(attrs, func(f props.Field) bool { return f.Path == "token" && f.Secret }) {
			t.Errorf("the token of %s is no secret (%v)", name, err)
		}
		d.server.Inject(cloudflaretest.Fault{Op: "ZeroTrust.Get*Token", Kind: cloudflaretest.Deny, Times: -1})
		look, err := d.kind.Look(t.Context(), d.job(obj{}))
		if err != nil || len(look.Steps) > 0 || look.Attrs["token"] != d.last.Attrs["token"] {
			t.Errorf("who may only read %s sees %v, %v (%v)", name, look.Steps, look.Attrs["token"], err)
		}
	}
}

// TestHold: a zone always answers about its hold, and has none while it says so. One that is released until a date is there, and what is described as
// text is read as true or false.
func TestHold(t *testing.T) {
	whole, err := Kind("cloudflare.zones.Hold")
	if err != nil {
		t.Fatal(err)
	}
	server := cloudflaretest.Start(t)
	server.AddZone(server.Account, zoneName)
	props := obj{"zone": zoneName, "include_subdomains": true}
	if look, err := whole.Look(t.Context(), server.Job(t, whole, props, nil)); err != nil || !look.Absent {
		t.Errorf("before there is one it is read as %v (%v)", look.Attrs, err)
	}
	out := server.Settled(t, whole, props, nil)
	if have := server.Wrote(); !slices.Equal(have, []string{"Zones.CreateHold", "Zones.PatchHold"}) {
		t.Errorf("wrote %v", have)
	}
	path := "/zones/" + textAt(out.Attrs, schema.ZoneID) + "/hold"
	look := func() reconcile.Look {
		look, err := whole.Look(t.Context(), server.Job(t, whole, props, &out))
		if err != nil {
			t.Fatal(err)
		}
		return look
	}
	server.EditObject(t, path, "", "include_subdomains", "true")
	if l := look(); l.Absent || len(l.Steps) > 0 {
		t.Errorf("shown as text, it differs: %v, absent %t", l.Steps, l.Absent)
	}
	server.EditObject(t, path, "", "hold", false)
	server.EditObject(t, path, "", "hold_after", "2030-01-31T00:00:00Z")
	if l := look(); l.Absent || len(l.Steps) > 0 {
		t.Errorf("released until a date, it differs: %v, absent %t", l.Steps, l.Absent)
	}
	server.EditObject(t, path, "", "hold_after", nil)
	if l := look(); !l.Absent {
		t.Error("somebody has released it, and it is read as there")
	}
}

// TestForwarding: the status of a redirect is a number, as Cloudflare's own clients send it, although the description has it as text.
func TestForwarding(t *testing.T) {
	whole, err := Kind("cloudflare.pagerules.Rule")
	if err != nil {
		t.Fatal(err)
	}
	server := cloudflaretest.Start(t)
	server.AddZone(server.Account, zoneName)
	props := obj{
		"zone": zoneName, "priority": int64(1), "status": "active",
		"targets": list{obj{"target": "url", "constraint": obj{"operator": "matches", "value": "old.example.com/*"}}},
		"actions": list{obj{"id": "forwarding_url", "value": obj{"url": "https://example.com/$1", "status_code": int64(301)}}},
	}
	out := server.Settled(t, whole, props, nil)
	job := server.Job(t, whole, props, &out)
	if look, err := whole.Look(t.Context(), job); err != nil || len(look.Steps) > 0 {
		t.Errorf("observed again: %v (%v)", look.Steps, err)
	}
	status := server.Objects("/zones/" + textAt(out.Attrs, schema.ZoneID) + "/pagerules")[0]["actions"].(list)[0].(obj)["value"].(obj)["status_code"]
	if status != float64(301) {
		t.Errorf("the status is %v", status)
	}
}
