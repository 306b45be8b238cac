package cloudflaretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// catalog is what is known of Cloudflare's operations.
type catalog struct {
	Operations []*operation
	Errors     map[string][]matcher // by service.Name
}

// operation is one operation as it is described.
type operation struct {
	Service, Name, Method, Path string

	Params []struct {
		Name, Path, Query, Header string
	}
	Request, Response json.RawMessage
	Inside            string // where in the answer the response is; "" for the whole

	once     sync.Once
	compiled schemas
}

// matcher is how an error is told.
type matcher struct {
	Code, Status int
}

func (o *operation) String() string { return o.Service + "." + o.Name }

var errNoOperations = errors.New("operations of Cloudflare not found: run `task cloudflare` (needs Node.js)")

// load gives the operations of .cache/cloudflare beside go.mod, or of where $ATHANOR_CLOUDFLARE says. Without them the
// test is skipped, or fails when $ATHANOR_NO_SKIP is set.
func load(t testing.TB) *catalog {
	t.Helper()
	found := loaded()
	switch {
	case errors.Is(found.err, errNoOperations) && os.Getenv("ATHANOR_NO_SKIP") == "":
		t.Skip(found.err)
	case found.err != nil:
		t.Fatal(found.err)
	}
	return found.catalog
}

type loading struct {
	catalog *catalog
	err     error
}

// loaded is read once for each test binary.
var loaded = sync.OnceValue(func() loading {
	dir, err := folder()
	if err != nil {
		return loading{err: err}
	}
	text, err := os.ReadFile(filepath.Join(dir, "operations.json"))
	if errors.Is(err, os.ErrNotExist) {
		err = errNoOperations
	}
	if err != nil {
		return loading{err: err}
	}
	c := new(catalog)
	if err := json.Unmarshal(text, c); err != nil {
		return loading{err: fmt.Errorf("%s: %w", dir, err)}
	}
	c.Operations = append(c.Operations, unpublished...)
	return loading{catalog: c}
})

// folder is where tools/cloudflare.sh puts what it fetches.
func folder() (string, error) {
	if dir := os.Getenv("ATHANOR_CLOUDFLARE"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache", "cloudflare"), nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errNoOperations
		}
		dir = up
	}
}

// find is the operation that a request is, with the parts of its path by name; of several that fit, the one with the
// most literal path.
func (c *catalog) find(method, path string) (*operation, map[string]string) {
	var best *operation
	var values map[string]string
	for _, o := range c.Operations {
		if o.Method != method {
			continue
		}
		if found, ok := match(o.Path, path); ok && (best == nil || len(found) < len(values)) {
			best, values = o, found
		}
	}
	return best, values
}

// match reads a path by its pattern, in which {name} is one part.
func match(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values := map[string]string{}
	for i, w := range want {
		name, variable := strings.CutPrefix(w, "{")
		switch {
		case variable && have[i] != "":
			values[strings.TrimSuffix(name, "}")] = have[i]
		case w != have[i]:
			return nil, false
		}
	}
	return values, true
}

// declares reports whether an error of a service may be answered: by its code where it has one, else by its status.
func (c *catalog) declares(f *failure) bool {
	for name, matchers := range c.Errors {
		if !strings.HasPrefix(name, f.service+".") {
			continue
		}
		for _, m := range matchers {
			if m.Code == f.code && (m.Status == 0 || m.Status == f.status) {
				return true
			}
		}
	}
	return everywhere[f.code] || undeclared[fmt.Sprintf("%s %d", f.service, f.code)] != ""
}
