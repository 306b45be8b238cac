// Package objects is a whole store over conditional writes of objects alone: no server of ours, no table, no lock.
//
// It knows how a stage lies in a bucket, and the protocol by which clients that know nothing of each other change it:
// a head that is swapped, segments that are written once, a lease that two clocks guard. It does not know how a bucket
// is reached, and what stands in the tables is the ledger's.
package objects

import (
	"context"
	"errors"
	"time"
)

// Bucket is a flat set of objects with conditional writes. An error that [ErrUncertain] is none of leaves nothing behind.
type Bucket interface {
	// Get reads an object. When its ETag is still the one given, the error is ErrUnchanged. The object has its Date then
	// too, and after ErrMissing.
	Get(ctx context.Context, key, etag string) (Object, error)
	// Put writes an object if the condition holds.
	Put(ctx context.Context, key string, body []byte, when Condition) (Object, error)
	// List returns, in order, the first of the keys that begin with prefix and come after a key, and whether there are more.
	List(ctx context.Context, prefix, after string) (page []Listed, more bool, err error)
	// Delete removes objects. One that is missing is no error.
	Delete(ctx context.Context, keys []string) error
}

// Object is an object with what the server says of it. Put returns no body.
type Object struct {
	Body     []byte
	ETag     string
	Modified time.Time // by the server's clock
	Date     time.Time // of the answer, by the server's clock
}

// Listed is one object of a listing.
type Listed struct {
	Key      string
	Modified time.Time
}

// Condition is what a write requires. The zero value requires nothing.
type Condition struct {
	Absent bool   // no such object exists
	ETag   string // the object has this ETag
}

// What a bucket answers.
var (
	ErrMissing   = errors.New("no such object")
	ErrUnchanged = errors.New("the object has not changed")
	// ErrPrecondition: the condition of a write does not hold, so that nothing was written.
	ErrPrecondition = errors.New("the condition of the write does not hold")
	// ErrBusy: the server did nothing and asks to try again: it is throttled, or another conditional write was going on.
	ErrBusy = errors.New("the server asks to try again")
	// ErrUncertain: no answer came, or one that says nothing. A write may have happened.
	ErrUncertain = errors.New("no answer says what became of the request")
)
