package adopt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"pgregory.net/rapid"
)

var ours = reconcile.Mark{Stack: "shop", Stage: "prod", Address: "net/subnet[a.b]", Generation: 3, Store: "s1"}

func TestOwnerTagSurvivesTagsAndLines(t *testing.T) {
	retained := ours
	retained.Retained = true
	for _, m := range []reconcile.Mark{ours, retained, {}} {
		if got := adopt.MarkOf(adopt.Tags(m)); got != m {
			t.Errorf("tags: %+v became %+v", m, got)
		}
	}
	for _, m := range []reconcile.Mark{ours, retained} {
		if got := adopt.LineMark("made by hand, " + adopt.Line(m)); got != m {
			t.Errorf("line: %+v became %+v", m, got)
		}
	}
	for _, text := range []string{"", "athanor:", "athanor:a|b|c", "athanor:a|b|c|many|e|false"} {
		if got := adopt.LineMark(text); !got.IsZero() {
			t.Errorf("line %q: %+v", text, got)
		}
	}
	for key := range adopt.Tags(ours) {
		if !adopt.IsMark(key) {
			t.Errorf("%s is not told from the author's tags", key)
		}
	}
}

// TestTagValues: AWS takes letters, digits, spaces and _.:/=+-@ in tag values, and no brackets.
func TestTagValues(t *testing.T) {
	for key, value := range adopt.Tags(ours) {
		if strings.ContainsFunc(value, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.:/=+-@", r)
		}) {
			t.Errorf("%s = %q", key, value)
		}
	}
}

func TestName(t *testing.T) {
	place := reconcile.Place{Provider: "aws", Account: "123456789012", Region: "eu-north-1"}
	queue := reconcile.Naming{Max: 80, Suffix: ".fifo"}
	name := adopt.Name(queue, place, "shop", "prod", "net/orders", 0)
	if !strings.HasPrefix(name, "shop-prod-net-orders-") || !strings.HasSuffix(name, ".fifo") {
		t.Errorf("%s", name)
	}
	if again := adopt.Name(queue, place, "shop", "prod", "net/orders", 0); again != name {
		t.Errorf("%s, then %s", name, again)
	}
	other := place
	other.Region = "us-east-1"
	for what, n := range map[string]string{
		"slot":    adopt.Name(queue, place, "shop", "prod", "net/orders", 1),
		"place":   adopt.Name(queue, other, "shop", "prod", "net/orders", 0),
		"address": adopt.Name(queue, place, "shop", "prod", "net-orders", 0),
		"stage":   adopt.Name(queue, place, "shop-prod", "net", "orders", 0),
	} {
		if n == name {
			t.Errorf("another %s has the same name", what)
		}
	}
}

// TestNamesFit: whatever the address, a name fits the service, and cutting it never makes two addresses equal.
func TestNamesFit(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		n := reconcile.Naming{Max: rapid.IntRange(20, 90).Draw(t, "max"), Lower: rapid.Bool().Draw(t, "lower")}
		address := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_/-]{0,120}(\[[a-z.]{1,9}\])?`).Draw(t, "address")
		name := adopt.Name(n, reconcile.Place{Provider: "aws"}, "stack", "stage", address, 0)
		if len(name) > n.Max {
			t.Errorf("%s has %d bytes, %d fit", name, len(name), n.Max)
		}
		if strings.ContainsAny(name, "/[]_.") || strings.Contains(name, "--") || n.Lower && name != strings.ToLower(name) {
			t.Errorf("%q is not shaped", name)
		}
		key := fmt.Sprintf("%d %t %s", n.Max, n.Lower, name)
		if was, taken := seen[key]; taken && was != address {
			t.Errorf("%q and %q are both %s", was, address, name)
		}
		seen[key] = address
	})
}

func TestJudge(t *testing.T) {
	marked := func(m reconcile.Mark) adopt.Evidence {
		return adopt.Evidence{Identity: "x", Tagged: m, Tag: ours, Taggable: true}
	}
	elsewhere, renamed, retained, store := ours, ours, ours, ours
	elsewhere.Stage, renamed.Address, retained.Retained, store.Store = "dev", "old", true, "s2"
	born := marked(renamed)
	born.Addresses = []string{"old"}
	held := marked(ours)
	held.Holder = "b"
	recorded := marked(reconcile.Mark{})
	recorded.InState = "x"
	intended, taken := marked(reconcile.Mark{}), marked(elsewhere)
	intended.NameIntended, taken.NameIntended = true, true
	for name, c := range map[string]struct {
		e    adopt.Evidence
		want adopt.Answer
	}{
		"nothing there":                 {adopt.Evidence{Absent: true}, adopt.Answer{Verdict: adopt.Free}},
		"on record and gone":            {adopt.Evidence{Absent: true, InState: "x"}, adopt.Answer{Verdict: adopt.Lost}},
		"our mark":                      {marked(ours), adopt.Answer{Verdict: adopt.Ours}},
		"our mark by another store":     {marked(store), adopt.Answer{Verdict: adopt.Ours, OtherStore: true}},
		"mark of another stage":         {marked(elsewhere), adopt.Answer{Verdict: adopt.Foreign, Owner: elsewhere}},
		"mark of another address":       {marked(renamed), adopt.Answer{Verdict: adopt.Foreign, Owner: renamed, Sibling: true}},
		"mark of the birth address":     {born, adopt.Answer{Verdict: adopt.Ours}},
		"our mark, on record elsewhere": {held, adopt.Answer{Verdict: adopt.Foreign, Owner: ours, Sibling: true, Holder: "b"}},
		"retained":                      {marked(retained), adopt.Answer{Verdict: adopt.Foreign, Owner: retained}},
		"no mark":                       {marked(reconcile.Mark{}), adopt.Answer{Verdict: adopt.Foreign}},
		"no mark, on record":            {recorded, adopt.Answer{Verdict: adopt.Ours}},
		"equal content":                 {adopt.Evidence{Identity: "x", OwnedByContent: true, ContentEqual: true, NameGiven: true}, adopt.Answer{Verdict: adopt.Ours}},
		"other content":                 {adopt.Evidence{Identity: "x", OwnedByContent: true, NameGiven: true}, adopt.Answer{Verdict: adopt.Foreign}},
		"unmarkable, given name":        {adopt.Evidence{Identity: "x", NameGiven: true}, adopt.Answer{Verdict: adopt.Ambiguous}},
		"unmarkable, generated name":    {adopt.Evidence{Identity: "x"}, adopt.Answer{Verdict: adopt.Ours}},
		"unmarkable, given, on record":  {adopt.Evidence{Identity: "x", InState: "x", NameGiven: true}, adopt.Answer{Verdict: adopt.Ours}},
		"no mark, begun by us":          {intended, adopt.Answer{Verdict: adopt.Ours}},
		"another's mark, begun by us":   {taken, adopt.Answer{Verdict: adopt.Foreign, Owner: elsewhere}},
	} {
		if got := adopt.Judge(c.e); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestOwnerErrorNamesBoth: who refuses and who owns are both in the text.
func TestOwnerErrorNamesBoth(t *testing.T) {
	thing := adopt.OwnerError{Kind: "world.Thing", Identity: "pot", Verdict: adopt.Foreign}
	owned, retained, held, ambiguous := thing, thing, thing, thing
	owned.Owner = ours
	retained.Owner = ours
	retained.Owner.Retained = true
	held.Holder = "b"
	ambiguous.Verdict = adopt.Ambiguous
	for want, e := range map[string]adopt.OwnerError{
		"world.Thing pot exists and is not ours":                       thing,
		"world.Thing pot belongs to net/subnet[a.b] of shop/prod":      owned,
		"world.Thing pot was retained by net/subnet[a.b] of shop/prod": retained,
		"world.Thing pot is in state as b":                             held,
		"world.Thing pot exists, and nothing says who owns it":         ambiguous,
	} {
		if e.Error() != want || !errors.Is(&e, adopt.ErrForeign) {
			t.Errorf("%q, want %q", e.Error(), want)
		}
		if errors.Is(&e, reconcile.ErrAmbiguous) != (e.Verdict == adopt.Ambiguous) {
			t.Errorf("%s: ambiguous", want)
		}
	}
}
