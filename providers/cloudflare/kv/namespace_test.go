package kv

import (
	"cmp"
	"net/http"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const spaces = "/accounts/ACCOUNT/storage/kv/namespaces"

// titles are what others see in the account.
func titles(t kindtest.T, s *cloudflaretest.Server) []string {
	t.Helper()
	var all []string
	list, _ := s.Do(t, http.MethodGet, spaces+"?per_page=100&order=title", nil).([]any)
	for _, n := range list {
		all = append(all, n.(obj)["title"].(string))
	}
	return all
}

// objects are the namespaces, of which there is nothing to tell but titles: a generated one differs between two makings,
// and one that was given stays when it is no longer declared.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	for range titles(t, s) {
		all = append(all, obj{})
	}
	return all
}

func TestNamespace(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	at := func(to kindtest.Edited) string { return spaces + "/" + to.Attrs["id"].(string) }
	kindtest.Run(t, kindtest.Suite{
		Kind:  namespaceKind.Erase(),
		World: ws.Make(nil, objects),
		Base:  obj{"title": "Orders"},
		Variants: []kindtest.Variant{
			{Name: "renamed", Props: obj{"title": "Orders, of the shop: “new”"}},
		},
		Fault: cloudflaretest.FaultOf("KV"),
		Hands: map[tree.Path]kindtest.Hand{
			"title": ws.Sends(http.MethodPut, at, func(to kindtest.Edited) any { return obj{"title": cmp.Or(to.Text(), "kindtest-by-hand")} }),
			"":      ws.Deletes(at),
		},
	})
}

// TestGenerated is about namespaces whose titles are made up.
func TestGenerated(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	s := kindtest.Suite{
		Kind: namespaceKind.Erase(), World: ws.Make(nil, objects), Base: obj{}, Fault: cloudflaretest.FaultOf("KV"),
	}
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case "three starts end equal", "a crash at any call heals", "deleting twice", "a failed read is never absent",
			"bulk reads and listings agree with single looks":
			t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
		}
	}
}
