package ledger

import (
	"context"
	"iter"

	"github.com/athanor-dev/athanor/statestore"
)

// folderStage is where the documents of a folder are: in the facts of a stage that no claim can name, since it has no
// stack.
func folderStage(name string) statestore.Stage { return statestore.Stage{Name: name} }

// IsFolder reports whether what a store lists is a folder and no stage.
func IsFolder(stage statestore.Stage) bool { return stage.Stack == "" }

// folder is a folder in one transaction.
type folder struct {
	name string
	tx   Tx
}

// ReadFolder is [statestore.Folders.ReadFolder].
func (o Operations) ReadFolder(ctx context.Context, name string, read func(statestore.Folder) error, keys ...string) error {
	called := false
	err := o.Backend.View(ctx, folderStage(name), documents(keys), func(tx Tx) error {
		called = true
		return read(folder{name, tx})
	})
	if err == nil && !called {
		return read(folder{name, emptyTx{}})
	}
	return err
}

// ChangeFolder is [statestore.Folders.ChangeFolder].
func (o Operations) ChangeFolder(ctx context.Context, name string, change func(statestore.Folder) (bool, error), keys ...string) error {
	return o.Backend.Update(ctx, folderStage(name), true, documents(keys), func(tx Tx) (bool, error) {
		durable, err := change(folder{name, tx})
		if err == nil && durable {
			key := []byte(HeadKey) // every stage has a head
			err = tx.Put(Heads, key, frame(key, []byte("{}")))
		}
		return durable, err
	})
}

// documents are the wants of documents of a folder.
func documents(keys []string) []Want {
	var wants []Want
	for _, key := range keys {
		wants = append(wants, Want{Table: Facts, Key: []byte(key)})
	}
	return wants
}

func (f folder) Get(key string) ([]byte, error) {
	value := f.tx.Get(Facts, []byte(key))
	if value == nil {
		return nil, nil
	}
	payload, err := unframe([]byte(key), value)
	if err != nil {
		return nil, &statestore.DamagedError{Stage: folderStage(f.name), Address: key, Err: err}
	}
	return append([]byte{}, payload...), nil
}

func (f folder) Put(key string, value []byte) error {
	return f.tx.Put(Facts, []byte(key), frame([]byte(key), value))
}

func (f folder) Delete(key string) error { return f.tx.Delete(Facts, []byte(key)) }

func (f folder) Documents(prefix, from string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, value := range f.tx.Ascend(Facts, []byte(prefix), []byte(from)) {
			var document []byte
			if payload, err := unframe(key, value); err == nil {
				document = append([]byte{}, payload...)
			}
			if !yield(string(key), document) {
				return
			}
		}
	}
}

// emptyTx is a stage that was never written.
type emptyTx struct{ Tx }

func (emptyTx) Get(Table, []byte) []byte { return nil }

func (emptyTx) Ascend(Table, []byte, []byte) iter.Seq2[[]byte, []byte] {
	return func(func([]byte, []byte) bool) {}
}
