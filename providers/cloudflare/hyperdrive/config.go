package hyperdrive

import (
	"cmp"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	configSite = reconcile.Site[ConfigProps, Config]
	configDiff = reconcile.Diff[liveConfig]
)

var configKind = &reconcile.Kind[ConfigProps, liveConfig, Config]{
	Type: configType,
	Doc: "A configuration of Cloudflare Hyperdrive, by which Workers reach a database. Its secrets are sealed in the record and " +
		"never read back: each change of the configuration writes them again. It has no tags, so that its name tells whose it is.",

	Observe:  observeConfig,
	Create:   createConfig,
	Compare:  compareConfig,
	Attrs:    func(live liveConfig) Config { return Config{ID: ID(live.ID), Name: live.Name} },
	Delete:   deleteConfig,
	Identity: func(c Config) string { return string(c.ID) },

	Naming:   func(ConfigProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 63, Lower: true} },
	Given:    func(want ConfigProps) string { return want.Name },
	Defaults: defaults,
	Check:    checkConfig,
	Moves:    []string{"name"},
	MovedBy:  map[string][]tree.Path{"name": {"name"}},
	AtBirth:  []string{"id", "name"},
	List:     listConfigs,

	Source: source,
	Calls: []string{
		"Hyperdrive.ListConfigs", "Hyperdrive.GetConfig", "Hyperdrive.CreateConfig", "Hyperdrive.UpdateConfig", "Hyperdrive.DeleteConfig",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Hyperdrive Read"},
		List:    []string{"Hyperdrive Read"},
		Create:  []string{"Hyperdrive Write"},
		Update:  []string{"Hyperdrive Write"},
		Delete:  []string{"Hyperdrive Write"},
	},
}

const mysql = "mysql"

func (o Origin) direct() bool { return o.AccessClientID == "" && o.Service == "" }

func defaults(want ConfigProps) ConfigProps {
	want.Origin.Scheme = cmp.Or(want.Origin.Scheme, new("postgres"))
	if want.Origin.Port == nil && want.Origin.direct() {
		want.Origin.Port = new(5432)
		if *want.Origin.Scheme == mysql {
			want.Origin.Port = new(3306)
		}
	}
	if !want.Caching.Disabled {
		want.Caching.MaxAge = cmp.Or(want.Caching.MaxAge, new(time.Minute))
		want.Caching.StaleWhileRevalidate = cmp.Or(want.Caching.StaleWhileRevalidate, new(15*time.Second))
	}
	return want
}

// checkConfig finds what Cloudflare would refuse, or would take without doing it.
func checkConfig(want ConfigProps) error {
	var problems props.Errors
	wrong, o := problems.Wrong, want.Origin
	if len(want.Name) > 63 && !token.Has(want.Name) {
		wrong("name", "want up to 63 characters")
	}
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
	for path, age := range map[tree.Path]*time.Duration{
		"caching.maxAge": want.Caching.MaxAge, "caching.staleWhileRevalidate": want.Caching.StaleWhileRevalidate,
	} {
		switch {
		case age != nil && want.Caching.Disabled:
			wrong(path, "nothing is kept")
		case age != nil && *age%time.Second != 0:
			wrong(path, "want whole seconds")
		}
	}
	return problems.OrNil()
}

// compareConfig states every aspect. One call sets all, since what it leaves out is gone.
func compareConfig(d *configDiff, want ConfigProps, live liveConfig) {
	set := setConfig(want)
	if name, given := d.Name(); given {
		reconcile.Value(d, "name", name, live.Name, set)
	}
	have := live.declared()
	reconcile.Value(d, "origin.scheme", want.Origin.Scheme, have.Origin.Scheme, set)
	reconcile.Value(d, "origin.host", want.Origin.Host, have.Origin.Host, set)
	reconcile.Value(d, "origin.port", want.Origin.Port, have.Origin.Port, set)
	reconcile.Value(d, "origin.database", want.Origin.Database, have.Origin.Database, set)
	reconcile.Value(d, "origin.user", want.Origin.User, have.Origin.User, set)
	reconcile.Written(d, "origin.password", want.Origin.Password, set)
	reconcile.Value(d, "origin.accessClientId", want.Origin.AccessClientID, have.Origin.AccessClientID, set)
	reconcile.Written(d, "origin.accessClientSecret", want.Origin.AccessClientSecret, set)
	reconcile.Value(d, "origin.service", want.Origin.Service, have.Origin.Service, set)
	reconcile.Value(d, "caching.disabled", want.Caching.Disabled, have.Caching.Disabled, set)
	if !want.Caching.Disabled && !have.Caching.Disabled {
		reconcile.Value(d, "caching.maxAge", want.Caching.MaxAge, have.Caching.MaxAge, set)
		reconcile.Value(d, "caching.staleWhileRevalidate", want.Caching.StaleWhileRevalidate, have.Caching.StaleWhileRevalidate, set)
	}
	reconcile.Value(d, "mtls", want.MTLS, have.MTLS, set)
	const limit = "originConnectionLimit"
	if want.OriginConnectionLimit != nil {
		reconcile.Value(d, limit, want.OriginConnectionLimit, have.OriginConnectionLimit, set)
	} else if d.Had()[limit] != nil && have.OriginConnectionLimit != nil {
		reconcile.Dropped(d, limit, int64(*have.OriginConnectionLimit), set)
	}
}
