// Package yamlstack reads stacks that are written in YAML: athanor.yaml and what it includes become the same
// graph as a Go program would give. Everything that is wrong is reported together, each with file, line and
// column, and with what may have been meant.
//
// It knows the language and, from a catalog, the props and attributes of kinds. It does not know what is
// deployed, and makes no call to any world but the reading of files.
package yamlstack
