package zones

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

func zonePath(id string) string { return "/zones/" + url.PathEscape(id) }

func call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{Method: method, Path: path, Body: body}, into)
}

var (
	errNoDomain  = errors.New("a zone is found by its id or its name, and there is neither")
	errElsewhere = errors.New("the domain is a zone of another account, or of one that the token does not reach")
)

// observeZone reads a zone by its id, or finds it by its name.
func observeZone(ctx context.Context, site zoneSite) (liveZone, error) {
	id, name := site.ID, site.Name
	switch {
	case site.Last != nil:
		id = string(site.Last.ID)
	case id != "" && !cloudflare.IsID(id):
		id, name = "", id
	}
	if id == "" {
		return zoneNamed(ctx, site.Cloud, site.Place.Account, name)
	}
	var live liveZone
	if err := call(ctx, site.Cloud, http.MethodGet, zonePath(id), nil, &live); err != nil {
		return live, unreached(cloudflare.Absent(err))
	}
	if live.Account.ID != site.Place.Account {
		return live, fmt.Errorf("%w: zone %s is in account %s", reconcile.ErrAbsent, id, live.Account.ID)
	}
	return live, nil
}

// noReach is Cloudflare's word for a zone that a token does not reach, and for some that are gone.
const noReach = 9109

// unreached says what else a zone out of reach may be. It never counts as absent by that.
func unreached(err error) error {
	if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Has(noReach) {
		return reconcile.WithHint(err, "the zone may be deleted too, which Cloudflare tells in the same way: `athanor state rm ADDRESS` forgets it then")
	}
	return err
}

// zoneNamed is the zone of that name in an account. It is asked for afresh: a handle remembers zones that are gone.
func zoneNamed(ctx context.Context, cloud reconcile.Cloud, account, name string) (liveZone, error) {
	if name == "" {
		return liveZone{}, errNoDomain
	}
	var found []liveZone
	query := url.Values{"name": {name}, "account.id": {account}}
	if err := call(ctx, cloud, http.MethodGet, "/zones?"+query.Encode(), nil, &found); err != nil {
		return liveZone{}, err
	}
	for _, z := range found {
		if z.Account.ID == account && z.Name == name {
			return z, nil
		}
	}
	return liveZone{}, fmt.Errorf("%w: account %s has no zone %s", reconcile.ErrAbsent, account, name)
}

// createZone makes a zone. A domain that is a zone elsewhere is refused: looking again would not show it.
func createZone(ctx context.Context, site zoneSite) (Zone, error) {
	var made liveZone
	err := call(ctx, site.Cloud, http.MethodPost, "/zones", map[string]any{
		"account": map[string]any{"id": site.Place.Account}, "name": site.Want.Name, "type": *site.Want.Type,
	}, &made)
	if err != nil && site.Cloud.Classify(err) == reconcile.Exists {
		if _, look := zoneNamed(ctx, site.Cloud, site.Place.Account, site.Want.Name); errors.Is(look, reconcile.ErrAbsent) {
			return Zone{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %w", errElsewhere, err), "take it away there, or deploy with a token of that account"))
		}
	}
	return made.attrs(), err
}

func patchZone(body map[string]any) *reconcile.Operation[liveZone] {
	return &reconcile.Operation[liveZone]{Name: "PatchZone", Do: func(ctx context.Context, on reconcile.On[liveZone]) error {
		return cloudflare.NotYet(call(ctx, on.Cloud, http.MethodPatch, zonePath(on.Live.ID), body, nil))
	}}
}

func deleteZone(ctx context.Context, site zoneSite) error {
	if !site.MayDelete {
		return fmt.Errorf("%w: the records, rules and certificates of %s", reconcile.ErrHoldsData, site.Last.Name)
	}
	return call(ctx, site.Cloud, http.MethodDelete, zonePath(string(site.Last.ID)), nil, nil)
}

// listZones are all of the account. Their names are the domains', which are nobody's own choice, so that none has the
// beginning that the names of a stage have.
func listZones(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	if in.Prefix != "" {
		return nil, nil
	}
	for zone, err := range cloudflare.Zones(ctx, in.Cloud) {
		if err != nil {
			return nil, err
		}
		all = append(all, reconcile.Found{Kind: zoneType, Place: in.Place, Identity: zone.ID, Name: zone.Name})
	}
	return all, nil
}
