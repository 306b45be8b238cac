package zones

import (
	"cmp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveZone is a zone as Cloudflare writes it.
type liveZone struct {
	ID, Name, Type, Status string

	Paused  bool
	Account struct{ ID string }

	NameServers       []string `json:"name_servers"`
	VanityNameServers []string `json:"vanity_name_servers"`
	VerificationKey   string   `json:"verification_key"`
	CNAMESuffix       string   `json:"cname_suffix"`
}

func (z liveZone) attrs() Zone {
	return Zone{
		ID: ID(z.ID), Name: z.Name, NameServers: z.NameServers, Status: z.Status,
		VerificationKey: z.VerificationKey, CNAMESuffix: z.CNAMESuffix,
	}
}

type (
	zoneSite = reconcile.Site[ZoneProps, Zone]
	zoneDiff = reconcile.Diff[liveZone]
)

const full = "full"

var zoneKind = &reconcile.Kind[ZoneProps, liveZone, Zone]{
	Type: zoneType,
	Doc: "A zone of Cloudflare: a domain and all below it. It is made without records, and is active once the domain is sent " +
		"to it; nothing waits for that. Its plan, its records and its settings are not managed here. A zone that " +
		"is no longer declared is let go. It is deleted with leave alone, with all records, rules and certificates in it.",

	Observe:  observeZone,
	Create:   createZone,
	Compare:  compareZone,
	Attrs:    liveZone.attrs,
	Delete:   deleteZone,
	Identity: func(z Zone) string { return string(z.ID) },

	Given: func(want ZoneProps) string { return want.Name },
	Defaults: func(want ZoneProps) ZoneProps {
		want.Type = cmp.Or(want.Type, new(full))
		return want
	},
	Check: checkZone,
	// Another type has other servers, and being sent to Cloudflare is not for us to say.
	Moves:    []string{"nameServers", "status", "verificationKey", "cnameSuffix"},
	MovedBy:  map[string][]tree.Path{"nameServers": {"type"}, "verificationKey": {"type"}, "cnameSuffix": {"type"}},
	AtBirth:  []string{"id", "name", "nameServers"},
	Holds:    func(liveZone) bool { return true },
	Retained: true,
	List:     listZones,

	Source: source,
	Calls:  []string{"Zones.ListZones", "Zones.GetZone", "Zones.CreateZone", "Zones.PatchZone", "Zones.DeleteZone"},
	Permissions: reconcile.Permissions{
		Observe: []string{"Zone Read"},
		List:    []string{"Zone Read"},
		Create:  []string{"Zone Write"},
		Update:  []string{"Zone Write"},
		Delete:  []string{"Zone Write"},
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
func compareZone(d *zoneDiff, want ZoneProps, live liveZone) {
	reconcile.Fixed(d, "name", want.Name, live.Name)
	set := func(field string, value any) *reconcile.Operation[liveZone] {
		return patchZone(map[string]any{field: value})
	}
	reconcile.Value(d, "type", *want.Type, live.Type, set("type", *want.Type))
	reconcile.Value(d, "paused", want.Paused, live.Paused, set("paused", want.Paused))
	servers := slices.Sorted(slices.Values(want.VanityNameServers))
	reconcile.List(d, "vanityNameServers", servers, slices.Sorted(slices.Values(live.VanityNameServers)), set("vanity_name_servers", orNone(servers)))
}

func orNone(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
