package random

import (
	"context"
	"encoding/hex"

	"github.com/athanor-dev/athanor/reconcile"
)

// IDProps declare one identifier.
type IDProps struct {
	// Bytes is how many random bytes it is made of. Changing it replaces the identifier. Default: 8.
	Bytes *int `prop:"min=1,max=1024"`
	// Prefix is put before each spelling. Changing it replaces the identifier. Default: none.
	Prefix string
	// Version is any number; raising it gives another value. Changing it replaces the identifier. Default: 0.
	Version int
}

// ID is what others may refer to. It is not secret.
type ID struct {
	// Hex is the prefix and the bytes in lower-case hex.
	Hex string
	// Base32 is the prefix and the bytes in lower-case base32 (a to z, 2 to 7) without padding.
	Base32 string
}

// liveID is an identifier as it is on record.
type liveID struct {
	props IDProps
	attrs ID
}

var idKind = &reconcile.Kind[IDProps, liveID, ID]{
	Type: "random.ID",
	Doc: "A random identifier, kept in the record. Without a record the same one is derived again from the stage's key, the address and the props. " +
		"For another value raise version.",
	Observe: func(_ context.Context, site reconcile.Site[IDProps, ID]) (liveID, error) {
		if site.Last == nil {
			return liveID{}, reconcile.ErrAbsent
		}
		live := liveID{attrs: *site.Last, props: site.Want}
		if site.Had != nil {
			live.props = defaultID(*site.Had)
		}
		return live, nil
	},
	Create: createID,
	Compare: func(d *reconcile.Diff[liveID], want IDProps, live liveID) {
		reconcile.Fixed(d, "bytes", want.Bytes, live.props.Bytes)
		reconcile.Fixed(d, "prefix", want.Prefix, live.props.Prefix)
		reconcile.Fixed(d, "version", want.Version, live.props.Version)
	},
	Attrs:    func(l liveID) ID { return l.attrs },
	Delete:   func(context.Context, reconcile.Site[IDProps, ID]) error { return nil },
	Identity: func(ID) string { return "" },
	Defaults: defaultID,
	AtBirth:  []string{"hex", "base32"},
	Recorded: true,
	Source:   source,
}

func defaultID(p IDProps) IDProps {
	if p.Bytes == nil {
		p.Bytes = new(8)
	}
	return p
}

func createID(_ context.Context, site reconcile.Site[IDProps, ID]) (ID, error) {
	if site.Derive == nil {
		return ID{}, errNoKey
	}
	p := site.Want
	b := site.Derive(info("random.ID", map[string]any{
		"bytes": int64(*p.Bytes), "prefix": p.Prefix, "version": int64(p.Version),
	}), *p.Bytes)
	return ID{Hex: p.Prefix + hex.EncodeToString(b), Base32: p.Prefix + lowerBase32(b)}, nil
}
