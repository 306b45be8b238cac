package cloudflaretest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// keyValues is Workers KV.
type keyValues struct {
	spaces []*namespace // in the order of their making
	// lists is how many listings of keys the day has left, nil without a limit.
	lists *int
}

type namespace struct {
	account, id, title string
	keys               map[string][]byte
	metadata           map[string]any // of keys that have some
}

var keyValueHandlers = map[string]handler{
	"kv.ListNamespaces":    listNamespaces,
	"kv.CreateNamespace":   createNamespace,
	"kv.GetNamespace":      onNamespace(func(_ *world, _ request, n *namespace) (any, *failure) { return n.shown(), nil }),
	"kv.UpdateNamespace":   onNamespace(renameNamespace),
	"kv.DeleteNamespace":   onNamespace(deleteNamespace),
	"kv.ListNamespaceKeys": onNamespace(listKeys),
	"kv.PutNamespaceValue": onNamespace(putValue),

	"kv.GetNamespaceValue":    onNamespace(getValue),
	"kv.GetNamespaceMetadata": onNamespace(getMetadata),
	"kv.DeleteNamespaceValue": onNamespace(deleteValue),
}

func noNamespace() *failure {
	return &failure{service: "kv", status: 404, code: 10013, message: "namespace not found"}
}

func (n *namespace) shown() object {
	return object{"id": n.id, "title": n.title, "supports_url_encoding": true}
}

func onNamespace(do func(*world, request, *namespace) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, n := range w.kv.spaces {
			if n.account == r.account && n.id == r.path["namespaceId"] {
				return do(w, r, n)
			}
		}
		return nil, noNamespace()
	}
}

func listNamespaces(w *world, r request) (any, *failure) {
	var own []*namespace
	for _, n := range w.kv.spaces {
		if n.account == r.account {
			own = append(own, n)
		}
	}
	slices.SortFunc(own, func(a, b *namespace) int {
		if r.query.Get("order") == "title" {
			return strings.Compare(a.title, b.title)
		}
		return strings.Compare(a.id, b.id)
	})
	if r.query.Get("direction") == "desc" {
		slices.Reverse(own)
	}
	items := make([]any, len(own))
	for i, n := range own {
		items[i] = n.shown()
	}
	return paged(r, items, 20), nil
}

// title checks a title for one namespace, nil for a new one.
func (w *world) title(r request, mine *namespace) *failure {
	if r.text("title") == "" {
		return &failure{status: 400, code: 10019, message: "title is required"}
	}
	for _, n := range w.kv.spaces {
		if n != mine && n.account == r.account && n.title == r.text("title") {
			return &failure{status: 400, code: 10014, message: "a namespace with this account ID and title already exists"}
		}
	}
	return nil
}

func createNamespace(w *world, r request) (any, *failure) {
	if f := w.title(r, nil); f != nil {
		return nil, f
	}
	n := &namespace{account: r.account, id: hexID(16), title: r.text("title"), keys: map[string][]byte{}}
	w.kv.spaces = append(w.kv.spaces, n)
	return n.shown(), nil
}

func renameNamespace(w *world, r request, n *namespace) (any, *failure) {
	if f := w.title(r, n); f != nil {
		return nil, f
	}
	n.title = r.text("title")
	return n.shown(), nil
}

func deleteNamespace(w *world, _ request, n *namespace) (any, *failure) {
	w.kv.spaces = slices.DeleteFunc(w.kv.spaces, func(m *namespace) bool { return m == n })
	return object{}, nil
}

func listKeys(w *world, r request, n *namespace) (any, *failure) {
	if left := w.kv.lists; left != nil {
		if *left == 0 {
			return nil, &failure{status: 429, code: 10048, message: "your account has reached the free usage limit for this operation for today"}
		}
		*left--
	}
	names := map[string]any{}
	for key := range n.keys {
		if strings.HasPrefix(key, r.query.Get("prefix")) && key > r.query.Get("cursor") {
			names[key] = object{"name": key}
		}
	}
	return cursored(r, "limit", sorted(names), 1000, func(last any) string { return last.(object)["name"].(string) }), nil
}

// putValue takes the value as the body, or as the part of a form that is called value.
func putValue(_ *world, r request, n *namespace) (any, *failure) {
	value := r.raw
	if strings.HasPrefix(r.header.Get("Content-Type"), "multipart/form-data") {
		text, sent := r.body["value"].(string)
		for _, part := range r.upload.Modules {
			if part.Name == "value" {
				text, sent = string(part.Content), true
			}
		}
		if !sent {
			return nil, &failure{status: 400, code: 10012, message: "could not find value in the request"}
		}
		value = []byte(text)
	}
	n.keys[r.path["keyName"]] = value
	if n.metadata == nil {
		n.metadata = map[string]any{}
	}
	n.metadata[r.path["keyName"]] = r.body["metadata"]
	return object{}, nil
}

func noKey() *failure { return &failure{status: 404, code: 10009, message: "key not found"} }

// getValue answers a value as it is, in no envelope.
func getValue(_ *world, r request, n *namespace) (any, *failure) {
	value, there := n.keys[r.path["keyName"]]
	if !there {
		return nil, noKey()
	}
	return wiretest.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/octet-stream"}}, Body: value}, nil
}

func getMetadata(_ *world, r request, n *namespace) (any, *failure) {
	if _, there := n.keys[r.path["keyName"]]; !there {
		return nil, noKey()
	}
	return n.metadata[r.path["keyName"]], nil
}

func deleteValue(_ *world, r request, n *namespace) (any, *failure) {
	delete(n.keys, r.path["keyName"])
	return object{}, nil
}

// LimitKeyLists plays the free plan, which lists keys 1,000 times a day, https://developers.cloudflare.com/kv/platform/pricing/: the day
// has so many listings left.
func (s *Server) LimitKeyLists(left int) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.kv.lists = &left
}

// AddNamespace makes a namespace exist, with the id that a test knows it by.
func (s *Server) AddNamespace(id, title string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.kv.spaces = append(s.world.kv.spaces, &namespace{account: s.Account, id: id, title: title, keys: map[string][]byte{}})
}
