package cloudflare

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/cloudflare/cloudflare-go/v6/option"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ReadWrite are the permissions of a kind whose product has one permission to read and one to write, such as "Queues Read".
func ReadWrite(product string) kind.Permissions {
	read, write := []string{product + " Read"}, []string{product + " Write"}
	return kind.Permissions{Observe: read, List: read, Create: write, Update: write, Delete: write}
}

// Document is an object of an answer, given its JSON: what the client keeps beside its own fields. It is empty where the
// answer has none.
func Document(json string) kind.Document {
	v, _ := tree.Decode([]byte(json))
	doc, _ := v.(map[string]any)
	return doc
}

// ClientIn is [Client] for callers that let the first call fail where there is no client.
func ClientIn[C any](cloud kind.Cloud, make func(...option.RequestOption) *C) *C {
	client, err := Client(cloud, make)
	if err != nil {
		fail := func(*http.Request, option.MiddlewareNext) (*http.Response, error) { return nil, err }
		client = make(option.WithMaxRetries(0), option.WithMiddleware(fail))
	}
	return client
}

// KeyOf is what an object is looked for by: the id in state or the one that somebody gave, else the name, which somebody may
// have given in place of the id. isID tells them apart.
func KeyOf[P, A any](s kind.Site[P, A], idOf func(A) string, isID func(string) bool) (id, name string) {
	switch {
	case s.Last != nil:
		return idOf(*s.Last), ""
	case s.ID != "" && isID(s.ID):
		return s.ID, ""
	}
	return "", cmp.Or(s.ID, s.Name)
}

// Called is the object of a listing that has a name. The error is ErrAbsent when there is none, and says what it is that is
// looked for.
func Called[T any](listing iter.Seq2[T, error], nameOf func(T) string, what, name string) (T, error) {
	var none T
	if name == "" {
		return none, fmt.Errorf("a %s is found by its id or its name, and there is neither", what)
	}
	for t, err := range listing {
		if err != nil || nameOf(t) == name {
			return t, err
		}
	}
	return none, fmt.Errorf("%w: no %s is called %s", reconcile.ErrAbsent, what, name)
}

// OnlyCalled is [Called] for objects of which several may have one name. Then the error is ErrAmbiguous, with a hint.
func OnlyCalled[T any](listing iter.Seq2[T, error], nameOf func(T) string, what, name, hint string) (T, error) {
	var same []T
	first, err := Called(func(yield func(T, error) bool) {
		for t, err := range listing {
			if err != nil {
				yield(t, err)
				return
			}
			if nameOf(t) == name {
				same = append(same, t)
			}
		}
		if len(same) > 0 {
			yield(same[0], nil)
		}
	}, nameOf, what, name)
	if len(same) > 1 && err == nil {
		err = reconcile.WithHint(fmt.Errorf("%w: %d %ss are called %s", reconcile.ErrAmbiguous, len(same), what, name), "%s", hint)
	}
	return first, err
}

// FoundIn are the objects of a listing whose names begin as a scope says. each is one of them as it is found.
func FoundIn[T any](scope kind.ListScope, listing iter.Seq2[T, error], each func(T) kind.Found) (all []kind.Found, err error) {
	for t, err := range listing {
		if err != nil {
			return nil, err
		}
		if f := each(t); strings.HasPrefix(f.Name, scope.Prefix) {
			f.Place = scope.Place
			all = append(all, f)
		}
	}
	return all, nil
}
