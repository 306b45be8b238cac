package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveDomain is a domain as Cloudflare writes it.
type liveDomain struct {
	ID, Hostname string

	Script cloudflare.WorkerName `json:"service"`
	ZoneID string                `json:"zone_id"`
	Zone   string                `json:"zone_name"`
}

type (
	domainSite = reconcile.Site[DomainProps, Domain]
	domainDiff = reconcile.Diff[liveDomain]
)

var domainKind = &reconcile.Kind[DomainProps, liveDomain, Domain]{
	Type: domainType,
	Doc: "A domain of a Worker: a name of which the Worker alone answers, with the record and the certificate that it needs. A name " +
		"that leads to the Worker of somebody else, or that has records, is not taken over.",

	Observe: observeDomain,
	Create:  createDomain,
	Compare: compareDomain,
	Attrs: func(live liveDomain) Domain {
		return Domain{ID: live.ID, Hostname: live.Hostname, ZoneID: live.ZoneID, URL: "https://" + live.Hostname}
	},
	Delete:   deleteDomain,
	Identity: func(d Domain) string { return d.ID },

	Check:       checkDomain,
	AtBirth:     []string{"id", "hostname", "zoneId", "url"},
	ByParent:    true,
	DeleteFirst: true,
	List:        listDomains,

	Source: source,
	Calls:  []string{"Workers.ListDomains", "Workers.GetDomain", "Workers.PutDomain", "Workers.DeleteDomain", "Zones.ListZones", "Zones.GetZone"},
	Permissions: reconcile.Permissions{
		Observe: []string{"Workers Scripts Read"},
		List:    []string{"Workers Scripts Read"},
		Create:  []string{"Workers Scripts Write", "Zone Read", "DNS Write"},
		Delete:  []string{"Workers Scripts Write", "DNS Write"},
	},
}

func checkDomain(want DomainProps) error {
	var problems props.Errors
	if h := want.Hostname; !token.Has(h) && (!strings.Contains(h, ".") || strings.ContainsAny(h, "/*: ") || h != strings.ToLower(h)) {
		problems.Wrong("hostname", "want a whole name in lower case, such as www.shop.example")
	}
	return problems.OrNil()
}

// compareDomain states every aspect, none of which there is a call for.
func compareDomain(d *domainDiff, want DomainProps, live liveDomain) {
	reconcile.Fixed(d, "hostname", want.Hostname, live.Hostname)
	switch want.Zone {
	case "":
	case live.ZoneID:
		reconcile.Fixed(d, "zone", want.Zone, live.ZoneID)
	default:
		reconcile.Fixed(d, "zone", strings.ToLower(want.Zone), live.Zone)
	}
	reconcile.Fixed(d, "script", want.Script, live.Script)
}

func domainPath(account, id string) string {
	path := "/accounts/" + account + "/workers/domains"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

var (
	errNoHostname  = errors.New("a domain is found by its id or its hostname, and there is neither")
	errOtherDomain = errors.New("the name leads to another Worker")
)

// observeDomain reads a domain by its id, or finds it by its name and its Worker.
func observeDomain(ctx context.Context, site domainSite) (liveDomain, error) {
	id, hostname := site.ID, site.Want.Hostname
	switch {
	case site.Last != nil:
		id = site.Last.ID
	case strings.Contains(id, "."):
		id, hostname = "", id
	}
	if id != "" {
		var live liveDomain
		err := call(ctx, site.Cloud, http.MethodGet, domainPath(site.Place.Account, id), nil, &live)
		return live, cloudflare.Absent(err)
	}
	if hostname == "" {
		return liveDomain{}, errNoHostname
	}
	live, err := domainOf(ctx, site.Cloud, site.Place.Account, hostname)
	if err == nil && site.ID == "" && live.Script != site.Want.Script {
		err = fmt.Errorf("%w: %s does not lead to Worker %s", reconcile.ErrAbsent, hostname, site.Want.Script)
	}
	return live, err
}

func domainOf(ctx context.Context, cloud reconcile.Cloud, account, hostname string) (liveDomain, error) {
	all, err := domains(ctx, cloud, account, url.Values{"hostname": {hostname}})
	if err != nil {
		return liveDomain{}, err
	}
	if i := slices.IndexFunc(all, func(d liveDomain) bool { return d.Hostname == hostname }); i >= 0 {
		return all[i], nil
	}
	return liveDomain{}, fmt.Errorf("%w: no Worker answers at %s", reconcile.ErrAbsent, hostname)
}

// domains are all of the account that a query asks for, which are told on one page.
func domains(ctx context.Context, cloud reconcile.Cloud, account string, query url.Values) ([]liveDomain, error) {
	path := domainPath(account, "")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var all []liveDomain
	err := call(ctx, cloud, http.MethodGet, path, nil, &all)
	return all, err
}

// createDomain makes a domain. A name that leads to another Worker keeps doing so: looking again would not show ours.
func createDomain(ctx context.Context, site domainSite) (Domain, error) {
	body := map[string]any{"hostname": site.Want.Hostname, "service": site.Want.Script, "environment": "production"}
	if site.Want.Zone != "" {
		z, err := cloudflare.ZoneOf(ctx, site.Cloud, site.Want.Zone)
		if err != nil {
			return Domain{}, err
		}
		body["zone_id"] = z.ID
	}
	var made liveDomain
	err := call(ctx, site.Cloud, http.MethodPut, domainPath(site.Place.Account, ""), body, &made)
	if err != nil && site.Cloud.Classify(err) == reconcile.Exists {
		if other, look := domainOf(ctx, site.Cloud, site.Place.Account, site.Want.Hostname); look == nil && other.Script != site.Want.Script {
			return Domain{}, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errOtherDomain, other.Script, err),
				"take the name from it first, or `athanor adopt ADDRESS %s`", other.ID))
		}
	}
	return Domain{ID: made.ID, Hostname: made.Hostname, ZoneID: made.ZoneID, URL: "https://" + made.Hostname}, err
}

func deleteDomain(ctx context.Context, site domainSite) error {
	return call(ctx, site.Cloud, http.MethodDelete, domainPath(site.Place.Account, site.Last.ID), nil, nil)
}

// listDomains are all of the account. None has a name of a stage's making.
func listDomains(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	if in.Prefix != "" {
		return nil, nil
	}
	found, err := domains(ctx, in.Cloud, in.Place.Account, nil)
	var all []reconcile.Found
	for _, d := range found {
		all = append(all, reconcile.Found{Kind: domainType, Place: in.Place, Identity: d.ID, Name: d.Hostname})
	}
	return all, err
}
