// Package login keeps the API tokens of services on this machine, each for one origin.
//
// It knows the user's keyring, the file of tokens and who may read it. It does not know what a token may do.
package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/remote"
)

// TokenVariable holds a token for the service that [StoreVariable] names, and for no other: a stack can name stores too.
const (
	TokenVariable = "ATHANOR_TOKEN"
	StoreVariable = "ATHANOR_STORE"
)

// ErrNone says that this machine has no token for a service.
var ErrNone = errors.New("there is no token for it on this machine")

// Path is the file of tokens in the user's configuration folder.
func Path() (string, error) {
	dir, err := files.ConfigFolder()
	return filepath.Join(dir, "services.json"), err
}

// entry is what the file has for one origin: its token, or that the keyring has it.
type entry struct {
	Token   string `json:"token,omitempty"`
	Keyring bool   `json:"keyring,omitempty"`
}

// Token returns the token for an origin: that of the variable when the store of the variable is there, else that of the
// file, or of the keyring where the file says so.
func Token(origin string) (string, error) {
	if token := os.Getenv(TokenVariable); token != "" {
		if named, err := remote.Origin(os.Getenv(StoreVariable)); err == nil && named == origin {
			return token, nil
		}
	}
	_, all, err := load()
	if err != nil {
		return "", err
	}
	if all[origin].Keyring {
		return kept(origin)
	}
	if all[origin].Token == "" && os.Getenv(TokenVariable) != "" {
		return "", fmt.Errorf("%w, and $%s is sent to the service in $%s alone", ErrNone, TokenVariable, StoreVariable)
	}
	if all[origin].Token == "" {
		return "", ErrNone
	}
	return all[origin].Token, nil
}

// kept returns the token that the keyring has.
func kept(origin string) (string, error) {
	token, err := sessionKeyring().get(origin)
	if err == nil && token == "" {
		err = ErrNone
	}
	if err != nil {
		return "", reconcile.WithHint(fmt.Errorf("the token for %s is in the keyring: %w", origin, err),
			"unlock the keyring, run athanor login %s again, or set $%s and $%s", origin, StoreVariable, TokenVariable)
	}
	return token, nil
}

// read reads the file. One that others can read or write is refused: its tokens are no secret any more.
func read(path string) (map[string]entry, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, reconcile.WithHint(fmt.Errorf("%s: others can read the tokens in it", path), "revoke them, and chmod 600 %s", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]entry{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// The places where a token is kept.
const (
	InKeyring = "keyring"
	InFile    = "file"
)

// Save remembers the token for an origin, and returns where: in the keyring of the session if that takes it, else in the file.
func Save(origin, token string) (where string, err error) {
	path, all, err := load()
	if err != nil {
		return "", err
	}
	before := all[origin]
	if sessionKeyring().put(origin, token) == nil {
		all[origin] = entry{Keyring: true}
		return InKeyring, write(path, all)
	}
	all[origin] = entry{Token: token}
	if err := write(path, all); err != nil {
		return "", err
	}
	if before.Keyring {
		_ = sessionKeyring().remove(origin) // it is not at hand: what it has is not read any more
	}
	return InFile, nil
}

// Forget removes the token for an origin from where it is kept. Without one the error is [ErrNone].
func Forget(origin string) error {
	path, all, err := load()
	if err != nil {
		return err
	}
	before, ok := all[origin]
	if !ok {
		return ErrNone
	}
	if before.Keyring {
		if err := sessionKeyring().remove(origin); err != nil {
			return reconcile.WithHint(fmt.Errorf("the token for %s is in the keyring: %w", origin, err), "unlock the keyring first")
		}
	}
	delete(all, origin)
	return write(path, all)
}

// load reads the file, and says where it is.
func load() (path string, all map[string]entry, err error) {
	path, err = Path()
	if err == nil {
		all, err = read(path)
	}
	return path, all, err
}

// write replaces the file at once, so that a command that reads meanwhile finds the old or the new one.
func write(path string, all map[string]entry) error {
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return localfile.Replace(path, append(data, '\n'), 0o600)
}
