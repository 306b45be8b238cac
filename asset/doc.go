// Package asset builds what kinds prepare before anything is looked at: archives of files, programs compiled by the go
// command, and bundles of JavaScript and TypeScript.
//
// What it builds is reproducible: equal sources give equal bytes, whenever, wherever and in whatever folder they are
// built. Outputs lie in the cache of a [reconcile.Workspace], named by the digest of their inputs.
//
// The package knows files, the go command and esbuild. It does not know what is done with the outputs, and no cloud.
package asset
