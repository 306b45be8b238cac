package kv

// ID is the identity of a namespace, by which Workers are bound to it.
type ID string

// NamespaceProps declare a namespace. Limits are those of
// https://developers.cloudflare.com/kv/platform/limits/
type NamespaceProps struct {
	// Title of the namespace, by which people know it: up to 512 bytes, no other of the account has it. Default: none,
	// a title is generated. A change renames the namespace in place.
	Title string
}

// Namespace is what others may refer to of a namespace.
type Namespace struct {
	// ID of the namespace.
	ID ID
	// Title of the namespace.
	Title string
}
