package routes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// DomainProps declare a domain of a Worker. See
// https://developers.cloudflare.com/workers/configuration/routing/custom-domains/
type DomainProps struct {
	// Hostname that leads to the Worker, in a zone of the account, such as "shop.example". Cloudflare makes its record and
	// its certificate.
	Hostname string `prop:"required,immutable" wire:"hostname"`
	// Zone that the name is in: its name or its id. Default: none, Cloudflare finds it.
	Zone string `prop:"immutable" wire:"-"`
	// Script is the name of the Worker that answers. Changing it replaces the domain: in between nobody answers.
	Script cloudflare.WorkerName `prop:"required,immutable" wire:"service"`
}

// Domain is what others may refer to of a domain.
type Domain struct {
	// ID of the domain.
	ID string `attr:"early"`
	// Hostname that leads to the Worker.
	Hostname string `attr:"early"`
	// ZoneID is the id of the zone that it is in.
	ZoneID string `attr:"early"`
	// URL is https and the name.
	URL string `attr:"early"`
}

// liveDomain is an observed domain.
type liveDomain struct {
	zone cloudflare.Zone
	id   string
	have DomainProps
}

func (l liveDomain) attributes() Domain {
	return Domain{ID: l.id, Hostname: l.have.Hostname, ZoneID: l.zone.ID, URL: "https://" + l.have.Hostname}
}

type domainSite = kind.Site[DomainProps, Domain]

var domainTable = kind.TableOf[DomainProps]()

var domainKind = &kind.Kind[DomainProps, liveDomain, Domain]{
	Type: domainType,
	Doc: "A domain of a Worker: a name of which the Worker alone answers, with the record and the certificate that it needs. A name " +
		"that leads to the Worker of somebody else, or that has records, is not taken over.",

	Observe:    observeDomain,
	Create:     createDomain,
	Compare:    compareDomain,
	Attributes: liveDomain.attributes,
	Delete: func(ctx context.Context, s domainSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, domainPath(s.Facts.Location.Account, s.Last.ID), nil, nil)
	},
	Identity: func(d Domain) string { return d.ID },

	Props:       domainTable,
	Check:       checkDomain,
	Owner:       kind.OwnedByParent[DomainProps, liveDomain]{},
	DeleteFirst: true,
	List:        listDomains,
	Unique:      func(want DomainProps) []string { return []string{cloudflare.UniqueDomain(want.Hostname)} },
	PartOf:      []kind.Part{{Prop: "script", Kind: cloudflare.WorkerType, States: "domains", Always: true}},

	API: kind.API{
		Source: source,
		Calls:  []string{"Workers.ListDomains", "Workers.GetDomain", "Workers.PutDomain", "Workers.DeleteDomain", "Zones.ListZones", "Zones.GetZone"},
		Permissions: kind.Permissions{
			Observe: []string{"Workers Scripts Read"},
			List:    []string{"Workers Scripts Read"},
			Create:  []string{"Workers Scripts Write", "Zone Read", "DNS Write"},
			Delete:  []string{"Workers Scripts Write", "DNS Write"},
		},
	},
}

func checkDomain(want DomainProps) error {
	var problems props.Errors
	if h := want.Hostname; !token.Has(h) && (!strings.Contains(h, ".") || strings.ContainsAny(h, "/*: ") || h != strings.ToLower(h)) {
		problems.Wrong("hostname", "want a whole name in lower case, such as www.shop.example")
	}
	return problems.OrNil()
}

// compareDomain states every aspect, none of which can be changed. A zone that is not declared is not compared.
func compareDomain(d *kind.Diff[liveDomain], want DomainProps, live liveDomain) {
	if want.Zone != "" {
		live.have.Zone = live.zone.As(want.Zone)
	}
	kind.Compare(d, domainTable, want, live.have)
}

func domainPath(account, id string) string { return below("/accounts/"+account+"/workers/domains", id) }

var errNoHostname = errors.New("a domain is found by its id or its hostname, and there is neither")

func observedDomain(shown kind.Document) (live liveDomain, err error) {
	live.id, _ = shown["id"].(string)
	live.zone.ID, _ = shown["zone_id"].(string)
	live.zone.Name, _ = shown["zone_name"].(string)
	live.have, err = domainTable.Read(shown)
	return live, err
}

// observeDomain reads a domain by its id, or finds it by its name and its Worker.
func observeDomain(ctx context.Context, s domainSite) (live liveDomain, err error) {
	id, hostname := s.ID, s.Want.Hostname
	switch {
	case s.Last != nil:
		id = s.Last.ID
	case strings.Contains(id, "."):
		id, hostname = "", id
	}
	if id == "" {
		if hostname == "" {
			return live, errNoHostname
		}
		live, err = domainOf(ctx, s.Facts, hostname)
		if err == nil && s.ID == "" && live.have.Script != s.Want.Script {
			err = fmt.Errorf("%w: %s does not lead to Worker %s", reconcile.ErrAbsent, hostname, s.Want.Script)
		}
		return live, err
	}
	var shown kind.Document
	if err := cloudflare.Send(ctx, s.Cloud, http.MethodGet, domainPath(s.Location.Account, id), nil, &shown); err != nil {
		return live, cloudflare.Absent(err)
	}
	return observedDomain(shown)
}

// domains are all of an account that a query asks for, which are on one page.
func domains(ctx context.Context, cloud kind.Cloud, location kind.Location, query string) iter.Seq2[liveDomain, error] {
	return cloudflare.CallList(ctx, cloud, domainPath(location.Account, "")+query, observedDomain)
}

func domainOf(ctx context.Context, s kind.Facts, hostname string) (liveDomain, error) {
	all := domains(ctx, s.Cloud, s.Location, "?"+url.Values{"hostname": {hostname}}.Encode())
	return cloudflare.Called(all, func(d liveDomain) string { return d.have.Hostname }, "domain of a Worker", hostname)
}

// createDomain makes a domain. A name that leads to another Worker keeps doing so.
func createDomain(ctx context.Context, s domainSite) (Domain, error) {
	doc := kind.Document{"environment": "production"}
	if err := domainTable.Created(s.Want, doc); err != nil {
		return Domain{}, err
	}
	if s.Want.Zone != "" {
		z, err := cloudflare.ZoneOf(ctx, s.Cloud, s.Want.Zone)
		if err != nil {
			return Domain{}, err
		}
		doc["zone_id"] = z.ID
	}
	var shown kind.Document
	err := cloudflare.Send(ctx, s.Cloud, http.MethodPut, domainPath(s.Location.Account, ""), doc, &shown)
	if err != nil {
		return Domain{}, elsewhere(s.Facts, s.Want.Script, err, func() (string, cloudflare.WorkerName, error) {
			other, err := domainOf(ctx, s.Facts, s.Want.Hostname)
			return other.id, other.have.Script, err
		})
	}
	made, err := observedDomain(shown)
	return made.attributes(), err
}

// listDomains are all of the account. None has a name of a stage's making.
func listDomains(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	if scope.Prefix != "" {
		return nil, nil
	}
	return cloudflare.FoundIn(scope, domains(ctx, scope.Cloud, scope.Place, ""), func(d liveDomain) kind.Found {
		return kind.Found{Kind: domainType, Identity: d.id, Name: d.have.Hostname}
	})
}
