package aws

import (
	"slices"
	"strings"
)

// Declares names an object that one resource of a stack alone can declare, by its type in the public registry, which kinds of
// both forms share, and by its name, which can have several parts. The result is for the field Unique of a kind. It is nil when a
// part is empty: a generated name is nobody else's.
func Declares(registryType string, name ...string) []string {
	if slices.Contains(name, "") {
		return nil
	}
	return []string{registryType + " " + strings.Join(name, "|")}
}
