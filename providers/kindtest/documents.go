package kindtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/rest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Documents completes the suite of a kind whose service keeps JSON documents under paths, such as one of package rest: each world is
// such a service in memory, to which the provider gives the way. Hands write the document at the path that ends in the
// identity of an object, with the names of the table. What is left to say is Base, Variants, and Steady for props
// that are no attributes.
//
// bodies are the documents of Base, under "", and of variants, as a person wrote them down from the service's documentation:
// they are checked as [Golden] does. There is at least one. form is what rest.Kind was given, where that says more than a path.
//
// The service answers PUT with what is put, POST with a new document whose id it makes, PATCH by replacing members (null
// deletes one), GET with a document or the list of those below, and DELETE. What a real one refuses beyond that is tested
// with the real one.
func Documents[P, L, A any](
	t testing.TB, k *kind.Kind[P, L, A], provider func(url string) reconcile.Provider, s Suite, bodies map[string]kind.Document, form ...rest.Documents,
) Suite {
	t.Helper()
	if err := cmp.Or(k.Validate(), sameForm(k.API.Calls, form)); err != nil {
		t.Fatalf("kind %s: %v", k.Type, err)
	}
	s.goldenBodies(t, func(declared map[string]any, body kind.Document) { Golden(t, k.Props, declared, kind.Document{}, body) }, bodies)
	var known sync.Map // a *documents by its Cloud
	of := func(w World) *documents {
		d, _ := known.Load(w.Cloud)
		return d.(*documents)
	}
	s.Kind = k.Erase()
	s.World = func(t1 T) World {
		d := &documents{at: map[string]kind.Document{}, id: "id"}
		for _, f := range form {
			d.id, d.name, d.listed = cmp.Or(f.ID, d.id), f.Named, f.Listed
		}
		server := httptest.NewServer(d)
		t.Cleanup(server.Close)
		cloud, err := provider(server.URL).Open(t1.Context(), nil)
		if err != nil {
			t1.Fatalf("opening the provider: %v", err)
		}
		known.Store(cloud, d)
		return World{Cloud: cloud, Objects: d.all}
	}
	identity := func(t T, to Edited) string {
		var a A
		if err := props.Decode(to.Attrs, &a); err != nil {
			t.Fatalf("attributes: %v", err)
		}
		return k.Identity(a)
	}
	s.Hands = Mutators(k.Props, func() kind.Document { return kind.Document{} }, func(t T, w World, to Edited, body kind.Document) {
		of(w).merge(identity(t, to), body)
	})
	s.Hands[""] = func(t T, w World, to Edited) { of(w).remove(identity(t, to)) }
	s.Fault = func(class reconcile.Class) error {
		return reconcile.WithClass(errors.New("refused by the test"), class)
	}
	if n := k.Named; n != nil && n.Given != nil && n.Live != nil {
		s.Steady = maps.Clone(s.Steady)
		if s.Steady == nil {
			s.Steady = map[tree.Path]string{}
		}
		s.Steady[cmp.Or(n.Prop, "name")] = "it keeps its name for life"
	}
	return Derive(k.Props, s)
}

// sameForm refuses a service of another form than that of the kind, by the verbs that rest.Kind gives its calls.
func sameForm(calls []string, form []rest.Documents) error {
	isNamed := slices.ContainsFunc(form, func(f rest.Documents) bool { return f.Named != "" })
	for _, call := range calls {
		if _, verb, _ := strings.Cut(call, "."); strings.HasPrefix(verb, "Post") && !isNamed {
			return fmt.Errorf("%s creates objects whose ids the service gives, and this one takes names: give kindtest.Documents the "+
				"rest.Documents of the kind, with Named, as the last argument", call)
		}
	}
	return nil
}

// goldenBodies checks the bodies of Base and of variants.
func (s Suite) goldenBodies(t testing.TB, check func(declared map[string]any, body kind.Document), bodies map[string]kind.Document) {
	t.Helper()
	if len(bodies) == 0 {
		t.Errorf("no body is given: write down from the service's documentation what a creation sends")
	}
	for name, body := range bodies {
		declared, i := s.Base, slices.IndexFunc(s.Variants, func(v Variant) bool { return v.Name == name })
		switch {
		case i >= 0:
			declared = s.Variants[i].Props
		case name != "":
			t.Errorf("there is no variant %q, of which a body is given", name)
			continue
		}
		check(declared, body)
	}
}

// documents is a service that keeps documents by their paths.
type documents struct {
	mu   sync.Mutex
	at   map[string]kind.Document
	made int
	// Members of a document that hold its id and its name, and that of a listing's answer which holds the documents.
	id, name, listed string
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
		path, body[d.id] = path+"/"+id, id
	}
	if id, made := d.at[path][d.id]; made && r.Method == http.MethodPut {
		body[d.id] = id
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		d.at[path] = body
	}
	document, there := d.at[path]
	below := d.below(path + "/")
	switch {
	case !there && r.Method == http.MethodGet && len(below) > 0 && d.listed != "":
		answer(w, map[string]any{d.listed: below})
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

// merge changes the document of an identity.
func (d *documents) merge(identity string, changes kind.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, document := range d.at {
		if strings.HasSuffix(path, "/"+identity) {
			apply(document, changes)
		}
	}
}

// remove deletes the document of an identity.
func (d *documents) remove(identity string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.at, func(path string, _ kind.Document) bool { return strings.HasSuffix(path, "/"+identity) })
}

// all are the documents without what differs from one making to the next.
func (d *documents) all() (all []any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, document := range d.below("") {
		m, _ := tree.Clone(map[string]any(document)).(map[string]any)
		delete(m, d.id)
		delete(m, d.name)
		all = append(all, m)
	}
	return all
}
