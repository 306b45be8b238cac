package cloudflaretest

import (
	"slices"
	"strings"
)

// keyValues is Workers KV.
type keyValues struct {
	spaces []*namespace // in the order of their making
}

type namespace struct {
	account, id, title string
	keys               map[string][]byte
}

var keyValueHandlers = map[string]handler{
	"kv.ListNamespaces":    listNamespaces,
	"kv.CreateNamespace":   createNamespace,
	"kv.GetNamespace":      onNamespace(func(_ *world, _ request, n *namespace) (any, *failure) { return n.shown(), nil }),
	"kv.UpdateNamespace":   onNamespace(renameNamespace),
	"kv.DeleteNamespace":   onNamespace(deleteNamespace),
	"kv.ListNamespaceKeys": onNamespace(listKeys),
	"kv.PutNamespaceValue": onNamespace(putValue),
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

func listKeys(_ *world, r request, n *namespace) (any, *failure) {
	names := map[string]any{}
	for key := range n.keys {
		if strings.HasPrefix(key, r.query.Get("prefix")) && key > r.query.Get("cursor") {
			names[key] = object{"name": key}
		}
	}
	return cursored(r, "limit", sorted(names), 1000, func(last any) string { return last.(object)["name"].(string) }), nil
}

func putValue(_ *world, r request, n *namespace) (any, *failure) {
	n.keys[r.path["keyName"]] = r.raw
	return object{}, nil
}

// AddNamespace makes a namespace exist, with the id that a test knows it by.
func (s *Server) AddNamespace(id, title string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.kv.spaces = append(s.world.kv.spaces, &namespace{account: s.Account, id: id, title: title, keys: map[string][]byte{}})
}
