package zones

import (
	"context"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveZone is an observed zone.
type liveZone struct {
	attrs Zone
	have  ZoneProps
}

type zoneSite = kind.Site[ZoneProps, Zone]

var zoneTable = kind.TableOf[ZoneProps]()

var zoneKind = &kind.Kind[ZoneProps, liveZone, Zone]{
	Type: zoneType,
	Doc: "A zone of Cloudflare: a domain and all below it. It is made without records, and is active once the domain is sent " +
		"to it; nothing waits for that. Its plan, its records and its settings are not managed here. A zone that " +
		"is no longer declared is retained. It is deleted with permission alone, with all records, rules and certificates in it.",

	Observe:    observeZone,
	Create:     createZone,
	Compare:    compareZone,
	Attributes: func(live liveZone) Zone { return live.attrs },
	Delete: func(ctx context.Context, s zoneSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, zonePath(string(s.Last.ID)), nil, nil)
	},
	Identity: func(z Zone) string { return string(z.ID) },

	Props: zoneTable,
	Check: checkZone,
	Named: &kind.Named[ZoneProps, liveZone]{
		Given: func(want ZoneProps) string { return want.Name },
		Live:  func(live liveZone) string { return live.attrs.Name },
	},
	HoldsData: &kind.HoldsData[ZoneProps, liveZone]{Now: func(liveZone) bool { return true }, Retain: true},
	// Cloudflare answers about a deleted zone as about one that the token does not reach.
	Deletion: kind.AtOnce[liveZone]{},
	List:     listZones,

	API: kind.API{
		Source:      source,
		Calls:       []string{"Zones.ListZones", "Zones.GetZone", "Zones.CreateZone", "Zones.PatchZone", "Zones.DeleteZone"},
		Permissions: cloudflare.ReadWrite("Zone"),
	},
}

var domainForm = props.Pattern(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$`)

func checkZone(want ZoneProps) error {
	var problems props.Errors
	if !token.Has(want.Name) && (len(want.Name) > 253 || !domainForm().MatchString(want.Name)) {
		problems.Wrong("name", "want a domain in lower case, such as example.com; other letters as xn--…")
	}
	for i, server := range want.VanityNameServers {
		if !token.Has(server) && !token.Has(want.Name) && !strings.HasSuffix(server, "."+want.Name) {
			problems.Wrong(tree.Path("vanityNameServers").Index(i), "want a name below "+want.Name)
		}
	}
	return problems.OrNil()
}

// compareZone states every aspect. Cloudflare takes one change of a zone at a time.
func compareZone(d *kind.Diff[liveZone], want ZoneProps, live liveZone) {
	kind.Compare(d, zoneTable, want, live.have, kind.Set("PatchZone", func(ctx context.Context, u kind.Update[liveZone]) error {
		for _, path := range u.Changed {
			doc := kind.Document{}
			if err := zoneTable.Changed(want, live.have, []tree.Path{path}, doc); err != nil {
				return err
			}
			if none, ok := doc["vanity_name_servers"]; ok && none == nil {
				doc["vanity_name_servers"] = []any{}
			}
			if err := cloudflare.Send(ctx, u.Cloud, http.MethodPatch, zonePath(string(live.attrs.ID)), doc, nil); err != nil {
				return cloudflare.NotYet(err)
			}
		}
		return nil
	}))
}
