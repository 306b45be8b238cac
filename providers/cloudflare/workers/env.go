package workers

import (
	"errors"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Env is what a Worker finds in its environment, by name: what constructors of kv, r2, d1, queues, hyperdrive, workflows
// and this package return, a [Binding], text, secrets, and numbers, truths and lists, which become JSON.
//
//	workers.Env{"CACHE": cache, "JOBS": jobs, "STAGE": "prod", "KEY": s.Secret("key"), "AI": workers.Binding{AI: true}}
type Env map[string]any

// declared are the entries as a program in YAML writes them. What is no entry stays, and is refused where it is encoded.
func (e Env) declared() Env {
	if e == nil {
		return nil
	}
	all := make(Env, len(e))
	for name, v := range e {
		all[name] = v
		if b, ok := bindingTo(v); ok {
			if r, err := props.Encode(b); err == nil {
				all[name] = r
			}
		}
	}
	return all
}

// bindingTo is the binding to what a constructor returned.
func bindingTo(v any) (Binding, bool) {
	switch to := v.(type) {
	case Binding:
		return to, true
	case kv.Namespace:
		return Binding{KV: to.ID}, true
	case r2.Bucket:
		return Binding{R2: to.Name, Jurisdiction: to.Jurisdiction}, true
	case d1.Database:
		return Binding{D1: to.ID}, true
	case queues.Queue:
		return Binding{Queue: to.Name}, true
	case hyperdrive.Config:
		return Binding{Hyperdrive: to.ID}, true
	case workflows.Workflow:
		return Binding{Workflow: to.Name, Class: to.Class, Script: to.Script}, true
	case Worker:
		return Binding{Service: to.Name}, true
	}
	return Binding{}, false
}

// entry is one name of a Worker's environment, where it is declared.
type entry struct {
	name string
	path tree.Path
	row  row
}

// entries are what is declared in env and in bindings, in the order of their names. secret tells which paths hold secrets.
func entries(want WorkerProps, secret func(tree.Path) bool) []entry {
	all := make([]entry, 0, len(want.Env)+len(want.Bindings))
	for name, v := range want.Env {
		at := tree.Path("env").Key(name)
		all = append(all, entry{name, at, rowOf(v, secret(at))})
	}
	for name, b := range want.Bindings {
		r, _ := props.Encode(b) // it was decoded
		all = append(all, entry{name, tree.Path("bindings").Key(name), r})
	}
	slices.SortFunc(all, func(a, b entry) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return all
}

// later reports an entry that is left out now, since what it is bound to is not there yet: it stays as it is.
func (e entry) later() bool {
	_, ok := typeOf(e.row)
	return !ok
}

// secretAt tells secrets by the paths that hold some.
func secretAt(paths map[tree.Path]bool) func(tree.Path) bool {
	return func(at tree.Path) bool {
		for p := range paths {
			if at.Overlaps(p) {
				return true
			}
		}
		return false
	}
}

// checkEnv finds what is wrong with the entries of env and bindings.
func checkEnv(want WorkerProps) props.Errors {
	var problems props.Errors
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		at := tree.Path("env").Key(name)
		if want.Env[name] == nil {
			problems.Wrong(at, "want a value")
		}
		problems = append(problems, checkRow(at, want.Env[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Bindings)) {
		at := tree.Path("bindings").Key(name)
		if _, twice := want.Env[name]; twice {
			problems.Wrong(at, "env has an entry of this name")
		}
		r, err := props.Encode(want.Bindings[name])
		if err != nil {
			problems = append(problems, asErrors(err)...)
			continue
		}
		problems = append(problems, checkRow(at, r)...)
	}
	return problems
}

func asErrors(err error) props.Errors {
	if all, ok := errors.AsType[props.Errors](err); ok {
		return all
	}
	return props.Errors{{Problem: err.Error()}}
}

// needsAssets reports whether an entry is bound to the Worker's own assets.
func needsAssets(want WorkerProps) bool {
	for _, e := range entries(want, func(tree.Path) bool { return false }) {
		if _, ok := e.row["assets"]; ok {
			return true
		}
	}
	return false
}

// holdsSecret reports a secret in a value that everybody who sees the Worker can read.
func (e entry) holdsSecret(secret func(tree.Path) bool) bool {
	if _, ok := e.row["json"]; !ok {
		return false
	}
	return secret(e.path)
}
