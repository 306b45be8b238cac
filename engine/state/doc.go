// Package state holds what athanor remembers of one stage: an entry for each resource, with the generations of its object.
//
// It knows how an entry becomes a sealed row of a store and back, which address has each object, and which generated names
// are taken. It does no I/O, reads no cloud and decides nothing.
package state
