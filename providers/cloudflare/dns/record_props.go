package dns

import "time"

// RecordProps declare a record. Limits are those of
// https://developers.cloudflare.com/dns/manage-dns-records/reference/record-attributes/
type RecordProps struct {
	// Zone that the record is in: its name, such as "example.com", or its id.
	Zone string `prop:"required,immutable" wire:"-"`
	// Name of the record: below the zone ("www", "@" for the zone itself), or whole ("www.example.com").
	Name string `prop:"required,immutable" wire:"-"`
	// Type of the record.
	Type string `prop:"required,immutable,enum=A|AAAA|CAA|CERT|CNAME|DNSKEY|DS|HTTPS|LOC|MX|NAPTR|NS|OPENPGPKEY|PTR|SMIMEA|SRV|SSHFP|SVCB|TLSA|TXT|URI" wire:"type"`
	// Content of an A, AAAA, CNAME, MX, NS, OPENPGPKEY, PTR or TXT record: an address, a name or text. Text needs no
	// quotes. Default: none, for records that have data.
	Content string `wire:"content"`
	// Data of all other types, in parts as Cloudflare names them, such as priority, weight, port and target of SRV. Managed
	// whole. Default: none, for records that have content.
	Data map[string]any `prop:"whole" wire:"data,tree"`
	// Priority of an MX or URI record: the lowest is tried first. Default: none, other types have none.
	Priority *int `prop:"min=0,max=65535" wire:"priority"`
	// TTL is how long others may keep the record, in whole seconds from a minute (half of one in Enterprise zones) to a
	// day. That of a proxied record is automatic. Default: none, Cloudflare chooses.
	TTL *time.Duration `prop:"min=30s,max=24h" wire:"ttl"`
	// Proxied lets traffic go through Cloudflare, for A, AAAA and CNAME records.
	Proxied bool `prop:"default=false" wire:"proxied"`
	// FlattenCNAME answers with the addresses behind a CNAME record, for paid zones.
	FlattenCNAME bool `prop:"default=false" wire:"settings.flatten_cname"`
	// IPv4Only leaves out the AAAA answers of a proxied record.
	IPv4Only bool `prop:"default=false" wire:"settings.ipv4_only"`
	// IPv6Only leaves out the A answers of a proxied record.
	IPv6Only bool `prop:"default=false" wire:"settings.ipv6_only"`
	// PrivateRouting reaches the origin of an A or AAAA record by the private network.
	PrivateRouting bool `prop:"default=false" wire:"private_routing"`
	// Comment for people. The owner tag stands behind it, and takes 50 to 100 of the 100 characters that a
	// free zone allows, or 500 that others do. Default: none.
	Comment string `wire:"-"`
	// Tags as name:value, which paid zones allow. The order does not count. Default: none.
	Tags []string `prop:"set" wire:"tags"`
}

// Record is what others may refer to of a record.
type Record struct {
	// ID of the record in its zone.
	ID string `attr:"early"`
	// ZoneID is the id of the zone.
	ZoneID string `attr:"early"`
	// Name of the record, whole: "www.example.com".
	Name string `attr:"early"`
}
