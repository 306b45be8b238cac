package asset

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// confined is the plugin that holds a bundle to the files that the stack may read; none in a context without bounds.
// Every file that is put into the bundle is read here, with its links resolved at that moment. Configuration files are judged
// before the bundler reads them itself. What stands in place of a package is judged at once: the bundler asks nobody about it.
// A module that the runtime provides has no file, so its import is allowed also where node_modules is a link that leads
// outside.
func (b Bundle) confined(ctx context.Context, dir string) ([]api.Plugin, error) {
	bounds, bounded := localfile.BoundsOf(ctx)
	if !bounded {
		return nil, nil
	}
	c := &configs{ctx: ctx, root: bounds.Root, judged: map[string]error{}}
	for _, name := range slices.Sorted(maps.Keys(b.Alias)) {
		if err := c.leadsOut(dir, b.Alias[name]); err != nil {
			return nil, err
		}
	}
	provided := regexp.MustCompile(b.external())
	return []api.Plugin{{Name: "confined", Setup: func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			isProvided := provided.MatchString(args.Path) || b.Node != "" && strings.HasPrefix(args.Path, "node:")
			if name := filepath.FromSlash(args.Path); isProvided && !filepath.IsAbs(name) && !relative(name) {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{}, c.leadsOut(args.ResolveDir, args.Path)
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, c.load)
	}}}, nil
}

// leadsOut reports an import whose file, under any ending, is a link that leads outside, or is described by such a link.
// The bundler itself looks beside the file that a link leads to for how it is to be read.
func (c *configs) leadsOut(dir, name string) error {
	var candidates []string
	switch name = filepath.FromSlash(name); {
	case filepath.IsAbs(name):
		candidates = []string{name}
	case relative(name):
		candidates = []string{filepath.Join(dir, name)}
	default:
		for at := dir; localfile.Within(c.root, at) && at != filepath.Dir(at); at = filepath.Dir(at) {
			packages := filepath.Join(at, "node_modules")
			if err := localfile.Inside(c.ctx, packages); err != nil {
				return err // before the files in it, so that the error names the link
			}
			candidates = append(candidates, filepath.Join(packages, name))
		}
	}
	for _, path := range candidates {
		err := errors.Join(c.described(path), c.named(path), c.named(filepath.Join(path, "index")), c.judge(filepath.Dir(path)), c.judge(path))
		if err != nil {
			return err
		}
	}
	return nil
}

// named judges the files that a path without its ending may mean.
func (c *configs) named(path string) error {
	if err := localfile.Inside(c.ctx, filepath.Dir(path)); err != nil {
		return err
	}
	names, err := localfile.ReadDir(c.ctx, filepath.Dir(path))
	if err != nil && !isRefusal(err) || errors.Is(err, localfile.ErrNotFile) {
		return nil // it is not there, which the bundler says, or a file
	}
	if err != nil {
		return err
	}
	for _, entry := range names {
		if base := filepath.Base(path); entry.Name() != base && !strings.HasPrefix(entry.Name(), base+".") {
			continue
		}
		err := localfile.Check(c.ctx, filepath.Join(filepath.Dir(path), entry.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// configs judges the configuration files of the bundler, once for each folder, and descriptions of packages, once for each
// file.
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
	if err := sourceMaps(c.ctx, dir, text); err != nil {
		return api.OnLoadResult{}, err
	}
	return api.OnLoadResult{Contents: &text, ResolveDir: dir, Loader: api.LoaderDefault}, nil
}

// relative reports whether a name is a path beside the file that has it, and no package.
func relative(name string) bool {
	first, _, _ := strings.Cut(name, string(filepath.Separator))
	return first == "." || first == ".."
}

// described judges the package.json of each folder from a path up to the root: the bundler reads them all, to know how
// what is in them is to be read.
func (c *configs) described(path string) error {
	for at := path; localfile.Within(c.root, at); at = filepath.Dir(at) {
		file := filepath.Join(at, "package.json")
		c.mu.Lock()
		err, known := c.judged[file]
		if !known {
			err = c.description(file)
			c.judged[file] = err
		}
		c.mu.Unlock()
		if err != nil || at == filepath.Dir(at) {
			return err
		}
	}
	return nil
}

// description judges one package.json, and the files that it names.
func (c *configs) description(file string) error {
	data, err := localfile.ReadAtMost(c.ctx, file, longestMap)
	if err != nil {
		if isRefusal(err) {
			return err
		}
		return nil
	}
	for _, name := range packageNames(data) {
		path := filepath.Join(filepath.Dir(file), name)
		if err := errors.Join(localfile.Inside(c.ctx, path), c.named(path), c.named(filepath.Join(path, "index"))); err != nil {
			return err
		}
	}
	return nil
}

// packageNames lists the files that a package.json says to be read in place of the package or of a name in it, and the
// folders of those that it says by a pattern.
func packageNames(data []byte) []string {
	var doc map[string]any
	if json.Unmarshal(data, &doc) != nil {
		return nil // the bundler takes nothing of it either
	}
	var names []string
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			name, _, _ := strings.Cut(v, "*")
			names = append(names, filepath.FromSlash(name))
		case []any:
			for _, inner := range v {
				collect(inner)
			}
		case map[string]any:
			for _, inner := range v {
				collect(inner)
			}
		}
	}
	for _, field := range []string{"main", "module", "jsnext:main", "browser", "style", "exports", "imports", "tsconfig"} {
		collect(doc[field])
	}
	return names
}

func (c *configs) judge(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err, known := c.judged[dir]; known {
		return err
	}
	var err error
	for _, path := range BundlerFiles(c.root, dir) {
		if err = c.configuration(path); err != nil {
			break
		}
	}
	c.judged[dir] = err
	return err
}

// configuration judges one configuration file. What one that is too large extends is not known.
func (c *configs) configuration(path string) error {
	err := localfile.Check(c.ctx, path)
	if err == nil && filepath.Ext(path) == ".json" && filepath.Base(path) != pnpData {
		if _, err = localfile.ReadAtMost(c.ctx, path, longestConfig); !errors.Is(err, localfile.ErrTooLarge) {
			err = nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

const (
	longestConfig = 1 << 20
	pnpData       = ".pnp.data.json"
)

// BundlerFiles lists the configuration files that the bundler reads for sources in a folder, up to the project's root:
// tsconfig.json and jsconfig.json, what these extend, and where Yarn says that packages are. A file that cannot be read ends
// its chain.
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
		for _, name := range []string{pnpData, ".pnp.cjs", ".pnp.js"} {
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
				files = append(files, filepath.Join(at, name))
			}
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
	data, err := localfile.ReadAtMost(ctx, path, longestConfig)
	if isRefusal(err) || errors.Is(err, localfile.ErrTooLarge) {
		return append(files, path)
	}
	if err != nil {
		return files
	}
	files = append(files, path)
	for _, name := range replaced(data) {
		if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		if real, err := localfile.Real(name); err == nil && !localfile.Within(root, real) {
			files = append(files, name)
		}
	}
	for _, name := range extends(data) {
		name = filepath.FromSlash(name)
		switch {
		case filepath.IsAbs(name):
			files = either(ctx, root, name, files)
		case relative(name):
			files = either(ctx, root, filepath.Join(filepath.Dir(path), name), files)
		default:
			for at := filepath.Dir(path); localfile.Within(root, at); at = filepath.Dir(at) {
				folder := filepath.Join(at, "node_modules", name)
				files = either(ctx, root, folder, files)
				if data, err := localfile.ReadAtMost(ctx, filepath.Join(folder, "package.json"), longestMap); err == nil {
					for _, name := range packageNames(data) {
						files = either(ctx, root, filepath.Join(folder, name), files)
					}
				}
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

// replaced lists the files and folders that a configuration file says to be read in place of packages.
func replaced(data []byte) []string {
	var doc struct {
		CompilerOptions struct {
			BaseURL string
			Paths   map[string][]string
		}
	}
	_ = json.Unmarshal(plainJSON(data), &doc) // what is of another type is nothing to the bundler either
	base := filepath.FromSlash(doc.CompilerOptions.BaseURL)
	names := []string{base}
	for _, paths := range doc.CompilerOptions.Paths {
		for _, path := range paths {
			path, _, _ = strings.Cut(filepath.FromSlash(path), "*")
			if !filepath.IsAbs(path) {
				path = filepath.Join(base, path)
			}
			names = append(names, path)
		}
	}
	return names
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
