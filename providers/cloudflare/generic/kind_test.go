package generic

import (
	_ "embed"
	"flag"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var conform = flag.String("conform", "^$", "a regular expression of types to take through the whole conformance suite")

// unsorted are types that the conformance suite finds fault with, and the checks. Most are about the samples (values that are the
// server's own, forms that nobody has a second value of), and nobody has looked at each yet: TestEvery takes them through a life.
//
//go:embed testdata/unsorted.txt
var unsorted string

// often is which of the types are tried where none is asked for: one of so many.
const often = 12

// TestConformance runs the conformance suite over a type with a name, over one with an owner tag, and over some of all others.
// With -conform it runs over all that match; a type that is listed as unsorted only where it is named whole.
func TestConformance(t *testing.T) {
	for _, name := range []string{"cloudflare.turnstile.Widget", "cloudflare.zerotrust.TunnelRoute"} {
		t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
	}
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(unsorted) {
		name, _, _ := strings.Cut(line, ":")
		if !slices.Contains(names, name) {
			t.Errorf("testdata/unsorted.txt names %s, which is no type", name)
		}
		listed[name] = true
	}
	wanted, asked := regexp.MustCompile(*conform), *conform != "^$"
	fit := 0
	for _, name := range names {
		if kindOf(t, name).Shape == schema.Setting || listed[name] && name != *conform {
			continue
		}
		fit++
		if asked && wanted.MatchString(name) || !asked && fit%often == 0 {
			t.Run(name, func(t *testing.T) { kindtest.Run(t, conforming(t, name).suite(t)) })
		}
	}
}

// conforming is the suite of a type with samples as the conformance suite wants them: with what can only be given later, with
// other values than the server's own, and with another given name where a change replaces. A setting always exists, mostly
// with one of two values, so that the suite cannot tell it from a missing one: TestEvery takes settings through their life.
func conforming(t *testing.T, name string) suite {
	t.Helper()
	s := sampled(t, name)
	k := kindOf(t, name)
	full := s.variants[0].Props
	for _, method := range []string{http.MethodPut, http.MethodPatch} { // what can only be given later
		if len(cloudflaretest.Takes(t, method, k.samplePath(true))) == 0 {
			continue
		}
		for prop, v := range cloudflaretest.SampleBody(t, method, k.samplePath(true), cloudflaretest.Full) {
			if _, there := full[prop]; !there && k.Root.Properties[prop] != nil && !k.IsParent(prop) && k.Refused[tree.Path("").Key(prop)] == "" {
				full[prop] = v
			}
		}
	}
	l := begin(t, s)
	shown := l.settle(s.base).Attrs
	for prop, v := range full {
		p := tree.Path("").Key(prop)
		if k.NameGiven && k.FixedAt(p) && !tree.Equal(v, s.base[prop]) {
			full[k.NameProp] = "full.example.com"
		}
		if _, declared := s.base[prop]; declared || !tree.Equal(v, shown[prop]) {
			continue
		}
		if other, ok := s.other[prop]; ok && !tree.Equal(v, other) {
			full[prop] = other // the server's own value would be the same
		}
	}
	return s
}
