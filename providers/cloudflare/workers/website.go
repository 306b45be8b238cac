package workers

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// websiteType is what programs in YAML declare; in a graph there are its Worker and its build.
const websiteType = "cloudflare.Website"

// websiteKind returns what a website is declared with: see [NewWebsite].
func websiteKind() kind.Composite[WebsiteProps, Worker] {
	return kind.Composite[WebsiteProps, Worker]{
		Type: websiteType,
		Doc: "The project of a web framework, built and served by a Worker. It is declared as two resources: NAME/build, a local.Command, and NAME, " +
			"a cloudflare.Worker that serves what was built. In `athanor dev` the framework's own dev server runs with the bindings of the stage, and nothing " +
			"is built.",
		Default: websiteDefaults, Check: checkWebsite,
		API: kind.API{Source: source, Calls: workerKind.API.Calls, Permissions: workerKind.API.Permissions},
	}
}

// websiteDefaults fills in what is left out of the build. All else is the Worker's to fill in.
func websiteDefaults(p WebsiteProps) WebsiteProps {
	p.Framework, p.Build = cmp.Or(p.Framework, new("vite")), cmp.Or(p.Build, new("npm run build"))
	return p
}

// NewWebsite declares a website: NAME/build, the command that builds it, and NAME, the Worker that serves it. The options are
// those of the Worker; the build depends on what the Worker depends on. Entries of env may be what constructors return: see [Env].
func NewWebsite(s *athanor.Stack, name string, p WebsiteProps, opts ...athanor.Option) Worker {
	p.Env = Env(p.Env).declared()
	p = websiteDefaults(p)
	f := p.framework()
	at := func(names []string) []string {
		all := make([]string, len(names))
		for i, name := range names {
			all[i] = below(p.Dir, name)
		}
		return all
	}
	inputs := at(p.Inputs)
	if len(inputs) == 0 {
		inputs = []string{cmp.Or(p.Dir, ".")}
	}
	part := athanor.Inner(name, "build")
	local.NewCommand(s, part, local.CommandProps{
		Run: *p.Build, Dir: p.Dir, Env: p.BuildEnv, Inputs: inputs, Ignore: at(slices.Concat(ownFiles, f.ignores)), Outputs: at(f.writes), InDev: new(false),
	}, athanor.Along("build", opts...))
	return athanor.Declare(s, workerKind, name, p.worker(), append(slices.Clone(opts), athanor.DependsOn(s.Address(part)))...)
}

// framework is the one that the props name. One that is not known is refused by the check of props.
func (p WebsiteProps) framework() framework { return frameworks[*websiteDefaults(p).Framework] }

// worker is the Worker that serves the website.
func (p WebsiteProps) worker() WorkerProps {
	f := p.framework()
	w := WorkerProps{
		Name: p.Name, CompatibilityDate: p.CompatibilityDate, CompatibilityFlags: p.CompatibilityFlags, Env: p.Env, Bindings: p.Bindings,
		DurableObjects: p.DurableObjects, DeletedClasses: p.DeletedClasses, DeletedSecrets: p.DeletedSecrets, Limits: p.Limits, Placement: p.Placement,
		Observability: p.Observability, Logpush: p.Logpush, TailConsumers: p.TailConsumers, Crons: p.Crons, WorkersDev: p.WorkersDev, Previews: p.Previews,
		Domains: p.Domains, Routes: p.Routes, Traffic: p.Traffic, Tags: p.Tags, ForceDestroy: p.ForceDestroy,
	}
	if f.code == nil {
		w.Code = Build(cmp.Or(p.Dir, "."))
	} else {
		w.Code = f.code(p.Dir)
		w.Assets = &Assets{Directory: below(p.Dir, f.assets)}
		w.Bindings = maps.Clone(w.Bindings)
		if w.Bindings == nil {
			w.Bindings = map[string]Binding{}
		}
		w.Bindings["ASSETS"] = Binding{Assets: true} // both read their static files by this name
		if len(w.CompatibilityFlags) == 0 {
			w.CompatibilityFlags = f.flags
		}
	}
	w.Code.Serve = &Serve{Run: cmp.Or(p.Serve, f.serve), Dir: p.Dir, Env: p.BuildEnv}
	return w
}

// below is a path in a folder; the folder "" is the stack's directory.
func below(dir, name string) string { return path.Join(dir, name) }

// websiteConstruct is what YAML uses of websites.
func websiteConstruct() athanor.Construct {
	return athanor.Construct{
		Declare: func(s *athanor.Stack, name string, of any, _ athanor.Own, opts ...athanor.Option) {
			NewWebsite(s, name, *of.(*WebsiteProps), opts...)
		},
		Parts: func(athanor.Own) map[string]string { return map[string]string{"build": "local.Command"} },
	}
}
