package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	sdk "github.com/cloudflare/cloudflare-go/v6/kv"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

var errNoTitle = errors.New("a namespace is found by its id or its title, and there is neither")

// observeNamespace reads a namespace by its id, or finds it by its title, which only a listing shows.
func observeNamespace(ctx context.Context, site namespaceSite) (liveNamespace, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveNamespace{}, err
	}
	live, err := findNamespace(ctx, client, site)
	if err != nil {
		return liveNamespace{}, err
	}
	live.keys, err = hasKeys(ctx, client, site.Place.Account, live.id)
	return live, cloudflare.Absent(err)
}

func findNamespace(ctx context.Context, client *sdk.NamespaceService, site namespaceSite) (liveNamespace, error) {
	id, title := site.ID, site.Name
	switch {
	case site.Last != nil:
		id = string(site.Last.ID)
	case id != "" && !cloudflare.IsID(id):
		id, title = "", id
	}
	if id != "" {
		var p sdk.NamespaceGetParams
		p.AccountID.Value = site.Place.Account
		n, err := client.Get(ctx, id, p)
		if err != nil {
			return liveNamespace{}, cloudflare.Absent(err)
		}
		return liveNamespace{id: n.ID, title: n.Title}, nil
	}
	if title == "" {
		return liveNamespace{}, errNoTitle
	}
	for n, err := range namespaces(ctx, client, site.Place.Account) {
		if err != nil {
			return liveNamespace{}, err
		}
		if n.Title == title {
			return liveNamespace{id: n.ID, title: n.Title}, nil
		}
	}
	return liveNamespace{}, fmt.Errorf("%w: no namespace is called %s", reconcile.ErrAbsent, title)
}

// namespaces are all of the account. They come in the order of their titles, so that one which is made meanwhile moves
// none of the others to a page that was read already.
func namespaces(ctx context.Context, client *sdk.NamespaceService, account string) iter.Seq2[sdk.Namespace, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.Namespace], error) {
		var p sdk.NamespaceListParams
		p.AccountID.Value = account
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = 100, true
		p.Order.Value, p.Order.Present = sdk.NamespaceListParamsOrderTitle, true
		return client.List(ctx, p)
	})
}

// hasKeys is as near as KV can tell: a listing follows writes by up to a minute.
func hasKeys(ctx context.Context, client *sdk.NamespaceService, account, id string) (bool, error) {
	var p sdk.NamespaceKeyListParams
	p.AccountID.Value = account
	p.Limit.Value, p.Limit.Present = 10, true // the least that it takes
	keys, err := client.Keys.List(ctx, id, p)
	if err != nil {
		return false, err
	}
	return len(keys.Result) > 0, nil
}

// createNamespace makes one. KV refuses a title that there is already; the look that follows tells whose it is.
func createNamespace(ctx context.Context, site namespaceSite) (Namespace, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Namespace{}, err
	}
	var p sdk.NamespaceNewParams
	p.AccountID.Value = site.Place.Account
	p.Title.Value, p.Title.Present = site.Name, true
	n, err := client.New(ctx, p)
	if err != nil {
		return Namespace{}, err
	}
	return Namespace{ID: ID(n.ID), Title: n.Title}, nil
}

func deleteNamespace(ctx context.Context, site namespaceSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := string(site.Last.ID)
	if !site.MayDelete {
		keys, err := hasKeys(ctx, client, site.Place.Account, id)
		if err != nil {
			return err
		}
		if keys {
			return fmt.Errorf("%w: keys", reconcile.ErrHoldsData)
		}
	}
	var p sdk.NamespaceDeleteParams
	p.AccountID.Value = site.Place.Account
	_, err = client.Delete(ctx, id, p)
	return err
}

func listNamespaces(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for n, err := range namespaces(ctx, client, scope.Place.Account) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(n.Title, scope.Prefix) {
			all = append(all, reconcile.Found{Kind: namespaceType, Place: scope.Place, Identity: n.ID, Name: n.Title})
		}
	}
	return all, nil
}
