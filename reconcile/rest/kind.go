package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Documents says where a service keeps the objects of a kind: as JSON documents, one below another part of Path each. GET reads
// one, PATCH sets members of it (null clears one), and DELETE deletes it. Without Named the name of an object is the last part of
// its path, and PUT creates it.
type Documents struct {
	// Path leads to the documents: {"lamps"} where one is at /lamps/hall. Default: they are below the URL of the service itself.
	Path []string
	// Named is the member of a document that holds the name of its object. With it the service gives the ids: POST to Path
	// creates an object, and GET of Path lists them, among which one is found by its name where its id is not known. The
	// service lists all of them in one answer. Default: the name is the id.
	Named string
	// ID is the member that holds the id that the service gives. Default: id.
	ID string
	// Listed is the member of the answer to a listing that holds the documents. Default: the answer is the list.
	Listed string
	// Whole says that PUT of a whole document changes it, since the service has no PATCH. Members that are no props are not
	// sent, and the service decides what becomes of them.
	Whole bool
}

// Object is one document as it was observed.
type Object[P any] struct {
	// ID is the last part of its path, and Name what the member Named holds, or the ID.
	ID, Name string
	// Have are the props that the document shows.
	Have P
	// Document is what the service answered, or what was sent where it answered nothing.
	Document kind.Document
}

// Text is the text of a member of the document that is no prop, such as an address that the service gives; a dot leads into one that
// is an object. It is "" where there is none.
func (o Object[P]) Text(member string) string {
	text, _ := o.Document.Get(member).(string)
	return text
}

// Kind completes a kind whose objects are documents: with Props, Observe, Create, Compare, Delete and the Calls of API, each where it
// is not given. What is left to say is Type, Doc, Attributes, Identity (the [Object.ID]), API.Source, how it is named, and
// whatever else it can do. The calls have the names of Type: GetLamp, PutLamp (PostLamp and ListLamp with Named), PatchLamp and
// DeleteLamp of the service house for house.Lamp.
func Kind[P, A any](where Documents, k kind.Kind[P, Object[P], A]) *kind.Kind[P, Object[P], A] {
	service, noun, _ := strings.Cut(k.Type, ".")
	if k.Props == nil {
		k.Props = kind.TableOf[P]()
	}
	d := &documents[P, A]{
		Documents: where, noun: noun, kind: &k, finds: k.Observe == nil || k.Create == nil,
		sendsAll: k.Create == nil && k.Compare == nil && k.Default == nil && k.Prepare == nil && k.Key == nil,
	}
	if k.Observe == nil {
		k.Observe = d.observe
	}
	if k.Create == nil {
		k.Create = d.create
	}
	if k.Compare == nil {
		k.Compare = d.compare
	}
	if k.Delete == nil {
		k.Delete = d.delete
	}
	if k.Verify == nil {
		k.Verify = d.verify
	}
	if k.API.Calls == nil {
		for _, verb := range d.verbs() {
			k.API.Calls = append(k.API.Calls, service+"."+verb+noun)
		}
	}
	return &k
}

type documents[P, A any] struct {
	Documents

	noun string // of calls
	kind *kind.Kind[P, Object[P], A]
	// finds: objects are found, or created, by the functions of this package.
	finds bool
	// sendsAll: no function of the kind's own makes anything of a prop that has no name on the wire.
	sendsAll bool
}

// verify finds what the service could not be asked for by.
func (d *documents[P, A]) verify() error {
	for _, part := range d.Path {
		if part == "" || strings.ContainsAny(part, "/?#{}") {
			return fmt.Errorf(`Documents.Path has the part %q: want each part of the path by itself, such as {"v1", "lamps"}`, part)
		}
	}
	if d.finds && d.kind.Named == nil && d.kind.Key == nil {
		return fmt.Errorf("it has neither Named nor Key, and documents are created and found by a name: say how objects are named, or give Observe and Create")
	}
	switch {
	case d.Named == "" && d.Listed != "":
		return fmt.Errorf("Documents.Listed means nothing without Documents.Named: nothing is listed")
	case d.Named == "" && d.ID != "":
		return fmt.Errorf("Documents.ID means nothing without Documents.Named: the name is the id")
	}
	for _, a := range d.kind.Props.Attributes() {
		switch {
		case d.Named != "" && a.Wire == d.Named:
			return fmt.Errorf("%s: its wire name is that of Documents.Named, which is sent the name: leave the tag out", a.Path)
		case d.Named != "" && a.Wire == d.idMember():
			return fmt.Errorf("%s: its wire name is that of Documents.ID, which the service gives: leave the tag out", a.Path)
		case d.sendsAll && (a.Wire == "" || a.Wire == "-") && !d.isName(a.Path):
			return fmt.Errorf("%s: it has no wire name, so that no call sends it", a.Path)
		}
	}
	return nil
}

// isName reports whether the author gives the name of an object in a prop.
func (d *documents[P, A]) isName(prop tree.Path) bool {
	n := d.kind.Named
	return n != nil && n.Given != nil && prop == cmp.Or(n.Prop, "name")
}

// idMember is the member of a document that holds the id which the service gives.
func (d *documents[P, A]) idMember() string { return cmp.Or(d.ID, "id") }

// verbs are those of the calls that are made.
func (d *documents[P, A]) verbs() []string {
	verbs := []string{"Get", "Put", "Patch", "Delete"}
	if d.Named != "" {
		verbs = []string{"Get", "List", "Post", "Patch", "Delete"}
	}
	switch i := slices.Index(verbs, "Patch"); {
	case !d.Whole:
	case d.Named == "":
		verbs = slices.Delete(verbs, i, i+1)
	default:
		verbs[i] = "Put"
	}
	return verbs
}

// do makes a call whose name begins with the verb, such as Get.
func (d *documents[P, A]) do(ctx context.Context, cloud kind.Cloud, verb, method, id string, send, answer any) error {
	path := d.Path
	if id != "" {
		path = append(slices.Clone(path), id)
	}
	return Do(ctx, cloud, Request{Operation: verb + d.noun, Method: method, Path: path, Send: send, Answer: answer})
}

func (d *documents[P, A]) observe(ctx context.Context, s kind.Site[P, A]) (Object[P], error) {
	id, err := d.id(ctx, s)
	if err != nil {
		return Object[P]{}, err
	}
	body := kind.Document{}
	if err := d.do(ctx, s.Cloud, "Get", http.MethodGet, id, nil, &body); err != nil {
		return Object[P]{}, err
	}
	return d.object(id, body)
}

func (d *documents[P, A]) object(id string, body kind.Document) (Object[P], error) {
	o := Object[P]{ID: id, Name: id, Document: body}
	if d.Named != "" {
		o.Name = o.Text(d.Named)
	}
	var err error
	o.Have, err = d.kind.Props.Read(body)
	return o, err
}

// id is the id to look for: that in state, one that is asked about, the name, or the id of the document that holds the name.
func (d *documents[P, A]) id(ctx context.Context, s kind.Site[P, A]) (string, error) {
	switch {
	case s.Last != nil:
		return d.kind.Identity(*s.Last), nil
	case s.ID != "":
		return s.ID, nil
	case d.Named == "":
		return s.Name, nil
	}
	all, err := d.list(ctx, s.Cloud)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, body := range all {
		if body.Get(d.Named) == s.Name {
			id, err := d.idOf(body)
			if err != nil {
				return "", err
			}
			ids = append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		return "", reconcile.ErrAbsent
	case 1:
		return ids[0], nil
	}
	return "", reconcile.WithClass(fmt.Errorf("%s: %d have the %s %q: %s", "List"+d.noun, len(ids), d.Named, s.Name, strings.Join(ids, ", ")), reconcile.Invalid)
}

func (d *documents[P, A]) list(ctx context.Context, cloud kind.Cloud) (all []kind.Document, err error) {
	var members map[string]json.RawMessage
	answer := any(&all)
	if d.Listed != "" {
		answer = &members
	}
	switch err := d.do(ctx, cloud, "List", http.MethodGet, "", nil, answer); {
	case errors.Is(err, reconcile.ErrAbsent):
		return nil, nil // a service that has none
	case err != nil || d.Listed == "":
		return all, err
	}
	if err := d.listed(members, &all); err != nil {
		return nil, reconcile.WithClass(fmt.Errorf("%s: the answer%w", "List"+d.noun, err), reconcile.Invalid)
	}
	return all, nil
}

// listed reads the documents out of an answer to a listing. One without the member lists none, unless it lists something else:
// objects that are not found are created a second time.
func (d *documents[P, A]) listed(members map[string]json.RawMessage, all *[]kind.Document) error {
	text, there := members[d.Listed]
	if there {
		if err := json.Unmarshal(text, all); err != nil {
			return fmt.Errorf(": %s: %w", d.Listed, err)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if bytes.HasPrefix(members[name], []byte("[")) {
			return fmt.Errorf(" has no %s, and there is a list %s: is that Documents.Listed?", d.Listed, name)
		}
	}
	return nil
}

// idOf is the id that the service has given, text or a number.
func (d *documents[P, A]) idOf(body kind.Document) (string, error) {
	switch id := body.Get(d.idMember()).(type) {
	case string:
		if id != "" {
			return id, nil
		}
	case float64:
		if id == float64(int64(id)) {
			return fmt.Sprint(int64(id)), nil
		}
	}
	return "", reconcile.WithClass(fmt.Errorf("%s: the answer has no %s", d.noun, d.idMember()), reconcile.Invalid)
}

// body is a whole document as it is declared.
func (d *documents[P, A]) body(want P, name string) (kind.Document, error) {
	body := kind.Document{}
	if d.Named != "" {
		body.Set(d.Named, name)
	}
	return body, d.kind.Props.Created(want, body)
}

func (d *documents[P, A]) create(ctx context.Context, s kind.Site[P, A]) (none A, err error) {
	body, err := d.body(s.Want, s.Name)
	if err != nil {
		return none, err
	}
	verb, method, id := "Put", http.MethodPut, s.Name
	if d.Named != "" {
		verb, method, id = "Post", http.MethodPost, ""
	}
	answer := kind.Document{}
	if err := d.do(ctx, s.Cloud, verb, method, id, body, &answer); err != nil {
		return none, err
	}
	if d.Named != "" {
		if id, err = d.idOf(answer); err != nil {
			return none, err
		}
	}
	maps.Copy(body, answer)
	made, err := d.object(id, body)
	if err != nil {
		return none, err
	}
	return d.kind.Attributes(made), nil
}

func (d *documents[P, A]) compare(c *kind.Diff[Object[P]], want P, live Object[P]) {
	verb, method := "Patch", http.MethodPatch
	if d.Whole {
		verb, method = "Put", http.MethodPut
	}
	kind.Compare(c, d.kind.Props, want, live.Have, kind.Set(verb+d.noun, func(ctx context.Context, u kind.Update[Object[P]]) error {
		body, err := kind.Document{}, error(nil)
		if d.Whole {
			body, err = d.body(want, u.Live.Name)
		} else {
			err = d.kind.Props.Changed(want, u.Live.Have, u.Changed, body)
		}
		if err != nil {
			return err
		}
		return d.do(ctx, u.Cloud, verb, method, u.Live.ID, body, nil)
	}))
}

func (d *documents[P, A]) delete(ctx context.Context, s kind.Site[P, A]) error {
	return d.do(ctx, s.Cloud, "Delete", http.MethodDelete, d.kind.Identity(*s.Last), nil, nil)
}

// Provider is the provider of kinds of the service, under its name: what a program adds by cmd.Kinds.
func (s *Service) Provider(kinds ...reconcile.Any) reconcile.Provider {
	return reconcile.Provider{
		Name: s.Name, Kinds: kinds,
		Open: func(context.Context, any) (reconcile.Cloud, error) {
			if err := s.checkURL(); err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

// checkURL refuses a URL that is none, or that holds what is no part of a location. The error shows none of that.
func (s *Service) checkURL() error {
	u, err := url.Parse(s.URL)
	switch {
	case strings.Contains(s.URL, "@"):
		return fmt.Errorf("the URL of %s holds a user or a password, and plans show it: put them into Header", s.Name)
	case strings.ContainsAny(s.URL, "?#"):
		return fmt.Errorf("the URL of %s has a query or a fragment, which no request sends: put a key into Header", s.Name)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL of %s is %q: want one such as https://%s.example", s.Name, s.URL, s.Name)
	}
	return nil
}
