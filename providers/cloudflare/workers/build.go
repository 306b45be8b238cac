package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Build is a folder that a framework's build wrote, with a wrangler.json.
func Build(path string) *Code { return &Code{Build: path} }

const (
	// buildAsset is the name under which Prepare gives what a build says of itself. Its digest is that text: it is short, and
	// Compare has to know it.
	buildAsset = "build"
	// buildFile is what @cloudflare/vite-plugin writes into the folder of modules,
	// https://developers.cloudflare.com/workers/vite-plugin/reference/api/.
	buildFile = "wrangler.json"
	// mostBuild is far above any real configuration, in bytes.
	mostBuild = 1 << 20
)

// build is what a build says of itself: what wrangler.json has of the code, of static files, and of the runtime.
type build struct {
	// Folder has the modules, relative to the stack's directory, where code.build names another one.
	Folder             string            `json:"folder,omitempty"`
	Main               string            `json:"main"`
	CompatibilityDate  string            `json:"compatibilityDate,omitempty"`
	CompatibilityFlags []string          `json:"compatibilityFlags,omitempty"`
	SourceMap          bool              `json:"sourceMap,omitempty"`
	Rules              map[string]string `json:"rules,omitempty"`
	Assets             *Assets           `json:"assets,omitempty"`
	// names are those that the code was built to find in its environment.
	names []string
}

// ruleWords are the types of modules as rules of wrangler's configuration call them, and as [Code.Rules] do.
var ruleWords = map[string]string{"Text": "text", "Data": "data", "CompiledWasm": "wasm"}

// readBuild reads the wrangler.json of a build. What it says of the environment is compared with what is declared.
func readBuild(ctx context.Context, work reconcile.Workspace, folder string) (build, error) {
	var b build
	named := folder
	folder, err := written(ctx, work, named)
	if err != nil {
		return b, err
	}
	file := filepath.Join(within(work.Dir, folder), buildFile)
	work.Reads(file)
	text, err := localfile.ReadAtMost(ctx, file, mostBuild)
	if err != nil {
		return b, err
	}
	var config struct {
		Main               string   `json:"main"`
		CompatibilityDate  string   `json:"compatibility_date"`
		CompatibilityFlags []string `json:"compatibility_flags"`
		UploadSourceMaps   bool     `json:"upload_source_maps"`
		Rules              []struct {
			Type  string   `json:"type"`
			Globs []string `json:"globs"`
		} `json:"rules"`
		Assets *struct {
			Directory        string `json:"directory"`
			HTMLHandling     string `json:"html_handling"`
			NotFoundHandling string `json:"not_found_handling"`
			RunWorkerFirst   any    `json:"run_worker_first"`
		} `json:"assets"`
	}
	var all map[string]any
	if err := errors.Join(json.Unmarshal(text, &config), json.Unmarshal(text, &all)); err != nil {
		return b, &asset.PathError{Path: file, Problem: err.Error()}
	}
	if config.Main == "" {
		return b, &asset.PathError{Path: file, Problem: "it names no main module: want what a build wrote, not the project's own configuration"}
	}
	b = build{
		Main: path.Clean(config.Main), CompatibilityDate: config.CompatibilityDate, CompatibilityFlags: config.CompatibilityFlags,
		SourceMap: config.UploadSourceMaps, Rules: map[string]string{}, names: boundNames(all),
	}
	if folder != named {
		b.Folder = folder
	}
	for _, rule := range config.Rules {
		for _, glob := range rule.Globs {
			if word := ruleWords[rule.Type]; word != "" && path.Ext(glob) != "" {
				b.Rules[path.Ext(glob)] = word
			}
		}
	}
	if a := config.Assets; a != nil && a.Directory != "" {
		b.Assets = &Assets{Directory: filepath.ToSlash(filepath.Join(folder, a.Directory)), NotFoundHandling: a.NotFoundHandling}
		if a.HTMLHandling != "" {
			b.Assets.HTMLHandling = new(a.HTMLHandling)
		}
		switch first := a.RunWorkerFirst.(type) {
		case bool:
			b.Assets.RunWorkerFirst = first
		case []any:
			for _, at := range first {
				b.Assets.RunWorkerFirstAt = append(b.Assets.RunWorkerFirstAt, fmt.Sprint(at))
			}
		}
	}
	return b, nil
}

// written is the folder that a build wrote: of a project's folder, the one that is noted there for wrangler,
// https://developers.cloudflare.com/workers/wrangler/configuration/#generated-wrangler-configuration.
func written(ctx context.Context, work reconcile.Workspace, folder string) (string, error) {
	note := filepath.Join(within(work.Dir, folder), filepath.FromSlash(deployNote))
	text, err := localfile.ReadAtMost(ctx, note, mostBuild)
	if errors.Is(err, fs.ErrNotExist) {
		return folder, nil
	}
	if err != nil {
		return "", err
	}
	work.Reads(note)
	var config struct {
		ConfigPath string `json:"configPath"`
	}
	if err := json.Unmarshal(text, &config); err != nil || config.ConfigPath == "" || path.IsAbs(config.ConfigPath) {
		return "", &asset.PathError{Path: note, Problem: "it names no configPath beside it: build the project again"}
	}
	at := path.Join(folder, path.Dir(deployNote), path.Dir(filepath.ToSlash(config.ConfigPath)))
	if !localfile.Within(within(work.Dir, folder), within(work.Dir, at)) {
		return "", &asset.PathError{Path: note, Problem: "it names a configPath outside of " + folder}
	}
	return at, nil
}

// deployNote is where a build notes which configuration it wrote.
const deployNote = ".wrangler/deploy/config.json"

// boundNames are the names that a configuration of wrangler binds something to, sorted: each has a member "binding", but for
// those of a few lists, which call it "name".
func boundNames(config map[string]any) []string {
	found := map[string]bool{}
	note := func(in any, member string) {
		object, _ := in.(map[string]any)
		if name, _ := object[member].(string); name != "" {
			found[name] = true
		}
	}
	each := func(list any, member string) {
		all, _ := list.([]any)
		for _, one := range all {
			note(one, member)
		}
	}
	for _, value := range config {
		note(value, "binding")
		each(value, "binding")
	}
	for list, inner := range map[string]string{"queues": "producers", "durable_objects": "bindings"} {
		group, _ := config[list].(map[string]any)
		each(group[inner], "binding")
		each(group[inner], "name")
	}
	each(config["send_email"], "name")
	each(config["ratelimits"], "name")
	vars, _ := config["vars"].(map[string]any)
	for name := range vars {
		found[name] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// errNotDeclared is about what a build expects in its environment and the program does not give it.
var errNotDeclared = errors.New("the code was built with bindings that env does not declare")

// prepareBuild reads what a build says of itself.
func prepareBuild(ctx context.Context, work reconcile.Workspace, want WorkerProps) (map[string]reconcile.Asset, error) {
	b, err := readBuild(ctx, work, want.Code.Build)
	if err != nil {
		return nil, fmt.Errorf("code.build: %w", err)
	}
	missing := slices.DeleteFunc(b.names, func(name string) bool { return want.Env[name] != nil || hasKey(want.Bindings, name) })
	if len(missing) > 0 {
		return nil, reconcile.WithHint(fmt.Errorf("code.build: %w: %s", errNotDeclared, strings.Join(missing, ", ")),
			"declare them in env: what wrangler.json binds a name to is not deployed")
	}
	if b.CompatibilityDate == "" && want.CompatibilityDate == "" {
		return nil, &asset.PathError{Path: filepath.Join(cmp.Or(b.Folder, want.Code.Build), buildFile), Problem: "it names no compatibility_date, and compatibilityDate is not declared"}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return map[string]reconcile.Asset{buildAsset: {Digest: string(text), Path: within(work.Dir, cmp.Or(b.Folder, want.Code.Build)), Size: int64(len(text))}}, nil
}

func hasKey[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// ofBuild are the props that the build says and the program does not.
func (want WorkerProps) ofBuild() (date, flags, files bool) {
	if want.Code == nil || want.Code.Build == "" {
		return false, false, false
	}
	return want.CompatibilityDate == "", len(want.CompatibilityFlags) == 0, want.Assets == nil
}

// resolved are the props with what the build says: what is declared wins. While the build is not known, it says nothing.
func (want WorkerProps) resolved(asset func(string) (reconcile.Asset, bool)) WorkerProps {
	if want.Code == nil || want.Code.Build == "" {
		return want
	}
	said, known := asset(buildAsset)
	var b build
	if !known || json.Unmarshal([]byte(said.Digest), &b) != nil {
		return want
	}
	date, flags, files := want.ofBuild()
	code := *want.Code
	code.Main, code.SourceMap = b.Main, b.SourceMap
	code.Build = cmp.Or(b.Folder, code.Build)
	if len(code.Rules) == 0 {
		code.Rules = b.Rules
	}
	want.Code = &code
	return want.taking(WorkerProps{CompatibilityDate: b.CompatibilityDate, CompatibilityFlags: b.CompatibilityFlags, Assets: b.Assets}, date, flags, files)
}

// taking are the props with some of another's.
func (want WorkerProps) taking(from WorkerProps, date, flags, files bool) WorkerProps {
	if date {
		want.CompatibilityDate = from.CompatibilityDate
	}
	if flags {
		want.CompatibilityFlags = from.CompatibilityFlags
	}
	if files {
		want.Assets = from.Assets
	}
	return want
}

// saidOf shows what a build says beside the code, in a line. It is compared with the code, by which it is announced: that the build
// will say something else is not known before it ran.
func saidOf(settings WorkerProps, filesDigest string, date, flags, files bool) string {
	var parts []string
	if date {
		parts = append(parts, settings.CompatibilityDate)
	}
	if flags {
		parts = append(parts, slices.Sorted(slices.Values(settings.CompatibilityFlags))...)
	}
	if files && filesDigest != "" {
		parts = append(parts, "files "+filesDigest)
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, " ")
}

// buildFiles are the modules of a build: of what lies in its folder, what is no module, and maps unless they are to be uploaded,
// is left out.
func (c *Code) buildFiles(files []asset.File) []asset.File {
	return slices.DeleteFunc(files, func(f asset.File) bool {
		return c.typeOf(f.Name) == "" || path.Ext(f.Name) == ".map" && !c.SourceMap
	})
}

// isKnown reports whether everything that says what the code is made of is known.
func (c *Code) isKnown() bool { return !slices.ContainsFunc(c.ingredients(), token.Has) }
