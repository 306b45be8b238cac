package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/athanor-dev/athanor/reconcile"
)

// Cloud is a handle on one account and region. It reads its configuration on first use, and asks for
// credentials when a call needs them. It is safe for concurrent use.
type Cloud struct {
	settings Settings
	limits   *limits
	clients  sync.Map // pointers by service, see [Client]
	shared   sync.Map // what kinds keep for all of their objects, by name

	mu     sync.Mutex
	config *sdk.Config

	asking chan struct{} // held while the account is asked for
	place  placeOnce
}

// placeOnce is a place that is found once.
type placeOnce struct {
	mu    sync.RWMutex
	known reconcile.Place
}

func (p *placeOnce) get() (reconcile.Place, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known, p.known.Account != ""
}

func (p *placeOnce) set(place reconcile.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = place
}

// FromConfig is a handle that is made of a configuration of the SDK instead of settings. Its retryer is
// replaced, and every call of its clients is passed on as any other. It has its own limits of rates.
func FromConfig(cfg sdk.Config) *Cloud { return newCloud(newLimits(), Settings{}, &cfg) }

// AtAnyRate makes a handle begin at no rate that AWS publishes, before its first call: for emulators, which count no calls.
func (c *Cloud) AtAnyRate() *Cloud {
	c.limits.isFree = true
	return c
}

func newCloud(limits *limits, settings Settings, cfg *sdk.Config) *Cloud {
	c := &Cloud{settings: settings, limits: limits, asking: make(chan struct{}, 1)}
	if cfg != nil {
		c.config = c.prepared(*cfg)
	}
	return c
}

// Shared returns what a kind keeps for all of its objects as long as a handle lives, by a name. create makes it once.
func Shared[T any](cloud reconcile.Cloud, name string, create func() *T) *T {
	c, ok := cloud.(*Cloud)
	if !ok {
		return create()
	}
	if known, ok := c.shared.Load(name); ok {
		return known.(*T)
	}
	made, _ := c.shared.LoadOrStore(name, create())
	return made.(*T)
}

// Config is what clients are made of. It is read from the environment and from files, and from nothing else.
func (c *Cloud) Config() (sdk.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config != nil {
		return *c.config, nil
	}
	asks := &deviceCodes{}
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}), // errors say what the SDK would log
		withCodes(asks),
	}
	if s := c.settings.Region; s != nil {
		options = append(options, config.WithRegion(*s))
	}
	if s := c.settings.Profile; s != nil {
		options = append(options, config.WithSharedConfigProfile(*s))
	}
	if s := c.settings.Endpoint; s != nil {
		options = append(options, config.WithBaseEndpoint(*s))
	}
	cfg, err := config.LoadDefaultConfig(context.Background(), options...) //nolint:forbidigo // it reads files and makes no call that could be cancelled
	if err != nil {
		return sdk.Config{}, &CredentialsError{Err: err}
	}
	if err := startsNothing(cfg, c.settings.Profile != nil); err != nil {
		return sdk.Config{}, err
	}
	if cfg.Credentials != nil {
		profile, endpoint := profileOf(cfg, c.settings.Profile), sdk.ToString(c.settings.Endpoint)
		cfg.Credentials = c.limits.chains.once(profile, endpoint, credentials{from: cfg.Credentials, profile: profile, codes: asks})
		if role := c.settings.AssumeRole; role != nil {
			cfg.Credentials = credentials{from: assumed(cfg, role), role: role.ARN}
		}
	}
	c.config = c.prepared(cfg)
	return *c.config, nil
}

// profileOf is the profile that the settings or the environment name, "" for none.
func profileOf(cfg sdk.Config, named *string) string {
	if named != nil {
		return *named
	}
	for _, source := range cfg.ConfigSources {
		if env, ok := source.(config.EnvConfig); ok {
			return env.SharedConfigProfile
		}
	}
	return ""
}

// startsNothing refuses credentials that a program or a sign-in has to be started for, where the stack is a stranger's.
func startsNothing(cfg sdk.Config, named bool) error {
	if os.Getenv("ATHANOR_UNTRUSTED") == "" {
		return nil
	}
	for _, source := range cfg.ConfigSources {
		switch s := source.(type) {
		case config.EnvConfig:
			if s.Credentials.HasKeys() && !named {
				return nil
			}
		case config.SharedConfig:
			for at := &s; at != nil; at = at.Source {
				if at.CredentialProcess != "" || at.SSOSessionName != "" || at.SSOStartURL != "" || at.LoginSession != "" {
					return &CredentialsError{Err: errors.New("the profile starts a program or a sign-in, and --untrusted starts none")}
				}
			}
		}
	}
	return nil
}

// prepared makes a configuration ours. This comes after loading: the calls that exchange credentials are the
// SDK's own affair, with its retries; they happen inside of other calls and would wait for themselves at a gate.
func (c *Cloud) prepared(cfg sdk.Config) *sdk.Config {
	cfg = cfg.Copy()
	cfg.Retryer = func() sdk.Retryer { return sdk.NopRetryer{} }
	cfg.RetryMaxAttempts = 0
	if _, ours := cfg.Credentials.(credentials); cfg.Credentials != nil && !ours {
		cfg.Credentials = credentials{from: cfg.Credentials}
	}
	cfg.HTTPClient = limited(cfg.HTTPClient)
	cfg.APIOptions = append(cfg.APIOptions, c.pass)
	return &cfg
}

// limited is a client of the SDK whose attempts end when the service is silent for too long.
func limited(client sdk.HTTPClient) sdk.HTTPClient {
	if client == nil {
		client = awshttp.NewBuildableClient()
	}
	if own, ok := client.(*awshttp.BuildableClient); ok {
		own = own.WithTransportOptions(reconcile.Route)
		client = &http.Client{Transport: own.GetTransport(), Timeout: own.GetTimeout(), CheckRedirect: sameOrigin}
	}
	return doer{reconcile.LimitAttempts(tripper{client})}
}

// sameOrigin follows what keeps a request as it is, and never to another origin: the request carries who asks.
func sameOrigin(req *http.Request, via []*http.Request) error {
	status, first := req.Response.StatusCode, via[0].URL
	keeps := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if !keeps || len(via) > 5 || req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// Transport returns how servers of AWS are reached, for what is no call of a service, such as the layers of images.
func Transport(cloud reconcile.Cloud) (http.RoundTripper, error) {
	c, err := placeOf(cloud)
	if err != nil {
		return nil, err
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return tripper{cfg.HTTPClient}, nil
}

type (
	tripper struct{ sdk.HTTPClient }
	doer    struct{ http.RoundTripper }
)

// RoundTrip makes a client of the SDK a transport.
func (t tripper) RoundTrip(req *http.Request) (*http.Response, error) { return t.HTTPClient.Do(req) }

// Do makes a transport a client of the SDK.
func (d doer) Do(req *http.Request) (*http.Response, error) { return d.RoundTripper.RoundTrip(req) }

var errNoRegion = errors.New("no region")

// Place is the region with the account of the credentials, which is asked for once. An account that the
// settings do not allow is an [*AccountError].
func (c *Cloud) Place(ctx context.Context) (reconcile.Place, error) {
	if place, ok := c.place.get(); ok {
		return place, nil
	}
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return reconcile.Place{}, ctx.Err()
	}
	if place, ok := c.place.get(); ok {
		return place, nil
	}
	cfg, err := c.Config()
	if err != nil {
		return reconcile.Place{}, err
	}
	if cfg.Region == "" {
		return reconcile.Place{}, reconcile.WithHint(errNoRegion, "set region in the settings of aws, AWS_REGION, or a region in the profile")
	}
	out, err := reconcile.Retry(ctx, classOf, func(ctx context.Context) (*sts.GetCallerIdentityOutput, error) {
		return sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	})
	if err != nil {
		return reconcile.Place{}, err
	}
	place := reconcile.Place{Provider: "aws", Account: sdk.ToString(out.Account), Region: cfg.Region}
	if allowed := c.settings.AccountID; allowed != "" && allowed != place.Account {
		return reconcile.Place{}, &AccountError{Have: place.Account, Allowed: allowed}
	}
	c.place.set(place)
	return place, nil
}

// AccountError refuses credentials of an account that the settings do not allow.
type AccountError struct{ Have, Allowed string }

func (e *AccountError) Error() string {
	return fmt.Sprintf("the credentials are of account %s, and %s alone is allowed", e.Have, e.Allowed)
}
