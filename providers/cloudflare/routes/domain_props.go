package routes

import "github.com/athanor-dev/athanor/providers/cloudflare"

// DomainProps declare a domain of a Worker. See
// https://developers.cloudflare.com/workers/configuration/routing/custom-domains/
type DomainProps struct {
	// Hostname that leads to the Worker, in a zone of the account, such as "shop.example". Cloudflare makes its record and
	// its certificate. Changing it replaces the domain.
	Hostname string `prop:"required"`
	// Zone that the name is in: its name or its id. Default: none, Cloudflare finds it. Changing it replaces the domain.
	Zone string
	// Script is the name of the Worker that answers. Changing it replaces the domain: in between nobody answers.
	Script cloudflare.WorkerName `prop:"required"`
}

// Domain is what others may refer to of a domain.
type Domain struct {
	// ID of the domain.
	ID string
	// Hostname that leads to the Worker.
	Hostname string
	// ZoneID is the id of the zone that it is in.
	ZoneID string
	// URL is https and the name.
	URL string
}
