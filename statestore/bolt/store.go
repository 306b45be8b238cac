// Package bolt is the store in one file on one machine, with nothing to install.
package bolt

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/statestore"
)

// Store is a store in one file.
type Store struct {
	statestore.Store
	path string
	id   func() string
}

// Option sets how a store behaves.
type Option func(*Store)

// WithID says which identity the store gets when its file is made; an empty one means a random one.
func WithID(id func() string) Option { return func(s *Store) { s.id = id } }

// Open names a store file. It touches nothing: the file is made by the first Acquire.
func Open(path string, options ...Option) (*Store, error) {
	if path == "" {
		return nil, errors.New("the store has no path")
	}
	s := &Store{path: path}
	for _, option := range options {
		option(s)
	}
	return s, nil
}

var _ = context.Background
