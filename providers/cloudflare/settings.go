package cloudflare

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/internal/limit"
	"github.com/athanor-dev/athanor/reconcile"
)

// Settings say where objects live and who asks. All are optional: the environment answers what they leave open, with
// the names that Cloudflare's own tools use.
type Settings struct {
	// Account is where objects live: its id (32 hexadecimal digits) or its name. Default: CLOUDFLARE_ACCOUNT_ID, or the
	// only account that the token reaches. The account of a profile goes before these.
	Account *string
	// TokenEnv names the environment variable that holds the API token. Default: CLOUDFLARE_API_TOKEN.
	TokenEnv *string
	// Profile names a token, and an account, in athanor/cloudflare.yaml below the user's folder of settings, such as
	// ~/.config. Default: CLOUDFLARE_PROFILE; without that and without a token in the environment, default.
	Profile *string
	// Endpoint is the URL that the API is reached by. Default: CLOUDFLARE_API_BASE_URL, or Cloudflare's own.
	Endpoint *string
}

const (
	defaultTokenEnv = "CLOUDFLARE_API_TOKEN"
	defaultEndpoint = "https://api.cloudflare.com/client/v4"
)

// Setting is one change of [Settings].
type Setting func(map[string]any)

// Account is where objects live, by id or by name.
func Account(idOrName string) Setting { return setting("account", idOrName) }

// TokenEnv names the environment variable that holds the API token.
func TokenEnv(name string) Setting { return setting("tokenEnv", name) }

// Profile names a token, and an account, in the user's file of profiles.
func Profile(name string) Setting { return setting("profile", name) }

// Endpoint is the URL that the API is reached by.
func Endpoint(url string) Setting { return setting("endpoint", url) }

func setting(name, value string) Setting { return func(m map[string]any) { m[name] = value } }

// In is a handle of the stack whose kinds of Cloudflare live where the settings say; what they leave open stays as it
// is outside.
//
//	eu := cloudflare.In(s, cloudflare.Account("Example Europe"), cloudflare.TokenEnv("CLOUDFLARE_EU_TOKEN"))
//	kv.NewNamespace(eu, "cache", kv.NamespaceProps{})
func In(s *athanor.Stack, opts ...Setting) *athanor.Stack {
	settings := map[string]any{}
	for _, o := range opts {
		o(settings)
	}
	return s.With("cloudflare", settings)
}

// Service is what one service of Cloudflare offers.
type Service struct {
	// Kinds are its kinds.
	Kinds []reconcile.Any
	// Constructs are what YAML uses of its kinds beside their props, by kind.
	Constructs map[string]athanor.Construct
	// Family are further kinds, made when somebody asks for them. At most one service has some.
	Family *reconcile.Family
}

// Constructs are those of services, by kind.
func Constructs(services ...Service) map[string]athanor.Construct {
	all := map[string]athanor.Construct{}
	for _, s := range services {
		maps.Copy(all, s.Constructs)
	}
	return all
}

// Provider is the family cloudflare with the kinds of these services.
func Provider(services ...Service) reconcile.Provider {
	limits, heard := limit.New(), newWarnings()
	p := reconcile.Provider{
		Name:     "cloudflare",
		Settings: new(Settings),
		Warnings: heard.take,
		Open: func(_ context.Context, settings any) (reconcile.Cloud, error) {
			c, err := open(limits, settings)
			if err != nil {
				return nil, err
			}
			c.warnings = heard
			return c, nil
		},
	}
	for _, s := range services {
		p.Kinds = append(p.Kinds, s.Kinds...)
		if s.Family != nil {
			p.Family = s.Family
		}
	}
	return p
}

func open(limits *limit.Limits, settings any) (*Cloud, error) {
	s, ok := settings.(*Settings)
	if !ok {
		return nil, fmt.Errorf("settings of cloudflare: have %T", settings)
	}
	if s == nil {
		s = new(Settings)
	}
	if s.Endpoint != nil {
		if err := checkEndpoint(*s.Endpoint); err != nil {
			return nil, fmt.Errorf("settings of cloudflare: %w", err)
		}
	}
	return newCloud(limits, *s), nil
}

// checkEndpoint refuses to send a token in clear to another machine.
func checkEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return reconcile.WithHint(fmt.Errorf("endpoint %q is no URL", text), "such as %s", defaultEndpoint)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return reconcile.WithHint(fmt.Errorf("endpoint %q would get the token in clear", text), "use https")
	}
	return nil
}
