package workers

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Code is what a Worker runs: exactly one of bundle, build, directory and script.
type Code struct {
	// Bundle is a file in JavaScript or TypeScript, relative to the stack's directory, that is put into one module with all
	// that it imports. Imported .wasm, .txt, .html, .sql and .bin files become modules of their own; "cloudflare:*", and with
	// nodejs_compat what is built into Node, are left to the runtime, which is not given what it lacks of Node. Before the
	// compatibility date 2024-09-23 the runtime knows Node's modules by names with "node:" alone. Types are not checked.
	// Default: none.
	Bundle string
	// External are further modules that bundle leaves to the runtime; * stands for any text. Default: none.
	External []string
	// Define are names in the sources of bundle and the expressions of JavaScript that stand for them: a text has its own
	// quotes, VERSION: '"1.2"'. process.env.NODE_ENV is "production" unless it is defined here. Default: none.
	Define map[string]string
	// Alias are packages that the sources of bundle import and what they get in their place: another package, or a file of
	// the stack that begins with "./". Default: none.
	Alias map[string]string
	// Rules say what files of further endings are to a Worker that imports them: text, data or wasm, as in .glsl: text.
	// They hold for bundle and directory, and replace what is said there of an ending. Default: none.
	Rules map[string]string
	// Minify makes a bundle short and unreadable. Default: false.
	Minify bool
	// SourceMap adds a source map to a bundle, which Cloudflare uses in traces. Default: false.
	SourceMap bool
	// Directory is a folder, relative to the stack's directory, whose files are the modules as they are: .js and .mjs,
	// .cjs, .wasm, .txt, .html, .sql, .bin, .py and .map. What begins with a dot, node_modules, and wrangler's configuration are
	// left out. Default: none.
	Directory string
	// Main is the module of directory that is begun with. Default: none, index.js.
	Main string
	// Build is a folder that a framework's build wrote, relative to the stack's directory, with the wrangler.json that
	// @cloudflare/vite-plugin writes (dist/NAME, build/server). That file says which modules there are, what the static files
	// are and how they are served, and compatibilityDate and compatibilityFlags, where the program does not declare them.
	// What it binds names to is not deployed: env declares every one of them. The folder of the project will do too, where the build
	// notes in its .wrangler/deploy/config.json what it wrote. Default: none.
	Build string
	// Serve is the dev server of the framework, which `athanor dev` runs in the place of what was built or bundled. Default: none.
	Serve *Serve
	// Script is the text of the only module. Default: none.
	Script string
}

// Serve is the dev server of a framework. It has the bindings of the Worker as they are on this machine: by cloudflare() of
// @cloudflare/vite-plugin, or by getPlatformProxy() of wrangler, which frameworks call. It sees changes of sources by itself.
type Serve struct {
	// Run is the command, which sh -c runs. $PORT is the port of 127.0.0.1 that it must listen at.
	Run string `prop:"required"`
	// Dir is the folder it runs in, relative to the stack's directory. Default: "", the stack's directory.
	Dir string
	// Env are variables added to those of `athanor dev`. Default: none.
	Env map[string]string `prop:"masklive"`
}

// Bundle is a file in JavaScript or TypeScript with all that it imports.
func Bundle(entry string) *Code { return &Code{Bundle: entry} }

// Directory is a folder whose files are the modules as they are.
func Directory(path, main string) *Code { return &Code{Directory: path, Main: main} }

// Script is the text of the only module.
func Script(text string) *Code { return &Code{Script: text} }

// codeAsset is the name under which Prepare gives the modules, as an archive.
const codeAsset = "code"

// moduleTypes are the content types of modules, by the endings of their names. They are wrangler's.
var moduleTypes = map[string]string{
	".js": esm, ".mjs": esm, ".cjs": "application/javascript", ".wasm": "application/wasm", ".txt": "text/plain",
	".html": "text/plain", ".sql": "text/plain", ".bin": "application/octet-stream", ".py": "text/x-python",
	".map": "application/source-map",
}

const esm = "application/javascript+module"

// ruleTypes are the content types of modules by what rules call them.
var ruleTypes = map[string]string{"text": "text/plain", "data": "application/octet-stream", "wasm": "application/wasm"}

var ruleEnding = regexp.MustCompile(`^\.[A-Za-z0-9_-]+$`)

// typeOf gives the content type of a module; "" for what is none.
func (c *Code) typeOf(name string) string {
	ending := path.Ext(name)
	if rule, ok := c.Rules[ending]; ok {
		return ruleTypes[rule]
	}
	return moduleTypes[ending]
}

// beside are the endings of what a bundle imports and does not hold.
var beside = []string{".wasm", ".txt", ".html", ".sql", ".bin"}

func checkCode(c *Code, assets bool) props.Errors {
	var problems props.Errors
	if c == nil {
		if !assets {
			problems.Wrong("code", "is required without assets")
		}
		return problems
	}
	set := 0
	for _, way := range []string{c.Bundle, c.Build, c.Directory, c.Script} {
		if way != "" {
			set++
		}
	}
	if set != 1 {
		problems.Wrong("code", "want exactly one of bundle, build, directory and script")
	}
	if c.Bundle == "" && (len(c.External)+len(c.Define)+len(c.Alias) > 0 || c.Minify || c.SourceMap) {
		problems.Wrong("code.bundle", "external, define, alias, minify and sourceMap are for it alone")
	}
	if c.Script != "" && len(c.Rules) > 0 {
		problems.Wrong("code.rules", "they are for bundle, build and directory alone")
	}
	for ending, rule := range c.Rules {
		if ruleTypes[rule] == "" && !token.Has(rule) || !ruleEnding.MatchString(ending) {
			problems.Wrong("code.rules", fmt.Sprintf("want endings such as .glsl, each with text, data or wasm; there is %q: %q", ending, rule))
		}
	}
	for name, as := range c.Alias {
		if as == "" || name == "" || path.IsAbs(name) || strings.HasPrefix(name, ".") {
			problems.Wrong("code.alias", fmt.Sprintf("want names of packages and what stands for them; there is %q: %q", name, as))
		}
	}
	if c.Directory == "" && c.Main != "" {
		problems.Wrong("code.main", "it is for directory alone")
	}
	return problems
}

// main is the module that is begun with.
func (c *Code) main() string {
	switch {
	case c.Bundle != "":
		base := path.Base(filepath.ToSlash(c.Bundle))
		return strings.TrimSuffix(base, path.Ext(base)) + ".js"
	case c.Main != "":
		return path.Clean(c.Main)
	}
	return "index.js"
}

// ingredients are the texts that the modules depend on, beside files.
func (c *Code) ingredients() []string {
	texts := append([]string{c.Bundle, c.Build, c.Directory, c.Main}, c.External...)
	for _, byName := range []map[string]string{c.Define, c.Alias, c.Rules} {
		texts = slices.AppendSeq(texts, maps.Values(byName))
	}
	return texts
}

// digest tells one code from another; ok is false while something of it is not known.
func (c *Code) digest(asset func(string) (reconcile.Asset, bool)) (digest string, ok bool) {
	if c == nil {
		return "", true
	}
	if c.Script != "" {
		return digestOf(c.main(), c.Script), !token.Has(c.Script)
	}
	archive, ok := asset(codeAsset)
	parts := []string{c.main(), archive.Digest}
	if c.Build != "" {
		said, known := asset(buildAsset)
		parts, ok = append(parts, said.Digest), ok && known
	}
	for _, ending := range slices.Sorted(maps.Keys(c.Rules)) {
		parts = append(parts, ending, c.Rules[ending])
	}
	return digestOf(parts...), ok
}

// digestOf is short: it tells changes, and proves nothing.
func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:digestLength]
}

// prepareCode makes an archive of the modules; nothing while something of it is not known.
func prepareCode(ctx context.Context, work reconcile.Workspace, want WorkerProps) (map[string]reconcile.Asset, error) {
	c := want.Code
	if c == nil || c.Script != "" || !c.isKnown() {
		return nil, nil
	}
	files, err := c.files(ctx, work, want.CompatibilityDate, want.CompatibilityFlags)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range files {
		if c.typeOf(f.Name) == "" || f.Link != "" {
			return nil, &asset.PathError{Path: f.Name, Problem: "not a module: want a file that ends in .js, .mjs, .cjs, .wasm, .txt, .html, .sql, .bin, .py or .map, or as code.rules say"}
		}
		names[f.Name] = true
	}
	if !names[c.main()] {
		return nil, &asset.PathError{Path: c.main(), Problem: "there is no such module to begin with; code.main names one"}
	}
	archive, err := asset.Zip(ctx, work, files)
	return map[string]reconcile.Asset{codeAsset: archive}, err
}

// ofTools reports a file that tools keep beside modules: in folders that begin with a dot (.wrangler, .vite) or hold packages, and
// wrangler's configuration, which builds also write into their output.
func ofTools(name string) bool {
	return slices.Contains([]string{"wrangler.json", "wrangler.jsonc", "wrangler.toml"}, name) ||
		slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "node_modules" || strings.HasPrefix(part, ".") })
}

// prop is the prop that names the folder of modules.
func (c *Code) prop() string {
	if c.Build != "" {
		return "code.build"
	}
	return "code.directory"
}

func (c *Code) files(ctx context.Context, work reconcile.Workspace, date string, flags []string) ([]asset.File, error) {
	if folder := cmp.Or(c.Directory, c.Build); folder != "" {
		dir := within(work.Dir, folder)
		work.Reads(dir)
		files, err := asset.Tree(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.prop(), err)
		}
		files = slices.DeleteFunc(files, func(f asset.File) bool { return ofTools(f.Name) })
		if c.Build != "" {
			files = c.buildFiles(files)
		}
		for i := range files {
			files[i].Executable = false // no module is
		}
		return files, nil
	}
	define := map[string]string{"process.env.NODE_ENV": `"production"`}
	maps.Copy(define, c.Define)
	files, err := asset.Bundle{
		Entry: c.Bundle, Name: strings.TrimSuffix(c.main(), ".js"), Define: define, Alias: c.Alias,
		External:   slices.Concat([]string{"cloudflare:*"}, nodeModules(date, flags), c.External),
		Conditions: []string{"workerd", "worker", "browser"}, Beside: slices.AppendSeq(slices.Clone(beside), maps.Keys(c.Rules)),
		Minify: c.Minify, SourceMap: c.SourceMap,
	}.Build(ctx, work)
	if err != nil {
		return nil, fmt.Errorf("code.bundle: %w", err)
	}
	return files, nil
}

// bareNames is the compatibility date from which nodejs_compat is nodejs_compat_v2: what is built into Node is known by its
// names without "node:" too, https://developers.cloudflare.com/workers/configuration/compatibility-flags/#nodejs-compatibility-flag.
const bareNames = "2024-09-23"

// nodeDefault is the compatibility date from which nodejs_compat and nodejs_compat_v2 are on, each unless no_ before its name turns it off:
// https://developers.cloudflare.com/changelog/post/2026-08-04-nodejs-compat-default/.
const nodeDefault = "2026-08-04"

// nodeModules are what the runtime has of Node's, by the flags and the date. What is not known yet may say so.
func nodeModules(date string, flags []string) []string {
	has := func(flag string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return f == flag || token.Has(f) })
	}
	from := func(begins string) bool { return date >= begins || token.Has(date) }
	isOn := func(flag string) bool { return has(flag) || from(nodeDefault) && !slices.Contains(flags, "no_"+flag) }
	switch bare := isOn("nodejs_compat_v2"); {
	case !bare && !isOn("nodejs_compat"):
		if has("nodejs_als") {
			return []string{"node:async_hooks"}
		}
		return nil
	case !bare && (!from(bareNames) || slices.Contains(flags, "no_nodejs_compat_v2")):
		return []string{"node:*"}
	}
	return append([]string{"node:*"}, strings.Fields(`_tls_common _tls_wrap assert assert/strict async_hooks buffer
		child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs
		fs/promises http http2 https inspector inspector/promises module net os path path/posix path/win32 perf_hooks
		process punycode querystring readline readline/promises repl stream stream/consumers stream/promises stream/web
		string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`)...)
}

func within(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// module is one part of an upload.
type module struct {
	name, kind string
	content    []byte
}

var errNoCode = errors.New("the code is not known yet")

// modules reads those that were prepared: first the one that is begun with, then the others by name.
func modules(c *Code, assets map[string]reconcile.Asset) ([]module, error) {
	if c == nil {
		return nil, nil
	}
	if c.Script != "" {
		return []module{{c.main(), esm, []byte(c.Script)}}, nil
	}
	archive, ok := assets[codeAsset]
	if !ok {
		return nil, errNoCode
	}
	reader, err := zip.OpenReader(archive.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // it was only read
	all := make([]module, 0, len(reader.File))
	for _, f := range reader.File {
		content, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		m := module{f.Name, c.typeOf(f.Name), content}
		if f.Name == c.main() {
			all = slices.Insert(all, 0, m)
		} else {
			all = append(all, m)
		}
	}
	return all, nil
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
