// Package login keeps the API tokens of services on this machine, each for one origin.
//
// It knows the file of tokens and who may read it. It does not know what a token may do.
package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/athanor-dev/athanor/reconcile"
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
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "athanor", "services.json"), nil
}

// entry is what the file has for one origin.
type entry struct {
	Token string `json:"token"`
}

// Token returns the token for an origin: that of the variable when the store of the variable is there, else that of the
// file.
func Token(origin string) (string, error) {
	if token := os.Getenv(TokenVariable); token != "" {
		if named, err := remote.Origin(os.Getenv(StoreVariable)); err == nil && named == origin {
			return token, nil
		}
	}
	path, err := Path()
	if err != nil {
		return "", err
	}
	all, err := read(path)
	if err != nil {
		return "", err
	}
	if all[origin].Token == "" && os.Getenv(TokenVariable) != "" {
		return "", fmt.Errorf("%w, and $%s is sent to the service in $%s alone", ErrNone, TokenVariable, StoreVariable)
	}
	if all[origin].Token == "" {
		return "", ErrNone
	}
	return all[origin].Token, nil
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

// Save remembers the token for an origin, or forgets it when the token is empty. It reports whether the file has changed.
func Save(origin, token string) (bool, error) {
	path, err := Path()
	if err != nil {
		return false, err
	}
	all, err := read(path)
	if err != nil {
		return false, err
	}
	if all[origin].Token == token {
		return false, nil
	}
	if all[origin] = (entry{token}); token == "" {
		delete(all, origin)
	}
	return true, write(path, all)
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
	f, err := os.CreateTemp(filepath.Dir(path), "services-*") // only its owner can read it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
