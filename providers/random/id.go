package random

import (
	"context"
	"encoding/hex"

	"github.com/athanor-dev/athanor/reconcile/kind"
)

// IDProps declare one identifier.
type IDProps struct {
	// Bytes is how many random bytes it is made of.
	Bytes *int `prop:"min=1,max=1024,default=8,immutable" wire:"-"`
	// Prefix is put before each spelling. Default: none.
	Prefix string `prop:"immutable" wire:"-"`
	// Version is any number; raising it gives another value.
	Version int `prop:"default=0,immutable" wire:"-"`
}

// ID is what others may refer to. It is not secret.
type ID struct {
	// Hex is the prefix and the bytes in lower-case hex.
	Hex string `attr:"early"`
	// Base32 is the prefix and the bytes in lower-case base32 (a to z, 2 to 7) without padding.
	Base32 string `attr:"early"`
}

var idKind = &kind.StateKind[IDProps, ID]{
	Type: "random.ID",
	Doc: "A random identifier, kept in state. Without state the same one is derived again from the stage's key, the address and the props. " +
		"For another value raise version.",
	Create: createID,
	Props:  kind.TableOf[IDProps](),
	API:    kind.API{Source: source},
}

func createID(_ context.Context, s kind.Site[IDProps, ID]) (ID, error) {
	if s.Derive == nil {
		return ID{}, errNoKey
	}
	p := s.Want
	b := s.Derive(info("random.ID", map[string]any{
		"bytes": int64(*p.Bytes), "prefix": p.Prefix, "version": int64(p.Version),
	}), *p.Bytes)
	return ID{Hex: p.Prefix + hex.EncodeToString(b), Base32: p.Prefix + lowerBase32(b)}, nil
}
