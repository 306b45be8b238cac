package seal

import (
	"bytes"
	"cmp"
	"context"
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
	wrapFormat = 1 // of a ring of one key
	ringFormat = 2
	// workFactor makes one guess of a passphrase that wraps a key cost about a quarter of a second and 64 MiB.
	workFactor = 16
)

// The ways to wrap a key.
const (
	byAge        = "age"
	byPassphrase = "passphrase"
	byKeyFile    = "key file"
	byService    = "awskms"

	// servicePrefix begins recipients that are keys of a key service; the ARN follows.
	servicePrefix = byService + ":"
)

// wrappedFile is a stage's ring of keys that others can open, beside the program and in the store. It holds nothing
// that is secret without one of the keys that open it, and is made to be checked in.
type wrappedFile struct {
	Format int    `json:"athanorKey"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	Key    string `json:"key"` // the id of the newest
	// Revision rises each time that the ring is wrapped: of two files the higher one counts.
	Revision uint64 `json:"revision,omitempty"`
	// Wraps are those of the only key in format 1.
	Wraps []wrap       `json:"wraps,omitempty"`
	Keys  []wrappedKey `json:"keys,omitempty"`

	path string
}

// wrappedKey is one key of a ring.
type wrappedKey struct {
	Number uint64 `json:"number"`
	ID     string `json:"id"`
	Proof  []byte `json:"proof,omitempty"`
	Wraps  []wrap `json:"wraps"`
}

// wrap is the key, sealed for one way of opening it. Any one opens it.
type wrap struct {
	By string `json:"by"`
	// To are the recipients of age, the fingerprint of a key file, or the name of a key of a key service.
	To     []string `json:"to,omitempty"`
	Sealed string   `json:"sealed"`
}

// Wrapping says who can open a wrapped key. At least one field is set.
type Wrapping struct {
	Recipients []string // of age: age1…; keys of a key service: awskms:ARN
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

// Wrap writes the ring beside the program, each of its keys wrapped for all who are named, in place of what was there;
// the result is the path of the file. The keys themselves stay what they are: those who had them before still have
// them.
func (k *Key) Wrap(p Place, w Wrapping) (string, error) {
	data, err := k.Wrapped(p, w)
	if err != nil {
		return "", err
	}
	path := p.keyPath(p.Beside[0])
	return path, durable.Write(path, data)
}

// Wrapped is what [Key.Wrap] writes, for a store too. The next revision of the ring is the one after it.
func (k *Key) Wrapped(p Place, w Wrapping) ([]byte, error) {
	file := wrappedFile{Format: ringFormat, Stack: p.Stack, Stage: p.Stage, Key: k.ID()}
	for _, one := range k.Ring() {
		wraps, err := one.wraps(p, w)
		if err != nil {
			return nil, err
		}
		file.Keys = append(file.Keys, wrappedKey{Number: one.number, ID: one.ID(), Proof: one.proof, Wraps: wraps})
	}
	if len(file.Keys) == 1 && k.number == 1 {
		file.Format, file.Wraps, file.Keys = wrapFormat, file.Keys[0].Wraps, nil
	} else {
		k.revision++
		file.Revision = k.revision
	}
	return marshal(file)
}

// wraps are one key for all who are named.
func (k *Key) wraps(p Place, w Wrapping) ([]wrap, error) {
	var all []wrap
	var people []string
	for _, to := range w.Recipients {
		name, service := strings.CutPrefix(to, servicePrefix)
		if !service {
			people = append(people, to)
			continue
		}
		one, err := k.wrapService(p, name)
		if err != nil {
			return nil, err
		}
		all = append(all, *one)
	}
	w.Recipients = people
	for _, add := range []func(Place, Wrapping) (*wrap, error){k.wrapAge, k.wrapPassphrase, k.wrapKeyFile} {
		one, err := add(p, w)
		if err != nil {
			return nil, err
		}
		if one != nil {
			all = append(all, *one)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it has no recipient", ErrWrapping)
	}
	return all, nil
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

func (k *Key) wrapService(p Place, name string) (*wrap, error) {
	if p.Service == nil {
		return nil, fmt.Errorf("%w: %s%s: there is no key service here", ErrWrapping, servicePrefix, name)
	}
	sealed, err := p.Service.Wrap(name, k.root, p.bound(k.ID()))
	if err != nil {
		return nil, fmt.Errorf("%w: %s%s: %w", ErrWrapping, servicePrefix, name, err)
	}
	return &wrap{By: byService, To: []string{name}, Sealed: base64.StdEncoding.EncodeToString(sealed)}, nil
}

// bound is what a key service binds a wrapped key to, and shows in its own log.
func (p Place) bound(id string) map[string]string {
	return map[string]string{"athanor": "stage key", "stack": p.Stack, "stage": p.Stage, "key": id}
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
	sealed := by.sealAs(plainFormat, k.root, []byte(byKeyFile))
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

// wrapped reads the wrapped ring beside the program, or the one in the store when that is newer; nil when there is
// none.
func (p Place) wrapped() (*wrappedFile, error) {
	var newest *wrappedFile
	for _, dir := range p.Beside {
		file := &wrappedFile{path: p.keyPath(dir)}
		found, err := p.readJSON(file.path, file)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if err := file.check(p); err != nil {
			return nil, err
		}
		newest = file
		break
	}
	if len(p.Stored) == 0 {
		return newest, nil
	}
	stored := &wrappedFile{path: "the wrapped key in the store"}
	if err := json.Unmarshal(p.Stored, stored); err != nil {
		return nil, &KeyFileError{Path: stored.path, Why: "cannot be read: " + err.Error()}
	}
	if err := stored.check(p); err != nil {
		return nil, err
	}
	if newest == nil || newest.Revision < stored.Revision {
		newest = stored
	}
	return newest, nil
}

// check says whether a file holds the ring of a stage, and reads the older format as a ring of one.
func (f *wrappedFile) check(p Place) error {
	why := fmt.Sprintf("is not the wrapped key of %s/%s, format %d or %d", p.Stack, p.Stage, wrapFormat, ringFormat)
	wrong := &KeyFileError{Path: f.path, Why: why}
	known := f.Format == wrapFormat || f.Format == ringFormat
	if f.Stack != p.Stack || f.Stage != p.Stage || len(f.Key) != 2*idBytes || !known {
		return wrong
	}
	if f.Format == wrapFormat {
		f.Keys = []wrappedKey{{Number: 1, ID: f.Key, Wraps: f.Wraps}}
	}
	for i, key := range f.Keys {
		if key.Number == 0 || i > 0 && key.Number >= f.Keys[i-1].Number {
			return wrong
		}
		// We write one of each at most. A guess is expensive, and a file that says how many are made could keep us for days.
		for _, by := range []string{byPassphrase, byKeyFile, byAge} {
			if i >= mostKeys || count(key.Wraps, by) > 1 {
				return wrong
			}
		}
	}
	if len(f.Keys) == 0 || f.Keys[0].ID != f.Key {
		return wrong
	}
	return nil
}

// mostKeys is how many keys a ring has at most: far above any real one.
const mostKeys = 1000

// count is how many wraps are of one way.
func count(wraps []wrap, by string) int {
	n := 0
	for _, w := range wraps {
		if w.By == by {
			n++
		}
	}
	return n
}

// has reports whether the ring has a key.
func (f *wrappedFile) has(id string) bool {
	return slices.ContainsFunc(f.Keys, func(k wrappedKey) bool { return k.ID == id })
}

// unwrap opens a wrapped ring with what is at hand: any one way will do. What a stage was born with still does as long
// as that is its newest key.
func (s source) unwrap(p Place, file *wrappedFile, known string) (*Key, error) {
	var keys []*Key
	missing := &KeyError{Want: file.Key}
	for i, wrapped := range file.Keys {
		k, way, err := s.openKey(p, file, wrapped)
		service, refused := errors.AsType[*ServiceError](err)
		if err != nil && (!refused || errors.Is(err, context.Canceled)) {
			return nil, err
		}
		if refused && i == 0 {
			missing.Refused = service
		}
		if k != nil {
			keys = append(keys, k)
		}
		if i > 0 {
			continue
		}
		if k == nil {
			k, err = s.derived(p, false)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err != nil || k.ID() != file.Key {
				for _, w := range wrapped.Wraps {
					missing.Ways = append(missing.Ways, w.way())
				}
				return nil, missing
			}
			k.origin.Alone = false // somebody else can open the wrapped one
			k.number, k.proof = wrapped.Number, wrapped.Proof
			keys = append(keys, k)
			continue
		}
		k.origin = Origin{
			Text:  file.path + ", opened with " + way.way(),
			Alone: len(wrapped.Wraps) == 1 && way.By == byKeyFile && s.getenv(EnvKeyFile) == "",
		}
	}
	ring, err := join(keys, known)
	if err != nil {
		return nil, err
	}
	ring.revision = file.Revision
	return ring, nil
}

// openKey opens one key of a ring, and says which way opened it; nil when none at hand does. A key service is asked
// last, and only its error is one that another way makes up for: it is a *ServiceError.
func (s source) openKey(p Place, file *wrappedFile, wrapped wrappedKey) (*Key, wrap, error) {
	ways := slices.Clone(wrapped.Wraps)
	slices.SortStableFunc(ways, func(a, b wrap) int {
		return cmp.Compare(strings.Count(a.By, byService), strings.Count(b.By, byService))
	})
	var refused error
	for _, w := range ways {
		root, err := s.openWrap(p, wrapped.ID, w)
		if service, is := errors.AsType[*ServiceError](err); is {
			refused = service
			continue
		}
		if err != nil {
			return nil, w, err
		}
		if root == nil {
			continue
		}
		k, err := keyOf(root)
		if err != nil || k.ID() != wrapped.ID {
			return nil, w, &KeyFileError{Path: file.path, Why: "holds another key than it says"}
		}
		k.number, k.proof = wrapped.Number, wrapped.Proof
		return k, w, nil
	}
	return nil, wrap{}, refused
}

// openService asks a key service.
func (p Place) openService(id string, w wrap) ([]byte, error) {
	if p.Service == nil || len(w.To) != 1 {
		return nil, nil
	}
	sealed, err := base64.StdEncoding.DecodeString(w.Sealed)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // what is no key opens nothing
	}
	root, err := p.Service.Unwrap(w.To[0], sealed, p.bound(id))
	if err != nil {
		return nil, &ServiceError{Name: servicePrefix + w.To[0], Err: err}
	}
	return root, nil
}

// ServiceError says why a key service did not open a key.
type ServiceError struct {
	Name string // awskms:ARN
	Err  error
}

func (e *ServiceError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *ServiceError) Unwrap() error { return e.Err }

// openWrap gives nil when what would open it is not at hand.
func (s source) openWrap(p Place, id string, w wrap) ([]byte, error) {
	var with []age.Identity
	var err error
	switch w.By {
	case byAge:
		with, err = s.identities(p)
	case byPassphrase:
		if passphrase := s.getenv(EnvPassphrase); passphrase != "" {
			var one *age.ScryptIdentity
			if one, err = age.NewScryptIdentity(passphrase); err == nil {
				one.SetMaxWorkFactor(workFactor) // the file says the factor, and each step doubles the memory
				with = []age.Identity{one}
			}
		}
	case byKeyFile:
		return s.openByFile(p, w)
	case byService:
		return p.openService(id, w)
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
	case byService:
		return servicePrefix + strings.Join(w.To, "") + " (AWS credentials that may call kms:Decrypt)"
	default:
		return "the key file " + strings.Join(w.To, "") + " ($" + EnvKeyFile + ")"
	}
}

// longestBeside bounds a file beside a program: far above any real one.
const longestBeside = 16 << 20

// read reads a file beside a program.
func (p Place) read(path string) ([]byte, error) {
	if p.Read != nil {
		return p.Read(path, longestBeside)
	}
	return durable.ReadFile(path, longestBeside)
}

// readJSON reads a file of ours beside a program; false when there is none.
func (p Place) readJSON(path string, into any) (bool, error) {
	data, err := p.read(path)
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

// writeJSON writes one in one step.
func writeJSON(path string, v any) error {
	data, err := marshal(v)
	if err != nil {
		return err
	}
	return durable.Write(path, data)
}

// marshal writes a line for each value, so that changes can be compared and merged.
func marshal(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}
