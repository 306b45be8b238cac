package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// SecretSource says where a secret comes from; exactly one of Env, File and Sealed is set.
type SecretSource struct {
	Env string `json:"env,omitempty"`
	// File is relative to the stack's directory; a trailing newline is cut.
	File string `json:"file,omitempty"`
	// Sealed reads the sealed file beside the program, in the graph's directory.
	Sealed bool `json:"sealed,omitempty"`
	// AllowEmpty takes an empty value for one. Without it an empty secret is an error: it is nearly always a variable that
	// somebody forgot to fill.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
}

// OrEmpty is the same source, from which an empty value is taken as well.
func (s SecretSource) OrEmpty() SecretSource {
	s.AllowEmpty = true
	return s
}

// empty says that a secret has no value.
func (s SecretSource) empty() error {
	what, way := "its sealed value is empty", "seal it again: athanor secret set"
	switch {
	case s.Env != "":
		what, way = "$"+s.Env+" is set, and empty", "export "+s.Env+"=…"
	case s.File != "":
		what, way = s.File+" is empty", "write it"
	}
	return reconcile.WithHint(errors.New(what), "%s; where nothing is meant, say allowEmpty: true, in Go OrEmpty()", way)
}

// readSecret reads what needs nothing but the machine, the program's folder and the stage key.
func (w *work) readSecret(_ context.Context, name string, source SecretSource) (string, error) {
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
