package ledger

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// Every record is framed: a format byte, a checksum over key and payload, the payload. The key is part
// of it so that a record which ended up under another key is noticed as well.
const (
	format    = 1
	frameHead = 5
)

var (
	errFormat   = errors.New("unknown format of an entry")
	errChecksum = errors.New("the checksum does not match")
	errShape    = errors.New("the entry has an invalid form")
)

func checksum(key, payload []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once inside, then only looked up
	return crc32.Update(crc32.Checksum(key, table), table, payload)
}

func frame(key, payload []byte) []byte {
	return seal(key, append(make([]byte, frameHead, frameHead+len(payload)), payload...))
}

// seal fills in the head of a frame whose payload is already in place.
func seal(key, framed []byte) []byte {
	framed[0] = format
	binary.LittleEndian.PutUint32(framed[1:], checksum(key, framed[frameHead:]))
	return framed
}

// Frame returns the record of a payload under its key.
func Frame(key, payload []byte) []byte { return frame(key, payload) }

// Unframe returns the payload of a record under its key.
func Unframe(key, framed []byte) ([]byte, error) { return unframe(key, framed) }

func unframe(key, framed []byte) ([]byte, error) {
	if len(framed) < frameHead || framed[0] != format {
		return nil, errFormat
	}
	payload := framed[frameHead:]
	if binary.LittleEndian.Uint32(framed[1:]) != checksum(key, payload) {
		return nil, errChecksum
	}
	return payload, nil
}

// The states of a generation as they are stored. Numbers are never used again.
var stateCodes = [...]statestore.State{1: statestore.Candidate, 2: statestore.Live, 3: statestore.Condemned}

func stateCode(state statestore.State) byte {
	for code, known := range stateCodes {
		if known == state {
			return byte(code)
		}
	}
	return 0
}

// encodeRow frames a row under its address. Empty bodies read back as nil.
func encodeRow(row *statestore.Row) []byte {
	size := frameHead + 64 + len(row.Body)
	for i := range row.Generations {
		size += 128 + len(row.Generations[i].Body)
	}
	w := writer{buf: make([]byte, frameHead, size)}
	w.number(row.Version)
	w.text(row.Birth)
	w.time(row.Written)
	w.number(uint64(len(row.Needs)))
	for _, need := range row.Needs {
		w.text(need)
	}
	w.number(uint64(len(row.Generations)))
	for i := range row.Generations {
		w.generation(&row.Generations[i])
	}
	w.bytes(row.Body)
	return seal([]byte(row.Address), w.buf)
}

type writer struct{ buf []byte }

func (w *writer) number(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) bytes(b []byte) {
	w.number(uint64(len(b)))
	w.buf = append(w.buf, b...)
}

func (w *writer) time(t time.Time) {
	w.buf = binary.AppendVarint(w.buf, t.Unix())
	w.number(uint64(t.Nanosecond()))
}

func (w *writer) generation(g *statestore.Generation) {
	w.number(g.Number)
	w.buf = append(w.buf, stateCode(g.State), byte(g.Slot))
	w.text(g.Kind)
	w.text(g.Place.Provider)
	w.text(g.Place.Account)
	w.text(g.Place.Region)
	w.text(g.Identity)
	if g.Intent {
		w.buf = append(w.buf, 1)
	} else {
		w.buf = append(w.buf, 0)
	}
	w.time(g.Written)
	w.bytes(g.Body)
}

// decoder decodes many rows of one stage and shares the strings that they have in common.
type decoder struct{ known map[string]string }

func newDecoder() *decoder { return &decoder{known: make(map[string]string)} }

// row decodes one framed row. Nothing of it points into framed afterwards.
func (d *decoder) row(address string, framed []byte) (statestore.Row, error) {
	payload, err := unframe([]byte(address), framed)
	if err != nil {
		return statestore.Row{}, err
	}
	r := reader{buf: append([]byte(nil), payload...), known: d.known}
	row := statestore.Row{Address: address, Version: r.number()}
	if row.Birth = r.textOr(address); r.bad {
		return statestore.Row{}, errShape
	}
	row.Written = r.time()
	if n := r.count(1); n > 0 {
		row.Needs = make([]string, n)
		for i := range row.Needs {
			row.Needs[i] = r.shared()
		}
	}
	if n := r.count(minGeneration); n > 0 {
		row.Generations = make([]statestore.Generation, n)
		for i := range row.Generations {
			r.generation(&row.Generations[i])
		}
	}
	row.Body = r.bytes()
	if r.bad || len(r.buf) != 0 || row.Version == 0 || len(row.Generations) == 0 || row.Check() != nil {
		return statestore.Row{}, errShape
	}
	return row, nil
}

// minGeneration is the size of the smallest generation: it bounds what a claimed count may allocate.
const minGeneration = 12

type reader struct {
	buf   []byte
	known map[string]string
	bad   bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) fail() {
	r.bad = true
	r.buf = nil
}

// count reads how many items of at least size bytes follow.
func (r *reader) count(size uint64) uint64 {
	n := r.number()
	if n > uint64(len(r.buf))/size {
		r.fail()
		return 0
	}
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.buf)) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	b := r.buf[:n:n]
	r.buf = r.buf[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes()) }

// textOr avoids a copy when the text is the one expected.
func (r *reader) textOr(expected string) string {
	b := r.bytes()
	if string(b) == expected {
		return expected
	}
	return string(b)
}

// shared is for text that many rows have in common.
func (r *reader) shared() string {
	b := r.bytes()
	if s, ok := r.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if r.known != nil {
		r.known[s] = s
	}
	return s
}

func (r *reader) byte() byte {
	if len(r.buf) == 0 {
		r.fail()
		return 0
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *reader) time() time.Time {
	seconds, size := binary.Varint(r.buf)
	if size <= 0 {
		r.fail()
		return time.Time{}
	}
	r.buf = r.buf[size:]
	nanos := r.number()
	if nanos >= 1e9 {
		r.fail()
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos)).UTC()
}

func (r *reader) generation(g *statestore.Generation) {
	g.Number = r.number()
	if code := r.byte(); int(code) < len(stateCodes) {
		g.State = stateCodes[code] // an unknown one stays empty, which the row's check refuses
	}
	g.Slot = int(r.byte())
	g.Kind = r.shared()
	g.Place.Provider, g.Place.Account, g.Place.Region = r.shared(), r.shared(), r.shared()
	g.Identity = r.text()
	switch r.byte() {
	case 0:
	case 1:
		g.Intent = true
	default:
		r.fail()
	}
	g.Written = r.time()
	g.Body = r.bytes()
}
