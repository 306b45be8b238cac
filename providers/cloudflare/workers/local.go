package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any { return []reconcile.Any{localWorker.Erase()} }

// keptHere is a Worker as it runs in a session. Read is the digest of its code and files.
type keptHere = kind.Kept[WorkerProps, Worker]

// localWorker runs in workerd, as long as the session lasts.
var localWorker = &kind.StateKind[WorkerProps, Worker]{
	Type: here.Type(workerType), LocalVariantOf: workerType, Lifetime: kind.InDev,
	Doc: "A Worker on this machine, in Cloudflare's runtime. What calls it is its own address alone: routes, domains and times " +
		"have no effect, nor have limits, placement and what is kept of logs.",
	Read: func(_ context.Context, s workerSite, live *keptHere) error {
		if s.Dev == nil {
			return reconcile.ErrAbsent
		}
		if digest, runs := local.Served(s.Facts); runs {
			live.Read = digest
			return nil
		}
		session, err := here.Of(s.Facts)
		if err != nil {
			return err
		}
		w, runs := session.Find(string(live.Attributes.Name))
		if !runs {
			return reconcile.ErrAbsent
		}
		live.Read = w.Digest
		return nil
	},
	Create: func(ctx context.Context, s workerSite) (Worker, error) {
		session, err := here.Of(s.Facts)
		if err != nil {
			return Worker{}, err
		}
		earlier, _ := s.Earlier["name"].(string)
		return runHere(ctx, s.Facts, cmp.Or(s.Want.Name, session.NameOf(s.Owner, earlier)), s.Want)
	},
	Compare: compareHere,
	Delete: func(ctx context.Context, s workerSite) error {
		name := string(s.Last.Name)
		if s.Dev != nil { // else it ended with its session
			session, err := here.Of(s.Facts)
			if err != nil {
				return err
			}
			if err := session.Stop(ctx, name); err != nil {
				return err
			}
		}
		if err := local.StopServing(ctx, s.Facts); err != nil { // and its log goes
			return err
		}
		return here.RemoveObjects(s.Dev, s.Dir, s.Owner, name)
	},
	Logs: func(ctx context.Context, s workerSite, query kind.LogQuery) iter.Seq2[kind.LogLine, error] {
		return local.Logs(ctx, s.Facts, query)
	},
	Props: workerTable, Default: workerKind.WithDefaults, Check: workerKind.CheckAll, Prepare: prepareHere, Files: workerKind.Files,
	API: kind.API{Source: source, Calls: []string{"miniflare.Run", "miniflare.Stop", "local.StartProcess", "local.StopProcess"}},
}

func compareHere(d *kind.Diff[keptHere], want WorkerProps, live keptHere) {
	run := kind.Set("Run", func(ctx context.Context, u kind.Update[keptHere]) error {
		out, err := runHere(ctx, u.Facts, string(live.Attributes.Name), want)
		if err == nil {
			u.Store(out)
		}
		return err
	})
	if digest, known := digestHere(want.resolved(d.Asset), d.Asset); known {
		reconcile.Value(d, "code", any(digest), live.Read, run)
	} else {
		reconcile.Value(d, "code", want.Code, live.Props.Code, run)
	}
	wants, had := want.serveEnv(), live.Props.serveEnv()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(sortedKeys(wants), sortedKeys(had))))) {
		reconcile.Value(d, tree.Path("code.serve.env").Key(name), wants[name], had[name], run)
	}
	here.Compare(d, want, live.Props, []string{"name"}, run, "code")
}

// digestHere tells code, static files and variables of this machine from others; known is false while something of them is not.
func digestHere(want WorkerProps, asset func(string) (reconcile.Asset, bool)) (digest string, known bool) {
	vars, _ := asset(varsAsset)
	if serve := want.serve(); serve != nil {
		return digestOf(serve.Run, serve.Dir, vars.Digest), true // its variables may be secret: they are compared one by one
	}
	code, known := want.Code.digest(asset)
	files, too := want.Assets.filesDigest(asset)
	return digestOf(code, files, vars.Digest), known && too
}

// runHere runs a Worker in the session, or its new version.
func runHere(ctx context.Context, scope kind.Facts, name string, want WorkerProps) (Worker, error) {
	want = want.resolved(from(scope.Assets))
	out := Worker{Name: Name(name), RouteZones: []string{}}
	s, err := here.Of(scope)
	if err != nil {
		return out, err
	}
	w := here.Worker{Address: scope.Address, Owner: scope.Owner, Partial: scope.Omits, Worker: miniflare.Worker{
		Name: name, CompatibilityDate: want.CompatibilityDate, CompatibilityFlags: want.CompatibilityFlags,
	}}
	w.Digest, _ = digestHere(want, from(scope.Assets))
	if w.Bindings, err = bindingsHere(want, secretAt(scope.Secret)); err != nil {
		return out, err
	}
	if w.Bindings, w.Hidden, err = withVars(ctx, w.Bindings, scope.Assets); err != nil {
		return out, err
	}
	if serve := want.serve(); serve != nil {
		if err := s.Stop(ctx, name); err != nil { // what ran before the program named a dev server
			return out, err
		}
		out.ETag, out.VersionID = w.Digest, w.Digest
		out.URL, err = serveHere(ctx, scope, w, *serve, sortedKeys(want.DurableObjects))
		return out, err
	}
	if _, serves := local.Served(scope); serves { // the program names no dev server any more
		if err := local.StopServing(ctx, scope); err != nil {
			return out, err
		}
	}
	if err := load(&w, want, scope.Assets); err != nil {
		was, runs := s.Find(name)
		if !runs || len(scope.Assets) > 0 {
			return out, err
		}
		// Nothing was prepared: only what it is bound to changes, as when a cycle is opened to be deleted.
		w.Main, w.Modules, w.Assets, w.Digest = was.Main, was.Modules, was.Assets, was.Digest
	}
	ran, err := s.Run(ctx, w)
	out.URL, out.ETag, out.VersionID = ran.URL, w.Digest, w.Digest
	return out, err
}

// load gives a Worker what was prepared: modules and static files.
func load(w *here.Worker, want WorkerProps, assets map[string]reconcile.Asset) error {
	parts, err := modules(want.Code, assets)
	if err != nil {
		return err
	}
	if want.Code == nil { // static files alone
		parts = []module{{"index.js", esm, []byte(noCode)}}
	}
	for i, m := range parts {
		if i == 0 {
			w.Main = m.name
		}
		w.Modules = append(w.Modules, miniflare.Module{Name: m.name, Type: m.kind, Content: m.content})
	}
	if want.Assets == nil {
		return nil
	}
	prepared, err := readPrepared(assets)
	if err != nil {
		return err
	}
	w.Assets = &miniflare.Assets{Directory: prepared.Directory, Config: want.Assets.config(prepared)}
	return nil
}

// serve is the dev server that runs in the place of the code, nil without one.
func (want WorkerProps) serve() *Serve {
	if want.Code == nil {
		return nil
	}
	return want.Code.Serve
}

// serveEnv are the variables of the dev server, none without one.
func (want WorkerProps) serveEnv() map[string]string {
	if serve := want.serve(); serve != nil {
		return serve.Env
	}
	return nil
}

// serveReady is how long a dev server may take: it finds out first what the project imports.
const serveReady = 2 * time.Minute

// serveHere runs the dev server of a framework with the bindings of a Worker, and gives where it answers. Where there are bindings
// it is ready when it has taken them.
func serveHere(ctx context.Context, scope kind.Facts, w here.Worker, serve Serve, classes []string) (string, error) {
	env, left, err := miniflare.Website(w.Worker, classes, here.DataOf(scope.Dev, scope.Dir, scope.Owner))
	if err != nil {
		return "", err
	}
	say := func(text string) {
		scope.Dev.Print(scope.Address, reconcile.LogLine{Time: time.Now(), Source: reconcile.SourceAthanor, Text: text})
	}
	for _, name := range left {
		say(name + " is not given to the dev server: a configuration of wrangler in the project may bind it")
	}
	hidden := w.Hidden
	for _, b := range w.Bindings {
		if b["type"] == "secret_text" {
			hidden = append(hidden, fmt.Sprint(b["text"]))
		}
	}
	maps.Copy(env, serve.Env)
	ready := &local.Ready{Timeout: new(serveReady)}
	if len(w.Bindings) > len(left) {
		ready.Output = "^" + regexp.QuoteMeta(miniflare.Taken) + "$"
	}
	url, err := local.Serve(ctx, scope, local.ProcessProps{Run: serve.Run, Dir: serve.Dir, Env: env, Port: new(0), Ready: ready}, w.Digest, hidden)
	if errors.Is(err, local.ErrNotReady) && ready.Output != "" {
		err = reconcile.WithHint(err, "if it ran well, it took no bindings: cloudflare() of @cloudflare/vite-plugin and "+
			"getPlatformProxy() of wrangler take them")
	}
	if err != nil {
		return "", err
	}
	if !scope.Omits {
		say("serves at " + url)
	}
	return url, nil
}

// noCode answers what no static file does.
const noCode = `export default { fetch() { return new Response("Not found", { status: 404 }) } }`

// bindingsHere are the environment, as an upload would have it. A binding to an object at Cloudflare is refused: the
// code would find an empty one.
func bindingsHere(want WorkerProps, secret func(tree.Path) bool) ([]map[string]any, error) {
	var all []map[string]any
	for _, e := range entries(want, secret) {
		for _, store := range []string{"kv", "d1"} {
			if id, _ := e.row[store].(string); here.Elsewhere(id) {
				return nil, reconcile.WithHint(fmt.Errorf("%s: %s is at Cloudflare, and a Worker on this machine does not reach it", e.path, id),
					"make both here, or the Worker there too with --remote")
			}
		}
		t, known := typeOf(e.row)
		if !known {
			continue // its entry is left out now
		}
		all = append(all, t.onWire(e.name, settled(e.row)))
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return cmp.Compare(a["name"].(string), b["name"].(string)) })
	return all, nil
}
