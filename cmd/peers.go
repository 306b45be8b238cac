package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// peers opens the records of the stacks that a session's stack refers to.
type peers struct{ session *session }

var _ engine.Peers = (*peers)(nil)

// Open opens a store by the name that a program gives it. The path of a file starts in the stack's directory.
func (p *peers) Open(_ context.Context, name string) (statestore.Store, error) {
	if name == "" {
		return p.session.project.store, nil
	}
	if path, ok := strings.CutPrefix(name, "bolt:"); ok && path != "" && !filepath.IsAbs(path) {
		name = "bolt:" + filepath.Join(p.session.dir, path)
	}
	var options []postgres.Option
	if storeName(p.session.dir, name) != storeName(p.session.dir, p.session.store) {
		options = append(options, postgres.Foreign())
	}
	other, err := openProject(p.session.dir, name, options...)
	if err != nil {
		return nil, fmt.Errorf("the record of another stack: %w", err)
	}
	return other.store, nil
}

// Key finds the key of a stage; it never makes one. A wrapped one is looked for beside the program that refers to it.
func (p *peers) Key(stage statestore.Stage, id string) (*seal.Key, error) {
	return seal.Load(keyPlace(stage, p.session.dir), id)
}
