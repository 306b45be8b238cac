package dns

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// shop is a zone with these records of somebody else's.
func shop(t *testing.T, records ...obj) (s *cloudflaretest.Server, zone string) {
	t.Helper()
	s = cloudflaretest.Start(t)
	zone = s.AddZone(s.Account, "shop.example")
	for _, r := range records {
		if r["ttl"] == nil {
			r["ttl"] = 1
		}
		s.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", r)
	}
	return s, zone
}

func count(t *testing.T, s *cloudflaretest.Server, zone string) int {
	t.Helper()
	list, _ := s.Do(t, http.MethodGet, "/zones/"+zone+"/dns_records?per_page=100", nil).([]any)
	return len(list)
}

// TestOthers is about records of the same name and type that somebody else has made.
func TestOthers(t *testing.T) {
	line := adopt.Line(reconcile.Mark{Stack: "blog", Stage: "prod", Address: "www", Generation: 1})
	sibling := adopt.Line(reconcile.Mark{Stack: "shop", Stage: "test", Address: "www-b", Generation: 1})
	a := obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}
	for _, c := range []struct {
		name      string
		others    []obj
		want      obj
		found     bool // something that is not ours is found, and to be judged
		owner     string
		ambiguous bool
	}{
		{name: "nothing is there", want: a},
		{name: "another address", want: a, found: true, others: []obj{{"type": "A", "name": "www.shop.example", "content": "192.0.2.9"}}},
		{name: "the same address", want: a, found: true, others: []obj{{"type": "A", "name": "www.shop.example", "content": "192.0.2.1"}}},
		{name: "two addresses", want: a, ambiguous: true, others: []obj{
			{"type": "A", "name": "www.shop.example", "content": "192.0.2.8"}, {"type": "A", "name": "www.shop.example", "content": "192.0.2.9"},
		}},
		{name: "the same among two", want: a, found: true, others: []obj{
			{"type": "A", "name": "www.shop.example", "content": "192.0.2.1"}, {"type": "A", "name": "www.shop.example", "content": "192.0.2.9"},
		}},
		{name: "another stack's", want: a, found: true, owner: "blog", others: []obj{
			{"type": "A", "name": "www.shop.example", "content": "192.0.2.9", "comment": "theirs " + line},
		}},
		{name: "a sibling's", want: a, others: []obj{{"type": "A", "name": "www.shop.example", "content": "192.0.2.9", "comment": sibling}}},
		{name: "another type", want: a, others: []obj{{"type": "AAAA", "name": "www.shop.example", "content": "2001:db8::1"}}},
		{
			name: "text beside text", want: obj{"zone": "shop.example", "name": "@", "type": "TXT", "content": "ours"},
			others: []obj{{"type": "TXT", "name": "shop.example", "content": "v=spf1 -all"}},
		},
		{
			name: "the same text", found: true, want: obj{"zone": "shop.example", "name": "@", "type": "TXT", "content": "v=spf1 -all"},
			others: []obj{{"type": "TXT", "name": "shop.example", "content": "v=spf1 -all"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, zone := shop(t, c.others...)
			kind := recordKind.Erase()
			look, err := kind.Look(t.Context(), s.Job(t, kind, c.want, nil))
			if errors.Is(err, reconcile.ErrAmbiguous) != c.ambiguous || err != nil && !c.ambiguous {
				t.Fatalf("look: %v", err)
			}
			if c.ambiguous {
				if len(reconcile.Hints(err)) == 0 || !strings.Contains(err.Error(), "192.0.2.8") {
					t.Errorf("told: %v", err)
				}
				return
			}
			if look.Absent == c.found || look.Owner.Stack != c.owner {
				t.Errorf("absent %v, owner %+v", look.Absent, look.Owner)
			}
			if !c.found {
				s.Settled(t, kind, c.want, nil)
				if n := count(t, s, zone); n != len(c.others)+1 {
					t.Errorf("%d records", n)
				}
			}
		})
	}
}

// TestBesideAlias: what Cloudflare has no room for is refused at once, with its own words.
func TestBesideAlias(t *testing.T) {
	s, _ := shop(t, obj{"type": "CNAME", "name": "www.shop.example", "content": "target.example"})
	kind := recordKind.Erase()
	job := s.Job(t, kind, obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if refused, ok := errors.AsType[*cloudflare.Error](err); !ok || !refused.Has(81054) || s.Count("DNS.CreateRecord") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("DNS.CreateRecord"))
	}
}

// TestTwice is about two addresses of a stage that declare the same record: the second is refused at once.
func TestTwice(t *testing.T) {
	line := adopt.Line(reconcile.Mark{Stack: "shop", Stage: "test", Address: "twin", Generation: 1})
	s, _ := shop(t, obj{"type": "A", "name": "www.shop.example", "content": "192.0.2.1", "comment": line})
	kind := recordKind.Erase()
	job := s.Job(t, kind, obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if job.Cloud.Classify(err) != reconcile.Invalid || len(reconcile.Hints(err)) == 0 || s.Count("DNS.CreateRecord") != 1 {
		t.Errorf("%v after %d calls", err, s.Count("DNS.CreateRecord"))
	}
}

// TestRenamed is about a record that somebody else gave another name and another type.
func TestRenamed(t *testing.T) {
	for path, change := range map[string]obj{
		"name": {"name": "w3.shop.example", "type": "A", "ttl": 1},
		"type": {"name": "www.shop.example", "type": "TXT", "content": "x", "ttl": 1},
	} {
		s, zone := shop(t)
		kind := recordKind.Erase()
		declared := obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}
		out := s.Settled(t, kind, declared, nil)
		s.Do(t, http.MethodPatch, "/zones/"+zone+"/dns_records/"+out.Attrs["id"].(string), change)
		_, err := kind.Settle(t.Context(), s.Job(t, kind, declared, &out), reconcile.Hooks{})
		if replace, ok := errors.AsType[*reconcile.ReplaceError](err); !ok || string(replace.Steps[0].Path) != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCalls(t *testing.T) {
	s, _ := shop(t)
	kind := recordKind.Erase()
	p := obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1", "comment": "web"}
	out := s.Settled(t, kind, p, nil)
	if have := s.Wrote(); !slices.Equal(have, []string{"DNS.CreateRecord"}) {
		t.Errorf("a creation makes %v", have)
	}
	job := s.Job(t, kind, p, &out)
	if _, err := kind.Look(t.Context(), job); err != nil { // the zone is looked up once for each handle
		t.Fatal(err)
	}
	s.Reset()
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil || len(s.Calls()) != 1 {
		t.Errorf("unchanged: %v, %d calls, want 1", err, len(s.Calls()))
	}
	p["content"], p["ttl"], p["comment"], p["tags"] = "192.0.2.2", "5m", "shop", list{"team:web"}
	s.Reset()
	s.Settled(t, kind, p, &out)
	if have := s.Wrote(); !slices.Equal(have, []string{"DNS.PatchRecord"}) {
		t.Errorf("four aspects changed, and %v are made", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one record, made by as few calls as can be.
func TestFaults(t *testing.T) {
	fresh := func(t *testing.T) (*cloudflaretest.Server, func() int) {
		s, zone := shop(t)
		return s, func() int { return count(t, s, zone) }
	}
	cloudflaretest.Faults(t, fresh, recordKind.Erase(), obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}, cloudflaretest.Broken{
		{"the answer of the creation is lost", cloudflaretest.Fault{Op: "DNS.CreateRecord", Kind: cloudflaretest.DropAnswer}, 1},
		{"the creation never arrives", cloudflaretest.Fault{Op: "DNS.CreateRecord", Kind: cloudflaretest.CutBefore}, 2},
		{"the creation is throttled twice", cloudflaretest.Fault{Op: "DNS.CreateRecord", Kind: cloudflaretest.Throttle, Times: 2}, 3},
		{"the creation meets an error of the edge", cloudflaretest.Fault{Op: "DNS.CreateRecord", Kind: cloudflaretest.ServerError}, 2},
		{"the listing is throttled", cloudflaretest.Fault{Op: "DNS.ListRecords", Kind: cloudflaretest.Throttle, Times: 2}, 1},
		{"the zone is not told at first", cloudflaretest.Fault{Op: "Zones.ListZones", Kind: cloudflaretest.ServerError, Times: 2}, 1},
	})
}

// TestShortComment: in a hundred characters the owner tag goes without the store, and is found again.
func TestShortComment(t *testing.T) {
	s, _ := shop(t)
	kind := recordKind.Erase()
	p := obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1", "comment": strings.Repeat("long ", 12) + "long"}
	s.Settled(t, kind, p, nil)
	have := all(t, s)[0]["comment"].(string)
	if len(have) > shortComment || !strings.HasSuffix(have, "athanor:shop|test|orders|1||false") {
		t.Errorf("%d characters: %s", len(have), have)
	}
	s.Reset()
	s.Settled(t, kind, p, nil) // without state
	if wrote := s.Wrote(); len(wrote) > 0 {
		t.Errorf("found again, and wrote %v", wrote)
	}
}

func TestNoZone(t *testing.T) {
	s, _ := shop(t)
	kind := recordKind.Erase()
	job := s.Job(t, kind, obj{"zone": "nobody.example", "name": "www", "type": "A", "content": "192.0.2.1"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err == nil || !strings.Contains(err.Error(), "nobody.example") || len(s.Wrote()) > 0 {
		t.Errorf("%v, wrote %v", err, s.Wrote())
	}
}

// TestList finds records with the owner tag of a stage in all zones, past the first page, and all records when no stage
// is named.
func TestList(t *testing.T) {
	s, zone := shop(t)
	other := s.AddZone(s.Account, "other.example")
	foreign := s.AddZone(s.AddAccount("Other"), "foreign.example")
	line := func(stage, address string) string {
		return adopt.Line(reconcile.Mark{Stack: "shop", Stage: stage, Address: address, Generation: 1})
	}
	add := func(zone, name, comment string) {
		s.Do(t, http.MethodPost, "/zones/"+zone+"/dns_records", obj{"type": "A", "name": name, "content": "192.0.2.1", "ttl": 1, "comment": comment})
	}
	for i := range 120 {
		add(zone, "n"+strconv.Itoa(i), line("test", "r["+strconv.Itoa(i)+"]"))
	}
	add(other, "www", "web "+line("test", "www"))
	add(other, "prod", line("prod", "www"))
	add(other, "by-hand", "")
	add(foreign, "www", line("test", "www"))
	kind, job := recordKind.Erase(), s.Job(t, recordKind.Erase(), nil, nil)
	scope := reconcile.Scope{Cloud: job.Cloud, Place: job.Place, Mark: reconcile.Mark{Stack: "shop", Stage: "test"}}
	found, err := kind.List(t.Context(), scope)
	if err != nil || len(found) != 121 || found[120].Mark.Address != "www" && found[0].Mark.Address != "www" {
		t.Errorf("found %d, %v", len(found), err)
	}
	scope.Mark = reconcile.Mark{}
	if found, err = kind.List(t.Context(), scope); err != nil || len(found) != 123 {
		t.Errorf("found %d of all, %v", len(found), err)
	}
}

// TestNamed takes a record by its id alone, with the zone of the declaration, and by both ids.
func TestNamed(t *testing.T) {
	s, zone := shop(t, obj{"type": "A", "name": "www.shop.example", "content": "192.0.2.9"})
	id := s.Do(t, http.MethodGet, "/zones/"+zone+"/dns_records", nil).([]any)[0].(obj)["id"].(string)
	kind := recordKind.Erase()
	for by, ok := range map[string]bool{id: true, zone + "/" + id: true, zone + "/www": false, "shop.example/" + id: true} {
		job := s.Job(t, kind, obj{"zone": "shop.example", "name": "www", "type": "A", "content": "192.0.2.1"}, nil)
		job.ID = by
		look, err := kind.Look(t.Context(), job)
		if (err == nil) != ok || ok && look.Identity != zone+"/"+id {
			t.Errorf("%s: %s, %v", by, look.Identity, err)
		}
	}
}
