// Package seal knows the stage key: how it is found or made, how bytes are sealed under it before they
// reach a store, and how keyed digests and recomputable random values come from it.
//
// It does not know what is sealed, nor where sealed bytes are kept. A key never leaves this package.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// The formats of sealed bytes. They differ in what they promise, not in how they are sealed.
const (
	plainFormat  = 1 // beside a program, and in states from before there were heads
	headedFormat = 2 // in a state: each commit that writes such bytes writes a head too

	idBytes = 8
	header  = 1 + idBytes

	nonceBytes = 12 // of AES-GCM, after the header
	tagBytes   = 16 // of AES-GCM, at the end
)

// Key seals, opens and digests for one stage of one stack. It is the newest of a ring of keys, of which each opens
// what it sealed. It is safe for concurrent use.
type Key struct {
	id     [idBytes]byte
	root   []byte // what the others are made of, and what is wrapped
	sealer cipher.AEAD
	digest []byte
	derive []byte
	origin Origin

	number   uint64
	proof    []byte // by the key before; nil for the first
	older    []*Key // the others of the ring, the newest first
	revision uint64 // of the wrapped ring that it was opened from
}

// The uses of a secret; each gives other keys.
const (
	forStage    = "athanor stage key 1"
	forWrapping = "athanor wrapping key 1"
)

// newKey makes the key of a stage from a secret that may serve many stages: stack and stage are part of the derivation,
// each with its length, so that no two stages share a key.
func newKey(secret []byte, use, stack, stage string) (*Key, error) {
	root, err := hkdf.Key(sha256.New, secret, nil, string(frame(use, stack, stage)), sha256.Size)
	if err != nil {
		return nil, err
	}
	return keyOf(root)
}

// keyOf makes a key from what it was wrapped as.
func keyOf(root []byte) (*Key, error) {
	part := func(name string) []byte {
		mac := hmac.New(sha256.New, root)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(part("seal"))
	if err != nil {
		return nil, err
	}
	k := &Key{root: root, number: 1, digest: part("digest"), derive: part("derive")}
	copy(k.id[:], part("id"))
	k.sealer, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// ID is a short fingerprint of the key. It is no secret: a store keeps it in clear to tell which key
// its bodies need.
func (k *Key) ID() string { return hex.EncodeToString(k.id[:]) }

// Check compares the ring with the id that a store knows: it must have that key. An empty id fits every ring. The error
// is a *KeyError.
func (k *Key) Check(known string) error {
	if known == "" || known == k.ID() || k.By(known) != nil {
		return nil
	}
	return &KeyError{Want: known, Have: k.ID()}
}

// Seal encrypts and authenticates plain, bound to aad, which must be given again to open it (the address
// that the bytes belong to, for example, so that sealed bytes cannot be moved elsewhere). Sealing the
// same bytes twice gives different results. A state that holds such bytes has an authenticated head; see [NeedsHead].
func (k *Key) Seal(plain, aad []byte) []byte { return k.sealAs(headedFormat, plain, aad) }

func (k *Key) sealAs(format byte, plain, aad []byte) []byte {
	out := make([]byte, 0, header+k.sealer.Overhead()+len(plain))
	out = append(out, format)
	out = append(out, k.id[:]...)
	return k.sealer.Seal(out, nil, plain, bind(nil, out, aad))
}

// Open decrypts what a key of the ring sealed. The error is a *KeyError when another key did, otherwise
// [ErrBroken]: the bytes or the aad are not those that were sealed.
func (k *Key) Open(sealed, aad []byte) ([]byte, error) { return k.Opener().Open(sealed, aad) }

// Opener opens many sealed bytes in the same space. It is for one goroutine.
type Opener struct {
	key          *Key
	bound, plain []byte
}

// Opener returns what opens as the key does.
func (k *Key) Opener() *Opener { return &Opener{key: k} }

// Open is [Key.Open]. What it returns is overwritten by the next call.
func (o *Opener) Open(sealed, aad []byte) ([]byte, error) {
	k := o.key
	if !isSealed(sealed) {
		return nil, ErrBroken
	}
	by := k
	if id := sealed[1:header]; string(id) != string(k.id[:]) {
		at := slices.IndexFunc(k.older, func(one *Key) bool { return string(id) == string(one.id[:]) })
		if at < 0 {
			return nil, &KeyError{Want: hex.EncodeToString(id), Have: k.ID()}
		}
		by = k.older[at]
	}
	o.bound = bind(o.bound[:0], sealed[:header], aad)
	plain, err := by.sealer.Open(o.plain[:0], nil, sealed[header:], o.bound)
	if err != nil {
		return nil, ErrBroken
	}
	o.plain = plain
	return plain, nil
}

// Digest is a keyed digest for seeing that a value changed without keeping the value. Equal data in
// different domains gives different digests; without the key nothing can be guessed and compared.
func (k *Key) Digest(domain string, data []byte) string {
	mac := hmac.New(newHash, k.digest)
	mac.Write(frame(domain))
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil))
}

// Tagger returns a keyed digest of one domain, for many values: a function of the key that nobody without it can compute
// or tell from random bytes. It is for one goroutine.
func (k *Key) Tagger(domain string) func(data []byte) [sha256.Size]byte {
	mac, prefix := hmac.New(newHash, k.digest), frame("athanor tag 1", domain)
	return func(data []byte) (tag [sha256.Size]byte) {
		mac.Reset()
		mac.Write(prefix)
		mac.Write(data)
		mac.Sum(tag[:0])
		return tag
	}
}

// Derive gives n bytes that look random and are the same for the same key and info, always: the
// source of recomputable random values. A longer answer begins with the shorter one.
func (k *Key) Derive(info string, n int) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for block := uint64(0); len(out) < n; block++ {
		mac := hmac.New(sha256.New, k.derive)
		mac.Write(binary.BigEndian.AppendUint64(nil, block))
		mac.Write([]byte(info))
		out = mac.Sum(out)
	}
	return out[:n]
}

// String names the key without showing it, so that a key printed by accident gives nothing away.
func (k *Key) String() string { return "key " + k.ID() }

// GoString does the same for %#v.
func (k *Key) GoString() string { return k.String() }

func newHash() hash.Hash { return sha256.New() }

// bind joins the header of sealed bytes with the caller's aad, in the space of a slice: a changed header is noticed too.
func bind(in, head, aad []byte) []byte {
	return append(append(slices.Grow(in, len(head)+len(aad)), head...), aad...)
}

// frame joins strings so that different lists never give the same bytes.
func frame(parts ...string) []byte {
	var out []byte
	for _, part := range parts {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// ErrBroken says that sealed bytes were changed, cut, or sealed for something else.
var ErrBroken = errors.New("sealed bytes do not open: changed, or sealed for something else")

// ErrKey says that the key at hand is not the one that is needed (*KeyError).
var ErrKey = errors.New("the stage key is another one")

// KeyError names the key that is needed and the one at hand.
type KeyError struct {
	Want string // the id that the store or the sealed bytes know
	Have string // the id of the key at hand, empty when there is none
	// Ways are how the wrapped key beside the program can be opened; empty when there is no such file.
	Ways []string
	// Refused is why a key service, one of the ways, did not open it; nil when none was asked.
	Refused *ServiceError
}

func (e *KeyError) Error() string {
	switch {
	case e.Want == "" && e.Have == "":
		return "the stage has no key yet"
	case e.Refused != nil:
		return fmt.Sprintf("the stage key %s is not at hand: %v", e.Want, e.Refused)
	case e.Have == "":
		return fmt.Sprintf("the stage key %s is not at hand", e.Want)
	}
	return fmt.Sprintf("the stage key %s is needed, the one at hand is %s", e.Want, e.Have)
}

// Is reports ErrKey.
func (e *KeyError) Is(target error) bool { return target == ErrKey }

// Unwrap returns why a key service refused.
func (e *KeyError) Unwrap() error {
	if e.Refused == nil {
		return nil
	}
	return e.Refused
}

// Hint says what the user can do.
func (e *KeyError) Hint() string {
	if len(e.Ways) > 0 {
		return "its wrapped key opens with " + strings.Join(e.Ways, ", or with ")
	}
	return "bring the key file of the machine that deployed before, and name it in $ATHANOR_KEY_FILE, or give its passphrase in $ATHANOR_PASSPHRASE"
}
