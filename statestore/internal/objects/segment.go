package objects

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// segmentHeader says what a segment is.
type segmentHeader struct {
	Format int    `json:"athanorSegment"`
	Epoch  uint64 `json:"epoch"`
	Seq    uint64 `json:"seq"`
	// Digest is that of the batch: the same name with another digest is another batch.
	Digest []byte `json:"digest"`
	// Merged is the number of segments before it whose place it takes; Base: of all of them.
	Merged int  `json:"merged,omitempty"`
	Base   bool `json:"base,omitempty"`
	// Before are the segments that it follows, so that the list of a lost head can be found again.
	Before []string `json:"before,omitempty"`
	// Serial and Sealed are those of the head.
	Serial uint64 `json:"serial"`
	Sealed string `json:"sealed,omitempty"`
}

// entry is one change of a table: a value, or nil for a record that is deleted.
type entry struct {
	table ledger.Table
	key   string
	value []byte
}

var (
	errShape    = errors.New("the object has an invalid form")
	errChecksum = errors.New("the checksum does not match")
)

const segmentMagic = "athanor segment\n"

// ends is the table of the newest batches of older runs, by epoch, beside those of the ledger.
const ends ledger.Table = "ends"

// kept are the tables that stand in segments.
func kept() []ledger.Table {
	return []ledger.Table{ledger.Rows, ledger.Owners, ledger.Needed, ledger.Facts, ledger.Runs, ledger.Batches, ends, ledger.Past}
}

// coded are the tables by the codes that entries have. Codes are never used again.
func coded() []ledger.Table {
	return []ledger.Table{
		ledger.Rows, ledger.Owners, ledger.Needed, ledger.Facts, ledger.Runs, ledger.Batches, ends, ledger.Events, ledger.Past,
	}
}

// Sealer seals what a bucket's owner shall not read. A stage's key is one.
type Sealer interface {
	Seal(plain, bound []byte) []byte
	Open(sealed, bound []byte) ([]byte, error)
}

// encodeSegment writes a header and entries. The values of records come last, each under its own checksum of the
// ledger's: a changed bit there spoils one record and not the segment. What is sealed is spoiled as a whole.
func encodeSegment(name string, h segmentHeader, entries []entry, by Sealer) ([]byte, error) {
	header, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	size := 16
	for i := range entries {
		size += len(entries[i].key) + len(entries[i].value) + 12
	}
	index := make([]byte, 0, size)
	index = binary.AppendUvarint(index, uint64(len(entries)))
	tables := coded()
	for i := range entries {
		e := &entries[i]
		op := byte(slices.Index(tables, e.table)) << 1
		if e.value == nil {
			op |= 1
		}
		index = append(index, op)
		index = binary.AppendUvarint(index, uint64(len(e.key)))
		index = append(index, e.key...)
		index = binary.AppendUvarint(index, uint64(len(e.value)))
	}
	body := binary.AppendUvarint(nil, uint64(len(index)))
	body = append(body, index...)
	body = binary.LittleEndian.AppendUint32(body, crc32.ChecksumIEEE(index))
	for i := range entries {
		body = append(body, entries[i].value...)
	}
	if by != nil {
		body = by.Seal(body, []byte(name))
	}
	out := binary.AppendUvarint([]byte(segmentMagic), uint64(len(header)))
	return append(append(out, header...), body...), nil
}

// decodeHeader reads the header of a segment and returns the rest of it.
func decodeHeader(data []byte) (h segmentHeader, rest []byte, err error) {
	data, ok := bytes.CutPrefix(data, []byte(segmentMagic))
	if !ok {
		return h, nil, errShape
	}
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return h, nil, errShape
	}
	data = data[size:]
	if err := json.Unmarshal(data[:n], &h); err != nil {
		return h, nil, err
	}
	if h.Format != docFormat {
		return h, nil, fmt.Errorf("format %d: %w", h.Format, errShape)
	}
	return h, data[n:], nil
}

// decodeSegment reads a segment. Values point into data.
func decodeSegment(name string, data []byte, key func(id string) (Sealer, error)) (h segmentHeader, entries []entry, err error) {
	h, body, err := decodeHeader(data)
	if err != nil {
		return h, nil, err
	}
	if h.Sealed != "" {
		by, err := key(h.Sealed)
		if err != nil {
			return h, nil, err
		}
		if body, err = by.Open(body, []byte(name)); err != nil {
			return h, nil, err
		}
	}
	n, size := binary.Uvarint(body)
	if size <= 0 || n > uint64(len(body)-size) || uint64(len(body)-size)-n < 4 {
		return h, nil, errShape
	}
	index, rest := body[size:size+int(n)], body[size+int(n):]
	if crc32.ChecksumIEEE(index) != binary.LittleEndian.Uint32(rest) {
		return h, nil, errChecksum
	}
	entries, err = decodeEntries(index, rest[4:])
	return h, entries, err
}

func decodeEntries(index, values []byte) ([]entry, error) {
	bad := false
	number := func() uint64 {
		n, size := binary.Uvarint(index)
		if size <= 0 {
			bad, index = true, nil
			return 0
		}
		index = index[size:]
		return n
	}
	tables := coded()
	count := number()
	if count > uint64(len(index)) {
		return nil, errShape
	}
	entries := make([]entry, 0, count)
	for range count {
		if len(index) == 0 {
			return nil, errShape
		}
		op := index[0]
		index = index[1:]
		if int(op>>1) >= len(tables) {
			return nil, errShape
		}
		n := number()
		if bad || n > uint64(len(index)) {
			return nil, errShape
		}
		e := entry{table: tables[op>>1], key: string(index[:n])}
		index = index[n:]
		m := number()
		if bad || m > uint64(len(values)) {
			return nil, errShape
		}
		if op&1 == 0 {
			e.value = values[:m:m]
		}
		values = values[m:]
		entries = append(entries, e)
	}
	return entries, nil
}

// merged are the entries of several segments as one: of each key the last one.
func merged(lists ...[]entry) []entry {
	type place struct {
		table ledger.Table
		key   string
	}
	at := map[place]int{}
	var all []entry
	for _, list := range lists {
		for _, e := range list {
			p := place{e.table, e.key}
			if i, again := at[p]; again {
				all[i] = e
				continue
			}
			at[p] = len(all)
			all = append(all, e)
		}
	}
	return all
}

func bytesOf(entries []entry) int {
	n := 0
	for i := range entries {
		n += len(entries[i].key) + len(entries[i].value) + 8
	}
	return n
}
