package zones

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

func zonePath(id string) string { return "/zones/" + url.PathEscape(id) }

var (
	errNoDomain  = errors.New("a zone is found by its id or its name, and there is neither")
	errElsewhere = errors.New("the domain is a zone of another account, or of one that the token does not reach")
)

// observed is a zone as an answer shows it. One of another account is absent.
func observed(answer json.RawMessage, account string) (live liveZone, err error) {
	var shown struct {
		ID              ID
		Name, Status    string
		Account         struct{ ID string }
		NameServers     []string `json:"name_servers"`
		VerificationKey string   `json:"verification_key"`
		CNAMESuffix     string   `json:"cname_suffix"`
	}
	if err := json.Unmarshal(answer, &shown); err != nil {
		return live, err
	}
	if shown.Account.ID != account {
		return live, fmt.Errorf("%w: zone %s is in account %s", reconcile.ErrAbsent, shown.ID, shown.Account.ID)
	}
	live.attrs = Zone{
		ID: shown.ID, Name: shown.Name, NameServers: shown.NameServers, Status: shown.Status,
		VerificationKey: shown.VerificationKey, CNAMESuffix: shown.CNAMESuffix,
	}
	live.have, err = zoneTable.Read(cloudflare.Document(string(answer)))
	return live, err
}

// observeZone reads a zone by its id, or finds it by its name.
func observeZone(ctx context.Context, s zoneSite) (liveZone, error) {
	id, name := cloudflare.KeyOf(s, func(z Zone) string { return string(z.ID) }, cloudflare.IsID)
	if id == "" {
		return zoneNamed(ctx, s.Cloud, s.Location.Account, name)
	}
	var answer json.RawMessage
	if err := cloudflare.Send(ctx, s.Cloud, http.MethodGet, zonePath(id), nil, &answer); err != nil {
		return liveZone{}, unreached(cloudflare.Absent(err))
	}
	return observed(answer, s.Location.Account)
}

// noReach is Cloudflare's word for a zone that a token does not reach, and for some that are deleted.
const noReach = 9109

// unreached says what else a zone out of reach may be. It never counts as absent by that.
func unreached(err error) error {
	if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Has(noReach) {
		return reconcile.WithHint(err, "the zone may be deleted too, for which Cloudflare gives the same answer: `athanor state rm ADDRESS` removes it from state then")
	}
	return err
}

// zoneNamed is the zone of that name in an account. It is asked for anew: a handle remembers zones that are deleted.
func zoneNamed(ctx context.Context, cloud kind.Cloud, account, name string) (liveZone, error) {
	if name == "" {
		return liveZone{}, errNoDomain
	}
	var answers []json.RawMessage
	query := url.Values{"name": {name}, "account.id": {account}}
	if err := cloudflare.Send(ctx, cloud, http.MethodGet, "/zones?"+query.Encode(), nil, &answers); err != nil {
		return liveZone{}, err
	}
	for _, answer := range answers {
		live, err := observed(answer, account)
		if err == nil && live.attrs.Name == name {
			return live, nil
		}
		if err != nil && !errors.Is(err, reconcile.ErrAbsent) {
			return live, err
		}
	}
	return liveZone{}, fmt.Errorf("%w: account %s has no zone %s", reconcile.ErrAbsent, account, name)
}

// createZone makes a zone. A domain that is a zone elsewhere is refused: searching again would not show it.
func createZone(ctx context.Context, s zoneSite) (Zone, error) {
	var answer json.RawMessage
	err := cloudflare.Send(ctx, s.Cloud, http.MethodPost, "/zones", kind.Document{
		"account": kind.Document{"id": s.Location.Account}, "name": s.Want.Name, "type": *s.Want.Type,
	}, &answer)
	if err != nil && s.Cloud.Classify(err) == reconcile.Exists {
		if _, none := zoneNamed(ctx, s.Cloud, s.Location.Account, s.Want.Name); errors.Is(none, reconcile.ErrAbsent) {
			return Zone{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %w", errElsewhere, err), "take it away there, or deploy with a token of that account"))
		}
	}
	if err != nil {
		return Zone{}, err
	}
	made, err := observed(answer, s.Location.Account)
	return made.attrs, err
}

// listZones are all of the account. Their names are the domains', which are nobody's own choice, so that none has the
// beginning that the names of a stage have.
func listZones(ctx context.Context, in kind.ListScope) ([]kind.Found, error) {
	var all []kind.Found
	if in.Prefix != "" {
		return nil, nil
	}
	for zone, err := range cloudflare.Zones(ctx, in.Cloud) {
		if err != nil {
			return nil, err
		}
		all = append(all, kind.Found{Kind: zoneType, Place: in.Place, Identity: zone.ID, Name: zone.Name})
	}
	return all, nil
}
