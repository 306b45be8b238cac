package kind_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// BoxProps have one prop for each statement that a table can make.
type BoxProps struct {
	// Name of the box.
	Name string
	// Sealed boxes are replaced.
	Sealed bool `prop:"default=false,immutable" wire:"Sealed"`
	// Wait before it opens.
	Wait *time.Duration `prop:"min=0s,max=1h,default=30s" wire:"WaitSeconds"`
	// Keep it for so many hours.
	Keep time.Duration `prop:"unit=1h" wire:"KeepHours"`
	// Room in it.
	Room *props.Size `prop:"default=1MiB,unit=1KiB" wire:"RoomKiB"`
	// Share of it.
	Share *float64 `wire:"Share"`
	// Target is where it goes.
	Target string `prop:"deferrable,needsready" wire:"Route.target"`
	// Tries before it goes there.
	Tries *int `prop:"min=1,default=10,with=target" wire:"Route.tries"`
	// Via is on the way, and stays.
	Via string `prop:"immutable" wire:"Route.via"`
	// Key of the box.
	Key string `wire:"Key"`
	// KeyAge before another.
	KeyAge *time.Duration `prop:"default=5m,with=key" wire:"KeyAgeSeconds"`
	// Lock is there without a key.
	Lock *bool `prop:"default=true,excludes=key" wire:"Lock"`
	// Code needs a lock.
	Code string `prop:"needs=lock" wire:"Code"`
	// Guests have no order.
	Guests []string `prop:"set" wire:"Guests"`
	// Labels are entries.
	Labels map[string]string `prop:"masklive,deferrable" wire:"Labels"`
	// Secret is not shown.
	Secret token.Secret `prop:"writeonly" wire:"Secret,call=SetSecret"`
	// Rule has members.
	Rule *Rule `wire:"RulePolicy,lax"`
	// Paper is a document.
	Paper any `wire:"Paper,paper"`
	// Shape is compared, and sent by code.
	Shape string `prop:"default=" wire:"-"`
	// Odd is code.
	Odd map[string]OddEntry
}

// Rule is sent as one document.
type Rule struct {
	// Allow is whom.
	Allow string `prop:"required,enum=all|none|some" wire:"allow"`
	// Who are they.
	Who []string `prop:"set" wire:"who"`
	// Grace is a time.
	Grace *time.Duration `prop:"default=1m" wire:"graceSeconds"`
}

// OddEntry is compared by code.
type OddEntry struct {
	// Late may come later.
	Late string `prop:"deferrable"`
	// Env can hold secrets.
	Env map[string]string `prop:"masklive"`
}

// Box is what others refer to.
type Box struct {
	// ID of it.
	ID string `attr:"early"`
	// Token of it.
	Token string `attr:"createOnly,early"`
	// Etag of it.
	Etag string `attr:"mutable"`
	// URL of it.
	URL string `attr:"mutable=target|key"`
}

func boxTable() *kind.Table[BoxProps] {
	lax := kind.Codec{Name: "lax", Form: func(v any) any {
		if m, ok := v.(map[string]any); ok && m["allow"] == "all" {
			return nil
		}
		return v
	}}
	paper := kind.Codec{
		Name:  "paper",
		Write: func(v any) (any, error) { return "paper:" + v.(string), nil },
		Read:  func(v any) (any, error) { return strings.TrimPrefix(v.(string), "paper:"), nil },
	}
	return kind.TableOf[BoxProps](lax, paper)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestDefaultsAreFilledIn(t *testing.T) {
	rule := &Rule{Allow: "none"}
	p := BoxProps{Rule: rule, Wait: new(time.Duration(0))}
	boxTable().Default(&p)
	if *p.Wait != 0 || *p.Room != props.MiB || *p.Tries != 10 || !*p.Lock || *p.Rule.Grace != time.Minute {
		t.Errorf("%+v", p)
	}
	if rule.Grace != nil {
		t.Error("the caller's own struct was written to")
	}
	if p.Share != nil {
		t.Error("what has no default got one")
	}
}

func TestCheckFindsWhatTagsForbid(t *testing.T) {
	for _, c := range []struct {
		props BoxProps
		want  string
	}{
		{BoxProps{}, ""},
		{BoxProps{Wait: new(1500 * time.Millisecond)}, "wait: want whole seconds"},
		{BoxProps{Keep: 90 * time.Minute}, "keep: want whole hours"},
		{BoxProps{Room: new(props.Size(1500))}, "room: want a multiple of 1KiB"},
		{BoxProps{Rule: &Rule{Grace: new(time.Millisecond)}}, "rule.grace: want whole seconds"},
		{BoxProps{Code: "1234", Lock: new(false)}, "code: it counts with lock alone, which is not set"},
		{BoxProps{Code: "1234"}, ""}, // the lock is there by default
		{BoxProps{Key: "k", Lock: new(true)}, "lock: want either lock or key, not both"},
		{BoxProps{Key: "k", Lock: new(false)}, ""},
		{BoxProps{Tries: new(3)}, ""}, // with: it does not count, and is no error
	} {
		if have := boxTable().Check(c.props).Error(); have != c.want {
			t.Errorf("%+v: %q, want %q", c.props, have, c.want)
		}
	}
}

func TestReadTakesWhatAServiceShows(t *testing.T) {
	want := BoxProps{
		Sealed: true, Wait: new(time.Minute), Keep: 2 * time.Hour, Room: new(64 * props.KiB), Share: new(0.5), Target: "there",
		Tries: new(3), Key: "k", KeyAge: new(time.Hour), Lock: new(false), Guests: []string{"b", "a"},
		Rule: &Rule{Allow: "some", Who: []string{"x"}, Grace: new(time.Minute)}, Paper: "white",
		Labels: map[string]string{"a": "b"},
	}
	text := kind.Text{
		"Sealed": "true", "WaitSeconds": "60", "KeepHours": "2", "RoomKiB": "64", "Share": "0.5", "Lock": "false",
		"Route": `{"target":"there","tries":"3"}`, "Key": "k", "KeyAgeSeconds": "3600", "Guests": `["b","a"]`,
		"RulePolicy": `{"allow":"some","who":["x"]}`, "Paper": "paper:white", "Labels": `{"a":"b"}`, "Secret": "never read",
	}
	doc := kind.Document{
		"Sealed": true, "WaitSeconds": int64(60), "KeepHours": float64(2), "RoomKiB": int64(64), "Share": 0.5, "Lock": false,
		"Route": map[string]any{"target": "there", "tries": int64(3)}, "Key": "k", "KeyAgeSeconds": int64(3600),
		"Guests": []any{"b", "a"}, "RulePolicy": map[string]any{"allow": "some", "who": []any{"x"}}, "Paper": "paper:white",
		"Labels": map[string]any{"a": "b"},
	}
	for name, wire := range map[string]kind.Wire{"text": text, "document": doc} {
		have, err := boxTable().Read(wire)
		if err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, have, err, want)
		}
	}
	have := must(boxTable().Read(kind.Text{}))
	if *have.Wait != 30*time.Second || have.Target != "" || have.Sealed {
		t.Errorf("nothing shown is the defaults: %+v", have)
	}
}

func TestReadRefusesWhatNobodyCouldDeclare(t *testing.T) {
	for name, wire := range map[string]kind.Wire{
		"wait: the service shows WaitSeconds": kind.Text{"WaitSeconds": "soon"},
		"no whole number":                     kind.Document{"KeepHours": 1.5},
		"no bool":                             kind.Document{"Sealed": "perhaps"},
		"no document":                         kind.Document{"RulePolicy": "x"},
		"no []string":                         kind.Document{"Guests": "x"},
		"rule.who":                            kind.Text{"RulePolicy": `{"allow":"some","who":"x"}`},
	} {
		if _, err := boxTable().Read(wire); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want %s", wire, err, name)
		}
	}
}

func full() BoxProps {
	p := BoxProps{
		Sealed: true, Keep: 2 * time.Hour, Target: "there", Via: "here", Key: "k", Guests: []string{"b", "a"},
		Labels: map[string]string{"a": "b"}, Secret: "s", Rule: &Rule{Allow: "some", Who: []string{"x"}}, Paper: "white", Shape: "round",
	}
	boxTable().Default(&p)
	return p
}

func TestCreatedWritesWhatCounts(t *testing.T) {
	have := kind.Text{}
	if err := boxTable().Created(full(), have); err != nil {
		t.Fatal(err)
	}
	want := kind.Text{
		"Sealed": "true", "WaitSeconds": "30", "KeepHours": "2", "RoomKiB": "1024", "Route": `{"target":"there","tries":10,"via":"here"}`,
		"Key": "k", "KeyAgeSeconds": "300", "Guests": `["b","a"]`, "Labels": `{"a":"b"}`, "Secret": "s",
		"RulePolicy": `{"allow":"some","graceSeconds":60,"who":["x"]}`, "Paper": "paper:white",
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("sent %v\nwant %v", have, want)
	}
	bare := kind.Text{}
	if err := boxTable().Created(BoxProps{Tries: new(10), KeyAge: new(time.Minute), Lock: new(true)}, bare); err != nil {
		t.Fatal(err)
	}
	if want := (kind.Text{"Sealed": "false", "KeepHours": "0", "Lock": "true"}); !reflect.DeepEqual(bare, want) {
		t.Errorf("sent %v\nwant %v: what does not count is left out", bare, want)
	}
}

// TestChangedKeepsTheOtherMembers is about attributes that several props share, or that depend on another.
func TestChangedKeepsTheOtherMembers(t *testing.T) {
	table := boxTable()
	have := full()
	have.Tries = new(7)
	for _, c := range []struct {
		name    string
		want    func(*BoxProps)
		have    func(*BoxProps)
		changed []tree.Path
		sent    kind.Text
	}{
		{"one attribute", func(p *BoxProps) { p.Wait = new(time.Second) }, nil, []tree.Path{"wait"}, kind.Text{"WaitSeconds": "1"}},
		{
			"a member keeps the others as they are, also what is immutable", func(p *BoxProps) { p.Target = "elsewhere" }, nil,
			[]tree.Path{"target"},
			kind.Text{"Route": `{"target":"elsewhere","tries":7,"via":"here"}`},
		},
		{
			"a member beside one that is not to be changed", func(p *BoxProps) { p.Target, p.Tries = "ignored", new(3) }, nil,
			[]tree.Path{"tries"},
			kind.Text{"Route": `{"target":"there","tries":3,"via":"here"}`},
		},
		{
			"what the object does not have, and is not to get", func(p *BoxProps) { p.Via, p.Target = "ignored", "x" },
			func(p *BoxProps) { p.Via = "" },
			[]tree.Path{"target"},
			kind.Text{"Route": `{"target":"x","tries":7}`},
		},
		{
			"the last member is cleared", func(p *BoxProps) { p.Target, p.Via = "", "" }, func(p *BoxProps) { p.Via = "" },
			[]tree.Path{"target"},
			kind.Text{"Route": ""},
		},
		{
			"what depends on it comes along", func(p *BoxProps) { p.Key = "" }, nil,
			[]tree.Path{"key"},
			kind.Text{"Key": "", "Lock": "true"},
		},
		{
			"and keeps what the object has", func(p *BoxProps) { p.Key = "k2" }, func(p *BoxProps) { p.KeyAge = new(time.Hour) },
			[]tree.Path{"key"},
			kind.Text{"Key": "k2", "KeyAgeSeconds": "3600"},
		},
		{"nothing to change", nil, nil, nil, kind.Text{}},
		{"an immutable one is never set", nil, nil, []tree.Path{"sealed"}, kind.Text{}},
	} {
		w, h, sent := full(), have, kind.Text{}
		w.Tries = new(10)
		if c.want != nil {
			c.want(&w)
		}
		if c.have != nil {
			c.have(&h)
		}
		if err := table.Changed(w, h, c.changed, sent); err != nil || !reflect.DeepEqual(sent, c.sent) {
			t.Errorf("%s: sent %v, %v\nwant %v", c.name, sent, err, c.sent)
		}
	}
}

// Pair shares two documents by three props: what one of them needs comes along with what comes along.
type Pair struct {
	A string `wire:"X.a"`
	B string `prop:"with=a" wire:"Y.b"`
	C string `wire:"Y.c"`
}

func TestChangedKeepsMembersOfWhatComesAlong(t *testing.T) {
	sent := kind.Text{}
	err := kind.TableOf[Pair]().Changed(Pair{"a2", "b", "c"}, Pair{"a", "b", "c"}, []tree.Path{"a"}, sent)
	if want := (kind.Text{"X": `{"a":"a2"}`, "Y": `{"b":"b","c":"c"}`}); err != nil || !reflect.DeepEqual(sent, want) {
		t.Errorf("sent %v, %v\nwant %v", sent, err, want)
	}
}

func TestMergedIsTheWholeObject(t *testing.T) {
	want, have := full(), full()
	want.Key, want.Target, want.Secret, want.Odd = "new", "ignored", "now", map[string]OddEntry{"a": {}}
	have.Wait, have.Secret = new(time.Second), ""
	merged := boxTable().Merged(want, have, []tree.Path{"key"})
	wanted := have
	wanted.Key, wanted.Secret, wanted.Odd = "new", "now", want.Odd
	if !reflect.DeepEqual(merged, wanted) {
		t.Errorf("%+v\nwant %+v", merged, wanted)
	}
	if want.Target != "ignored" || have.Key != "k" {
		t.Error("an argument was changed")
	}
}

// GroupProps have a struct whose members are attributes of their own.
type GroupProps struct {
	Origin struct {
		Host   string       `prop:"required" wire:"host"`
		Port   *int         `prop:"default=5432,with=host" wire:"port"`
		Secret token.Secret `prop:"writeonly" wire:"secret"`
	} `prop:"required,each" wire:"origin"`
}

func TestMembersThatCountByThemselves(t *testing.T) {
	table := kind.TableOf[GroupProps]()
	if err := table.Validate(); err != nil {
		t.Fatal(err)
	}
	have := must(table.Read(kind.Document{"origin": map[string]any{"host": "a", "port": int64(1)}}))
	want := have
	if want.Origin.Port = nil; have.Origin.Host != "a" || *have.Origin.Port != 1 {
		t.Errorf("read %+v", have)
	}
	table.Default(&want)
	want.Origin.Secret = "s"
	whole, part := kind.Document{}, kind.Document{}
	if err := errors.Join(table.Created(want, whole), table.Changed(want, have, []tree.Path{"origin.port"}, part)); err != nil {
		t.Fatal(err)
	}
	wanted := kind.Document{"origin": map[string]any{"host": "a", "port": int64(5432), "secret": "s"}}
	if !reflect.DeepEqual(whole, wanted) || !reflect.DeepEqual(part, wanted) {
		t.Errorf("sent %v and %v\nwant %v", whole, part, wanted)
	}
	var paths []string
	for _, a := range table.Attributes() {
		paths = append(paths, string(a.Path)+"="+a.Wire)
	}
	if have := strings.Join(paths, " "); have != "origin.host=origin.host origin.port=origin.port origin.secret=origin.secret" {
		t.Error(have)
	}
	if merged := table.Merged(want, have, []tree.Path{"origin.host"}); *merged.Origin.Port != 1 || merged.Origin.Secret != "s" {
		t.Errorf("merged %+v", merged)
	}
}

// LoggedProps have members that count by themselves in structs that may be left out, and names without a dot.
type LoggedProps struct {
	Web  *Logging `prop:"each" wire:"HTTP*"`
	Mail *Logging `prop:"each" wire:"Mail"`
}

type Logging struct {
	Role string `wire:"RoleArn"`
	Rate *int   `prop:"default=100,with=role" wire:"Rate"`
}

func TestMembersOfWhatIsLeftOut(t *testing.T) {
	table := kind.TableOf[LoggedProps]()
	have := must(table.Read(kind.Text{"HTTPRoleArn": "a", "HTTPRate": "7"}))
	if have.Web == nil || have.Web.Role != "a" || *have.Web.Rate != 7 || have.Mail != nil {
		t.Fatalf("read %+v", have)
	}
	declared := &Logging{Role: "b"}
	want := LoggedProps{Web: declared}
	if table.Default(&want); *want.Web.Rate != 100 || declared.Rate != nil || want.Mail != nil {
		t.Errorf("defaults of %+v, and %+v was declared", want.Web, declared)
	}
	created, changed, cleared := kind.Text{}, kind.Text{}, kind.Text{}
	if err := errors.Join(table.Created(want, created), table.Changed(want, have, []tree.Path{"web.role"}, changed),
		table.Changed(LoggedProps{}, have, []tree.Path{"web.role"}, cleared)); err != nil {
		t.Fatal(err)
	}
	if want := (kind.Text{"HTTPRoleArn": "b", "HTTPRate": "100"}); !maps.Equal(created, want) {
		t.Errorf("created %v", created)
	}
	if want := (kind.Text{"HTTPRoleArn": "b", "HTTPRate": "7"}); !maps.Equal(changed, want) {
		t.Errorf("changed %v", changed)
	}
	if want := (kind.Text{"HTTPRoleArn": ""}); !maps.Equal(cleared, want) {
		t.Errorf("cleared %v", cleared)
	}
	if merged := table.Merged(want, have, []tree.Path{"web.role"}); merged.Web.Role != "b" || *merged.Web.Rate != 7 || *want.Web.Rate != 100 {
		t.Errorf("merged %+v of %+v", merged.Web, want.Web)
	}
	if merged := table.Merged(LoggedProps{Mail: &Logging{Role: "m"}}, have, nil); merged.Web.Role != "a" || merged.Mail.Role != "" {
		t.Errorf("merged %+v", merged)
	}
}

// TestMembersOfMembersThatCount: a struct within one whose members count by themselves may be of that sort too.
func TestMembersOfMembersThatCount(t *testing.T) {
	type (
		cors struct {
			Origins []string `prop:"set" wire:"AllowOrigins"`
			Age     int      `wire:"MaxAge,omitzero"`
		}
		address struct {
			Auth string `wire:"AuthType"`
			CORS *cors  `prop:"each" wire:"Cors"`
		}
		props struct {
			URL *address `prop:"each" wire:"*"`
		}
	)
	table := kind.TableOf[props]()
	shown := kind.Document{"AuthType": "NONE", "Cors": map[string]any{"AllowOrigins": []any{"a"}, "MaxAge": int64(5)}}
	want := props{URL: &address{Auth: "NONE", CORS: &cors{Origins: []string{"a"}, Age: 5}}}
	if read := must(table.Read(shown)); !reflect.DeepEqual(read, want) {
		t.Errorf("read %+v", read.URL)
	}
	empty := map[string]any{"AllowOrigins": []any{}, "MaxAge": int64(0)} // as services show what is not there
	if read := must(table.Read(kind.Document{"AuthType": "NONE", "Cors": empty})); read.URL.CORS != nil {
		t.Errorf("of nothing read %+v", read.URL.CORS)
	}
	sent := kind.Document{}
	if err := table.Created(want, sent); err != nil || !reflect.DeepEqual(sent, shown) {
		t.Errorf("sent %v, %v", sent, err)
	}
	bare := props{URL: &address{Auth: "NONE"}}
	if !table.Equal(bare, props{URL: &address{Auth: "NONE", CORS: &cors{}}}) {
		t.Error("a struct that is not there differs from one of which nothing is set")
	}
}

// TestEntriesOfMaps: an entry that is not to be changed keeps what the object has.
func TestEntriesOfMaps(t *testing.T) {
	type props struct {
		Env   map[string]string `wire:"Env.Variables"`
		Whole map[string]string `prop:"whole" wire:"Whole"`
	}
	table := kind.TableOf[props]()
	want := props{map[string]string{"A": "new", "B": "ignored", "D": "new"}, map[string]string{"A": "new"}}
	have := props{map[string]string{"A": "old", "B": "live", "C": "live", "E": "old"}, map[string]string{"B": "live"}}
	changed := []tree.Path{"env.A", "env.D", "env.E", "whole"}
	entries := map[string]any{"A": "new", "B": "live", "C": "live", "D": "new"}
	sent := kind.Document{}
	if err := table.Changed(want, have, changed, sent); err != nil || !reflect.DeepEqual(sent,
		kind.Document{"Env": map[string]any{"Variables": entries}, "Whole": map[string]any{"A": "new"}}) {
		t.Errorf("sent %v, %v", sent, err)
	}
	sent = kind.Document{}
	if err := table.Created(table.Merged(want, have, changed[:3]), sent); err != nil || !reflect.DeepEqual(sent,
		kind.Document{"Env": map[string]any{"Variables": entries}, "Whole": map[string]any{"B": "live"}}) {
		t.Errorf("merged %v, %v", sent, err)
	}
	if want.Env["B"] != "ignored" || len(have.Env) != 4 {
		t.Error("an argument was changed")
	}
}

func TestNullsClearDocuments(t *testing.T) {
	doc := kind.Document{}
	have := full()
	want := full()
	want.Key, want.Target, want.Guests = "", "", nil
	if err := boxTable().Changed(want, have, []tree.Path{"key", "target", "guests"}, doc); err != nil {
		t.Fatal(err)
	}
	wanted := kind.Document{"Key": nil, "Lock": true, "Guests": nil, "Route": map[string]any{"target": nil, "via": "here"}}
	if !reflect.DeepEqual(doc, wanted) {
		t.Errorf("sent %v\nwant %v", doc, wanted)
	}
}

// boxKind is a definition that does nothing, for its comparison.
func boxKind() kind.Kind[BoxProps, BoxProps, Box] {
	table := boxTable()
	set := func(name string) *kind.Operation[BoxProps] {
		return kind.Set(name, func(context.Context, kind.Update[BoxProps]) error { return nil })
	}
	return kind.Kind[BoxProps, BoxProps, Box]{
		Type: "test.Box", Doc: "A box.",
		Observe: func(context.Context, kind.Site[BoxProps, Box]) (p BoxProps, err error) { return p, reconcile.ErrAbsent },
		Create:  func(context.Context, kind.Site[BoxProps, Box]) (Box, error) { return Box{ID: "1"}, nil },
		Compare: func(d *kind.Diff[BoxProps], want, have BoxProps) {
			kind.Compare(d, table, want, have, set("SetBox"), set("SetSecret"))
		},
		Attributes: func(BoxProps) Box { return Box{ID: "1", Token: "t"} },
		Delete:     func(context.Context, kind.Site[BoxProps, Box]) error { return nil },
		Identity:   func(b Box) string { return b.ID },
		Props:      table,
		API:        kind.API{Calls: []string{"Boxes.SetBox", "Boxes.SetSecret"}},
	}
}

// steps are the differences between a declaration and an object, as text.
func steps(t *testing.T, k kind.Kind[BoxProps, BoxProps, Box], declared map[string]any, have BoxProps, job *reconcile.Job) string {
	t.Helper()
	k.Observe = func(context.Context, kind.Site[BoxProps, Box]) (BoxProps, error) { return have, nil }
	if job == nil {
		job = &reconcile.Job{}
	}
	job.Props = declared
	job.Digest = func(domain string, data []byte) string { return domain + string(data) }
	look, err := k.Erase().Look(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range look.Steps {
		how := s.Call
		if s.Replaces {
			how = "replaces"
		}
		all = append(all, s.String()+" "+how)
	}
	return strings.Join(all, "\n")
}

func TestCompareStatesEachAttributeOnce(t *testing.T) {
	read := func(wire kind.Text) BoxProps { return must(boxTable().Read(wire)) }
	for _, c := range []struct {
		name     string
		declared map[string]any
		have     kind.Text
		want     string
	}{
		{"equal", map[string]any{}, kind.Text{}, ""},
		{"a default is wanted", map[string]any{}, kind.Text{"WaitSeconds": "5"}, `wait: have "5s", want "30s" SetBox`},
		{"immutable", map[string]any{"sealed": true}, kind.Text{}, "sealed: have false, want true replaces"},
		{"none", map[string]any{}, kind.Text{"Key": "k"}, `key: have "k", want null SetBox`},
		{
			"a condition holds on both sides",
			map[string]any{"target": "x", "tries": int64(3)},
			kind.Text{"Route": `{"target":"x"}`},
			"tries: have 10, want 3 SetBox",
		},
		{"or on one alone", map[string]any{"target": "x", "tries": int64(3)}, kind.Text{}, `target: have null, want "x" SetBox`},
		{"the order of a set", map[string]any{"guests": []any{"a", "b"}}, kind.Text{"Guests": `["b","a"]`}, ""},
		{
			"the order of a set within",
			map[string]any{"rule": map[string]any{"allow": "some", "who": []any{"a", "b"}}},
			kind.Text{"RulePolicy": `{"allow":"some","who":["b","a"]}`},
			"",
		},
		{
			"entries",
			map[string]any{"labels": map[string]any{"a": "1", "b": "2"}},
			kind.Text{"Labels": `{"a":"0","c":"3"}`},
			"labels.a: have \"0\", want \"1\" SetBox\nlabels.b: have null, want \"2\" SetBox\nlabels.c: have \"(secret)\", want null SetBox",
		},
		{"a codec's form", map[string]any{"rule": map[string]any{"allow": "all"}}, kind.Text{}, ""},
		{
			"a document",
			map[string]any{"rule": map[string]any{"allow": "none"}},
			kind.Text{},
			`rule: have null, want {"allow":"none","grace":"1m"} SetBox`,
		},
		{"what code sends", map[string]any{"shape": "round"}, kind.Text{}, `shape: have null, want "round" SetBox`},
		{"what code compares", map[string]any{"odd": map[string]any{"a": map[string]any{"late": "x"}}}, kind.Text{}, ""},
		{"write-only", map[string]any{"secret": "s"}, kind.Text{}, `secret: have null, want "(secret)" SetSecret`},
	} {
		if have := steps(t, boxKind(), c.declared, read(c.have), nil); have != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, have, c.want)
		}
	}
}

// TestCompareEachTakesACallForEachAttribute has one call that sets an attribute, and another that clears it; one for all members
// of a struct; and none, with which a difference replaces the object.
func TestCompareEachTakesACallForEachAttribute(t *testing.T) {
	type lid struct {
		Hinge string `wire:"Hinge"`
		Open  bool   `prop:"default=false" wire:"Open"`
	}
	type plainProps struct {
		Color string `wire:"Color"`
		Size  int    `prop:"default=0" wire:"Size"`
		Shape string `prop:"immutable" wire:"Shape"`
		Lid   *lid   `prop:"each" wire:"Lid"`
		Nails bool   `prop:"default=false" wire:"Nails"`
	}
	type plainAttrs struct{ ID string }
	table := kind.TableOf[plainProps]()
	call := func(name string) *kind.Operation[plainProps] {
		return kind.Set(name, func(context.Context, kind.Update[plainProps]) error { return nil })
	}
	k := kind.Kind[plainProps, plainProps, plainAttrs]{
		Type: "test.Plain", Doc: "A plain box.", Props: table, Identity: func(plainAttrs) string { return "1" },
		Observe: func(context.Context, kind.Site[plainProps, plainAttrs]) (plainProps, error) {
			return plainProps{Color: "red", Shape: "round"}, nil
		},
		Create:     func(context.Context, kind.Site[plainProps, plainAttrs]) (plainAttrs, error) { return plainAttrs{}, nil },
		Delete:     func(context.Context, kind.Site[plainProps, plainAttrs]) error { return nil },
		Attributes: func(plainProps) plainAttrs { return plainAttrs{} },
		Compare: func(d *kind.Diff[plainProps], want, live plainProps) {
			calls := map[tree.Path]*kind.Operation[plainProps]{"color": call("SetColor"), "size": call("SetSize"), "lid": call("SetLid"), "nails": nil}
			if want.Color == "" {
				calls["color"] = call("ClearColor")
			}
			kind.CompareEach(d, table, want, live, calls)
		},
	}
	look, err := k.Erase().Look(t.Context(), &reconcile.Job{Props: map[string]any{
		"size": int64(3), "shape": "flat", "lid": map[string]any{"hinge": "left", "open": true}, "nails": true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, step := range look.Steps {
		have = append(have, fmt.Sprint(step.Path, " ", step.Call, " ", step.Replaces))
	}
	want := []string{"color ClearColor false", "size SetSize false", "shape  true", "lid.hinge SetLid false", "lid.open SetLid false", "nails  true"}
	if !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
}

func TestCompareTakesUnknownValues(t *testing.T) {
	later := token.Plain.Ref(token.Ref{Address: "other", Path: "arn"})
	k := boxKind()
	k.Observe = func(context.Context, kind.Site[BoxProps, Box]) (BoxProps, error) { return full(), nil }
	job := &reconcile.Job{
		Props: map[string]any{
			"sealed": true, "keep": "2h", "target": later, "via": "here", "key": "k", "guests": []any{"a", "b"}, "shape": "round",
			"labels": map[string]any{"a": later}, "rule": map[string]any{"allow": "some", "who": []any{later}}, "paper": "white",
		},
		Unknown: map[tree.Path]bool{"target": true, "labels.a": true, "rule.who[0]": true},
	}
	look, err := k.Erase().Look(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range look.Steps {
		if !s.Unknown || s.Replaces {
			t.Errorf("%s is claimed to be known", s)
		}
		paths = append(paths, string(s.Path))
	}
	if have := strings.Join(paths, " "); have != "target labels.a rule" {
		t.Errorf("differences at %s", have)
	}
}

func TestTagsOfPathsAndAttributes(t *testing.T) {
	k := boxKind()
	spec := k.Erase().Spec()
	for what, pair := range map[string][2]any{
		"Late":         {spec.Late, []tree.Path{"target", "labels.*", "odd.*.late"}},
		"NeedsSettled": {spec.NeedsSettled, []tree.Path{"target"}},
		"AtBirth":      {spec.AtBirth, []string{"id", "token"}},
		"Once":         {spec.Once, []string{"token"}},
		"Moves":        {spec.Moves, []string{"etag", "url"}},
		"MovedBy":      {spec.MovedBy, map[string][]tree.Path{"url": {"target", "key"}}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	env := &reconcile.Job{Props: map[string]any{}}
	have := must(boxTable().Read(kind.Text{"Labels": `{"a":"hidden"}`}))
	if got := steps(t, boxKind(), map[string]any{}, have, env); strings.Contains(got, "hidden") || got == "" {
		t.Errorf("an entry that nobody declared is shown: %s", got)
	}
}

func TestAttributesOfATable(t *testing.T) {
	all := boxTable().Attributes()
	if len(all) != reflect.TypeFor[BoxProps]().NumField() {
		t.Fatalf("%d rows", len(all))
	}
	byPath := map[tree.Path]kind.Attribute{}
	for _, a := range all {
		byPath[a.Path] = a
	}
	for path, want := range map[tree.Path]kind.Attribute{
		"sealed": {Path: "sealed", Wire: "Sealed", Immutable: true},
		"tries":  {Path: "tries", Wire: "Route.tries", With: []tree.Path{"target"}},
		"lock":   {Path: "lock", Wire: "Lock", Without: []tree.Path{"key"}},
		"secret": {Path: "secret", Wire: "Secret", Call: "SetSecret", WriteOnly: true},
		"shape":  {Path: "shape", Wire: "-"},
		"odd":    {Path: "odd"},
	} {
		if !reflect.DeepEqual(byPath[path], want) {
			t.Errorf("%+v, want %+v", byPath[path], want)
		}
	}
}
