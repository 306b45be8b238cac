package statestore

import (
	"context"
	"iter"
)

// Folders is implemented by stores in which a service keeps documents of its own besides the stages: tokens, registered
// runs, an audit log. A folder has a name and holds documents by key; its documents change in one transaction.
type Folders interface {
	Store
	// ReadFolder calls read with one consistent version of a folder. A folder that was never written is empty. It may be
	// called again when the connection to the store broke. Keys are those of documents that are read for sure: of a database they
	// come with the first question.
	ReadFolder(ctx context.Context, name string, read func(Folder) error, keys ...string) error
	// ChangeFolder calls change and makes what it wrote durable when it says so; otherwise, and after an error, nothing of
	// it happened. It is called again when another writer came in between, or when an answer was lost: then it finds what
	// the first call has written. Keys are as in ReadFolder.
	ChangeFolder(ctx context.Context, name string, change func(Folder) (durable bool, err error), keys ...string) error
}

// Folder holds the documents of one transaction.
type Folder interface {
	Get(key string) ([]byte, error) // nil when there is none
	Put(key string, value []byte) error
	Delete(key string) error
	// Documents walks, in order, the keys that begin with prefix and do not come before from. Nothing may be written
	// meanwhile. A document that cannot be decoded has no value.
	Documents(prefix, from string) iter.Seq2[string, []byte]
}
