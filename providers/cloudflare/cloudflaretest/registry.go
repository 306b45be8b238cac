package cloudflaretest

import (
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// images is the registry of all accounts, which go-containerregistry plays: https://github.com/google/go-containerregistry/tree/main/pkg/registry.
type images struct {
	host  string
	inner http.Handler

	mu        sync.Mutex
	passwords map[string]string // accounts by password
}

func newImages() *images {
	return &images{inner: registry.New(registry.Logger(log.New(io.Discard, "", 0))), passwords: map[string]string{}}
}

// ServeHTTP serves those who have a password for the account whose folder they ask for.
func (i *images) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, password, _ := r.BasicAuth()
	i.mu.Lock()
	account := i.passwords[password]
	i.mu.Unlock()
	if account == "" || r.URL.Path != "/v2/" && !strings.HasPrefix(r.URL.Path, "/v2/"+account+"/") {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+i.host+`"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
		return
	}
	i.inner.ServeHTTP(w, r)
}

// has reports whether the registry has an image, if it is one of its own at all.
func (i *images) has(image string) bool {
	rest, own := strings.CutPrefix(image, i.host+"/")
	if !own {
		return true
	}
	repository, reference, tagged := strings.Cut(rest, "@")
	if !tagged {
		at := strings.LastIndex(rest, ":")
		repository, reference = rest[:max(at, 0)], rest[at+1:]
	}
	answer := status{}
	r, err := http.NewRequest(http.MethodHead, "/v2/"+repository+"/manifests/"+reference, nil)
	if err != nil {
		return false
	}
	i.inner.ServeHTTP(&answer, r)
	return answer.code == http.StatusOK
}

// status is an answer of which the status alone counts.
type status struct {
	code   int
	header http.Header
}

func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

func (s *status) Write(b []byte) (int, error) {
	if s.code == 0 {
		s.code = http.StatusOK
	}
	return len(b), nil
}

func (s *status) WriteHeader(code int) { s.code = code }

// createCredentials makes a password for the account's folder of the registry.
func createCredentials(w *world, r request) (any, *failure) {
	wanted, _ := r.body["permissions"].([]any)
	if r.path["registry_id"] != w.images.host || !slices.Contains(wanted, any("pull")) && !slices.Contains(wanted, any("push")) {
		return nil, notFound("/containers/registries/" + r.path["registry_id"])
	}
	return object{"username": "v1", "password": w.images.password(r.account)}, nil
}

// password is a new one for an account.
func (i *images) password(account string) string {
	password := hexID(20)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.passwords[password] = account
	return password
}

// Registry is the host of the registry that the account has a folder in.
func (s *Server) Registry() string { return s.world.images.host }

// PushImage puts an image into the account's folder of the registry, as wrangler does: "shop:1".
func (s *Server) PushImage(t T, at string, image v1.Image) {
	t.Helper()
	ref, err := name.ParseReference(s.Registry() + "/" + s.Account + "/" + at)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := remote.Write(ref, image, remote.WithAuth(&authn.Basic{Username: "v1", Password: s.world.images.password(s.Account)})); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
}
