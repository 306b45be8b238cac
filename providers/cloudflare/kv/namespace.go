package kv

import (
	"context"
	"strings"

	sdk "github.com/cloudflare/cloudflare-go/v6/kv"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveNamespace is a namespace as it was seen.
type liveNamespace struct {
	id, title string
	keys      bool // there are some
}

type (
	namespaceSite = reconcile.Site[NamespaceProps, Namespace]
	namespaceDiff = reconcile.Diff[liveNamespace]
)

var namespaceKind = &reconcile.Kind[NamespaceProps, liveNamespace, Namespace]{
	Type: namespaceType,
	Doc: "A namespace of Cloudflare Workers KV. Its keys and values are not managed: a namespace with keys in it holds " +
		"data, and deleting it needs leave. KV has no tags, so that its title tells whose it is.",

	Observe:  observeNamespace,
	Create:   createNamespace,
	Compare:  compareNamespace,
	Attrs:    func(live liveNamespace) Namespace { return Namespace{ID: ID(live.id), Title: live.title} },
	Delete:   deleteNamespace,
	Identity: func(n Namespace) string { return string(n.ID) },

	Naming: func(NamespaceProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: longestTitle}
	},
	Given:   func(want NamespaceProps) string { return want.Title },
	Check:   checkNamespace,
	Moves:   []string{"title"},
	AtBirth: []string{"id", "title"},
	Holds:   func(live liveNamespace) bool { return live.keys },
	List:    listNamespaces,

	Source: source,
	Calls: []string{
		"KV.ListNamespaces", "KV.GetNamespace", "KV.CreateNamespace", "KV.UpdateNamespace", "KV.DeleteNamespace",
		"KV.ListNamespaceKeys",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Workers KV Storage Read"},
		List:    []string{"Workers KV Storage Read"},
		Create:  []string{"Workers KV Storage Write"},
		Update:  []string{"Workers KV Storage Write"},
		Delete:  []string{"Workers KV Storage Write"},
	},
}

const longestTitle = 512

// checkNamespace finds what KV would refuse.
func checkNamespace(want NamespaceProps) error {
	if token.Has(want.Title) || len(want.Title) <= longestTitle && want.Title == strings.TrimSpace(want.Title) {
		return nil
	}
	return props.Errors{{Path: "title", Problem: "want up to 512 bytes without spaces around them"}}
}

// compareNamespace states the title, which is all that can be set. One that was generated is never compared.
func compareNamespace(d *namespaceDiff, _ NamespaceProps, live liveNamespace) {
	title, given := d.Name()
	if !given {
		return
	}
	reconcile.Value(d, "title", title, live.title, &reconcile.Operation[liveNamespace]{
		Name: "UpdateNamespace",
		Do: func(ctx context.Context, on reconcile.On[liveNamespace]) error {
			client, err := clientOf(on.Cloud)
			if err != nil {
				return err
			}
			var p sdk.NamespaceUpdateParams
			p.AccountID.Value = on.Place.Account
			p.Title.Value, p.Title.Present = on.Name, true
			_, err = client.Update(ctx, on.Live.id, p)
			return cloudflare.Taken(cloudflare.NotYet(err))
		},
	})
}
