package cloudflare

import (
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
