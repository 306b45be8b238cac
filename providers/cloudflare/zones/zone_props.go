package zones

// ID is that of a zone.
type ID string

// ZoneProps declare a zone: a domain and all below it. Types are those of
// https://developers.cloudflare.com/dns/zone-setups/
type ZoneProps struct {
	// Name of the domain, such as "example.com". Changing it replaces the zone.
	Name string `prop:"required"`
	// Type says who answers for the domain: Cloudflare, the domain's own servers with some names sent to Cloudflare
	// (partial), or both, with Cloudflare following the others (secondary). All but full need a plan that has them.
	Type *string `prop:"enum=full|partial|secondary|internal,default=full" wire:"type"`
	// Paused lets traffic go past Cloudflare, which then answers for names alone.
	Paused bool `prop:"default=false" wire:"paused"`
	// VanityNameServers are names of the domain's own under which Cloudflare's servers are known, for plans that have
	// them. The order does not count. Default: none.
	VanityNameServers []string `prop:"set" wire:"vanity_name_servers"`
}

// Zone is what others may refer to of a zone.
type Zone struct {
	// ID of the zone.
	ID ID `attr:"early"`
	// Name of the domain.
	Name string `attr:"early"`
	// NameServers that the registrar of the domain is to be told, for a full zone.
	NameServers []string `attr:"early,mutable=type"`
	// Status is pending until Cloudflare has seen the domain sent to it, then active. Nothing waits for that.
	Status string `attr:"mutable"`
	// VerificationKey is the text that a TXT record cloudflare-verify of a partial zone's domain has to hold; empty for
	// others.
	VerificationKey string `attr:"mutable=type"`
	// CNAMESuffix is what names of a partial zone are sent to: name, then this; empty for others.
	CNAMESuffix string `attr:"mutable=type"`
}
