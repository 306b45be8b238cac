// Package random offers values that nobody can guess: identifiers and passwords.
//
// It knows how to derive a value from the stage's key, the address at which the resource was created and its
// inputs, so that lost state gives the same value again, and how to choose from an alphabet without bias.
// It does not know the key, and asks no source of randomness.
package random

import (
	"context"
	"embed"

	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed id.go password.go
var source embed.FS

// Provider is the family random. It has no settings and needs no credentials.
func Provider() reconcile.Provider {
	return reconcile.Provider{
		Name:  "random",
		Open:  func(context.Context, any) (reconcile.Cloud, error) { return nowhere{}, nil },
		Kinds: Kinds(),
	}
}

// Kinds are all that it offers.
func Kinds() []reconcile.Any {
	return []reconcile.Any{idKind.Erase(), passwordKind.Erase()}
}

// Derives reports whether the values of a kind are derived from the stage's key: a rotation keeps the key that they
// came from for as long as there is one.
func Derives(kind string) bool {
	return kind == idKind.Type || kind == passwordKind.Type
}

// nowhere is the location of what exists in state alone.
type nowhere struct{}

// Place has no account and no region.
func (nowhere) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "random"}, nil
}

// Classify knows no error that is worth another try: nothing is called.
func (nowhere) Classify(error) reconcile.Class { return reconcile.Unknown }
