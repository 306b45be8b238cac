package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rest"
)

// answering is a service whose every answer is the same.
func answering(t *testing.T, answer http.HandlerFunc) *rest.Service {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return &rest.Service{Name: "house", URL: server.URL + "/v1", Header: http.Header{"Authorization": {"Bearer of-the-house"}}}
}

func classOf(s *rest.Service, err error) reconcile.Class {
	if class, given := reconcile.ClassGiven(err); given {
		return class
	}
	return s.Classify(err)
}

func TestStatusesHaveClasses(t *testing.T) {
	for status, want := range map[int]reconcile.Class{
		400: reconcile.Invalid, 401: reconcile.Denied, 403: reconcile.Denied, 409: reconcile.Conflict, 422: reconcile.Invalid,
		429: reconcile.Throttled, 500: reconcile.Transient, 503: reconcile.Transient, 301: reconcile.Invalid,
	} {
		s := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "because of the moon", strings.Repeat(".", 1<<20))
		})
		err := rest.Do(t.Context(), s, rest.Request{Operation: "GetLamp", Method: http.MethodGet, Path: []string{"lamps", "a"}})
		refused, ok := errors.AsType[*rest.StatusError](err)
		if !ok || !strings.Contains(err.Error(), "GetLamp: "+fmt.Sprint(status)) || !strings.Contains(refused.Text, "because of the moon") {
			t.Fatalf("%d: %v", status, err)
		}
		if len(refused.Text) > 1<<10 {
			t.Errorf("%d: %d bytes of the answer are kept", status, len(refused.Text))
		}
		if class := classOf(s, err); class != want {
			t.Errorf("%d: class %q, want %q", status, class, want)
		}
	}
	for _, status := range []int{404, 410} {
		s := answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		err := rest.Do(t.Context(), s, rest.Request{Operation: "GetLamp", Method: http.MethodGet, Path: []string{"lamps"}})
		if !errors.Is(err, reconcile.ErrAbsent) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestARequestSaysWhatItIsToldTo(t *testing.T) {
	var seen string
	s := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Content-Type"), " ", string(body))
		fmt.Fprint(w, `{"id": "7"}`)
	})
	var answer struct{ ID string }
	err := rest.Do(t.Context(), s, rest.Request{
		Operation: "PutLamp", Method: http.MethodPut, Path: []string{"lamps", "a/b ?#%"}, Query: map[string][]string{"on": {"1&2"}},
		Send: map[string]any{"color": "red"}, Answer: &answer,
	})
	want := `PUT /v1/lamps/a%2Fb%20%3F%23%25?on=1%262 Bearer of-the-house application/json {"color":"red"}`
	if err != nil || seen != want || answer.ID != "7" {
		t.Errorf("%v %+v\nhave %s\nwant %s", err, answer, seen, want)
	}
}

// A part of a path that leads elsewhere is refused, and nothing is sent.
func TestAPathStaysBelowTheURL(t *testing.T) {
	s := answering(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, part := range []string{"", ".", ".."} {
		err := rest.Do(t.Context(), s, rest.Request{Operation: "GetLamp", Method: http.MethodGet, Path: []string{"lamps", part}})
		if err == nil || classOf(s, err) != reconcile.Invalid {
			t.Errorf("%q: %v", part, err)
		}
	}
}

func TestNoRedirectionIsFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed with %v", r.Header)
	}))
	defer other.Close()
	s := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	err := rest.Do(t.Context(), s, rest.Request{Operation: "PutLamp", Method: http.MethodPut, Path: []string{"lamps", "a"}})
	if err == nil || classOf(s, err) != reconcile.Invalid {
		t.Errorf("error %v", err)
	}
}

func TestNothingIsWrittenWhileReading(t *testing.T) {
	var seen []string
	s := answering(t, func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Method) })
	ctx := reconcile.ReadOnly(context.Background())
	for method, allowed := range map[string]bool{
		http.MethodGet: true, http.MethodHead: true, http.MethodPut: false, http.MethodPost: false, http.MethodPatch: false, http.MethodDelete: false,
	} {
		err := rest.Do(ctx, s, rest.Request{Operation: "Lamps", Method: method, Path: []string{"lamps"}})
		if allowed != (err == nil) || !allowed && !errors.Is(err, reconcile.ErrReadOnly) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := rest.Do(ctx, s, rest.Request{Operation: "FindLamps", Method: http.MethodPost, Path: []string{"find"}, Reads: true}); err != nil {
		t.Error(err)
	}
	if len(seen) != 3 {
		t.Errorf("sent: %v", seen)
	}
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		class reconcile.Class
		fine  bool
	}{
		"empty":     {"", "", true},
		"no JSON":   {"<html>", reconcile.Invalid, false},
		"cut":       {`{"id": "7`, reconcile.Transient, false},
		"too large": {`{"id": "` + strings.Repeat("x", 17<<20) + `"}`, reconcile.Invalid, false},
	} {
		s := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.body) })
		var answer map[string]any
		err := rest.Do(t.Context(), s, rest.Request{Operation: "GetLamp", Method: http.MethodGet, Path: []string{"lamps"}, Answer: &answer})
		if c.fine != (err == nil) || err != nil && classOf(s, err) != c.class {
			t.Errorf("%s: %.100v, class %q", name, err, classOf(s, err))
		}
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		service *rest.Service
		want    string
	}{
		{&rest.Service{Name: "house", URL: "https://house.example"}, "house/https://house.example"},
		{&rest.Service{Name: "house", URL: "https://house.example", Account: "garden"}, "house/garden@https://house.example"},
	} {
		place, err := c.service.Place(t.Context())
		if err != nil || place.String() != c.want {
			t.Errorf("%v %v, want %s", place, err, c.want)
		}
	}
}
