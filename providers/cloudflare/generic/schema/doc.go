// Package schema is what the description of Cloudflare's API says of every type of object that can be created, read and
// deleted: the paths and methods of its operations, the names and types of its properties, which must be given, which
// cannot be changed, and which are never shown.
//
// The knowledge lies in one compressed table inside the binary. Nothing of it is read before somebody asks, and then one
// group of types at a time. internal/generate makes the table (task cloudflare:table). The overlay is what the description
// does not say, written by hand from Cloudflare's documentation.
//
// The package knows schemas. It makes no calls; package generic does.
package schema
