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
	"github.com/athanor-dev/athanor/statestore/proctest"
)

var conform = flag.String("conform", "^$", "a regular expression of types to take through the whole conformance suite")

// excused are types that the conformance suite finds fault with, each with the reason: a fact of the API, or of its description, from
// which samples are made. TestEvery takes them through a life all the same, and -conform shows what the suite finds.
//
//go:embed testdata/excused.txt
var excused string

// often is which of the types are tried in every go test: one of so many.
const often = 12

// TestConformance runs the conformance suite over a type with a name, over one with an owner tag, over two with
// something that only an update takes and no answer shows, and over some of all others; every night over all others.
// With -conform it runs over all that match, also those that are excused.
func TestConformance(t *testing.T) {
	for _, name := range []string{"cloudflare.turnstile.Widget", "cloudflare.zerotrust.TunnelRoute"} {
		t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
	}
	for _, name := range []string{"cloudflare.zerotrust.WarpConnector", "cloudflare.moq.Relay"} {
		t.Run(name, func(t *testing.T) { kindtest.Run(t, conforming(t, name).suite(t)) })
	}
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(excused) {
		name, why, _ := strings.Cut(line, ":")
		if !slices.Contains(names, name) || strings.TrimSpace(why) == "" {
			t.Errorf("testdata/excused.txt names %s, which is no type, or says nothing of it", name)
		}
		listed[name] = true
	}
	wanted, asked := regexp.MustCompile(*conform), *conform != "^$"
	fit := 0
	for _, name := range names {
		if kindOf(t, name).Shape == schema.Setting || listed[name] && !asked {
			continue
		}
		fit++
		if asked && wanted.MatchString(name) || !asked && proctest.Played(fit, often) {
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
		others := cloudflaretest.SampleBody(t, method, k.samplePath(true), cloudflaretest.Other)
		for prop, v := range cloudflaretest.SampleBody(t, method, k.samplePath(true), cloudflaretest.Full) {
			if _, there := full[prop]; !there && k.Root.Properties[prop] != nil && !k.IsParent(prop) && k.Refused[tree.Path("").Key(prop)] == "" {
				full[prop], s.other[prop] = v, others[prop]
				eachLeaf(obj{prop: others[prop]}, func(at tree.Path, v any) { s.others[at] = append(s.others[at], v) })
			}
		}
	}
	if k.ZoneOptional() { // TestEvery has those of the account
		s.base[schema.Zone], full[schema.Zone], s.other[schema.Zone] = zoneName, zoneName, zoneName
	}
	if k.Shape == schema.Named && k.Root.Properties[k.ID] != nil && k.NameProp != k.ID {
		s.base[k.ID], full[k.ID], s.other[k.ID] = "first", "first", "first"
	}
	for _, known := range k.Known {
		full[known] = "sample-" + known
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
