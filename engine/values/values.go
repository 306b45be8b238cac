package values

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Values are what a program refers to outside its resources: secrets, outputs of other stacks, and what its functions make of
// values. Each is read once for a plan and what is done with it, and what is secret is known to the redactor before anybody
// else sees it.
type Values struct {
	from Source

	mu      sync.Mutex
	secrets map[string]string
	peers   map[token.Stack]*peer
}

// Source says where values come from.
type Source struct {
	Stage statestore.Stage
	// dir is the program's directory: files of secrets lie beside it.
	Dir string
	// secrets and then are the program's: the sources of its secrets by name, and its functions by id.
	Secrets map[string]graph.SecretSource
	Then    map[string]func(input any) (any, error)
	// read reads a secret; nil reads environment variables, files and sealed files.
	Read func(ctx context.Context, name string, source graph.SecretSource) (string, error)
	// peers opens other stacks; nil: there can be none.
	Peers  Peers
	Key    *seal.Key
	Redact *redact.Redactor
}

// New has read nothing yet.
func New(from Source) *Values {
	return &Values{from: from, secrets: map[string]string{}, peers: map[token.Stack]*peer{}}
}

// Lookup returns the value of an expression that refers to no resource.
func (v *Values) Lookup(ctx context.Context, x token.Expr) (token.Value, error) {
	switch x.Op {
	case token.OpSecret:
		s, err := v.secret(ctx, x.Name)
		return token.Value{Any: s, Secret: true}, err
	case token.OpStack:
		return v.Output(ctx, x.Stack, x.Ref.Path)
	default:
		return v.made(x)
	}
}

// made is what a function of the program makes of a value. What is made of a secret is one.
func (v *Values) made(x token.Expr) (token.Value, error) {
	f, ok := v.from.Then[x.Name]
	if !ok {
		return token.Value{}, reconcile.WithHint(errors.New("this graph needs its program: it uses Then"),
			"deploy the program instead of its graph")
	}
	made, err := f(x.Input)
	if err != nil {
		return token.Value{}, err
	}
	t, err := tree.Of(made)
	secret := v.from.Redact.Holds(x.Input)
	if secret {
		v.from.Redact.Learn(t) // what is made of a secret is one
	}
	return token.Value{Any: t, Secret: secret}, err
}

// secret reads a secret once per plan.
func (v *Values) secret(ctx context.Context, name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.secrets[name]; ok {
		return s, nil
	}
	source, ok := v.from.Secrets[name]
	if !ok {
		return "", fmt.Errorf("no secret %q is declared", name)
	}
	read := v.from.Read
	if read == nil {
		read = v.readSecret
	}
	s, err := read(ctx, name, source)
	if err == nil && s == "" && !source.AllowEmpty {
		err = source.EmptyError()
	}
	if err != nil {
		return "", fmt.Errorf("secret %s: %w", name, err)
	}
	v.secrets[name] = s
	v.from.Redact.Learn(s)
	return s, nil
}

// readSecret reads what needs nothing but the machine, the program's folder and the stage key.
func (v *Values) readSecret(ctx context.Context, name string, source graph.SecretSource) (string, error) {
	switch {
	case source.Env != "":
		if s, ok := os.LookupEnv(source.Env); ok {
			return s, nil
		}
		return "", reconcile.WithHint(errors.New("$"+source.Env+" is not set"), "export %s=…", source.Env)
	case source.File != "":
		path := source.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(v.from.Dir, path)
		}
		data, err := localfile.ReadAtMost(ctx, path, tree.MaxValue)
		if errors.Is(err, fs.ErrNotExist) {
			return "", reconcile.WithHint(errors.New(source.File+" is not there"), "write the secret to %s", path)
		}
		return strings.TrimSuffix(string(data), "\n"), err
	default:
		return v.openSecret(ctx, name)
	}
}

// openSecret reads the sealed file beside the program.
func (v *Values) openSecret(ctx context.Context, name string) (string, error) {
	read := func(path string, most int64) ([]byte, error) { return localfile.ReadAtMost(ctx, path, most) }
	place := seal.Place{Beside: []string{v.from.Dir}, Read: read, Stack: v.from.Stage.Stack, Stage: v.from.Stage.Name}
	secrets, err := place.Secrets()
	if err != nil {
		return "", err
	}
	value, err := secrets.Get(v.from.Key, name)
	if errors.Is(err, seal.ErrNoSecret) {
		return "", reconcile.WithHint(errors.New("it is not sealed for stage "+v.from.Stage.Name), "athanor secret set %s --stage %s", name, v.from.Stage.Name)
	}
	return value, err
}
