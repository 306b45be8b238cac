// Package aws is the way into Amazon Web Services: credentials, places, and what all its services have in
// common.
//
// It knows how a handle on an account and a region is opened, how every call is counted, bounded and told
// apart from a read, what each error code means, how owner tags are written, when two policies say
// the same, and how tagged objects are found without knowing their kind. It does not know any kind: the packages
// below it do, and the list of the providers puts them together.
//
// Calls are never repeated here. The runner of package reconcile does that, once for all clouds, because only it
// can read what exists before it tries again.
package aws
