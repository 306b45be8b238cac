package dns

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRecord is an observed record.
type liveRecord struct {
	zone     cloudflare.Zone
	id, name string
	have     RecordProps
	// ttl is as Cloudflare writes it. line is the part of the comment that has the owner tag.
	ttl   any
	line  string
	owner kind.OwnerTag
}

type recordSite = kind.Site[RecordProps, Record]

var recordTable = kind.TableOf[RecordProps](kind.Tree())

var recordKind = &kind.Kind[RecordProps, liveRecord, Record]{
	Type: recordType,
	Doc: "A record of Cloudflare DNS, of any type, in a zone of the account. Its owner tag stands in the comment. " +
		"A record that exists and is not ours is never overwritten, and addresses are never added to a name that " +
		"somebody else has addresses for. The others of a name are not managed.",

	Observe:    observeRecord,
	Create:     createRecord,
	Compare:    compareRecord,
	Attributes: func(live liveRecord) Record { return Record{ID: live.id, ZoneID: live.zone.ID, Name: live.name} },
	Delete: func(ctx context.Context, s recordSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, pathOf(s.Last.ZoneID, s.Last.ID), nil, nil)
	},
	Identity: func(r Record) string { return r.ZoneID + "/" + r.ID },

	Props: recordTable,
	Check: checkRecord,
	Owner: kind.Tagged[RecordProps, liveRecord]{Tag: func(live liveRecord) kind.OwnerTag { return live.owner }},
	List:  listRecords,
	// A CNAME record stands alone: whichever of two comes second is refused.
	DeleteFirst: true,

	API: kind.API{
		Source: source,
		Calls: []string{
			"DNS.ListRecords", "DNS.GetRecord", "DNS.CreateRecord", "DNS.PatchRecord", "DNS.DeleteRecord", "Zones.ListZones", "Zones.GetZone",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Zone Read", "DNS Read"},
			List:    []string{"Zone Read", "DNS Read"},
			Create:  []string{"DNS Write"},
			Update:  []string{"DNS Write"},
			Delete:  []string{"DNS Write"},
		},
	},
}

// texts are the types whose content is text; all others have data.
var texts = []string{"A", "AAAA", "CNAME", "MX", "NS", "OPENPGPKEY", "PTR", "TXT"}

// parts are what the data of each type is made of.
var parts = map[string][]string{
	"CAA":    {"flags", "tag", "value"},
	"CERT":   {"algorithm", "certificate", "key_tag", "type"},
	"DNSKEY": {"algorithm", "flags", "protocol", "public_key"},
	"DS":     {"algorithm", "digest", "digest_type", "key_tag"},
	"HTTPS":  {"priority", "target", "value"},
	"LOC": {
		"altitude", "lat_degrees", "lat_direction", "lat_minutes", "lat_seconds", "long_degrees", "long_direction",
		"long_minutes", "long_seconds", "precision_horz", "precision_vert", "size",
	},
	"NAPTR":  {"flags", "order", "preference", "regex", "replacement", "service"},
	"SMIMEA": {"certificate", "matching_type", "selector", "usage"},
	"SRV":    {"port", "priority", "target", "weight"},
	"SSHFP":  {"algorithm", "fingerprint", "type"},
	"SVCB":   {"priority", "target", "value"},
	"TLSA":   {"certificate", "matching_type", "selector", "usage"},
	"URI":    {"target", "weight"},
}

// checkRecord finds what Cloudflare would refuse, or would take without doing it.
func checkRecord(want RecordProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	checkContent(want, wrong)
	of := func(types ...string) bool { return token.Has(want.Type) || slices.Contains(types, want.Type) }
	for _, only := range []struct {
		path  tree.Path
		set   bool
		types []string
	}{
		{"proxied", want.Proxied, []string{"A", "AAAA", "CNAME"}},
		{"ipv4Only", want.IPv4Only, []string{"A", "AAAA", "CNAME"}},
		{"ipv6Only", want.IPv6Only, []string{"A", "AAAA", "CNAME"}},
		{"flattenCname", want.FlattenCNAME, []string{"CNAME"}},
		{"privateRouting", want.PrivateRouting, []string{"A", "AAAA"}},
		{"priority", want.Priority != nil, []string{"MX", "URI"}},
	} {
		if only.set && !of(only.types...) {
			wrong(only.path, "only records of type "+strings.Join(only.types, ", ")+" take it")
		}
	}
	if want.Priority == nil && of("MX", "URI") && !token.Has(want.Type) {
		wrong("priority", "records of this type need one")
	}
	if want.TTL != nil && want.Proxied {
		wrong("ttl", "that of a proxied record is automatic")
	}
	if strings.ContainsAny(want.Comment, "\r\n") || strings.Contains(want.Comment, tagPrefix) || want.Comment != strings.TrimSpace(want.Comment) {
		wrong("comment", "want one line without "+tagPrefix+" and without spaces around it")
	}
	return problems.OrNil()
}

func checkContent(want RecordProps, wrong func(tree.Path, string)) {
	if token.Has(want.Type) {
		return
	}
	text := slices.Contains(texts, want.Type)
	switch {
	case text && want.Content == "":
		wrong("content", "records of type "+want.Type+" need it")
	case !text && want.Content != "":
		wrong("content", "records of type "+want.Type+" have data instead")
	}
	switch {
	case text && len(want.Data) > 0:
		wrong("data", "records of type "+want.Type+" have content instead")
	case !text && len(want.Data) == 0:
		wrong("data", "records of type "+want.Type+" need it")
	}
	for _, name := range slices.Sorted(maps.Keys(want.Data)) {
		if known := parts[want.Type]; !slices.Contains(known, name) && !token.Has(name) && !text {
			wrong(tree.Path("data").Key(name), "data of type "+want.Type+" has the parts "+strings.Join(known, ", "))
		}
	}
}
