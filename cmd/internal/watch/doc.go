// Package watch tells when files change: single ones, the Go files of packages, and folders with all that is in them.
//
// It knows how editors save (writing in place, or a new file that is renamed over the old one), that folders come and go,
// and what ignore files say. It tells that something changed and not what: who is told reads again. It does not know
// stacks.
package watch
