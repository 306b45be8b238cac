package cloudflaretest

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// TestCallPages reads a listing to its end; one that says nothing of pages is asked for once.
func TestCallPages(t *testing.T) {
	for name, c := range map[string]struct {
		answer      func(r request, items []any) any
		items, want int
		calls       int
	}{
		"three pages":         {func(r request, items []any) any { return paged(r, items, 10) }, 25, 25, 3},
		"two pages, no more":  {func(r request, items []any) any { return paged(r, items, 10) }, 20, 20, 3},
		"nothing":             {func(r request, items []any) any { return paged(r, items, 10) }, 0, 0, 1},
		"no word of any page": {func(_ request, items []any) any { return items }, 25, 25, 1},
	} {
		s := Start(t)
		items := []any{}
		for range c.items {
			f := &flow{id: hexID(16), name: "a", body: object{"class_name": "A", "script_name": "b"}}
			items = append(items, f.listed())
		}
		s.world.handlers = map[string]handler{
			"accounts.ListAccounts":   listAccounts,
			"workflows.ListWorkflows": func(_ *world, r request) (any, *failure) { return c.answer(r, items), nil },
		}
		n := 0
		for _, err := range cloudflare.CallPages[struct{ ID string }](t.Context(), s.Cloud(), "/accounts/"+s.Account+"/workflows", nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if calls := s.Count("Workflows.ListWorkflows"); n != c.want || calls != c.calls {
			t.Errorf("%s: %d by %d calls, want %d by %d", name, n, calls, c.want, c.calls)
		}
	}
}
