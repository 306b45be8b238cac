package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
)

var errNoDatabase = errors.New("it is not a whole database")

// The head of a database file as bbolt writes it, in the byte order of the machine: two pages with one meta
// record each, the newer valid one counting.
const (
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	pageHeader   = 16
	metaSize     = 64
	metaChecksum = 56 // offset of the checksum, which covers everything before it
)

type meta struct {
	pageSize int64
	pages    uint64 // in use, the first one beyond them
	tx       uint64
	sum      uint64 // of all of it
}

// inspect proves that the file is as long as its head says. The database maps the file without asking, and a page that
// was cut off is a memory fault then. An empty file is refused too: the database would make it anew.
func inspect(f *os.File) error {
	newest, ok := newestMeta(f)
	if !ok {
		return fmt.Errorf("%w: no valid head", errNoDatabase)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if want := int64(newest.pages) * newest.pageSize; info.Size() < want {
		return fmt.Errorf("%w: it has %d bytes of at least %d", errNoDatabase, info.Size(), want)
	}
	return nil
}

// newestMeta is the head that counts.
func newestMeta(f *os.File) (newest meta, ok bool) {
	newest, ok = readMeta(f, 0)
	second := newest.pageSize
	for size := int64(1 << 10); size <= 1<<16; size <<= 1 {
		if ok && size != second {
			continue // the first record says where the second one is
		}
		if m, valid := readMeta(f, size); valid && m.pageSize == size && (newest.pages == 0 || m.tx > newest.tx) {
			newest, ok = m, true
		}
	}
	return newest, ok
}

func readMeta(f *os.File, offset int64) (meta, bool) {
	var page [pageHeader + metaSize]byte
	if _, err := f.ReadAt(page[:], offset); err != nil {
		return meta{}, false
	}
	m := page[pageHeader:]
	sum := fnv.New64a()
	sum.Write(m[:metaChecksum])
	native := binary.NativeEndian
	if native.Uint32(m) != metaMagic || native.Uint32(m[4:]) != metaVersion || native.Uint64(m[metaChecksum:]) != sum.Sum64() {
		return meta{}, false
	}
	return meta{pageSize: int64(native.Uint32(m[8:])), pages: native.Uint64(m[40:]), tx: native.Uint64(m[48:]), sum: sum.Sum64()}, true
}
