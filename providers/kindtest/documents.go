package kindtest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Documents completes the suite of a kind whose service keeps JSON documents under paths: each world is such a service in memory,
// to which open gives the way. Hands write the document of an object, which is at the path of its attributes, with the names
// of the table. What is left to say is Kind, Base, Variants, and Steady for props that are no attributes.
//
// The service answers PUT with what is put, POST with a new document whose id it makes, PATCH by replacing members (null
// deletes one), GET with a document or the list of those below, and DELETE. What a real one refuses beyond that is tested
// with the real one.
func Documents[P any](
	t testing.TB, table *kind.Table[P], open func(url string) reconcile.Cloud, path func(attrs map[string]any) string, s Suite,
) Suite {
	t.Helper()
	var known sync.Map // a *documents by its Cloud
	of := func(w World) *documents {
		d, _ := known.Load(w.Cloud)
		return d.(*documents)
	}
	s.World = func(T) World {
		d := &documents{at: map[string]kind.Document{}}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		cloud := open(server.URL)
		known.Store(cloud, d)
		return World{Cloud: cloud, Objects: d.all}
	}
	s.Hands = Mutators(table, func() kind.Document { return kind.Document{} }, func(_ T, w World, to Edited, body kind.Document) {
		of(w).merge(path(to.Attrs), body)
	})
	s.Hands[""] = func(_ T, w World, to Edited) { of(w).remove(path(to.Attrs)) }
	s.Fault = func(class reconcile.Class) error {
		return reconcile.WithClass(errors.New("refused by the test"), class)
	}
	return Derive(table, s)
}

// documents is a service that keeps documents by their paths.
type documents struct {
	mu   sync.Mutex
	at   map[string]kind.Document
	made int
}

func (d *documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, body := r.URL.Path, kind.Document{}
	if r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	if r.Method == http.MethodPost {
		d.made++
		id := strconv.Itoa(d.made)
		path, body["id"] = path+"/"+id, id
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		d.at[path] = body
	}
	document, there := d.at[path]
	below := d.below(path + "/")
	switch {
	case !there && r.Method == http.MethodGet && len(below) > 0:
		answer(w, below)
	case !there:
		http.Error(w, "there is no "+path, http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(d.at, path)
	default:
		if r.Method == http.MethodPatch {
			apply(document, body)
		}
		answer(w, document)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func apply(document, changes kind.Document) {
	maps.Copy(document, changes)
	maps.DeleteFunc(document, func(_ string, v any) bool { return v == nil })
}

// below are the documents whose paths begin so, in the order of the paths.
func (d *documents) below(prefix string) (all []kind.Document) {
	for _, path := range slices.Sorted(maps.Keys(d.at)) {
		if strings.HasPrefix(path, prefix) {
			all = append(all, d.at[path])
		}
	}
	return all
}

func (d *documents) merge(path string, changes kind.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document, there := d.at[path]; there {
		apply(document, changes)
	}
}

func (d *documents) remove(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.at, path)
}

// all are the documents without the ids that the service made.
func (d *documents) all() (all []any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, document := range d.below("") {
		m, _ := tree.Clone(map[string]any(document)).(map[string]any)
		delete(m, "id")
		all = append(all, m)
	}
	return all
}
