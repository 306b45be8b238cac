package asset

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// confined is the plugin that holds a bundle to the files that the stack may read; none in a context without bounds.
// Every file that is put into the bundle is read here, with its links resolved at that moment.
func confined(ctx context.Context) []api.Plugin {
	bounds, bounded := localfile.BoundsOf(ctx)
	if !bounded {
		return nil
	}
	c := &configs{ctx: ctx, root: bounds.Root, judged: map[string]error{}}
	return []api.Plugin{{Name: "confined", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{}, leadsOut(ctx, bounds.Root, args.ResolveDir, args.Path)
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, c.load)
	}}}
}

// leadsOut reports an import whose file, under any ending, is a link that leads outside. The bundler itself looks
// beside the file that a link leads to for how it is to be read.
func leadsOut(ctx context.Context, root, dir, name string) error {
	var candidates []string
	switch name = filepath.FromSlash(name); {
	case filepath.IsAbs(name):
		candidates = []string{name}
	case relative(name):
		candidates = []string{filepath.Join(dir, name)}
	default:
		for at := dir; localfile.Within(root, at) && at != filepath.Dir(at); at = filepath.Dir(at) {
			candidates = append(candidates, filepath.Join(at, "node_modules", name))
		}
	}
	for _, path := range candidates {
		names, err := localfile.ReadDir(ctx, filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the bundler says so
		}
		if err != nil {
			return err
		}
		for _, entry := range names {
			if base := filepath.Base(path); entry.Name() != base && !strings.HasPrefix(entry.Name(), base+".") {
				continue
			}
			err := localfile.Check(ctx, filepath.Join(filepath.Dir(path), entry.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// configs judges the configuration files of the bundler once for each folder.
type configs struct {
	ctx  context.Context //nolint:containedctx // it lives as long as the bundle that is being made
	root string

	mu     sync.Mutex
	judged map[string]error
}

// load reads a file of the bundle.
func (c *configs) load(args api.OnLoadArgs) (api.OnLoadResult, error) {
	dir := filepath.Dir(args.Path)
	if err := c.judge(dir); err != nil {
		return api.OnLoadResult{}, err
	}
	data, err := localfile.ReadFile(c.ctx, args.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	text := string(data)
	return api.OnLoadResult{Contents: &text, ResolveDir: dir, Loader: api.LoaderDefault}, nil
}

// relative reports whether a name is a path beside the file that has it, and no package.
func relative(name string) bool {
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	return first == "." || first == ".."
}

func (c *configs) judge(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err, known := c.judged[dir]; known {
		return err
	}
	var err error
	for _, path := range BundlerFiles(c.root, dir) {
		if err = localfile.Check(c.ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = nil
	}
	c.judged[dir] = err
	return err
}

// BundlerFiles lists the configuration files that the bundler reads for sources in a folder, up to the project's root:
// tsconfig.json and jsconfig.json, and what these extend. A file that cannot be read ends its chain.
func BundlerFiles(root, dir string) []string {
	var files []string
	if real, err := localfile.Real(root); err == nil {
		root = real
	}
	if real, err := localfile.Real(dir); err == nil {
		dir = real
	}
	none := context.Background() //nolint:forbidigo // what lies outside is listed and not read
	within := localfile.With(none, localfile.Bounds{Root: root})
	packages := string(filepath.Separator) + "node_modules" // whose files are read as they are
	for at := dir; localfile.Within(root, at) && !strings.Contains(at, packages); at = filepath.Dir(at) {
		for _, name := range []string{"tsconfig.json", "jsconfig.json"} {
			files = extended(within, root, filepath.Join(at, name), files)
		}
		if at == root {
			break
		}
	}
	return files
}

// extended adds a configuration file and those that it extends.
func extended(ctx context.Context, root, path string, files []string) []string {
	if slices.Contains(files, path) {
		return files
	}
	data, err := localfile.ReadAtMost(ctx, path, 1<<20)
	if _, outside := errors.AsType[*localfile.OutsideError](err); outside {
		return append(files, path)
	}
	if err != nil {
		return files
	}
	files = append(files, path)
	for _, name := range extends(data) {
		name = filepath.FromSlash(name)
		switch {
		case filepath.IsAbs(name):
			files = either(ctx, root, name, files)
		case relative(name):
			files = either(ctx, root, filepath.Join(filepath.Dir(path), name), files)
		default:
			for at := filepath.Dir(path); localfile.Within(root, at); at = filepath.Dir(at) {
				files = either(ctx, root, filepath.Join(at, "node_modules", name), files)
				if at == root {
					break
				}
			}
		}
	}
	return files
}

// either adds the forms in which a configuration file may be named.
func either(ctx context.Context, root, path string, files []string) []string {
	for _, form := range []string{path, path + ".json", filepath.Join(path, "tsconfig.json")} {
		files = extended(ctx, root, form, files)
	}
	return files
}

// extends lists what a configuration file extends. It is JSON with comments and trailing commas; a file that is neither
// extends nothing, since the bundler refuses it.
func extends(data []byte) []string {
	var doc struct{ Extends json.RawMessage }
	if json.Unmarshal(plainJSON(data), &doc) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(doc.Extends, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(doc.Extends, &many) != nil {
		return nil
	}
	return many
}

// plainJSON takes comments and trailing commas out.
func plainJSON(data []byte) []byte {
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		rest := string(data[i:min(i+2, len(data))])
		switch {
		case data[i] == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, data[i:min(end+1, len(data))]...)
			i = end
		case rest == "//":
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case rest == "/*":
			end := strings.Index(string(data[i+2:]), "*/")
			if end < 0 {
				return out
			}
			i += 2 + end + 1
		case data[i] == ']' || data[i] == '}':
			trimmed := strings.TrimRight(string(out), " \t\r\n")
			out = append([]byte(strings.TrimSuffix(trimmed, ",")), data[i])
		default:
			out = append(out, data[i])
		}
	}
	return out
}
