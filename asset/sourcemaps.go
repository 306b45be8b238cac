package asset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// mapComment is what stands before the URL of a source map in a source.
var mapComment = regexp.MustCompile(`[#@] sourceMappingURL=`)

// longestMap bounds a source map that is looked into.
const longestMap = 64 << 20

// sourceMaps refuses a source whose map, or a file that this map names, is outside of what the stack may read: the
// bundler reads both by itself, and puts the text of the second into the map that it writes.
func sourceMaps(ctx context.Context, dir, text string) error {
	for _, at := range mapComment.FindAllStringIndex(text, -1) {
		for _, name := range mapNames(text[at[1]:]) {
			if err := sourceMap(ctx, dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// mapNames are the forms in which the URL at the beginning of a text may end: at a space of JavaScript, at one of CSS, and
// with the comment.
func mapNames(text string) []string {
	script := before(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) || r == '\ufeff' || r == '\u2028' || r == '\u2029'
	})
	style := before(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f", r) })
	names := []string{script}
	for _, name := range []string{script, style} {
		if name, _, ends := strings.Cut(name, "*/"); ends || name != script {
			names = append(names, name)
		}
	}
	return names
}

// before returns the part of a text before the first character that ends it.
func before(text string, ends func(rune) bool) string {
	if i := strings.IndexFunc(text, ends); i >= 0 {
		return text[:i]
	}
	return text
}

// sourceMap judges one source map by its URL, in a source that lies in a folder.
func sourceMap(ctx context.Context, dir, name string) error {
	if rest, ok := strings.CutPrefix(name, "data:"); ok {
		return mapped(ctx, dir, inlined(rest))
	}
	path, ok := fileOf(dir, name)
	if !ok {
		return nil
	}
	data, err := localfile.ReadAtMost(ctx, path, longestMap)
	if isRefusal(err) {
		return err
	}
	return mapped(ctx, filepath.Dir(path), data)
}

// inlined is what a data URL holds, without its scheme; nil when it cannot be read.
func inlined(text string) []byte {
	kind, data, ok := strings.Cut(text, ",")
	if !ok {
		return nil
	}
	if strings.HasSuffix(kind, ";base64") {
		plain, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil
		}
		return plain
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return nil
	}
	return []byte(plain)
}

// mapped judges the files that a source map in a folder names without their text.
func mapped(ctx context.Context, dir string, data []byte) error {
	var doc any
	if json.Unmarshal(data, &doc) != nil {
		return nil // the bundler takes nothing of it either
	}
	return judged(ctx, dir, doc)
}

func judged(ctx context.Context, dir string, doc any) error {
	switch doc := doc.(type) {
	case []any:
		for _, inner := range doc {
			if err := judged(ctx, dir, inner); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, inner := range doc {
			if err := judged(ctx, dir, inner); err != nil {
				return err
			}
		}
		sources, _ := doc["sources"].([]any)
		texts, _ := doc["sourcesContent"].([]any)
		root, _ := doc["sourceRoot"].(string)
		for i, source := range sources {
			name, ok := source.(string)
			if i < len(texts) {
				if _, given := texts[i].(string); given {
					continue
				}
			}
			for _, name := range []string{name, root + name, strings.TrimPrefix(root+"/", "/") + name} {
				path, isFile := fileOf(dir, name)
				if !ok || !isFile {
					continue
				}
				if err := localfile.Check(ctx, path); isRefusal(err) {
					return err
				}
			}
		}
	}
	return nil
}

// fileOf is the file that a name in a folder leads to: a path or a URL.
func fileOf(dir, name string) (string, bool) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), true
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "" && u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	base := &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(dir), "/") + "/"}
	path := filepath.FromSlash(base.ResolveReference(u).Path)
	if volume := strings.TrimPrefix(path, string(filepath.Separator)); filepath.VolumeName(volume) != "" {
		path = volume
	}
	return path, true
}

// isRefusal reports whether an error says that a file is outside, or none: one that is missing is the bundler's affair.
func isRefusal(err error) bool {
	_, outside := errors.AsType[*localfile.OutsideError](err)
	return outside || errors.Is(err, localfile.ErrNotFile)
}
