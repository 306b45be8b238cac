package kv

import (
	"context"
	"iter"

	sdk "github.com/cloudflare/cloudflare-go/v6/kv"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ID is the identity of a namespace, by which Workers are bound to it.
type ID string

// NamespaceProps declare a namespace. Limits are those of
// https://developers.cloudflare.com/kv/platform/limits/
type NamespaceProps struct {
	// Title of the namespace, by which people know it: up to 512 bytes, no other of the account has it. Default: none,
	// a title is generated. A change renames the namespace in place.
	Title string
}

// Namespace is what others may refer to of a namespace.
type Namespace struct {
	// ID of the namespace.
	ID ID `attr:"early"`
	// Title of the namespace.
	Title string `attr:"early,mutable"`
}

// liveNamespace is an observed namespace.
type liveNamespace struct {
	attrs Namespace
	keys  bool // there are some
}

type namespaceSite = kind.Site[NamespaceProps, Namespace]

var namespaceKind = &kind.Kind[NamespaceProps, liveNamespace, Namespace]{
	Type: namespaceType,
	Doc: "A namespace of Cloudflare Workers KV. Its keys and values are not managed: a namespace with keys in it holds " +
		"data, and deleting it needs permission. So does one whose keys cannot be listed today, in the free plan. KV has no tags, " +
		"so that the title proves ownership.",

	Observe:    observeNamespace,
	Create:     createNamespace,
	Compare:    compareNamespace,
	Attributes: func(live liveNamespace) Namespace { return live.attrs },
	Delete:     deleteNamespace,
	Identity:   func(n Namespace) string { return string(n.ID) },

	Named: &kind.Named[NamespaceProps, liveNamespace]{
		Given: func(want NamespaceProps) string { return want.Title },
		Prop:  "title",
		Rule:  func(NamespaceProps) kind.NameRule { return kind.NameRule{Max: 512, Marks: "-", Any: true} },
	},
	HoldsData: &kind.HoldsData[NamespaceProps, liveNamespace]{Now: func(live liveNamespace) bool { return live.keys }},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		return cloudflare.FoundIn(scope, namespaces(ctx, scope.Cloud, scope.Place), func(n sdk.Namespace) kind.Found {
			return kind.Found{Kind: namespaceType, Identity: n.ID, Name: n.Title}
		})
	},
	API: kind.API{
		Source: source,
		Calls: []string{
			"KV.ListNamespaces", "KV.GetNamespace", "KV.CreateNamespace", "KV.UpdateNamespace", "KV.DeleteNamespace",
			"KV.ListNamespaceKeys",
		},
		Permissions: cloudflare.ReadWrite("Workers KV Storage"),
	},
}

// compareNamespace states the title, which is all that can be set.
func compareNamespace(d *kind.Diff[liveNamespace], _ NamespaceProps, live liveNamespace) {
	kind.CompareName(d, "title", live.attrs.Title, kind.Set("UpdateNamespace", func(ctx context.Context, u kind.Update[liveNamespace]) error {
		var p sdk.NamespaceUpdateParams
		p.AccountID.Value = u.Location.Account
		p.Title.Value, p.Title.Present = u.Name, true
		_, err := clientOf(u.Cloud).Update(ctx, string(u.Live.attrs.ID), p)
		return cloudflare.Taken(cloudflare.NotYet(err))
	}))
}

// observeNamespace reads a namespace by its id, or finds it by its title, which only a listing shows.
func observeNamespace(ctx context.Context, s namespaceSite) (live liveNamespace, err error) {
	n, err := findNamespace(ctx, s)
	if err != nil {
		return live, err
	}
	var p sdk.NamespaceKeyListParams
	p.AccountID.Value = s.Location.Account
	p.Limit.Value, p.Limit.Present = 10, true // the least that it takes
	keys, err := clientOf(s.Cloud).Keys.List(ctx, n.ID, p)
	if s.Cloud.Classify(err) == reconcile.Quota { // nobody can tell today: nothing is deleted that may have keys
		return liveNamespace{Namespace{ID: ID(n.ID), Title: n.Title}, true}, nil
	}
	if err != nil {
		return live, cloudflare.Absent(err)
	}
	// This is as near as KV can tell: a listing follows writes by up to a minute.
	return liveNamespace{Namespace{ID: ID(n.ID), Title: n.Title}, len(keys.Result) > 0}, nil
}

func findNamespace(ctx context.Context, s namespaceSite) (sdk.Namespace, error) {
	id, title := cloudflare.KeyOf(s, func(n Namespace) string { return string(n.ID) }, cloudflare.IsID)
	if id == "" {
		return cloudflare.Called(namespaces(ctx, s.Cloud, s.Location), func(n sdk.Namespace) string { return n.Title }, "namespace", title)
	}
	var p sdk.NamespaceGetParams
	p.AccountID.Value = s.Location.Account
	n, err := clientOf(s.Cloud).Get(ctx, id, p)
	if err != nil {
		return sdk.Namespace{}, cloudflare.Absent(err)
	}
	return *n, nil
}

// namespaces are all of the account. They come in the order of their titles, so that one which is made meanwhile moves
// none of the others to a page that was read already.
func namespaces(ctx context.Context, cloud kind.Cloud, location kind.Location) iter.Seq2[sdk.Namespace, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.Namespace], error) {
		var p sdk.NamespaceListParams
		p.AccountID.Value = location.Account
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = 100, true
		p.Order.Value, p.Order.Present = sdk.NamespaceListParamsOrderTitle, true
		return clientOf(cloud).List(ctx, p)
	})
}

// createNamespace makes one. KV refuses a title that exists already; the observation that follows shows whose it is.
func createNamespace(ctx context.Context, s namespaceSite) (Namespace, error) {
	var p sdk.NamespaceNewParams
	p.AccountID.Value = s.Location.Account
	p.Title.Value, p.Title.Present = s.Name, true
	n, err := clientOf(s.Cloud).New(ctx, p)
	if err != nil {
		return Namespace{}, err
	}
	return Namespace{ID: ID(n.ID), Title: n.Title}, nil
}

func deleteNamespace(ctx context.Context, s namespaceSite) error {
	var p sdk.NamespaceDeleteParams
	p.AccountID.Value = s.Location.Account
	_, err := clientOf(s.Cloud).Delete(ctx, string(s.Last.ID), p)
	return err
}
