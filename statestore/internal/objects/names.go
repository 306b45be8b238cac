package objects

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// longestPart bounds a part of a key: keys have at most 1,024 bytes, and some servers keep each part as a file's name.
const longestPart = 120

// part writes a name as one part of a key, injectively also where case does not count. What is too long becomes a
// digest; the name itself stands in the head then.
func part(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if b.Len() <= longestPart {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return "_~" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// unpart reads a name back; ok is false for one that is a digest, or no name at all.
func unpart(part string) (name string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] != '_' {
			b.WriteByte(part[i])
			continue
		}
		if i+3 > len(part) {
			return "", false
		}
		c, err := strconv.ParseUint(part[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), b.Len() > 0
}

// The names of the objects that are of no stage begin with what no stack's does.
const (
	aboutName = "_store"
	probeName = "_probe/"
)

// folder is the prefix of the keys of a stage.
func (s *Store) folder(stage statestore.Stage) string {
	return s.prefix + part(stage.Stack) + "/" + part(stage.Name) + "/"
}

func (s *Store) headKey(stage statestore.Stage) string { return s.folder(stage) + "head" }

func (s *Store) segmentKey(stage statestore.Stage, name string) string {
	return s.folder(stage) + "seg/" + name
}

// segmentName is the name of the segment of a batch: writing it again is idempotent.
func segmentName(epoch, seq uint64) string { return fmt.Sprintf("%016x-%08x", epoch, seq) }

// parseEpoch reads the epoch in the name of a segment or a batch of events.
func parseEpoch(name string) (uint64, bool) {
	first, _, ok := strings.Cut(name, "-")
	epoch, err := strconv.ParseUint(first, 16, 64)
	return epoch, ok && err == nil && len(first) == 16
}

// eventsPrefix begins the keys of the events of an epoch. A key goes on with the last event's sequence, so that a
// listing after a cursor begins with the first batch that has something new, and the batch that it came with: of one that
// was never committed nothing is shown.
func (s *Store) eventsPrefix(stage statestore.Stage, epoch uint64) string {
	return fmt.Sprintf("%sev/%016x-", s.folder(stage), epoch)
}

func eventsName(last, batch uint64) string { return fmt.Sprintf("%016x-%08x", last, batch) }

func parseEvents(name string) (last, batch uint64, ok bool) {
	a, b, cut := strings.Cut(name, "-")
	last, err := strconv.ParseUint(a, 16, 64)
	batch, err2 := strconv.ParseUint(b, 16, 64)
	return last, batch, cut && err == nil && err2 == nil
}
