package cloudflare

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"sync"

	"github.com/cloudflare/cloudflare-go/v6/option"

	"github.com/athanor-dev/athanor/providers/cloudflare/internal/limit"
	"github.com/athanor-dev/athanor/reconcile"
)

// Cloud is a handle on one account. It reads the environment on first use, and asks for a token when a call needs it.
// It is safe for concurrent use.
type Cloud struct {
	settings Settings
	getenv   func(string) string
	folder   func() (string, error) // of the user's settings
	who      func() (credentials, error)
	limits   *limit.Limits
	warnings *warnings // nil: nobody hears them
	clients  sync.Map  // by type
	http     *http.Client

	asking chan struct{} // held while the account, or a zone, is asked for
	mu     sync.Mutex
	place  reconcile.Place
	zones  map[string]Zone // by name and by id
}

// FromToken is a handle that is made of a token and an account, by id or by name, instead of settings. It has its own
// limits of rates.
func FromToken(endpoint, token, account string) *Cloud {
	c := newCloud(limit.New(), Settings{Endpoint: &endpoint, Account: &account})
	c.getenv = func(name string) string {
		if name == defaultTokenEnv {
			return token
		}
		return ""
	}
	c.folder = func() (string, error) { return "", errNoProfile }
	return c
}

func newCloud(limits *limit.Limits, settings Settings) *Cloud {
	c := &Cloud{
		settings: settings, getenv: os.Getenv, folder: os.UserConfigDir, limits: limits, asking: make(chan struct{}, 1), zones: map[string]Zone{},
		http: reconcile.NewHTTPClient(),
	}
	c.who = sync.OnceValues(c.credentials)
	return c
}

// Client is the client of a service for a handle, made once for each handle.
//
//	client, err := cloudflare.Client(site.Cloud, kv.NewNamespaceService)
func Client[C any](cloud reconcile.Cloud, make func(...option.RequestOption) *C) (*C, error) {
	c, ok := cloud.(*Cloud)
	if !ok {
		return nil, fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	key := reflect.TypeFor[C]()
	if known, ok := c.clients.Load(key); ok {
		return known.(*C), nil
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	made, _ := c.clients.LoadOrStore(key, make(options...))
	return made.(*C), nil
}

// options are what clients are made of.
func (c *Cloud) options() ([]option.RequestOption, error) {
	way, err := c.way()
	if err != nil {
		return nil, err
	}
	return []option.RequestOption{
		option.WithBaseURL(way.endpoint + "/"),
		option.WithAPIToken(way.token),
		option.WithHTTPClient(c.http),
		option.WithMaxRetries(0),
		option.WithMiddleware(c.pass),
	}, nil
}

// way is how the API is reached.
type way struct{ endpoint, token string }

// way reads the environment. The token is read once, and never shown.
func (c *Cloud) way() (way, error) {
	who, err := c.who()
	if err != nil {
		return way{}, err
	}
	endpoint := cmp.Or(c.getenv("CLOUDFLARE_API_BASE_URL"), defaultEndpoint)
	if c.settings.Endpoint != nil {
		endpoint = *c.settings.Endpoint
	}
	if err := checkEndpoint(endpoint); err != nil {
		return way{}, Invalid(err)
	}
	return way{trimSlash(endpoint), who.token}, nil
}

func trimSlash(s string) string {
	for len(s) > 0 && s[len(s)-1] == '/' {
		s = s[:len(s)-1]
	}
	return s
}

// TokenError says that there is no token where one was to be.
type TokenError struct {
	// Env is the environment variable that is empty.
	Env string
}

func (e *TokenError) Error() string { return "no API token: " + e.Env + " is empty" }
