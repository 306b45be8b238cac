package generic

import (
	"flag"
	"regexp"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

var conform = flag.String("conform", "^$", "a regular expression of types to take through the whole conformance suite")

// TestConformance runs the conformance suite over a type with a name, and over one with an owner tag.
func TestConformance(t *testing.T) {
	for _, name := range []string{"cloudflare.turnstile.Widget", "cloudflare.zerotrust.TunnelRoute"} {
		t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
	}
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if regexp.MustCompile(*conform).MatchString(name) {
			t.Run(name, func(t *testing.T) { kindtest.Run(t, sampled(t, name).suite(t)) })
		}
	}
}
