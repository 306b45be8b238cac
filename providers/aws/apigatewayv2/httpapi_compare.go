package apigatewayv2

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type object = map[string]any

// comparison is one comparison, and what its calls add for those that follow: the identities of what they created.
type comparison struct {
	live                                  liveAPI
	routes, authorizers, stages, mappings children

	integrations  map[string]Route  // by identity
	targets       map[string]string // of routes, by their key: identities of integrations
	authorizerIDs map[string]string
}

// children are the objects of one sort that belong to an API, by their key: as declared, and as they exist. What is
// declared as nil is left out for now, and stays as it is.
type children struct {
	at         tree.Path
	elsewhere  map[string]tree.Path // of those that are declared under another prop
	want, have object
	// noneIsDeclared: one exists where none is declared, and an empty map declares none. Where there is none, that is one
	// difference.
	noneIsDeclared bool
	// hidden is the part whose values are masked where they are not declared.
	hidden                 string
	create, update, remove *apiCall
}

// compared is what is declared beside what exists.
func compared(want HTTPAPIProps, live liveAPI) *comparison {
	c := &comparison{
		live: live, integrations: maps.Clone(live.integrations), targets: maps.Clone(live.targets),
		authorizerIDs: maps.Clone(live.authorizerIDs),
		routes: children{
			at: "routes", elsewhere: map[string]tree.Path{}, want: object{}, have: live.routes, hidden: "parameters",
		},
		authorizers: children{at: "authorizers", want: object{}, have: live.authorizers},
		stages:      children{at: "stages", noneIsDeclared: true, want: object{}, have: live.stages, hidden: "variables"},
		mappings:    children{at: "mappings", want: object{}, have: object{}},
	}
	for key, r := range want.Routes {
		c.routes.want[key] = unless(r.isLater(), routeTable.Tree(r))
	}
	for key, r := range want.Bindings {
		c.routes.want[key], c.routes.elsewhere[key] = unless(r.isLater(), routeTable.Tree(r)), tree.Path("bindings").Key(key)
	}
	for name, a := range want.Authorizers {
		c.authorizers.want[name] = unless(a.Issuer == "" && a.Lambda == "", authorizerTable.Tree(a))
	}
	for name, s := range want.Stages {
		c.stages.want[name] = stageTable.Tree(s)
		if s.AccessLog != nil && s.AccessLog.Destination == "" { // it is left out for now
			log, _ := tree.Get(live.stages[name], "accessLog")
			c.stages.want[name] = tree.With(c.stages.want[name], "accessLog", log)
		}
	}
	for at, m := range want.Mappings {
		c.mappings.want[at] = mappingTable.Tree(m)
	}
	for at, m := range live.mappings {
		c.mappings.have[at] = m.shown(live.id)
	}
	c.operations()
	return c
}

func unless(later bool, v object) any {
	if later {
		return nil
	}
	return v
}

// childCall is a call for one child.
type childCall func(ctx context.Context, client *sdk.Client, key string, u apiUpdate) error

// each is a call for every child that is to change, in order.
func (c *comparison) each(name string, of *children, do childCall) *apiCall {
	return kind.Set(name, func(ctx context.Context, u apiUpdate) error {
		for _, key := range slices.Sorted(maps.Keys(union(of.want, of.have))) {
			if touches(u.Changed, of.path(key)) {
				if err := do(ctx, clientOf(u.Cloud), key, u); err != nil {
					return aws.NotYet(err)
				}
			}
		}
		return nil
	})
}

// path is where a child is declared.
func (c *children) path(key string) tree.Path {
	if p, ok := c.elsewhere[key]; ok {
		return p
	}
	return c.at.Key(key)
}

// declared states what is declared: what is missing as a whole, then the rest leaf by leaf.
func (c *children) declared(d *apiDiff) {
	if len(c.have) == 0 && c.noneIsDeclared {
		reconcile.Value(d, c.at, any(c.want), any(c.have), c.create)
		return
	}
	keys := slices.Sorted(maps.Keys(c.want))
	for _, key := range keys {
		if c.want[key] != nil && c.have[key] == nil {
			reconcile.Value(d, c.path(key), c.want[key], nil, c.create)
		}
	}
	for _, key := range keys {
		if c.want[key] != nil && c.have[key] != nil {
			leaves(d, c.path(key), c.want[key], c.have[key], c.update)
		}
	}
}

// undeclared states what exists and is not declared.
func (c *children) undeclared(d *apiDiff) {
	for _, key := range slices.Sorted(maps.Keys(c.have)) {
		have, _ := c.have[key].(object)
		if _, declared := c.want[key]; declared || have == nil {
			continue
		}
		hidden, shown := have[c.hidden], maps.Clone(have)
		delete(shown, c.hidden)
		reconcile.Value(d, c.path(key), nil, any(shown), c.remove)
		if hidden != nil {
			reconcile.Value(d, c.path(key).Key(c.hidden), nil, hidden, c.remove)
		}
	}
}

// leaves states a tree leaf by leaf. Lists are leaves, and what is on one side alone is one as a whole.
func leaves[L any](d *kind.Diff[L], path tree.Path, want, have any, call *kind.Operation[L]) {
	w, wanted := want.(object)
	h, exists := have.(object)
	if !wanted || !exists {
		reconcile.Value(d, path, want, have, call)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(union(w, h))) {
		leaves(d, path.Key(key), w[key], h[key], call)
	}
}

func union(a, b object) object {
	all := object{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// written is a child as a call is to write it: as it exists, with the values of the paths that the call changes. What
// is ignored, or left out for now, stays.
func written[T any](c *children, key string, changed []tree.Path) (T, error) {
	path := c.path(key)
	full, wanted := tree.With(object{}, path, tree.Clone(c.have[key])), tree.With(object{}, path, c.want[key])
	for _, p := range changed {
		if path.Within(p) {
			full = wanted
			break
		}
		if !p.Within(path) {
			continue
		}
		if v, ok := tree.Get(wanted, p); ok && v != nil {
			full = tree.With(full, p, v)
		} else {
			full = tree.Without(full, p)
		}
	}
	at, _ := tree.Get(full, path)
	return decoded[T](at)
}

// decoded is the struct of a tree.
func decoded[T any](from any) (out T, err error) {
	m, _ := from.(object)
	err = props.Load(m, &out)
	return out, err
}

// touches reports whether a call is to change anything at a path.
func touches(changed []tree.Path, path tree.Path) bool {
	return slices.ContainsFunc(changed, path.Overlaps)
}
