package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

// A stage has a ring of numbered keys. A [Key] is the whole ring: the newest key seals, digests and derives, and any
// key of the ring opens what it sealed.

// Number is the number of the newest key of the ring. The key that a stage is born with has number 1.
func (k *Key) Number() uint64 { return k.number }

// Ring are the keys of the ring, each alone, the newest first.
func (k *Key) Ring() []*Key {
	all := make([]*Key, 0, 1+len(k.older))
	for _, one := range append([]*Key{k}, k.older...) {
		alone := *one
		alone.older = nil
		all = append(all, &alone)
	}
	return all
}

// By returns the key of the ring with an id, alone; nil when the ring has none.
func (k *Key) By(id string) *Key {
	for _, one := range k.Ring() {
		if one.ID() == id {
			return one
		}
	}
	return nil
}

// Next is the ring with one more key, which is random. The proof of the new key is made with the one before, so that
// nobody who only knows the recipients can add a key of their own.
func (k *Key) Next() (*Key, error) {
	root := make([]byte, secretBytes)
	rand.Read(root) // never fails: the runtime aborts instead
	next, err := keyOf(root)
	if err != nil {
		return nil, err
	}
	next.number, next.older = k.number+1, k.Ring()
	next.proof = k.prove(next)
	next.origin, next.revision = k.origin, k.revision
	return next, nil
}

// Keeping is the ring with its newest key and those older ones that are still needed.
func (k *Key) Keeping(needed func(id string) bool) *Key {
	kept := *k
	kept.older = slices.DeleteFunc(slices.Clone(k.older), func(one *Key) bool { return !needed(one.ID()) })
	return &kept
}

// SealedBy is the id of the key that sealed bytes name, "" when they are no sealed bytes.
func SealedBy(sealed []byte) string {
	if !isSealed(sealed) {
		return ""
	}
	return hex.EncodeToString(sealed[1:header])
}

// NeedsHead reports whether sealed bytes were written together with an authenticated head: a state that holds them and
// has no head lost it. What older versions sealed needs none.
func NeedsHead(sealed []byte) bool { return isSealed(sealed) && sealed[0] == headedFormat }

// Stamp returns what tells sealed bytes apart from all others: their beginning with the key and the random nonce, and
// their authentication tag. Somebody who changes anything between has bytes that do not open. Bytes that are not sealed
// are their own stamp.
func Stamp(sealed []byte) (head, tail []byte) {
	if !isSealed(sealed) || len(sealed) < header+nonceBytes+tagBytes {
		return sealed, nil
	}
	return sealed[:header+nonceBytes], sealed[len(sealed)-tagBytes:]
}

// Sealed reports whether the newest key of the ring sealed these bytes.
func (k *Key) Sealed(sealed []byte) bool {
	return isSealed(sealed) && string(sealed[1:header]) == string(k.id[:])
}

func isSealed(b []byte) bool {
	return len(b) >= header && (b[0] == plainFormat || b[0] == headedFormat)
}

// prove authenticates the next key of the ring.
func (k *Key) prove(next *Key) []byte {
	mac := hmac.New(newHash, k.digest)
	mac.Write(frame("athanor next key 1"))
	mac.Write(binary.BigEndian.AppendUint64(nil, next.number))
	mac.Write(next.root)
	return mac.Sum(nil)
}

// join makes one ring of keys that were opened one by one, oldest last, as known to a store: each key that is newer
// than the one that the store knows is proven by the one before.
func join(keys []*Key, known string) (*Key, error) {
	slices.SortFunc(keys, func(a, b *Key) int { return int(int64(b.number) - int64(a.number)) })
	at := slices.IndexFunc(keys, func(k *Key) bool { return k.ID() == known })
	if known != "" && at < 0 {
		return nil, &KeyError{Want: known, Have: keys[0].ID()}
	}
	if known == "" {
		at = len(keys) - 1
	}
	for i := range at {
		before := keys[i+1]
		if keys[i].number != before.number+1 || !hmac.Equal(keys[i].proof, before.prove(keys[i])) {
			return nil, &ForgedError{ID: keys[i].ID(), Number: keys[i].number}
		}
	}
	ring := *keys[0]
	ring.older = keys[1:]
	return &ring, nil
}

// ForgedError says that a key was added to a ring by somebody who did not have the one before.
type ForgedError struct {
	ID     string
	Number uint64
}

func (e *ForgedError) Error() string {
	return "key " + e.ID + " was added to the ring without the key before it"
}

// Is reports ErrKey.
func (e *ForgedError) Is(target error) bool { return target == ErrKey }

// Hint says what the user can do.
func (e *ForgedError) Hint() string {
	return "take the .key.json of the newest deploy out of version control, and find out who changed it"
}

// Recipient is one way to open the ring of a stage.
type Recipient struct {
	By string `json:"by"` // "age", "passphrase", "key file", "awskms"
	// To is the recipient of age, the fingerprint of a key file or the ARN of a KMS key; empty for a passphrase.
	To string `json:"to,omitempty"`
	// Keys are the numbers of the keys that it opens.
	Keys []uint64 `json:"keys"`
}

// Recipients tells who can open the ring of a stage; nobody but who has what it was born of when there is no wrapped
// one.
func (p Place) Recipients() ([]Recipient, error) {
	file, err := p.wrapped()
	if err != nil || file == nil {
		return nil, err
	}
	var all []Recipient
	for _, key := range file.Keys {
		for _, w := range key.Wraps {
			to := w.To
			if len(to) == 0 {
				to = []string{""}
			}
			for _, one := range to {
				at := slices.IndexFunc(all, func(r Recipient) bool { return r.By == w.By && r.To == one })
				if at < 0 {
					all, at = append(all, Recipient{By: w.By, To: one}), len(all)
				}
				all[at].Keys = append(all[at].Keys, key.Number)
			}
		}
	}
	return all, nil
}

// Again is the wrapping for all who can open the newest key of a stage now: that of the wrapped ring, else of what the
// stage was born of. What it needs must be at hand: who wraps for a passphrase or a key file has it. The error is then
// ErrWrapping.
func (p Place) Again() (Wrapping, error) {
	return source{os.Getenv, os.UserConfigDir}.again(p)
}

func (s source) again(p Place) (Wrapping, error) {
	file, err := p.wrapped()
	if err != nil {
		return Wrapping{}, err
	}
	if file == nil {
		if passphrase := s.getenv(EnvPassphrase); passphrase != "" {
			return Wrapping{Passphrase: passphrase}, nil
		}
		path, err := s.keyFile(p.Config)
		return Wrapping{KeyFile: path}, err
	}
	var w Wrapping
	for _, one := range file.Keys[0].Wraps {
		if one.By == byAge {
			w.Recipients = append(w.Recipients, one.To...)
			continue
		}
		if one.By == byService {
			w.Recipients = append(w.Recipients, servicePrefix+strings.Join(one.To, ""))
			continue
		}
		root, err := s.openWrap(p, file.Key, one)
		if err != nil {
			return Wrapping{}, err
		}
		if root == nil {
			return Wrapping{}, fmt.Errorf("%w: it is wrapped for %s, which is not at hand", ErrWrapping, one.way())
		}
		if one.By == byPassphrase {
			w.Passphrase = s.getenv(EnvPassphrase)
		} else if w.KeyFile, err = s.keyFile(p.Config); err != nil {
			return Wrapping{}, err
		}
	}
	return w, nil
}

// Wrapped is the wrapped ring beside the program, as a store keeps it; nil when there is none.
func (p Place) Wrapped() ([]byte, error) {
	p.Stored = nil
	file, err := p.wrapped()
	if err != nil || file == nil {
		return nil, err
	}
	return p.read(file.path)
}

// Newest is the wrapped ring that counts: the one beside the program, unless the store holds a newer one.
func (p Place) Newest() ([]byte, error) {
	beside, err := p.Wrapped()
	if err != nil || beside != nil && Revision(beside) >= Revision(p.Stored) {
		return beside, err
	}
	return p.Stored, nil
}

// bornWrapped makes the first key of a stage whose passphrase is given: it is random, and the passphrase wraps it with
// a random salt. Of two processes that make one at once both use the same.
func (s source) bornWrapped(p Place, passphrase string) (*Key, error) {
	root := make([]byte, secretBytes)
	rand.Read(root) // never fails: the runtime aborts instead
	k, err := keyOf(root)
	if err != nil {
		return nil, err
	}
	data, err := k.Wrapped(p, Wrapping{Passphrase: passphrase})
	if err != nil {
		return nil, err
	}
	path := p.keyPath(p.Beside[0])
	temporary, err := durable.Aside(path, data)
	if err != nil {
		return nil, err
	}
	if err := durable.Publish(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file, err := p.wrapped()
	if err != nil {
		return nil, err
	}
	return s.unwrap(p, file, "")
}

// Revision is that of a wrapped ring: of two the higher one counts. It is 0 for none, and for a ring of one key.
func Revision(wrapped []byte) uint64 {
	var file wrappedFile
	if err := json.Unmarshal(wrapped, &file); err != nil {
		return 0
	}
	return file.Revision
}

// KeyPath is where the wrapped ring of a stage lies beside its program.
func KeyPath(p Place) string { return p.keyPath(p.Beside[0]) }

// SecretsPath is where the sealed secrets of a stage lie beside its program.
func SecretsPath(p Place) string { return p.file(p.Beside[0], "secrets") }
