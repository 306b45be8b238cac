// Package objectstest is a bucket in memory, for the tests of what works over buckets.
//
// It knows how S3 answers. It does not know what its objects hold, but that a head never has the bytes of an earlier one.
package objectstest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/internal/objects"
)

// Memory is a bucket as S3 keeps one: an ETag is the digest of the bytes, and is accepted whenever it fits again.
type Memory struct {
	t   testing.TB
	now func() time.Time

	mu    sync.Mutex
	held  map[string]objects.Object
	heads map[string]bool // ETags that a head had
	// Counts are the requests by their method, and Sent the bytes of bodies.
	Counts map[string]int
	Sent   int
	// Page is how many keys a listing returns at once.
	Page int
}

// NewMemory returns an empty bucket whose server has a clock.
func NewMemory(t testing.TB, now func() time.Time) *Memory {
	return &Memory{t: t, now: now, held: map[string]objects.Object{}, heads: map[string]bool{}, Counts: map[string]int{}, Page: 7}
}

// Get implements [objects.Bucket].
func (m *Memory) Get(ctx context.Context, key, etag string) (objects.Object, error) {
	if err := ctx.Err(); err != nil {
		return objects.Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts["GET"]++
	o, there := m.held[key]
	o.Date = m.now()
	switch {
	case !there:
		return o, objects.ErrMissing
	case etag != "" && o.ETag == etag:
		o.Body = nil
		return o, objects.ErrUnchanged
	}
	return o, nil
}

// Put implements [objects.Bucket].
func (m *Memory) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	if err := ctx.Err(); err != nil {
		return objects.Object{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts["PUT"]++
	m.Sent += len(body)
	old, there := m.held[key]
	switch {
	case when.Absent && there, when.ETag != "" && there && old.ETag != when.ETag:
		return objects.Object{}, objects.ErrPrecondition
	case when.ETag != "" && !there:
		return objects.Object{}, objects.ErrMissing
	}
	sum := md5.Sum(body)
	o := objects.Object{Body: bytes.Clone(body), ETag: hex.EncodeToString(sum[:]), Modified: m.now(), Date: m.now()}
	if strings.HasSuffix(key, "/head") {
		if m.heads[o.ETag] {
			m.t.Errorf("%s has the bytes of an earlier head", key)
		}
		m.heads[o.ETag] = true
	}
	m.held[key] = o
	o.Body = nil
	return o, nil
}

// List implements [objects.Bucket].
func (m *Memory) List(ctx context.Context, prefix, after string) (page []objects.Listed, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts["LIST"]++
	for _, key := range slices.Sorted(maps.Keys(m.held)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(page) == m.Page {
			return page, true, nil
		}
		page = append(page, objects.Listed{Key: key, Modified: m.held[key].Modified})
	}
	return page, false, nil
}

// Delete implements [objects.Bucket].
func (m *Memory) Delete(_ context.Context, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Counts["DELETE"]++
	for _, key := range keys {
		delete(m.held, key)
	}
	return nil
}

// Texts returns a source of texts that are all different, for what has to be random.
func Texts() func() string {
	var mu sync.Mutex
	n := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("text-%d", n)
	}
}
