package workers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any { return []reconcile.Any{reconcile.Erase(localWorker)} }

// liveHere is a Worker as it runs in a session.
type liveHere struct {
	here.Live[WorkerProps, Worker]
	digest string
}

type localSite = reconcile.Site[WorkerProps, Worker]

// localWorker runs in workerd, as long as the session lasts.
var localWorker = &reconcile.Kind[WorkerProps, liveHere, Worker]{
	Type: here.Type(workerType), Stands: workerType, Recorded: true, Rerun: true, InDev: true,
	Doc: "A Worker on this machine, in Cloudflare's runtime. What calls it is its own address alone: routes, domains and times " +
		"have no effect, nor have limits, placement and what is kept of logs.",
	Observe: func(_ context.Context, site localSite) (live liveHere, err error) {
		if live.Live, err = here.Recorded(site, workerKind.Defaults); err != nil || site.Dev == nil {
			return live, reconcile.ErrAbsent
		}
		s, err := here.Of(here.At(site))
		if err != nil {
			return live, err
		}
		w, runs := s.Find(string(live.Attrs.Name))
		if !runs {
			return live, reconcile.ErrAbsent
		}
		live.digest = w.Digest
		return live, nil
	},
	Create: func(ctx context.Context, site localSite) (Worker, error) {
		return runHere(ctx, here.At(site), site.Address, cmp.Or(site.Want.Name, here.Name(site.Mark)), site.Want, site.Assets, secretAt(site.Secret))
	},
	Compare: compareHere,
	Attrs:   func(live liveHere) Worker { return live.Attrs },
	Delete: func(ctx context.Context, site localSite) error {
		if site.Last == nil {
			return nil
		}
		name := string(site.Last.Name)
		if site.Dev != nil { // else it went with its session
			s, err := here.Of(here.At(site))
			if err != nil {
				return err
			}
			if err := s.Stop(ctx, name); err != nil {
				return err
			}
		}
		return here.RemoveObjects(site.Dev, site.Dir, site.Mark, name)
	},
	Identity: func(Worker) string { return "" },
	Defaults: workerKind.Defaults,
	Check:    workerKind.Check,
	Prepare:  prepareWorker,
	Files:    workerKind.Files,
	Source:   source,
	// What the tags say of calls and readiness is about the Worker in the cloud.
	Tags: func() (reconcile.Tags, error) {
		tags, err := workerKind.Tags()
		return reconcile.Tags{Moves: tags.Moves, Late: tags.Late, MaskLive: tags.MaskLive}, err
	},
}

func compareHere(d *reconcile.Diff[liveHere], want WorkerProps, live liveHere) {
	run := &reconcile.Operation[liveHere]{Name: "Run", Do: func(ctx context.Context, on reconcile.On[liveHere]) error {
		out, err := runHere(ctx, here.On(on), on.Address, string(live.Attrs.Name), want, on.Assets, secretAt(on.Secret))
		if err == nil {
			on.Remember(out)
		}
		return err
	}}
	if digest, known := digestHere(want, d.Asset); known {
		reconcile.Value(d, "code", digest, live.digest, run)
	} else {
		reconcile.Value(d, "code", want.Code, live.Had.Code, run)
	}
	here.Compare(d, want, live.Had, []string{"name"}, run, "code")
}

// digestHere tells code and static files from others; known is false while something of them is not.
func digestHere(want WorkerProps, asset func(string) (reconcile.Asset, bool)) (digest string, known bool) {
	code, known := want.Code.digest(asset)
	files, too := want.Assets.filesDigest(asset)
	return code + files, known && too
}

// runHere runs a Worker in the session, or its new version.
func runHere(ctx context.Context, p here.Place, address, name string, want WorkerProps, assets map[string]reconcile.Asset, secret func(tree.Path) bool) (Worker, error) {
	out := Worker{Name: Name(name), RouteZones: []string{}}
	s, err := here.Of(p)
	if err != nil {
		return out, err
	}
	w := here.Worker{Address: address, Worker: miniflare.Worker{
		Name: name, CompatibilityDate: want.CompatibilityDate, CompatibilityFlags: want.CompatibilityFlags,
	}}
	w.Digest, _ = digestHere(want, func(name string) (reconcile.Asset, bool) { a, ok := assets[name]; return a, ok })
	if w.Bindings, err = bindingsHere(want, secret); err != nil {
		return out, err
	}
	parts, err := modules(want.Code, assets)
	if err != nil {
		return out, err
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
	if want.Assets != nil {
		prepared, err := readPrepared(assets)
		if err != nil {
			return out, err
		}
		w.Assets = &miniflare.Assets{Directory: prepared.Directory, Config: want.Assets.config(prepared)}
	}
	ran, err := s.Run(ctx, w)
	out.URL, out.ETag, out.VersionID = ran.URL, w.Digest, w.Digest
	return out, err
}

// noCode answers what no static file does.
const noCode = `export default { fetch() { return new Response("Not found", { status: 404 }) } }`

// bindingsHere are the environment, as an upload would have it. What is bound to a thing at Cloudflare is refused: the code
// would find an empty one.
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
