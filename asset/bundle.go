package asset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Bundle is a program in JavaScript or TypeScript that is put into one file with all that it imports.
type Bundle struct {
	// Entry is the file that is begun with, relative to the stack's directory.
	Entry string
	// Name of the output, without an ending.
	Name string
	// External are the packages that are left to be imported where it runs; * stands for any text.
	External []string
	// Node is the version of Node that is written for, such as "24". "": it is written for no Node, but for what knows
	// modules of ECMAScript and takes packages as browsers do.
	Node string
	// Conditions are further ones of packages' exports that hold where it runs, such as "workerd".
	Conditions []string
	// Beside are endings of files, such as ".wasm", that are not put into the output: they lie beside it, under names that
	// tell their content, and are imported from there.
	Beside []string
	// Define are names, such as "VERSION" or "process.env.MODE", and the expressions of JavaScript that stand for them.
	Define map[string]string
	// Alias are names of packages, and what is imported in their place: another package, or a file that begins with "./".
	Alias map[string]string
	// Minify makes the output short and unreadable.
	Minify bool
	// SourceMap is a second file beside the output, for traces in terms of the source.
	SourceMap bool
}

var errBundle = errors.New("the bundle cannot be made")

// Build bundles: for Node the output is a module of ECMAScript (.mjs), or of CommonJS (.cjs) where the entry is one, since
// the names that such an entry exports would be lost otherwise. Else it is a module of ECMAScript (.js).
func (b Bundle) Build(ctx context.Context, work reconcile.Workspace) ([]File, error) {
	dir, err := filepath.Abs(work.Dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as esbuild does, so that no path leads around
		return nil, err
	}
	work.Reads(b.entry(dir))
	files, format, err := b.build(ctx, work, dir, api.FormatESModule)
	if err == nil && format == "cjs" && b.Node != "" {
		files, _, err = b.build(ctx, work, dir, api.FormatCommonJS)
	}
	return files, err
}

// required gives modules of CommonJS in the bundle a require for what is built into Node.
const required = `import { createRequire as __athanorRequire } from "node:module"; const require = __athanorRequire(import.meta.url);`

func (b Bundle) build(ctx context.Context, work reconcile.Workspace, dir string, format api.Format) (files []File, entryFormat string, err error) {
	options := b.options(dir, format)
	if options.Plugins, err = b.confined(ctx, dir); err != nil {
		return nil, "", err
	}
	if b.Node == "" {
		options.Plugins = append(options.Plugins, b.imported())
	}
	builder, failed := api.Context(options)
	if failed != nil {
		return nil, "", b.failed(failed.Errors)
	}
	defer builder.Dispose()
	defer context.AfterFunc(ctx, builder.Cancel)()
	result := builder.Rebuild()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if len(result.Errors) > 0 {
		return nil, "", b.failed(result.Errors)
	}
	var meta metafile
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, "", err
	}
	from := meta.sources(dir)
	for _, out := range result.OutputFiles {
		name, err := filepath.Rel(options.Outdir, out.Path)
		if err != nil {
			return nil, "", err
		}
		files = append(files, File{Name: filepath.ToSlash(name), Data: out.Contents, From: from})
	}
	for _, path := range from {
		if !slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "node_modules") {
			work.Reads(path)
		}
	}
	return files, meta.format(), nil
}

// imported is the plugin that makes imports of what modules of CommonJS require of the runtime: where there is no Node, there
// is no require either. It takes "file.wasm?module" for the file, as other bundlers do.
func (b Bundle) imported() api.Plugin {
	const space = "required"
	return api.Plugin{Name: space, Setup: func(build api.PluginBuild) {
		// The module that stands for a required one imports it: that stays an import.
		build.OnResolve(api.OnResolveOptions{Filter: ".*", Namespace: space}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: args.Path, External: true}, nil
		})
		build.OnResolve(api.OnResolveOptions{Filter: b.external()}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			if args.Kind != api.ResolveJSRequireCall {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{Path: args.Path, Namespace: space}, nil
		})
		build.OnResolve(api.OnResolveOptions{Filter: `\?module$`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
			found := build.Resolve(strings.TrimSuffix(args.Path, "?module"), api.ResolveOptions{
				Importer: args.Importer, Namespace: args.Namespace, ResolveDir: args.ResolveDir, Kind: args.Kind, With: args.With,
			})
			return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, External: found.External, Errors: found.Errors}, nil
		})
		build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: space}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			name, err := json.Marshal(args.Path)
			text := "import * as all from " + string(name) + ";\nmodule.exports = \"default\" in all ? all.default : all;\n"
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
		})
	}}
}

// external is an expression for the names that are left to the runtime.
func (b Bundle) external() string {
	names := make([]string, len(b.External))
	for i, name := range b.External {
		names[i] = strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*")
	}
	return "^(?:" + strings.Join(names, "|") + ")$"
}

// options are those of esbuild.
func (b Bundle) options(dir string, format api.Format) api.BuildOptions {
	o := api.BuildOptions{
		AbsWorkingDir: dir, EntryPointsAdvanced: []api.EntryPoint{{InputPath: b.entry(dir), OutputPath: b.Name}},
		Outdir: filepath.Join(dir, "out"), // nothing is written
		Bundle: true, Format: format, Metafile: true, LogLevel: api.LogLevelSilent, External: b.External, Conditions: b.Conditions,
		MinifyWhitespace: b.Minify, MinifyIdentifiers: b.Minify, MinifySyntax: b.Minify, LegalComments: api.LegalCommentsNone,
		Loader: map[string]api.Loader{}, Define: b.Define, Alias: b.Alias,
	}
	for _, ending := range b.Beside {
		o.Loader[ending] = api.LoaderCopy
	}
	if b.SourceMap {
		o.Sourcemap = api.SourceMapLinked
	}
	if b.Node == "" {
		o.Platform, o.Target = api.PlatformBrowser, api.ES2024
		o.KeepNames = true // a class is found by its name, also in what is minified
		return o
	}
	o.Platform, o.Engines = api.PlatformNode, []api.Engine{{Name: api.EngineNode, Version: b.Node}}
	o.OutExtension = map[string]string{".js": ".cjs"}
	if format == api.FormatESModule {
		o.OutExtension, o.Banner = map[string]string{".js": ".mjs"}, map[string]string{"js": required}
	}
	return o
}

// entry is the file as esbuild takes it: without a dot before it, it would look for a package.
func (b Bundle) entry(dir string) string {
	at := filepath.FromSlash(b.Entry)
	if filepath.IsAbs(at) {
		return at
	}
	return filepath.Join(dir, at)
}

// metafile is what esbuild tells of a build.
type metafile struct {
	Inputs  map[string]struct{ Format string }
	Outputs map[string]struct{ EntryPoint string }
}

// sources are the paths of the files that are in the bundle, sorted.
func (m metafile) sources(dir string) []string {
	paths := []string{}
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return paths
}

// format is how the entry is written: "esm", "cjs", or "" where nothing tells.
func (m metafile) format() string {
	for _, out := range m.Outputs {
		if out.EntryPoint != "" {
			return m.Inputs[out.EntryPoint].Format
		}
	}
	return ""
}

// failed returns the messages of the bundler as one error, which wraps the first refusal of a path: its hint says how
// the user allows it.
func (b Bundle) failed(messages []api.Message) error {
	var lines []string
	cause := errBundle
	for _, m := range messages {
		var outside *localfile.OutsideError
		if err, ok := m.Detail.(error); ok && errors.Is(cause, errBundle) && errors.As(err, &outside) {
			cause = outside
		}
		line := m.Text
		if at := m.Location; at != nil {
			line = fmt.Sprintf("%s:%d:%d: %s", path.Clean(filepath.ToSlash(at.File)), at.Line, at.Column+1, m.Text)
		}
		for _, note := range m.Notes {
			line += "\n\t" + note.Text
		}
		lines = append(lines, line)
	}
	return &BuildError{Tool: "bundle", Of: b.Entry, Output: shortened(strings.Join(lines, "\n")), Err: cause}
}
