package reconcile_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestCommonOfConnections: what became of a real connection is common to all that call the server, whatever they ask for.
func TestCommonOfConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		panic(http.ErrAbortHandler) // the connection is cut
	}))
	ask := func(path string) string {
		res, err := http.Post(server.URL+path, "text/plain", nil)
		if err == nil {
			res.Body.Close()
			t.Fatal("it answers")
		}
		if why, hint := reconcile.Common(err); hint == "" && !strings.Contains(err.Error(), path) {
			t.Errorf("%v: %s", err, why)
		}
		why, _ := reconcile.Common(fmt.Errorf("observe %s: %w", path, err))
		return why
	}
	host := strings.TrimPrefix(server.URL, "http://")
	if one, other := ask("/a"), ask("/b"); one != other || !strings.HasPrefix(one, host+": ") {
		t.Errorf("cut connections: %q, %q", one, other)
	}
	server.Close()
	if one, other := ask("/a"), ask("/b"); one != other || !strings.Contains(one, "refused") || !strings.HasPrefix(one, host+": ") {
		t.Errorf("refused connections: %q, %q", one, other)
	}
}

func TestCommonReason(t *testing.T) {
	for _, err := range []error{nil, errors.New("denied"), reconcile.WithHint(errors.New("denied"), "ask")} {
		if why, hint := reconcile.Common(err); why+hint != "" {
			t.Errorf("%v has %q, %q in common", err, why, hint)
		}
	}
	err := reconcile.WithCommon(reconcile.WithHint(errors.New("SQS: 403"), "sign in"), "the session has expired")
	if err.Error() != "SQS: 403" || len(reconcile.Hints(err)) != 1 {
		t.Errorf("the error itself: %v, %q", err, reconcile.Hints(err))
	}
	if why, hint := reconcile.Common(reconcile.WithHint(fmt.Errorf("observe: %w", err), "or rename it")); why != "the session has expired" || hint != "sign in" {
		t.Errorf("%q, %q", why, hint)
	}
}

// advised is an error whose type says what the user can do.
type advised struct{ error }

func (advised) Hint() string { return "ask again" }

// TestHints: hints that were attached and those of types are found, in every branch of an error's tree.
func TestHints(t *testing.T) {
	err := fmt.Errorf("read: %w", errors.Join(reconcile.WithHint(advised{errors.New("denied")}, "sign in"), errors.New("cut"), advised{errors.New("late")}))
	if got, want := reconcile.Hints(err), []string{"sign in", "ask again", "ask again"}; !slices.Equal(got, want) {
		t.Errorf("the hints are %q, want %q", got, want)
	}
}
