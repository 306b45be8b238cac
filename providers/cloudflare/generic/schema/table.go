package schema

import (
	"bytes"
	"compress/flate"
	_ "embed" // the table
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:generate sh ../../../../tools/cloudflare.sh
//go:generate go run ./internal/generate -from ../../../../.cache/cloudflare -out table.bin

//go:embed table.bin
var table []byte

// ErrUnknown is matched when a type is not in the table, ErrUnserved when the API has it and the generic kind cannot serve it.
var (
	ErrUnknown  = errors.New("the description of Cloudflare's API has no such type")
	ErrUnserved = errors.New("the generic kind does not serve it")
)

// Index is the beginning of the table: what there is, and where.
type Index struct {
	// Types are the nouns of each group, in the order of their lines.
	Types map[string][]string `json:"types"`
	// Pieces say where the compressed types of a group lie: offset and length behind the index.
	Pieces map[string][2]int `json:"pieces"`
	// Unserved are types that are not in the table, with the reason.
	Unserved map[string]string `json:"unserved"`
	// Source says what the table was made of.
	Source string `json:"source"`
}

// Prefix begins the names of all types.
const Prefix = "cloudflare."

type opened struct {
	Index
	pieces []byte
	err    error
}

// open reads the index once.
var open = sync.OnceValue(func() opened { return read(table) })

func read(table []byte) (o opened) {
	size, n := binary.Uvarint(table)
	if n <= 0 || uint64(len(table)-n) < size {
		o.err = errDamaged
		return o
	}
	text, err := inflate(table[n : n+int(size)]) //nolint:gosec // no more than there is
	if err == nil {
		err = json.Unmarshal(text, &o.Index)
	}
	o.pieces, o.err = table[n+int(size):], err //nolint:gosec // no more than there is
	return o
}

var errDamaged = errors.New("the table of Cloudflare's types is damaged")

func inflate(data []byte) ([]byte, error) { return io.ReadAll(flate.NewReader(bytes.NewReader(data))) }

// Names are the names of all types, sorted.
func Names() ([]string, error) {
	o := open()
	var all []string
	for group, nouns := range o.Types {
		for _, noun := range nouns {
			all = append(all, Prefix+group+"."+noun)
		}
	}
	slices.Sort(all)
	return all, o.err
}

// Unserved are the types that the API has and the table has not, with the reason, by their names.
func Unserved() (map[string]string, error) {
	o := open()
	return maps.Clone(o.Index.Unserved), o.err
}

// Lookup finds a type. The error matches [ErrUnknown] or [ErrUnserved] when there is none.
func Lookup(name string) (*Type, error) {
	o := open()
	if o.err != nil {
		return nil, o.err
	}
	group, noun, _ := strings.Cut(strings.TrimPrefix(name, Prefix), ".")
	i := slices.Index(o.Types[group], noun)
	if i < 0 {
		if why := o.Index.Unserved[name]; why != "" {
			return nil, fmt.Errorf("%s: %w: %s", name, ErrUnserved, why)
		}
		return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
	}
	at := o.Pieces[group]
	text, err := inflate(o.pieces[at[0] : at[0]+at[1]])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for range i {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	t := &Type{Name: name}
	if err := json.Unmarshal(line, t); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.overlay()
	return t, nil
}
