// Package aws is the way into Amazon Web Services: credentials, regions, one gate for every call, one table of
// error codes, tags and policies.
//
// It knows how calls are made and what their errors mean. It does not know any resource: each service has a
// package of its own below this one, and what they offer is put together by [Provider].
package aws
