package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// readSecret reads what needs nothing but the machine, the program's folder and the stage key.
func (w *work) readSecret(_ context.Context, name string, source graph.SecretSource) (string, error) {
	switch {
	case source.Env != "":
		if s, ok := os.LookupEnv(source.Env); ok {
			return s, nil
		}
		return "", reconcile.WithHint(errors.New("$"+source.Env+" is not set"), "export %s=…", source.Env)
	case source.File != "":
		path := source.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.graph.Dir, path)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", reconcile.WithHint(errors.New(source.File+" is not there"), "write the secret to %s", path)
		}
		return strings.TrimSuffix(string(data), "\n"), err
	default:
		return w.openSecret(name)
	}
}

// openSecret reads the sealed file beside the program.
func (w *work) openSecret(name string) (string, error) {
	secrets, err := seal.Place{Beside: []string{w.graph.Dir}, Stack: w.stage.Stack, Stage: w.stage.Name}.Secrets()
	if err != nil {
		return "", err
	}
	value, err := secrets.Get(w.e.Key, name)
	if errors.Is(err, seal.ErrNoSecret) {
		return "", reconcile.WithHint(errors.New("it is not sealed for stage "+w.stage.Name), "athanor secret set %s --stage %s", name, w.stage.Name)
	}
	return value, err
}
