// Package observe reads clouds for one stage: it opens the way to each location once, reads single objects, and lists them by
// kind, by name, by owner tag and by what they belong to.
//
// It answers what there is. It does not know what is declared, decides nothing about what it finds, and writes nothing.
package observe
