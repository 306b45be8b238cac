package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/rest"
)

type doorProps struct {
	// Color of the door.
	Color string `wire:"color"`
}

type door struct{ ID string }

func doors(where rest.Documents) *kind.Kind[doorProps, rest.Object[doorProps], door] {
	return rest.Kind(where, kind.Kind[doorProps, rest.Object[doorProps], door]{
		Type:       "house.Door",
		Attributes: func(o rest.Object[doorProps]) door { return door{o.ID} },
		Identity:   func(d door) string { return d.ID },
	})
}

// TestDocumentsAreFoundByName finds objects whose ids are lost in a listing: one, none, two of a name, and what no listing is.
func TestDocumentsAreFoundByName(t *testing.T) {
	where := rest.Documents{Path: []string{"doors"}, Named: "label", ID: "number", Listed: "doors"}
	for listing, want := range map[string]struct {
		id, problem string
		class       reconcile.Class
	}{
		`{"doors": [{"number": 3, "label": "back"}, {"number": 7, "label": "front"}]}`: {id: "7"},
		`{"doors": [{"number": "seven", "label": "front"}]}`:                           {id: "seven"},
		`{"total": 1, "next": null, "doors": [{"number": 7, "label": "front"}]}`:       {id: "7"},
		`{"total": 0}`:                    {problem: reconcile.ErrAbsent.Error(), class: reconcile.Absent},
		`{"gates": [{"number": 7}]}`:      {problem: "ListDoor: the answer has no doors, and there is a list gates", class: reconcile.Invalid},
		`{"doors": {"7": {"number": 7}}}`: {problem: "ListDoor: the answer: doors: ", class: reconcile.Invalid},
		`{"doors": []}`:                   {problem: reconcile.ErrAbsent.Error(), class: reconcile.Absent},
		`{"doors": [{"number": 3, "label": "front"}, {"number": 7, "label": "front"}]}`: {
			problem: `ListDoor: 2 have the label "front": 3, 7`, class: reconcile.Invalid,
		},
		`{"doors": [{"label": "front"}]}`:                {problem: "Door: the answer has no number", class: reconcile.Invalid},
		`{"doors": [{"number": 0.5, "label": "front"}]}`: {problem: "Door: the answer has no number", class: reconcile.Invalid},
		`[]`: {problem: "ListDoor: the answer", class: reconcile.Invalid},
	} {
		var asked []string
		s := answering(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if r.URL.Path == "/v1/doors" {
				fmt.Fprint(w, listing)
				return
			}
			fmt.Fprint(w, `{"label": "front", "color": "red"}`)
		})
		site := kind.Site[doorProps, door]{}
		site.Cloud, site.Name = s, "front"
		live, err := doors(where).Observe(t.Context(), site)
		if want.problem != "" {
			if err == nil || !strings.Contains(err.Error(), want.problem) || classOf(s, err) != want.class && !errors.Is(err, reconcile.ErrAbsent) {
				t.Errorf("%s: %v, class %q", listing, err, classOf(s, err))
			}
			continue
		}
		if err != nil || live.ID != want.id || live.Name != "front" || live.Have.Color != "red" || live.Text("color") != "red" || live.Text("colour") != "" || asked[1] != "/v1/doors/"+want.id {
			t.Errorf("%s: %+v %v, asked %v", listing, live, err, asked)
		}
	}
}

// TestAFailedListingIsNoAbsence has a service that lists nothing since it fails.
func TestAFailedListingIsNoAbsence(t *testing.T) {
	s := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	site := kind.Site[doorProps, door]{}
	site.Cloud, site.Name = s, "front"
	_, err := doors(rest.Documents{Path: []string{"doors"}, Named: "label"}).Observe(t.Context(), site)
	if err == nil || errors.Is(err, reconcile.ErrAbsent) || classOf(s, err) != reconcile.Transient {
		t.Errorf("%v", err)
	}
}

// TestCallsOfDocuments names the calls of each way in which a service keeps documents.
func TestCallsOfDocuments(t *testing.T) {
	for _, c := range []struct {
		where rest.Documents
		want  string
	}{
		{rest.Documents{}, "[house.GetDoor house.PutDoor house.PatchDoor house.DeleteDoor]"},
		{rest.Documents{Whole: true}, "[house.GetDoor house.PutDoor house.DeleteDoor]"},
		{rest.Documents{Named: "label"}, "[house.GetDoor house.ListDoor house.PostDoor house.PatchDoor house.DeleteDoor]"},
		{rest.Documents{Named: "label", Whole: true}, "[house.GetDoor house.ListDoor house.PostDoor house.PutDoor house.DeleteDoor]"},
	} {
		if have := fmt.Sprint(doors(c.where).API.Calls); have != c.want {
			t.Errorf("%+v: %s, want %s", c.where, have, c.want)
		}
	}
}

// TestWrongDocumentsAreRefused has what says nothing by which a service could be asked for an object.
func TestWrongDocumentsAreRefused(t *testing.T) {
	named := &kind.Named[doorProps, rest.Object[doorProps]]{
		Rule: func(doorProps) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-"} },
	}
	for want, wrong := range map[string]struct {
		where rest.Documents
		named *kind.Named[doorProps, rest.Object[doorProps]]
	}{
		"": {rest.Documents{Path: []string{"v1", "doors"}}, named},
		`Documents.Path has the part "v1/doors": want each part of the path by itself, such as {"v1", "lamps"}`: {rest.Documents{Path: []string{"v1/doors"}}, named},
		`Documents.Path has the part ""`:                                                             {rest.Documents{Path: []string{""}}, named},
		"it has neither Named nor Key, and documents are created and found by a name":                {rest.Documents{}, nil},
		"color: its wire name is that of Documents.Named, which is sent the name: leave the tag out": {rest.Documents{Named: "color"}, named},
		"color: its wire name is that of Documents.ID, which the service gives: leave the tag out":   {rest.Documents{Named: "label", ID: "color"}, named},
		"Documents.Listed means nothing without Documents.Named: nothing is listed":                  {rest.Documents{Listed: "doors"}, named},
		"Documents.ID means nothing without Documents.Named: the name is the id":                     {rest.Documents{ID: "number"}, named},
	} {
		k := doors(wrong.where)
		k.Doc, k.Named = "A door.", wrong.named
		_, err := reconcile.NewCatalog((&rest.Service{Name: "house"}).Provider(k.Erase()))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	k := doors(rest.Documents{})
	k.Doc = "A door."
	k.Key = func(p doorProps) string { return p.Color }
	if err := k.Validate(); err != nil {
		t.Error(err)
	}
}

type gateProps struct {
	// Name of the gate.
	Name string
	// Height has no name on the wire.
	Height int
	// Lock is of the gate.
	Lock *gateLock `prop:"each" wire:"lock"`
}

type gateLock struct {
	// Code that opens it.
	Code string `wire:"code"`
	// Maker has no name on the wire.
	Maker string
}

type gate = rest.Object[gateProps]

// TestPropsThatGoNowhereAreRefused has props that no call sends. Functions of the kind may use them, and a name is sent as such.
func TestPropsThatGoNowhereAreRefused(t *testing.T) {
	type of = kind.Kind[gateProps, gate, door]
	for name, c := range map[string]struct {
		edit func(*of)
		want string
	}{
		"nothing uses them": {func(*of) {}, "height: it has no wire name, so that no call sends it"},
		"Create does": {func(k *of) {
			k.Create = func(context.Context, kind.Site[gateProps, door]) (d door, err error) { return d, nil }
		}, ""},
		"Compare does": {func(k *of) { k.Compare = func(*kind.Diff[gate], gateProps, gate) {} }, ""},
		"Default does": {func(k *of) { k.Default = func(p gateProps) gateProps { return p } }, ""},
		"the key does": {func(k *of) { k.Named, k.Key = nil, func(p gateProps) string { return p.Name } }, ""},
	} {
		k := of{
			Type: "house.Gate", Doc: "A gate.",
			Attributes: func(o gate) door { return door{o.ID} },
			Identity:   func(d door) string { return d.ID },
			Named: &kind.Named[gateProps, gate]{
				Given: func(p gateProps) string { return p.Name },
				Rule:  func(gateProps) kind.NameRule { return kind.NameRule{Max: 40, Marks: "-"} },
			},
		}
		c.edit(&k)
		if err := rest.Kind(rest.Documents{}, k).Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestAServiceHasAURL is about a URL that a variable did not hold: what is wrong is said before a call is made.
func TestAServiceHasAURL(t *testing.T) {
	const form = "want one such as https://house.example"
	for address, want := range map[string]string{
		"": form, "house.example": form, "localhost:80": form, "ftp://house.example": form, "https://house.example/v1": "",
		"https://me:s3cret@house.example":  "the URL of house holds a user or a password, and plans show it: put them into Header",
		"https://s3cret@house.example":     "the URL of house holds a user or a password, and plans show it: put them into Header",
		"https://me:s3cret@house.example:": "the URL of house holds a user or a password",
		"https://house.example?key=s3cret": "the URL of house has a query or a fragment, which no request sends: put a key into Header",
		"https://house.example/v1#part":    "the URL of house has a query or a fragment",
	} {
		cloud, err := (&rest.Service{Name: "house", URL: address}).Provider().Open(t.Context(), nil)
		if (err == nil) != (want == "") || (cloud != nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
}
