package kv

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// TestGolden has the bodies of https://developers.cloudflare.com/api/resources/kv/subresources/namespaces/methods/create/
// and https://developers.cloudflare.com/api/resources/kv/subresources/namespaces/methods/update/, which show the title alone:
// namespaceKind has no table that would write them.
func TestGolden(t *testing.T) {
	s, kind := cloudflaretest.Start(t), namespaceKind.Erase()
	out := s.Settled(t, kind, obj{"title": "My Own Namespace"}, nil)
	s.Settled(t, kind, obj{"title": "Orders"}, &out)
	var sent []string
	for _, c := range s.Calls() {
		if len(c.Body) > 0 {
			sent = append(sent, c.Operation+" "+string(c.Body))
		}
	}
	if want := []string{`CreateNamespace {"title":"My Own Namespace"}`, `UpdateNamespace {"title":"Orders"}`}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	cloudflaretest.Conform(t, obj{"title": "Orders"}, cloudflaretest.At{Method: "POST", Path: "/accounts/A/storage/kv/namespaces"},
		cloudflaretest.At{Method: "PUT", Path: "/accounts/A/storage/kv/namespaces/N"})
}
