package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/cmd/internal/foreign"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// foreignKey stands for the id of a key where outputs are those of another tool: they are sealed with the key of this stage.
const foreignKey = "state of another tool"

// foreignState is the state of another tool as a store with one stage, which has outputs alone.
type foreignState struct {
	statestore.Store
	where string
	peers *peers
}

// Stages implements [statestore.Store].
func (f foreignState) Stages(context.Context) ([]statestore.Stage, error) {
	return []statestore.Stage{{Stack: grants.ForeignState(f.where), Name: "state"}}, nil
}

// Load implements [statestore.Store].
func (f foreignState) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	key := f.peers.session.Engine.Key
	if key == nil {
		return nil, errors.New("outputs of another tool are read where a stage has a key")
	}
	tool := grants.ForeignState(f.where)
	where := strings.TrimPrefix(f.where, tool+":")
	if !strings.Contains(where, "://") { // the permission for the store is that for its file
		where = project.ForeignName(f.peers.session.Dir, where)
		if bounds, ok := localfile.BoundsOf(ctx); ok {
			bounds.Allowed = append(slices.Clone(bounds.Allowed), where)
			ctx = localfile.With(ctx, bounds)
		}
	}
	read, err := foreign.ReadNamed(ctx, where, terraform.Source{}.Largest(), true)
	if err != nil {
		return nil, err
	}
	outputs, err := terraform.Outputs(tool, read.Content, from.Options{Env: os.Getenv})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", read.Shown, err)
	}
	values, secret := map[string]any{}, []any{}
	for name, o := range outputs {
		if values[name] = o.Value; o.Sensitive {
			secret = append(secret, name)
		}
	}
	body := tree.Canonical(map[string]any{"values": values, "secret": secret})
	return &statestore.Snapshot{Stage: stage, KeyID: foreignKey, Outputs: key.Seal(body, state.Binding(stage, "\x00outputs"))}, nil
}
