package terraform

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// keptAttribute holds, among the attributes of an object, what its provider wants to be handed back. No attribute of a provider is
// named like it.
const keptAttribute = "athanor:object"

// kept is what state has of an object beside its attributes.
type kept struct {
	Key    string  `json:"key"`
	Object *object `json:"object"`
	// Config is the configuration of the provider in JSON, where it came with the object.
	Config string `json:"config,omitempty"`
}

// packing writes what state keeps as numbers. As a text it would be a secret, and each part of it be masked wherever it is printed: the ids
// of objects are parts of it. It uses its writers and readers again: a new writer takes half a megabyte, and a reader 40 KB, which is far more
// than what they write and read.
type packing struct{ writers, readers sync.Pool }

func (p *packing) pack(k kept) ([]any, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var small bytes.Buffer
	w, ok := p.writers.Get().(*flate.Writer)
	if !ok {
		if w, err = flate.NewWriter(nil, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer p.writers.Put(w)
	w.Reset(&small)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	packed := make([]any, 1, 2+small.Len()/wordSize)
	packed[0] = int64(small.Len())
	for rest := small.Bytes(); len(rest) > 0; {
		n := min(len(rest), wordSize)
		var word [8]byte
		copy(word[8-n:], rest[:n])
		packed = append(packed, int64(binary.BigEndian.Uint64(word[:]))) //nolint:gosec // six bytes are no negative number
		rest = rest[n:]
	}
	return packed, nil
}

// wordSize is how many bytes a number of what is packed has: as many as every reader of JSON keeps exactly.
const wordSize = 6

var errPacked = errors.New("what state keeps for the provider cannot be read")

func (p *packing) unpack(packed []any) (k kept, err error) {
	numbers := make([]uint64, len(packed))
	for i, v := range packed {
		n, ok := v.(int64)
		if !ok || n < 0 || n >= 1<<(8*wordSize) {
			return k, errPacked
		}
		numbers[i] = uint64(n)
	}
	if len(numbers) == 0 || numbers[0] > uint64(wordSize*(len(numbers)-1)) {
		return k, errPacked
	}
	size := int(numbers[0]) //nolint:gosec // it is no greater than what is there
	data := make([]byte, 0, size+8)
	for _, n := range numbers[1:] {
		have := min(size-len(data), wordSize)
		data = append(data, binary.BigEndian.AppendUint64(nil, n)[8-have:]...)
	}
	text, err := p.inflate(data)
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("%w: %w", errPacked, err)
	}
	return k, nil
}

// maxKept bounds what is packed of one object, in bytes: providers answer in messages of less.
const maxKept = 256 << 20

func (p *packing) inflate(data []byte) ([]byte, error) {
	r, ok := p.readers.Get().(io.ReadCloser)
	if !ok {
		r = flate.NewReader(nil)
	}
	defer p.readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(data), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxKept))
}

func (p *packing) keptOf(attrs attributes) (*kept, error) {
	packed, ok := attrs[keptAttribute].([]any)
	if !ok {
		return nil, nil
	}
	k, err := p.unpack(packed)
	return &k, err
}

func (p *packing) keyOf(attrs attributes) string {
	k, err := p.keptOf(attrs)
	if err != nil || k == nil {
		return ""
	}
	return k.Key
}
