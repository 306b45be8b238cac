package stacks_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var books = aws.JSONService{Name: "Books", Signing: "books", Host: "books", Target: "Books_2026", Version: "1.1"}

// TestJSONCall signs what it sends, passes the gates as a change, and reads what is answered and what is refused.
func TestJSONCall(t *testing.T) {
	var refuse func(http.ResponseWriter)
	var seen []*http.Request
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "GetCallerIdentity") {
			io.WriteString(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
			return
		}
		seen, bodies = append(seen, r), append(bodies, string(body))
		if refuse != nil {
			refuse(w)
			return
		}
		io.WriteString(w, `{"pages": 12}`)
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "ATHANOR_UNTRUSTED": "",
	} {
		t.Setenv(name, value)
	}
	cloud := open(t, &aws.Settings{Region: new("eu-west-1"), Endpoint: &server.URL})
	var out struct{ Pages int }
	if err := books.Call(t.Context(), cloud, "PrintBook", map[string]any{"title": "x"}, &out); err != nil || out.Pages != 12 || bodies[0] != `{"title":"x"}` {
		t.Fatalf("%+v, %v, sent %q", out, err, bodies)
	}
	if r := seen[0]; r.Header.Get("X-Amz-Target") != "Books_2026.PrintBook" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" ||
		!strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/books/aws4_request") {
		t.Errorf("it sends %v", r.Header)
	}
	// What is not known to read is a change.
	if err := books.Call(reconcile.ReadOnly(t.Context()), cloud, "PrintBook", nil, nil); err == nil || len(seen) != 1 {
		t.Errorf("a change while an object is observed: %v", err)
	}
	for _, c := range []struct {
		header, body string
		status       int
		class        reconcile.Class
	}{
		{"", `{"__type":"com.amazonaws.books#ResourceNotFoundException","Message":"none"}`, 400, reconcile.Absent},
		{"ConflictException:http://internal.example/", `{"message":"slow"}`, 400, reconcile.Conflict},
		{"", `{"__type":"AccessDeniedException"}`, 400, reconcile.Denied},
		{"", `<html>`, 503, reconcile.Transient},
		{"", `{"pages": "many"}`, 200, reconcile.Transient},
	} {
		refuse = func(w http.ResponseWriter) {
			if c.header != "" {
				w.Header().Set("X-Amzn-Errortype", c.header)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}
		err := books.Call(t.Context(), cloud, "PrintBook", json.RawMessage("{}"), &out)
		if have := cloud.Classify(err); have != c.class {
			t.Errorf("%d %s is %v (%v), want %v", c.status, c.body, have, err, c.class)
		}
	}
	// A throttled call is made again.
	n := len(seen)
	refuse = func(w http.ResponseWriter) {
		if len(seen) == n+1 {
			w.Header().Set("X-Amzn-Errortype", "ThrottlingException:http://internal.example/")
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, `{}`)
	}
	if err := books.Call(t.Context(), cloud, "PrintBook", nil, nil); err != nil || len(seen) != n+2 {
		t.Errorf("%d calls, %v", len(seen)-n, err)
	}
}
