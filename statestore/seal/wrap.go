package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

const (
	wrapFormat = 1
	// workFactor makes one guess of a passphrase that wraps a key cost about a quarter of a second and 64 MiB.
	workFactor = 16
)

// The ways to wrap a key.
const (
	byAge        = "age"
	byPassphrase = "passphrase"
	byKeyFile    = "key file"
)

// wrappedFile is a stage key that others can open, beside the program. It holds nothing that is secret without one of
// the keys that open it, and is made to be checked in.
type wrappedFile struct {
	Format int    `json:"athanorKey"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	Key    string `json:"key"` // the id
	Wraps  []wrap `json:"wraps"`

	path string
}

// wrap is the key, sealed for one way of opening it. Any one opens it.
type wrap struct {
	By string `json:"by"`
	// To are the recipients of age, or the fingerprint of a key file.
	To     []string `json:"to,omitempty"`
	Sealed string   `json:"sealed"`
}

// Wrapping says who can open a wrapped key. At least one field is set.
type Wrapping struct {
	Recipients []string // of age: age1…
	Passphrase string
	KeyFile    string // a path; the file is made when there is none
}

// ErrWrapping says that a key cannot be wrapped as asked.
var ErrWrapping = errors.New("the key cannot be wrapped")

// keyPath is the file of the wrapped key of a stage in a folder.
func (p Place) keyPath(dir string) string { return p.file(dir, "key") }

// file names a file of the stage in a folder, and never one elsewhere. The file itself says whose it is.
func (p Place) file(dir, what string) string {
	name := strings.NewReplacer("/", "_", `\`, "_").Replace(p.Stack + "." + p.Stage)
	return filepath.Join(dir, name+"."+what+".json")
}

// Wrap writes the key beside the program, wrapped, in place of a wrapped key that was there; the result is the path
// of the file. The key itself stays what it is: whoever had it before still has it.
func (k *Key) Wrap(p Place, w Wrapping) (string, error) {
	file := wrappedFile{Format: wrapFormat, Stack: p.Stack, Stage: p.Stage, Key: k.ID()}
	for _, add := range []func(Place, Wrapping) (*wrap, error){k.wrapAge, k.wrapPassphrase, k.wrapKeyFile} {
		one, err := add(p, w)
		if err != nil {
			return "", err
		}
		if one != nil {
			file.Wraps = append(file.Wraps, *one)
		}
	}
	if len(file.Wraps) == 0 {
		return "", fmt.Errorf("%w: for nobody", ErrWrapping)
	}
	path := p.keyPath(p.Beside[0])
	return path, writeJSON(path, file)
}

func (k *Key) wrapAge(_ Place, w Wrapping) (*wrap, error) {
	if len(w.Recipients) == 0 {
		return nil, nil //nolint:nilnil // nothing was asked for, which is no error
	}
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(w.Recipients, "\n")))
	if err != nil {
		return nil, fmt.Errorf("%w: recipients: %w", ErrWrapping, err)
	}
	sealed, err := encrypt(k.root, recipients...)
	return &wrap{By: byAge, To: w.Recipients, Sealed: sealed}, err
}

func (k *Key) wrapPassphrase(_ Place, w Wrapping) (*wrap, error) {
	if w.Passphrase == "" {
		return nil, nil //nolint:nilnil // nothing was asked for, which is no error
	}
	r, err := age.NewScryptRecipient(w.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("%w: passphrase: %w", ErrWrapping, err)
	}
	r.SetWorkFactor(workFactor)
	sealed, err := encrypt(k.root, r)
	return &wrap{By: byPassphrase, Sealed: sealed}, err
}

func (k *Key) wrapKeyFile(p Place, w Wrapping) (*wrap, error) {
	if w.KeyFile == "" {
		return nil, nil //nolint:nilnil // nothing was asked for, which is no error
	}
	if _, err := os.Stat(w.KeyFile); errors.Is(err, fs.ErrNotExist) {
		if err := makeKeyFile(w.KeyFile); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrWrapping, err)
		}
	}
	by, err := p.wrappingKey(w.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrapping, err)
	}
	sealed := by.Seal(k.root, []byte(byKeyFile))
	return &wrap{By: byKeyFile, To: []string{by.ID()}, Sealed: base64.StdEncoding.EncodeToString(sealed)}, nil
}

// wrappingKey is the key that a key file wraps others with.
func (p Place) wrappingKey(path string) (*Key, error) {
	secret, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	return newKey(secret, forWrapping, p.Stack, p.Stage)
}

func encrypt(plain []byte, to ...age.Recipient) (string, error) {
	var text bytes.Buffer
	armored := armor.NewWriter(&text)
	w, err := age.Encrypt(armored, to...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrWrapping, err)
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close(), armored.Close())
	return text.String(), err
}

func decrypt(sealed string, with ...age.Identity) ([]byte, error) {
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), with...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, longestFile))
}

// wrapped reads the wrapped key beside the program; nil when there is none.
func (p Place) wrapped() (*wrappedFile, error) {
	for _, dir := range p.Beside {
		file := &wrappedFile{path: p.keyPath(dir)}
		found, err := readJSON(file.path, file)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if file.Format != wrapFormat || file.Stack != p.Stack || file.Stage != p.Stage || len(file.Key) != 2*idBytes {
			return nil, &KeyFileError{Path: file.path, Why: fmt.Sprintf("is not the wrapped key of %s/%s, format %d", p.Stack, p.Stage, wrapFormat)}
		}
		return file, nil
	}
	return nil, nil //nolint:nilnil // no wrapped key is no error
}

// unwrap opens a wrapped key with what is at hand: any one way will do. What a stage was born with still does.
func (s source) unwrap(p Place, file *wrappedFile) (*Key, error) {
	missing := &KeyError{Want: file.Key}
	for _, w := range file.Wraps {
		root, err := s.openWrap(p, w)
		if err != nil {
			return nil, err
		}
		if root != nil {
			k, err := keyOf(root)
			if err == nil && k.ID() == file.Key {
				k.origin = Origin{Text: file.path + ", opened with " + w.way(), Alone: len(file.Wraps) == 1 && w.By == byKeyFile && s.getenv(EnvKeyFile) == ""}
				return k, nil
			}
			return nil, &KeyFileError{Path: file.path, Why: "holds another key than it says"}
		}
		missing.Ways = append(missing.Ways, w.way())
	}
	k, err := s.derived(p, false)
	if err == nil && k.ID() == file.Key {
		k.origin.Alone = false // somebody else can open the wrapped one
		return k, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return nil, missing
}

// openWrap gives nil when what would open it is not at hand.
func (s source) openWrap(p Place, w wrap) ([]byte, error) {
	var with []age.Identity
	var err error
	switch w.By {
	case byAge:
		with, err = s.identities(p)
	case byPassphrase:
		if passphrase := s.getenv(EnvPassphrase); passphrase != "" {
			var one *age.ScryptIdentity
			one, err = age.NewScryptIdentity(passphrase)
			with = []age.Identity{one}
		}
	case byKeyFile:
		return s.openByFile(p, w)
	}
	if err != nil || len(with) == 0 {
		return nil, err
	}
	root, err := decrypt(w.Sealed, with...)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it is for somebody else
	}
	return root, nil
}

func (s source) openByFile(p Place, w wrap) ([]byte, error) {
	path, err := s.keyFile(p.Config)
	if err != nil {
		return nil, err
	}
	by, err := p.wrappingKey(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !slices.Contains(w.To, by.ID()):
		return nil, nil
	}
	sealed, err := base64.StdEncoding.DecodeString(w.Sealed)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // what is no key opens nothing
	}
	root, err := by.Open(sealed, []byte(byKeyFile))
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it was sealed for something else
	}
	return root, nil
}

// identities are those of age: in the variable itself, in the file that it names, or in the configuration folder.
func (s source) identities(p Place) ([]age.Identity, error) {
	given := s.getenv(EnvAgeIdentity)
	if strings.HasPrefix(strings.TrimSpace(given), "AGE-SECRET-KEY-") {
		return parseIdentities("$"+EnvAgeIdentity, given)
	}
	path := given
	if path == "" {
		dir, err := s.folder(p.Config)
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "age.txt")
	}
	text, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) && given == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseIdentities(path, string(text))
}

// parseIdentities never repeats what it read: it may be a secret that is spelt wrong.
func parseIdentities(where, text string) ([]age.Identity, error) {
	identities, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, &KeyFileError{Path: where, Why: "holds no age identity (AGE-SECRET-KEY-…) or something else beside it"}
	}
	return identities, nil
}

// way says what opens a wrap.
func (w wrap) way() string {
	switch w.By {
	case byAge:
		return "the age identity of " + strings.Join(w.To, " or ") + " ($" + EnvAgeIdentity + ")"
	case byPassphrase:
		return "its passphrase ($" + EnvPassphrase + ")"
	default:
		return "the key file " + strings.Join(w.To, "") + " ($" + EnvKeyFile + ")"
	}
}

// readJSON reads a file of ours beside a program; false when there is none.
func readJSON(path string, into any) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, &KeyFileError{Path: path, Why: "cannot be read: " + err.Error()}
	}
	return true, nil
}

// writeJSON writes one in one step, a line for each value, so that changes of it can be compared and merged.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(path, append(data, '\n'))
}
