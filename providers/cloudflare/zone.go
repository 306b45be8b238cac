package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
	"github.com/cloudflare/cloudflare-go/v6/zones"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Zone is a domain in the account.
type Zone struct{ ID, Name string }

// As is the zone as somebody declares it, by its id or by its name: what is compared with the declaration.
func (z Zone) As(declared string) string {
	if declared == z.ID || strings.EqualFold(declared, z.Name) {
		return declared
	}
	return z.Name
}

var objectID = props.Pattern(`^[0-9a-f]{32}$`)

// IsID reports whether a text is shaped like the ids of Cloudflare, so that it can be part of a path.
func IsID(text string) bool { return objectID().MatchString(text) }

// ZoneOf is the zone of that id or name in the account of a handle. It is looked up once for each handle. One that is
// not there, or is in another account, is ErrAbsent.
func ZoneOf(ctx context.Context, cloud reconcile.Cloud, idOrName string) (Zone, error) {
	c, ok := cloud.(*Cloud)
	if !ok {
		return Zone{}, fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	if z, ok := c.zone(idOrName); ok {
		return z, nil
	}
	place, err := c.Place(ctx)
	if err != nil {
		return Zone{}, err
	}
	leave, err := c.alone(ctx)
	if err != nil {
		return Zone{}, err
	}
	defer leave()
	if z, ok := c.zone(idOrName); ok {
		return z, nil
	}
	z, err := c.findZone(ctx, place.Account, idOrName)
	if err != nil {
		return Zone{}, fmt.Errorf("zone %s: %w", idOrName, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones[z.ID], c.zones[z.Name] = z, z
	return z, nil
}

func (c *Cloud) zone(idOrName string) (Zone, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	z, ok := c.zones[strings.ToLower(idOrName)]
	return z, ok
}

func (c *Cloud) findZone(ctx context.Context, account, idOrName string) (Zone, error) {
	if IsID(idOrName) {
		client, err := Client(c, zones.NewZoneService)
		if err != nil {
			return Zone{}, err
		}
		var p zones.ZoneGetParams
		p.ZoneID.Value, p.ZoneID.Present = idOrName, true
		z, err := client.Get(ctx, p)
		switch {
		case err != nil:
			return Zone{}, Absent(err)
		case z.Account.ID != account:
			return Zone{}, fmt.Errorf("%w: it is in account %s", reconcile.ErrAbsent, z.Account.ID)
		}
		return Zone{z.ID, z.Name}, nil
	}
	var p zones.ZoneListParams
	p.Name.Value, p.Name.Present = strings.ToLower(idOrName), true
	for z, err := range c.listZones(ctx, p) {
		if err != nil {
			return Zone{}, err
		}
		if z.Account.ID == account {
			return Zone{z.ID, z.Name}, nil
		}
	}
	return Zone{}, fmt.Errorf("%w: account %s has none of that name", reconcile.ErrAbsent, account)
}

// ZoneOfHost is the zone that a host name is in: the one of its own name, or of what it ends with. Where there is none it
// is ErrAbsent.
func ZoneOfHost(ctx context.Context, cloud reconcile.Cloud, host string) (Zone, error) {
	for name := host; strings.Contains(name, "."); _, name, _ = strings.Cut(name, ".") {
		z, err := ZoneOf(ctx, cloud, name)
		if !errors.Is(err, reconcile.ErrAbsent) {
			return z, err
		}
	}
	return Zone{}, fmt.Errorf("%w: no zone of the account has the name %s", reconcile.ErrAbsent, host)
}

// Zones are all zones of the account of a handle.
func Zones(ctx context.Context, cloud reconcile.Cloud) iter.Seq2[Zone, error] {
	return func(yield func(Zone, error) bool) {
		c, ok := cloud.(*Cloud)
		if !ok {
			yield(Zone{}, fmt.Errorf("%T is no place in Cloudflare", cloud))
			return
		}
		place, err := c.Place(ctx)
		if err != nil {
			yield(Zone{}, err)
			return
		}
		var p zones.ZoneListParams
		p.Account.Present = true
		p.Account.Value.ID.Value, p.Account.Value.ID.Present = place.Account, true
		for z, err := range c.listZones(ctx, p) {
			if err == nil && z.Account.ID != place.Account {
				continue
			}
			if !yield(Zone{z.ID, z.Name}, err) {
				return
			}
		}
	}
}

func (c *Cloud) listZones(ctx context.Context, p zones.ZoneListParams) iter.Seq2[zones.Zone, error] {
	return Pages(func(page int64) (*pagination.V4PagePaginationArray[zones.Zone], error) {
		client, err := Client(c, zones.NewZoneService)
		if err != nil {
			return nil, err
		}
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = perPage, true
		return client.List(ctx, p)
	})
}
