package hyperdrive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveConfig is a configuration as Cloudflare writes it. Without secrets it is what a read answers, with them what a
// write takes.
type liveConfig struct {
	ID     string       `json:"id,omitempty"`
	Name   string       `json:"name"`
	Origin liveOrigin   `json:"origin"`
	Cache  *liveCaching `json:"caching,omitempty"`
	MTLS   *liveMTLS    `json:"mtls,omitempty"`
	Limit  *int         `json:"origin_connection_limit,omitempty"`
}

type liveOrigin struct {
	Scheme   string       `json:"scheme"`
	Host     string       `json:"host,omitempty"`
	Port     *int         `json:"port,omitempty"`
	Database string       `json:"database"`
	User     string       `json:"user"`
	Password token.Secret `json:"password,omitempty"`
	Client   string       `json:"access_client_id,omitempty"`
	Secret   token.Secret `json:"access_client_secret,omitempty"`
	Service  string       `json:"service_id,omitempty"`
}

type liveCaching struct {
	Disabled bool   `json:"disabled"`
	MaxAge   *int64 `json:"max_age,omitempty"`
	Stale    *int64 `json:"stale_while_revalidate,omitempty"`
}

type liveMTLS struct {
	CA   string `json:"ca_certificate_id,omitempty"`
	Cert string `json:"mtls_certificate_id,omitempty"`
	Mode string `json:"sslmode,omitempty"`
}

func seconds(age *time.Duration) *int64 {
	if age == nil {
		return nil
	}
	return new(int64(*age / time.Second))
}

func age(seconds *int64) *time.Duration {
	if seconds == nil {
		return nil
	}
	return new(time.Duration(*seconds) * time.Second)
}

// declared is a configuration as one would declare it, without its secrets.
func (c liveConfig) declared() ConfigProps {
	p := ConfigProps{Name: c.Name, OriginConnectionLimit: c.Limit, Origin: Origin{
		Scheme: &c.Origin.Scheme, Host: c.Origin.Host, Port: c.Origin.Port, Database: c.Origin.Database, User: c.Origin.User,
		AccessClientID: c.Origin.Client, Service: c.Origin.Service,
	}}
	if c.Cache != nil {
		p.Caching = Caching{Disabled: c.Cache.Disabled, MaxAge: age(c.Cache.MaxAge), StaleWhileRevalidate: age(c.Cache.Stale)}
	}
	if m := c.MTLS; m != nil && *m != (liveMTLS{}) {
		p.MTLS = &MTLS{CACertificateID: m.CA, CertificateID: m.Cert, SSLMode: m.Mode}
	}
	return defaults(p)
}

// body is a whole configuration, as Cloudflare wants it.
func body(name string, want ConfigProps) liveConfig {
	o := want.Origin
	c := liveConfig{
		Name: name, Limit: want.OriginConnectionLimit,
		Origin: liveOrigin{
			Scheme: *o.Scheme, Host: o.Host, Port: o.Port, Database: o.Database, User: o.User, Password: o.Password,
			Client: o.AccessClientID, Secret: o.AccessClientSecret, Service: o.Service,
		},
		Cache: &liveCaching{Disabled: want.Caching.Disabled, MaxAge: seconds(want.Caching.MaxAge), Stale: seconds(want.Caching.StaleWhileRevalidate)},
	}
	if m := want.MTLS; m != nil {
		c.MTLS = &liveMTLS{CA: m.CACertificateID, Cert: m.CertificateID, Mode: m.SSLMode}
	}
	return c
}

func path(account, id string) string {
	base := "/accounts/" + account + "/hyperdrive/configs"
	if id != "" {
		base += "/" + url.PathEscape(id)
	}
	return base
}

func call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{Method: method, Path: path, Body: body}, into)
}

var errNoName = errors.New("a configuration is found by its id or its name, and there is neither")

// observeConfig reads a configuration by its id, or finds it by its name, which only a listing shows.
func observeConfig(ctx context.Context, site configSite) (liveConfig, error) {
	id, name := site.ID, site.Name
	switch {
	case site.Last != nil:
		id = string(site.Last.ID)
	case id != "" && !cloudflare.IsID(id):
		id, name = "", id
	}
	if id != "" {
		var live liveConfig
		err := call(ctx, site.Cloud, http.MethodGet, path(site.Place.Account, id), nil, &live)
		return live, cloudflare.Absent(err)
	}
	if name == "" {
		return liveConfig{}, errNoName
	}
	var found []liveConfig
	for c, err := range configs(ctx, site.Cloud, site.Place.Account) {
		if err != nil {
			return liveConfig{}, err
		}
		if c.Name == name {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return liveConfig{}, fmt.Errorf("%w: no configuration is called %s", reconcile.ErrAbsent, name)
	case 1:
		return found[0], nil
	}
	return liveConfig{}, reconcile.WithHint(fmt.Errorf("%w: %d configurations are called %s", reconcile.ErrAmbiguous, len(found), name),
		"`athanor adopt ADDRESS ID` takes over one of them")
}

// configs are all of the account. The description knows no pages of them, and wrangler asks for them.
func configs(ctx context.Context, cloud reconcile.Cloud, account string) iter.Seq2[liveConfig, error] {
	return cloudflare.CallPages[liveConfig](ctx, cloud, path(account, ""), nil)
}

func createConfig(ctx context.Context, site configSite) (Config, error) {
	var made liveConfig
	err := call(ctx, site.Cloud, http.MethodPost, path(site.Place.Account, ""), body(site.Name, site.Want), &made)
	return Config{ID: ID(made.ID), Name: site.Name}, err
}

// setConfig writes all. What is ignored, or left for later, keeps its live value; secrets are written again, since nobody
// can read them, and an origin without them is refused.
func setConfig(want ConfigProps) *reconcile.Operation[liveConfig] {
	return &reconcile.Operation[liveConfig]{Name: "UpdateConfig", Do: func(ctx context.Context, on reconcile.On[liveConfig]) error {
		p := merged(want, on.Live.declared(), on.Changed)
		b := body(p.Name, p)
		return cloudflare.NotYet(call(ctx, on.Cloud, http.MethodPut, path(on.Place.Account, on.Live.ID), b, nil))
	}}
}

// merged is what is live with what changes.
func merged(want, live ConfigProps, changed []tree.Path) ConfigProps {
	live.Origin.Password, live.Origin.AccessClientSecret = want.Origin.Password, want.Origin.AccessClientSecret
	for path, set := range map[tree.Path]func(){
		"name":                         func() { live.Name = want.Name },
		"origin.scheme":                func() { live.Origin.Scheme = want.Origin.Scheme },
		"origin.host":                  func() { live.Origin.Host = want.Origin.Host },
		"origin.port":                  func() { live.Origin.Port = want.Origin.Port },
		"origin.database":              func() { live.Origin.Database = want.Origin.Database },
		"origin.user":                  func() { live.Origin.User = want.Origin.User },
		"origin.accessClientId":        func() { live.Origin.AccessClientID = want.Origin.AccessClientID },
		"origin.service":               func() { live.Origin.Service = want.Origin.Service },
		"caching.disabled":             func() { live.Caching = want.Caching },
		"caching.maxAge":               func() { live.Caching.MaxAge = want.Caching.MaxAge },
		"caching.staleWhileRevalidate": func() { live.Caching.StaleWhileRevalidate = want.Caching.StaleWhileRevalidate },
		"mtls":                         func() { live.MTLS = want.MTLS },
		"originConnectionLimit":        func() { live.OriginConnectionLimit = want.OriginConnectionLimit },
	} {
		if slices.Contains(changed, path) {
			set()
		}
	}
	return live
}

func deleteConfig(ctx context.Context, site configSite) error {
	return call(ctx, site.Cloud, http.MethodDelete, path(site.Place.Account, string(site.Last.ID)), nil, nil)
}

func listConfigs(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	for c, err := range configs(ctx, in.Cloud, in.Place.Account) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(c.Name, in.Prefix) {
			all = append(all, reconcile.Found{Kind: configType, Place: in.Place, Identity: c.ID, Name: c.Name})
		}
	}
	return all, nil
}
