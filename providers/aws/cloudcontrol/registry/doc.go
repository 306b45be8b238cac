// Package registry is what the public registry of AWS says of every resource type that Cloud Control can create, read and
// delete: names and types of its properties, what must be given, what replaces, what can only be read or only be
// written, what identifies it, how it is tagged, and what its handlers need.
//
// The knowledge lies in one compressed table inside the binary, a piece for each service of AWS. Nothing of it is
// read before it is asked for, and then one type at a time. The table is made by internal/generate (task registry).
//
// The package knows schemas. It makes no calls and does not know resources; package cloudcontrol does.
package registry
