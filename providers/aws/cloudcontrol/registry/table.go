package registry

import (
	"bytes"
	"compress/flate"
	_ "embed" // the table
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:generate sh ../../../../tools/registry.sh generate
//go:generate go run ./internal/generate -packages ../../../../.cache/registry -out table.bin -typed ../typed

//go:embed table.bin
var table []byte

// ErrUnknown is matched when a type is not in the table, ErrUnserved when the registry has it and Cloud Control cannot
// create, read and delete it.
var (
	ErrUnknown  = errors.New("the registry has no such type")
	ErrUnserved = errors.New("AWS Cloud Control cannot create, read and delete it")
)

// Index is the beginning of the table: what there is, and where.
type Index struct {
	// Types are the names of each service's types, by the service's name ("AWS::EC2"), in the order of their lines.
	Types map[string][]string `json:"types"`
	// Pieces say where the compressed types of a service lie: offset and length behind the index.
	Pieces map[string][2]int `json:"pieces"`
	// Unserved are types that Cloud Control cannot serve.
	Unserved []string `json:"unserved"`
	// ARNs are the shapes of ARNs, service and resource, such as "ec2:vpc/{VpcId}", with the type that each belongs
	// to. A type is left out when its ARN is not known, or does not tell the identity.
	ARNs map[string]string `json:"arns"`
	// Source says what the table was made from.
	Source string `json:"source"`
}

// opened is the index with what lies behind it: first the words that all pieces share, then the pieces.
type opened struct {
	Index
	names  []string
	shared []byte
	pieces []byte
}

// index is read when it is first asked for.
var index = sync.OnceValue(func() opening {
	o, err := read(table)
	return opening{o, err}
})

type opening struct {
	*opened
	err error
}

func open() (*opened, error) {
	o := index()
	return o.opened, o.err
}

// read takes a table apart.
func read(table []byte) (*opened, error) {
	o := &opened{}
	text, rest, err := section(table)
	if err != nil {
		return nil, fmt.Errorf("registry: index: %w", err)
	}
	if err := json.Unmarshal(text, &o.Index); err != nil {
		return nil, fmt.Errorf("registry: index: %w", err)
	}
	if o.shared, o.pieces, err = section(rest); err != nil {
		return nil, fmt.Errorf("registry: words: %w", err)
	}
	for service, types := range o.Types {
		for _, t := range types {
			o.names = append(o.names, service+"::"+t)
		}
	}
	slices.Sort(o.names)
	return o, nil
}

var errDamaged = errors.New("the table is damaged")

// section is a compressed text with its length before it, and what follows.
func section(data []byte) (text, rest []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || uint64(len(data)-n) < size {
		return nil, nil, errDamaged
	}
	text, err = inflate(data[n:n+int(size)], nil) //nolint:gosec // no more than there is
	return text, data[n+int(size):], err          //nolint:gosec // no more than there is
}

func inflate(data, shared []byte) ([]byte, error) {
	return io.ReadAll(flate.NewReaderDict(bytes.NewReader(data), shared))
}

// Names are all types of the table, sorted.
func Names() ([]string, error) {
	o, err := open()
	if err != nil {
		return nil, err
	}
	return slices.Clone(o.names), nil
}

// ARNs are the shapes of ARNs with their types, see [Index].
func ARNs() (map[string]string, error) {
	o, err := open()
	if err != nil {
		return nil, err
	}
	return o.Index.ARNs, nil
}

// Lookup finds a type. The error matches [ErrUnknown] or [ErrUnserved] when there is none.
func Lookup(name string) (*Type, error) {
	o, err := open()
	if err != nil {
		return nil, err
	}
	return o.lookup(name)
}

func (o *opened) lookup(name string) (*Type, error) {
	cut := max(strings.LastIndex(name, "::"), 0)
	service := name[:cut]
	i := slices.Index(o.Types[service], strings.TrimPrefix(name[cut:], "::"))
	if i < 0 {
		if slices.Contains(o.Unserved, name) {
			return nil, fmt.Errorf("%s: %w", name, ErrUnserved)
		}
		return nil, fmt.Errorf("%s: %w", name, ErrUnknown)
	}
	at := o.Pieces[service]
	text, err := inflate(o.pieces[at[0]:at[0]+at[1]], o.shared)
	if err != nil {
		return nil, fmt.Errorf("registry: %s: %w", service, err)
	}
	for range i {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	t := &Type{Name: name}
	if err := json.Unmarshal(line, t); err != nil {
		return nil, fmt.Errorf("registry: %s: %w", name, err)
	}
	t.grant()
	return t, nil
}
