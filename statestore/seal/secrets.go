package seal

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

const secretsFormat = 1

// ErrNoSecret says that there is no sealed secret of that name.
var ErrNoSecret = errors.New("no such sealed secret")

// Secrets are the sealed secrets of a stage, in a file beside its program. The file holds their names in clear and
// their values sealed under the stage key, and is made to be checked in.
type Secrets struct {
	Format int    `json:"athanorSecrets"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	// Key is the id of the key that sealed them, "" while there are none.
	Key    string            `json:"key"`
	Sealed map[string]string `json:"secrets"`

	// Path is the file that they are in, or will be.
	Path string `json:"-"`
}

// Secrets reads the sealed secrets of a stage; there are none where there is no file.
func (p Place) Secrets() (*Secrets, error) {
	s := &Secrets{Format: secretsFormat, Stack: p.Stack, Stage: p.Stage, Sealed: map[string]string{}}
	for _, dir := range slices.Backward(p.Beside) {
		s.Path = p.file(dir, "secrets")
	}
	for _, dir := range p.Beside {
		path := filepath.Join(dir, filepath.Base(s.Path))
		found, err := p.readJSON(path, s)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if s.Format != secretsFormat || s.Stack != p.Stack || s.Stage != p.Stage {
			return nil, &KeyFileError{Path: path, Why: fmt.Sprintf("does not hold the secrets of %s/%s, format %d", p.Stack, p.Stage, secretsFormat)}
		}
		s.Path = path
		break
	}
	if s.Sealed == nil {
		s.Sealed = map[string]string{}
	}
	return s, nil
}

// Names are those of the secrets, sorted.
func (s *Secrets) Names() []string { return slices.Sorted(maps.Keys(s.Sealed)) }

// Get opens one. The error is ErrNoSecret, a *KeyError when another key sealed it, or ErrBroken.
func (s *Secrets) Get(k *Key, name string) (string, error) {
	text, ok := s.Sealed[name]
	if !ok {
		return "", ErrNoSecret
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", ErrBroken
	}
	plain, err := k.Open(sealed, s.aad(name))
	return string(plain), err
}

// Set seals one and writes the file. All secrets of a file are sealed under one key: the error is a *KeyError when the
// others were sealed under another one.
func (s *Secrets) Set(k *Key, name, value string) error {
	if len(s.Sealed) > 0 {
		if err := k.Check(s.Key); err != nil {
			return err
		}
	}
	s.Key = k.ID()
	s.Sealed[name] = base64.StdEncoding.EncodeToString(k.sealAs(plainFormat, []byte(value), s.aad(name)))
	return writeJSON(s.Path, s)
}

// Reseal seals all of them under the newest key of a ring and writes the file, when any of them is not.
func (s *Secrets) Reseal(k *Key) error {
	if len(s.Sealed) == 0 {
		return nil
	}
	sealed, changed := map[string]string{}, s.Key != k.ID()
	for name, text := range s.Sealed {
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err == nil && SealedBy(bytes) == k.ID() {
			sealed[name] = text
			continue
		}
		plain, err := s.Get(k, name)
		if err != nil {
			return fmt.Errorf("%s: secret %s: %w", s.Path, name, err)
		}
		sealed[name], changed = base64.StdEncoding.EncodeToString(k.sealAs(plainFormat, []byte(plain), s.aad(name))), true
	}
	if !changed {
		return nil
	}
	next := *s
	next.Key, next.Sealed = k.ID(), sealed
	if err := writeJSON(s.Path, next); err != nil {
		return err
	}
	*s = next
	return nil
}

// Remove takes one out and writes the file. The error is ErrNoSecret when there is none of that name.
func (s *Secrets) Remove(name string) error {
	if _, ok := s.Sealed[name]; !ok {
		return ErrNoSecret
	}
	delete(s.Sealed, name)
	return writeJSON(s.Path, s)
}

// aad binds a value to its name and stage, so that it cannot be moved elsewhere.
func (s *Secrets) aad(name string) []byte { return frame("athanor secret 1", s.Stack, s.Stage, name) }
