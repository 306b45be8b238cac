package bolt

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"sync"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// The events of one commit are packed into a few entries of the table: events are nine tenths the same text, and would
// take more of the file than the rows that they tell of. An entry with a single event is as the ledger wrote it, which is
// also how older versions wrote all of them.
const (
	packedFormat = 2       // the first byte of a pack; an entry as the ledger wrote it begins with 1
	packedHead   = 5       // the format and a checksum of the key and what follows
	packedMost   = 1 << 18 // bytes of events in one pack
)

// keptEvents is how many bytes the events of a stage take in the file. Those of the oldest runs are deleted when there are
// more; those of the newest run always stay.
const keptEvents = 1 << 18

var errPacked = errors.New("the events cannot be unpacked")

// event is one entry of the ledger's table of events.
type event struct{ key, value []byte }

// packer keeps the tables of the compression, of more than a megabyte, and the space of what is packed from one commit to the next.
type packer struct {
	mu    sync.Mutex
	w     *flate.Writer
	plain []byte
}

func (p *packer) compress(into *bytes.Buffer, plain []byte) (err error) {
	if p.w == nil {
		p.w, err = flate.NewWriter(into, flate.BestSpeed)
	} else {
		p.w.Reset(into)
	}
	if err == nil {
		_, err = p.w.Write(plain)
	}
	if err != nil {
		return err
	}
	err = p.w.Close()
	p.w.Reset(io.Discard) // else it would hold the buffer
	return err
}

// pack joins events of one run that have so many bytes. Its key is that of the first one.
func (p *packer) pack(list []event, size int) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plain, last := slices.Grow(p.plain[:0], size), binary.BigEndian.Uint64(list[0].key[8:])
	for _, part := range list {
		payload, err := ledger.Unframe(part.key, part.value)
		if err != nil {
			return nil, err
		}
		seq := binary.BigEndian.Uint64(part.key[8:])
		plain = binary.AppendUvarint(plain, seq-last)
		plain = binary.AppendUvarint(plain, uint64(len(payload)))
		plain = append(plain, payload...)
		last = seq
	}
	p.plain = plain
	value := make([]byte, packedHead, packedHead+len(plain)/4)
	value = binary.BigEndian.AppendUint64(value, last)
	packed := bytes.NewBuffer(binary.AppendUvarint(value, uint64(len(plain))))
	if err := p.compress(packed, plain); err != nil {
		return nil, err
	}
	value = packed.Bytes()
	value[0] = packedFormat
	binary.LittleEndian.PutUint32(value[1:], packedSum(list[0].key, value))
	return value, nil
}

func packedSum(key, value []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(key), crc32.IEEETable, value[packedHead:])
}

// isPacked reports whether an entry is a pack with a whole head.
func isPacked(value []byte) bool { return len(value) > packedHead+8 && value[0] == packedFormat }

// lastOf is the key of the last event in an entry.
func lastOf(key, value []byte) []byte {
	if !isPacked(value) || len(key) != 16 {
		return key
	}
	return append(bytes.Clone(key[:8]), value[packedHead:packedHead+8]...)
}

// unpack returns the events of an entry as the ledger wrote them. Of a damaged pack it returns one entry that the ledger
// cannot read, since it knows the first key alone.
func unpack(key, value []byte) []event {
	if !isPacked(value) || len(key) != 16 {
		return []event{{key, value}}
	}
	events, err := unpackWhole(key, value)
	if err != nil {
		return []event{{key, []byte{packedFormat}}}
	}
	return events
}

func unpackWhole(key, value []byte) ([]event, error) {
	if binary.LittleEndian.Uint32(value[1:]) != packedSum(key, value) {
		return nil, errPacked
	}
	rest := value[packedHead+8:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > 1032*uint64(len(value)) { // no stream grows by more
		return nil, errPacked
	}
	plain := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(rest[n:])), plain); err != nil {
		return nil, err
	}
	var events []event
	seq := binary.BigEndian.Uint64(key[8:])
	for len(plain) > 0 {
		step, n := binary.Uvarint(plain)
		if n <= 0 {
			return nil, errPacked
		}
		plain = plain[n:]
		size, n := binary.Uvarint(plain)
		if n <= 0 || size > uint64(len(plain)-n) {
			return nil, errPacked
		}
		seq += step
		at := binary.BigEndian.AppendUint64(bytes.Clone(key[:8]), seq)
		events = append(events, event{at, ledger.Frame(at, plain[n:n+int(size)])})
		plain = plain[n+int(size):]
	}
	return events, nil
}

// events are the events of one stage in one transaction.
type events struct {
	bucket *bbolt.Bucket
	packer *packer
	added  []event // by this transaction, behind all that are in the bucket, in order
	newest []byte  // the last key in the bucket, nil when it is not known
}

// last is the key of the newest event in the bucket, empty when there is none.
func (e *events) last() []byte {
	if e.newest == nil {
		key, value := lastIn(e.bucket)
		e.newest = append([]byte{}, lastOf(key, value)...)
	}
	return e.newest
}

// at is where a key is among those that were added, or belongs there.
func (e *events) at(key []byte) (int, bool) {
	return slices.BinarySearchFunc(e.added, key, func(have event, key []byte) int { return bytes.Compare(have.key, key) })
}

func (e *events) get(key []byte) []byte {
	if bytes.Compare(key, e.last()) > 0 {
		if i, there := e.at(key); there {
			return e.added[i].value
		}
		return nil
	}
	for found, value := range e.ascend(key, key) {
		if bytes.Equal(found, key) {
			return value
		}
	}
	return nil
}

// put adds an event behind all that are in the bucket. One that belongs between them dissolves the pack around it.
func (e *events) put(key, value []byte) error {
	if bytes.Compare(key, e.last()) > 0 {
		i, there := e.at(key)
		if there {
			e.added[i].value = value
		} else {
			e.added = slices.Insert(e.added, i, event{bytes.Clone(key), value})
		}
		return nil
	}
	first, pack := e.around(key)
	if isPacked(pack) {
		parts, err := unpackWhole(first, pack)
		if err != nil {
			return &statestore.DamagedError{Err: err}
		}
		for _, part := range parts {
			if err := e.bucket.Put(part.key, part.value); err != nil {
				return err
			}
		}
	}
	return e.bucket.Put(key, value)
}

// around is the entry that begins at or before a key and ends at or behind it.
func (e *events) around(key []byte) (first, value []byte) {
	cursor := e.bucket.Cursor()
	first, value = cursor.Seek(key)
	switch {
	case bytes.Equal(first, key):
		return first, value
	case first == nil:
		first, value = lastIn(e.bucket)
	default:
		first, value = cursor.Prev()
	}
	if bytes.Compare(lastOf(first, value), key) < 0 {
		return nil, nil
	}
	return bytes.Clone(first), value
}

// flush writes what was added.
func (e *events) flush() error {
	for len(e.added) > 0 {
		n, size := 1, len(e.added[0].value)
		for n < len(e.added) && size < packedMost && bytes.Equal(e.added[n].key[:8], e.added[0].key[:8]) {
			size += len(e.added[n].value)
			n++
		}
		first, value := e.added[0], e.added[0].value
		if n > 1 {
			var err error
			if value, err = e.packer.pack(e.added[:n], size); err != nil {
				return err
			}
		}
		if err := e.bucket.Put(first.key, value); err != nil {
			return err
		}
		e.added = e.added[n:]
	}
	e.newest = nil
	return nil
}

// ascend is the ledger's Ascend: an entry that begins before from may hold events behind it.
func (e *events) ascend(prefix, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if bytes.Compare(from, prefix) < 0 {
			from = prefix
		}
		cursor := e.bucket.Cursor()
		start, _ := e.around(from)
		if start == nil {
			start = from
		}
		key, value := cursor.Seek(start)
		for ; key != nil; key, value = cursor.Next() {
			for _, event := range unpack(key, value) {
				switch {
				case bytes.Compare(event.key, from) < 0:
				case !bytes.HasPrefix(event.key, prefix) || !yield(event.key, event.value):
					return
				}
			}
		}
	}
}

// trim deletes the events of the oldest runs until those that are left take at most so many bytes.
func (e *events) trim(most int) error {
	size := 0
	cursor := e.bucket.Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		size += len(key) + len(value)
	}
	newest := e.last()
	for key, value := cursor.First(); key != nil && size > most; key, value = cursor.First() {
		if len(key) == 16 && bytes.HasPrefix(newest, key[:8]) {
			return nil
		}
		size -= len(key) + len(value)
		if err := e.bucket.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
