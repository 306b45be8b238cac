package cloudflaretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// catalog is what is known of Cloudflare's operations.
type catalog struct {
	Operations []*operation
	Errors     map[string][]matcher // by service.Name

	others func() (*catalog, error) // of the services without kinds of their own

	indexing sync.Once
	byParts  map[string][]*operation // by the method and the number of parts of the path, in their order
	byShape  map[string]*operation   // by the method and the shape of the path
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
	trees    struct {
		once         sync.Once
		answer, body object
	}
	words []string // of the path
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
	case errors.Is(found.err, errNoOperations):
		proctest.Missing(t, "%v", found.err)
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
	c, err := readCatalog(dir, "operations.json")
	if err != nil {
		return loading{err: err}
	}
	if _, err := os.Stat(filepath.Join(dir, "others.json")); err != nil {
		return loading{err: errNoOperations} // of an older tool
	}
	c.Operations = append(c.Operations, unpublished...)
	c.others = sync.OnceValues(func() (*catalog, error) { return readCatalog(dir, "others.json") })
	return loading{catalog: c}
})

func readCatalog(dir, file string) (*catalog, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoOperations
	}
	if err != nil {
		return nil, err
	}
	c := new(catalog)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", dir, file, err)
	}
	return c, nil
}

// of is the catalog that an operation is in: those of services without kinds of their own are read when one is called.
func (c *catalog) of(o *operation) *catalog {
	if !slices.Contains(c.Operations, o) && c.others != nil {
		if others, err := c.others(); err == nil {
			return others
		}
	}
	return c
}

// named is the operation as the package cloudflare names one.
func (o *operation) named() cloudflare.Operation {
	var service strings.Builder
	for word := range strings.SplitSeq(o.Service, "-") {
		service.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return cloudflare.Operation{Service: service.String(), Name: o.Name, Method: o.Method, Path: o.Path}
}

// folder is where tools/cloudflare.sh puts what it fetches.
func folder() (string, error) {
	if dir := os.Getenv("ATHANOR_CLOUDFLARE"); dir != "" {
		return dir, nil
	}
	root, ok := proctest.ModuleRoot()
	if !ok {
		return "", errNoOperations
	}
	return filepath.Join(root, ".cache", "cloudflare"), nil
}

// find is the operation that a request is, with the parts of its path by name; of several that fit, the one with the
// most literal path.
func (c *catalog) find(method, path string) (*operation, map[string]string) {
	c.index()
	var best *operation
	var values map[string]string
	have := strings.Split(path, "/")
	for _, o := range c.byParts[sized(method, len(have))] {
		if found, ok := match(o.words, have); ok && (best == nil || len(found) < len(values)) {
			best, values = o, found
		}
	}
	if best == nil && c.others != nil {
		if others, err := c.others(); err == nil {
			return others.find(method, path)
		}
	}
	return best, values
}

// index sorts the operations once, so that a request is not compared with all of them.
func (c *catalog) index() {
	c.indexing.Do(func() {
		c.byParts, c.byShape = map[string][]*operation{}, map[string]*operation{}
		for _, o := range c.Operations {
			o.words = strings.Split(o.Path, "/")
			key := sized(o.Method, len(o.words))
			c.byParts[key] = append(c.byParts[key], o)
			if key = shaped(o.Method, shapeOf(o.Path)); c.byShape[key] == nil {
				c.byShape[key] = o
			}
		}
	})
}

func sized(method string, parts int) string { return method + " " + strconv.Itoa(parts) }

func shaped(method, shape string) string { return method + " " + shape }

// match reads the parts of a path by its pattern, in which {name} is one part. They are equally many.
func match(want, have []string) (map[string]string, bool) {
	for i, w := range want {
		if w != have[i] && (!strings.HasPrefix(w, "{") || have[i] == "") {
			return nil, false
		}
	}
	values := map[string]string{}
	for i, w := range want {
		if name, variable := strings.CutPrefix(w, "{"); variable {
			values[strings.TrimSuffix(name, "}")] = have[i]
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
