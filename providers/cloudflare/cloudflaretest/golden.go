package cloudflaretest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// samples are projects of wrangler, and what wrangler uploads for each: NAME.golden.
//
//go:embed all:testdata
var samples embed.FS

// golden is an upload as it is kept in a file: code that a bundler made is left out, since each makes its own.
type golden struct {
	Metadata object         `json:"metadata"`
	Modules  []goldenModule `json:"modules"`
}

type goldenModule struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"`
	Content *[]byte `json:"content,omitempty"`
}

// Sample puts a sample Worker into a folder, a project of wrangler: "shop", in TypeScript and bound to everything, or
// "modules", of all kinds of modules and not bundled.
func Sample(t T, name, dir string) {
	t.Helper()
	files, err := fs.Sub(samples, path.Join("testdata", name))
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		t.Fatalf("sample %s: %v", name, err)
	}
}

// Golden is what wrangler uploads for a sample, when nothing is there yet. Code that it bundled has no content. A test
// holds it against wrangler itself.
func Golden(t T, name string) Upload {
	t.Helper()
	var g golden
	text, err := samples.ReadFile(path.Join("testdata", name+".golden"))
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		t.Fatalf("golden upload of %s: %v", name, err)
	}
	u := Upload{Metadata: g.Metadata}
	for _, m := range g.Modules {
		var content []byte
		if m.Content != nil {
			content = *m.Content
		}
		u.Modules = append(u.Modules, Module{Name: m.Name, Type: m.Type, Content: content})
	}
	return u
}

// Unlike tells how another upload differs from this one in what it means to Cloudflare. The order of bindings, flags
// and modules means nothing, nor do tokens of assets and the tags of migrations; annotations and tags of Workers are
// the uploader's own. Content that is nil here is not compared.
func (u Upload) Unlike(other Upload) []string {
	all := unlike("metadata", meaning(u.Metadata), meaning(other.Metadata))
	have := map[string]Module{}
	for _, m := range other.Modules {
		have[m.Name] = m
	}
	for _, m := range u.Modules {
		o, there := have[m.Name]
		delete(have, m.Name)
		switch {
		case !there:
			all = append(all, "module "+m.Name+" is missing")
		case o.Type != m.Type:
			all = append(all, fmt.Sprintf("module %s is %s, not %s", m.Name, o.Type, m.Type))
		case m.Content != nil && string(o.Content) != string(m.Content):
			all = append(all, "module "+m.Name+" has other content")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		all = append(all, "module "+name+" is one too many")
	}
	return all
}

// meaning is metadata without what means nothing.
func meaning(metadata object) object {
	var m object
	_ = json.Unmarshal(plain(metadata), &m) // a copy, with the types of JSON
	for _, own := range []string{"tags", "annotations"} {
		delete(m, own)
	}
	if bindings, ok := m["bindings"].([]any); ok {
		named := object{}
		for _, b := range pairs(bindings) {
			if b["type"] == "d1" {
				b["database_id"] = databaseOf(b)
				delete(b, "id")
			}
			name := fmt.Sprint(b["name"])
			delete(b, "name")
			named[name] = b
		}
		m["bindings"] = named
	}
	if flags, ok := m["compatibility_flags"].([]any); ok {
		slices.SortFunc(flags, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if assets, ok := m["assets"].(object); ok {
		delete(assets, "jwt")
	}
	if migrations, ok := m["migrations"].(object); ok {
		delete(migrations, "old_tag")
		delete(migrations, "new_tag")
		if migrations["steps"] == nil {
			m["migrations"] = object{"steps": []any{maps.Clone(migrations)}}
		}
	}
	return m
}

// unlike are the paths at which two values of JSON differ. What is null or empty is as if it were not there.
func unlike(at string, want, have any) []string {
	if nothing(want) && nothing(have) {
		return nil
	}
	w, both := want.(object)
	h, ok := have.(object)
	if !both || !ok {
		if string(plain(want)) == string(plain(have)) {
			return nil
		}
		return []string{fmt.Sprintf("%s is %s, not %s", at, plain(have), plain(want))}
	}
	keys := maps.Clone(w)
	maps.Copy(keys, h)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		all = append(all, unlike(at+"."+key, w[key], h[key])...)
	}
	return all
}

func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case object:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
