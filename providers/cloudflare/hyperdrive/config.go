package hyperdrive

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ID is that of a configuration, by which Workers are bound to it.
type ID string

// ConfigProps declare a configuration. Limits are those of https://developers.cloudflare.com/hyperdrive/platform/limits/
type ConfigProps struct {
	// Name of the configuration, up to 63 characters. Default: none, a name is generated.
	Name string
	// Origin is the database. Cloudflare connects to it when the configuration is made or changed, and refuses one that does
	// not answer.
	Origin Origin `prop:"required,each" wire:"origin"`
	// Caching says what is kept of the database's answers.
	Caching Caching `prop:"each" wire:"caching"`
	// MTLS says by which certificates the database and Cloudflare know each other. Default: none.
	MTLS *MTLS `wire:"mtls,mtls"`
	// OriginConnectionLimit is about how many connections to the database there are at most. Default: none, that of
	// the plan; while nothing is declared it is left alone, and put back to that when a declaration goes.
	OriginConnectionLimit *int `prop:"min=5,max=100"`
}

// Origin is a database: at a host and a port, at a host behind Cloudflare Access, or at a service of Workers VPC.
type Origin struct {
	// Scheme is the language that is spoken.
	Scheme *string `prop:"enum=postgres|postgresql|mysql,default=postgres" wire:"scheme"`
	// Host of the database. Default: none, for a service.
	Host string `wire:"host"`
	// Port of the database. Default: 5432, for mysql 3306; none for a service and behind Access.
	Port *int `prop:"min=1,max=65535" wire:"port"`
	// Database is its name.
	Database string `prop:"required" wire:"database"`
	// User to speak as.
	User string `prop:"required" wire:"user"`
	// Password of that user. It is write-only: the digest of what was written last is compared.
	Password token.Secret `prop:"required,writeonly" wire:"password"`
	// AccessClientID is the id of the service token that Access asks for. Default: none, there is no Access.
	AccessClientID string `wire:"access_client_id"`
	// AccessClientSecret is its secret. It is write-only, as the password is. Default: none.
	AccessClientSecret token.Secret `prop:"writeonly" wire:"access_client_secret"`
	// Service is the id of the service of Workers VPC that leads to the database. Default: none.
	Service string `wire:"service_id"`
}

// Caching says what is kept of the answers to queries that change nothing.
type Caching struct {
	// Disabled keeps nothing.
	Disabled bool `prop:"default=false" wire:"disabled"`
	// MaxAge is how long an answer is given out again, in whole seconds.
	MaxAge *time.Duration `prop:"min=0s,max=1h,default=60s,excludes=disabled" wire:"max_age"`
	// StaleWhileRevalidate is how long an answer that is too old is given out still, while a newer one is fetched, in whole
	// seconds.
	StaleWhileRevalidate *time.Duration `prop:"min=0s,max=1h,default=15s,excludes=disabled" wire:"stale_while_revalidate"`
}

// MTLS says by which certificates both sides know each other.
type MTLS struct {
	// CACertificateID is the id of the certificate that the database's is signed by. Default: none.
	CACertificateID string `wire:"ca_certificate_id"`
	// CertificateID is the id of the certificate that Cloudflare shows. Default: none.
	CertificateID string `wire:"mtls_certificate_id"`
	// SSLMode is how much is asked of the database: require, verify-ca or verify-full; for mysql REQUIRED, VERIFY_CA or
	// VERIFY_IDENTITY. Default: none, as Cloudflare chooses.
	SSLMode string `prop:"enum=require|verify-ca|verify-full|REQUIRED|VERIFY_CA|VERIFY_IDENTITY" wire:"sslmode"`
}

// Config is what others may refer to of a configuration.
type Config struct {
	// ID of the configuration.
	ID ID `attr:"early"`
	// Name of the configuration.
	Name string `attr:"early,mutable=name"`
}

// liveConfig is an observed configuration.
type liveConfig struct {
	attrs Config
	have  ConfigProps
}

type configSite = kind.Site[ConfigProps, Config]

var configTable = kind.TableOf[ConfigProps](kind.Codec{Name: "mtls", Form: func(v any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil // an answer has an empty one for none
	}
	return v
}})

var configKind = &kind.Kind[ConfigProps, liveConfig, Config]{
	Type: configType,
	Doc: "A configuration of Cloudflare Hyperdrive, by which Workers reach a database. Its secrets are sealed in state and " +
		"never read back: each change of the configuration writes them again. It has no tags, so that the name proves ownership.",

	Observe:    observeConfig,
	Create:     createConfig,
	Compare:    compareConfig,
	Attributes: func(live liveConfig) Config { return live.attrs },
	Delete: func(ctx context.Context, s configSite) error {
		return call(ctx, s.Facts, http.MethodDelete, "/"+url.PathEscape(string(s.Last.ID)), nil, nil)
	},
	Identity: func(c Config) string { return string(c.ID) },

	Props:   configTable,
	Default: defaultPort,
	Check:   checkConfig,
	Named: &kind.Named[ConfigProps, liveConfig]{
		Given: func(want ConfigProps) string { return want.Name },
		Rule:  func(ConfigProps) kind.NameRule { return kind.NameRule{Max: 63, Marks: "-", Lower: true, Any: true} },
	},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		return cloudflare.FoundIn(scope, configs(ctx, scope.Cloud, scope.Place), func(c kind.Document) kind.Found {
			of := configOf(c)
			return kind.Found{Kind: configType, Identity: string(of.ID), Name: of.Name}
		})
	},
	API: kind.API{
		Source: source,
		Calls: []string{
			"Hyperdrive.ListConfigs", "Hyperdrive.GetConfig", "Hyperdrive.CreateConfig", "Hyperdrive.UpdateConfig", "Hyperdrive.DeleteConfig",
		},
		Permissions: cloudflare.ReadWrite("Hyperdrive"),
	},
}

func (o Origin) direct() bool { return o.AccessClientID == "" && o.Service == "" }

// defaultPort depends on the scheme.
func defaultPort(want ConfigProps) ConfigProps {
	if want.Origin.Port == nil && want.Origin.direct() {
		want.Origin.Port = new(5432)
		if *want.Origin.Scheme == "mysql" {
			want.Origin.Port = new(3306)
		}
	}
	return want
}

// checkConfig finds what Cloudflare would refuse, or would take without doing it.
func checkConfig(want ConfigProps) error {
	var problems props.Errors
	wrong, o := problems.Wrong, want.Origin
	switch {
	case o.Service == "" && o.Host == "":
		wrong("origin.host", "want it, or a service")
	case o.Service != "" && (o.Host != "" || o.AccessClientID != ""):
		wrong("origin.service", "a service has no host and no Access")
	}
	if o.Port != nil && !o.direct() {
		wrong("origin.port", "a service has none, and Access none")
	}
	if (o.AccessClientID == "") != (o.AccessClientSecret == "") {
		wrong("origin.accessClientSecret", "want both of accessClientId and accessClientSecret, or neither")
	}
	return problems.OrNil()
}

// limit is left alone while it is not declared, since Cloudflare has one of its own then.
const limit = "originConnectionLimit"

// compareConfig states every aspect. One call sets all, since what it leaves out is deleted. What is ignored, or left for
// later, keeps its live value; secrets are written again, since nobody can read them, and an origin without them is refused.
func compareConfig(d *kind.Diff[liveConfig], want ConfigProps, live liveConfig) {
	have := live.have
	set := kind.Set("UpdateConfig", func(ctx context.Context, u kind.Update[liveConfig]) error {
		p := configTable.Merged(want, have, u.Changed)
		if !slices.Contains(u.Changed, limit) {
			p.OriginConnectionLimit = have.OriginConnectionLimit
		}
		name := live.attrs.Name
		if slices.Contains(u.Changed, "name") {
			name = want.Name
		}
		b, err := body(name, p)
		if err != nil {
			return err
		}
		return cloudflare.NotYet(call(ctx, u.Facts, http.MethodPut, "/"+url.PathEscape(string(live.attrs.ID)), b, nil))
	})
	kind.CompareName(d, "name", live.attrs.Name, set)
	kind.Compare(d, configTable, want, have, set)
	if want.OriginConnectionLimit != nil {
		reconcile.Value(d, limit, want.OriginConnectionLimit, have.OriginConnectionLimit, set)
	} else if d.Had()[limit] != nil && have.OriginConnectionLimit != nil {
		reconcile.Dropped(d, limit, int64(*have.OriginConnectionLimit), set)
	}
}

// body is a whole configuration, as Cloudflare wants it.
func body(name string, want ConfigProps) (kind.Document, error) {
	doc := kind.Document{"name": name}
	if want.OriginConnectionLimit != nil {
		doc["origin_connection_limit"] = *want.OriginConnectionLimit
	}
	return doc, configTable.Created(want, doc)
}

func pathOf(location kind.Location) string {
	return "/accounts/" + location.Account + "/hyperdrive/configs"
}

func call(ctx context.Context, s kind.Facts, method, below string, body, into any) error {
	return cloudflare.Send(ctx, s.Cloud, method, pathOf(s.Location)+below, body, into)
}

func configOf(shown kind.Document) Config {
	id, _ := shown["id"].(string)
	name, _ := shown["name"].(string)
	return Config{ID: ID(id), Name: name}
}

// observeConfig reads a configuration by its id, or finds it by its name, which only a listing shows.
func observeConfig(ctx context.Context, s configSite) (live liveConfig, err error) {
	shown, err := findConfig(ctx, s)
	if err != nil {
		return live, err
	}
	live.attrs = configOf(shown)
	live.have, err = configTable.Read(shown)
	live.have = defaultPort(live.have)
	if n, ok := shown["origin_connection_limit"].(float64); ok {
		live.have.OriginConnectionLimit = new(int(n))
	}
	return live, err
}

func findConfig(ctx context.Context, s configSite) (shown kind.Document, err error) {
	id, name := cloudflare.KeyOf(s, func(c Config) string { return string(c.ID) }, cloudflare.IsID)
	if id == "" {
		return cloudflare.OnlyCalled(configs(ctx, s.Cloud, s.Location), func(c kind.Document) string { return configOf(c).Name },
			"configuration", name, "`athanor adopt ADDRESS ID` takes over one of them")
	}
	err = call(ctx, s.Facts, http.MethodGet, "/"+url.PathEscape(id), nil, &shown)
	return shown, cloudflare.Absent(err)
}

// configs are all of the account. The description knows no pages of them, and wrangler asks for them.
func configs(ctx context.Context, cloud kind.Cloud, location kind.Location) iter.Seq2[kind.Document, error] {
	return cloudflare.CallPages[kind.Document](ctx, cloud, pathOf(location), nil)
}

func createConfig(ctx context.Context, s configSite) (Config, error) {
	b, err := body(s.Name, s.Want)
	if err != nil {
		return Config{}, err
	}
	var made kind.Document
	err = call(ctx, s.Facts, http.MethodPost, "", b, &made)
	return Config{ID: configOf(made).ID, Name: s.Name}, err
}
