package cloudflaretest

import (
	"strings"
	"testing"
)

// TestUnlike: uploads that mean the same are alike, and each difference in meaning is told.
func TestUnlike(t *testing.T) {
	t.Parallel()
	base := func() Upload {
		return esm(answering, object{
			"compatibility_flags": []any{"a", "b"}, "tags": []any{"mine"}, "migrations": object{"new_tag": "v1", "steps": []any{object{"new_classes": []any{"A"}}}},
			"bindings": []any{object{"name": "DB", "type": "d1", "id": "1"}, object{"name": "A", "type": "json", "json": object{"a": 1, "b": 2}}},
		})
	}
	for _, c := range []struct {
		name   string
		change func(*Upload)
		want   string
	}{
		{"the same", func(*Upload) {}, ""},
		{"other order and words", func(u *Upload) {
			u.Metadata["compatibility_flags"] = []string{"b", "a"}
			u.Metadata["bindings"] = []any{object{"name": "A", "type": "json", "json": object{"b": 2, "a": 1}}, object{"name": "DB", "type": "d1", "database_id": "1"}}
			u.Metadata["migrations"] = object{"old_tag": "x", "new_classes": []any{"A"}}
			u.Metadata["tags"], u.Metadata["limits"], u.Metadata["tail_consumers"] = []any{"yours"}, object{}, nil
		}, ""},
		{"a binding", func(u *Upload) { u.Metadata["bindings"].([]any)[0].(object)["id"] = "2" }, `metadata.bindings.DB.database_id is "2", not "1"`},
		{"no binding", func(u *Upload) { u.Metadata["bindings"] = u.Metadata["bindings"].([]any)[:1] }, "metadata.bindings.A is null"},
		{"another field", func(u *Upload) { u.Metadata["logpush"] = true }, "metadata.logpush is true, not null"},
		{"a migration", func(u *Upload) { u.Metadata["migrations"] = object{"new_sqlite_classes": []any{"A"}} }, "metadata.migrations.steps"},
		{"content", func(u *Upload) { u.Modules[0].Content = []byte("1") }, "module index.js has other content"},
		{"type", func(u *Upload) { u.Modules[0].Type = "text/plain" }, "module index.js is text/plain"},
		{"a module less", func(u *Upload) { u.Modules = nil }, "module index.js is missing"},
		{"a module more", func(u *Upload) { u.Modules = append(u.Modules, Module{Name: "b"}) }, "module b is one too many"},
	} {
		other := base()
		c.change(&other)
		told := strings.Join(base().Unlike(other), "; ")
		if c.want == "" && told != "" || !strings.Contains(told, c.want) {
			t.Errorf("%s: told %q, want %q", c.name, told, c.want)
		}
	}
}

// TestSamples: every sample has its golden upload, with a main module.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shop", "modules"} {
		Sample(t, name, t.TempDir())
		if _, found := Golden(t, name).main(); !found {
			t.Errorf("the golden upload of %s has no main module", name)
		}
	}
}
