package dns

import "time"

// RecordProps declare a record. Limits are those of
// https://developers.cloudflare.com/dns/manage-dns-records/reference/record-attributes/
type RecordProps struct {
	// Zone that the record is in: its name, such as "example.com", or its id. Changing it replaces the record.
	Zone string `prop:"required"`
	// Name of the record: below the zone ("www", "@" for the zone itself), or whole ("www.example.com"). Changing it
	// replaces the record.
	Name string `prop:"required"`
	// Type of the record. Changing it replaces the record.
	Type string `prop:"required,enum=A|AAAA|CAA|CERT|CNAME|DNSKEY|DS|HTTPS|LOC|MX|NAPTR|NS|OPENPGPKEY|PTR|SMIMEA|SRV|SSHFP|SVCB|TLSA|TXT|URI"`
	// Content of an A, AAAA, CNAME, MX, NS, OPENPGPKEY, PTR or TXT record: an address, a name or text. Text needs no
	// quotes. Default: none, for records that have data.
	Content string
	// Data of all other types, in parts as Cloudflare names them, such as priority, weight, port and target of SRV. Managed
	// whole. Default: none, for records that have content.
	Data map[string]any
	// Priority of an MX or URI record: the lowest is tried first. Default: none, other types have none.
	Priority *int `prop:"min=0,max=65535"`
	// TTL is how long others may keep the record, in whole seconds from a minute (half of one in Enterprise zones) to a
	// day. That of a proxied record is automatic. Default: none, Cloudflare chooses.
	TTL *time.Duration `prop:"min=30s,max=24h"`
	// Proxied lets traffic go through Cloudflare, for A, AAAA and CNAME records. Default: false.
	Proxied bool
	// FlattenCNAME answers with the addresses behind a CNAME record, for paid zones. Default: false.
	FlattenCNAME bool
	// IPv4Only leaves out the AAAA answers of a proxied record. Default: false.
	IPv4Only bool
	// IPv6Only leaves out the A answers of a proxied record. Default: false.
	IPv6Only bool
	// PrivateRouting reaches the origin of an A or AAAA record by the private network. Default: false.
	PrivateRouting bool
	// Comment for people. The mark of ownership stands behind it, and takes 50 to 100 of the 100 characters that a
	// free zone allows, or 500 that others do. Default: none.
	Comment string
	// Tags as name:value, which paid zones allow. The order does not count. Default: none.
	Tags []string
}

// Record is what others may refer to of a record.
type Record struct {
	// ID of the record in its zone.
	ID string
	// ZoneID is the id of the zone.
	ZoneID string
	// Name of the record, whole: "www.example.com".
	Name string
}
