package wire

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Author is who did something: an account, the API token by which it was authenticated, and the address it came from.
type Author struct {
	Account string `json:"account"`
	Token   string `json:"token,omitempty"`
	From    string `json:"from,omitempty"`
}

// AuditEntry is one entry of the audit log of a stack. Each holds the hash of the one before.
type AuditEntry struct {
	Seq uint64    `json:"seq,string"`
	At  time.Time `json:"at"`
	Author

	Action string `json:"action"`
	Stack  Text   `json:"stack,omitempty"`
	Stage  Text   `json:"stage,omitempty"`
	Run    Text   `json:"run,omitempty"`
	Detail Text   `json:"detail,omitempty"`
	Before string `json:"before,omitempty"`
	Hash   string `json:"hash"`
}

// Digest returns the hash that the entry must have: of everything in it but the hash.
func (e *AuditEntry) Digest() string {
	var b strings.Builder
	for _, part := range []string{
		"athanor audit 1", fmt.Sprint(e.Seq), e.At.UTC().Format(time.RFC3339Nano), e.Account, e.Token, e.From, e.Action,
		string(e.Stack), string(e.Stage), string(e.Run), string(e.Detail), e.Before,
	} {
		fmt.Fprintf(&b, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// The actions of the entries that say something about the log itself.
const (
	// AuditDropped says that the entries up to a number and digest, which its detail ends with, were older than what is
	// kept.
	AuditDropped = "audit.drop"
	// AuditUnsigned says that entries were appended by something that does not have the key of the service.
	AuditUnsigned = "audit.unsigned"
)

// AuditMark names an entry by its number and hash.
type AuditMark struct {
	Seq  uint64 `json:"seq,string"`
	Hash string `json:"hash"`
}

func (m AuditMark) String() string { return fmt.Sprintf("%d:%s", m.Seq, m.Hash) }

// AuditSeal is what a service has signed: the newest entry of a log, by a key that is not in the store. The entry holds the hash
// of the one before, so that it is a signature of all of them.
type AuditSeal struct {
	AuditMark

	Key       string `json:"key"` // see [KeyText]
	Signature []byte `json:"signature"`
}

const keyPrefix = "ed25519:"

// KeyText is a public key as people compare it: ed25519: and its base64url.
func KeyText(key ed25519.PublicKey) string {
	return keyPrefix + base64.RawURLEncoding.EncodeToString(key)
}

// SealAudit signs the newest entry of the log of a stack.
func SealAudit(key ed25519.PrivateKey, stack string, mark AuditMark) *AuditSeal {
	public, _ := key.Public().(ed25519.PublicKey) // it is always one
	return &AuditSeal{mark, KeyText(public), ed25519.Sign(key, sealed(stack, mark))}
}

// Verify returns an error unless the key of the seal has signed its end for the log of the stack.
func (s *AuditSeal) Verify(stack string) error {
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s.Key, keyPrefix))
	if err != nil || len(key) != ed25519.PublicKeySize || !strings.HasPrefix(s.Key, keyPrefix) {
		return fmt.Errorf("the key of the signature of entry %d cannot be read", s.Seq)
	}
	if !ed25519.Verify(key, sealed(stack, s.AuditMark), s.Signature) {
		return fmt.Errorf("the signature of entry %d is not of %s", s.Seq, s.Key)
	}
	return nil
}

// sealed is what is signed.
func sealed(stack string, mark AuditMark) []byte {
	return fmt.Appendf(nil, "athanor audit head 1 %d:%s %d %d:%s", len(stack), stack, mark.Seq, len(mark.Hash), mark.Hash)
}

// Audit is a page of an audit log. Last is the sequence of the newest entry.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	Last    uint64       `json:"last,string"`
	// Dropped is the newest of the entries that are no longer kept.
	Dropped AuditMark `json:"dropped,omitzero"`
	// Signed is the newest entry that was signed; nil where the service has no key for that.
	Signed *AuditSeal `json:"signed,omitempty"`
}

// Chain checks entries as they are read, from the first one that is kept, or from one that is known.
type Chain struct {
	AuditMark // the newest entry so far

	// Signed is the newest seal whose entry was found; nil as long as there is none.
	Signed *AuditSeal

	seal      *AuditSeal // its entry is still to come
	dropped   AuditMark  // where the log begins
	announced bool       // an entry says so
}

// Page takes what a page says of the log, before its entries are given to [Chain.Next].
func (c *Chain) Page(stack string, p *Audit) error {
	if p.Dropped.Seq > c.Seq {
		if c.Seq > 0 {
			return fmt.Errorf("entries %d to %d are no longer kept", c.Seq+1, p.Dropped.Seq)
		}
		c.AuditMark, c.dropped = p.Dropped, p.Dropped
	}
	if p.Signed == nil {
		return nil
	}
	if err := p.Signed.Verify(stack); err != nil {
		return err
	}
	switch {
	case p.Signed.Seq > c.Seq:
		c.seal = p.Signed
	case p.Signed.AuditMark == c.AuditMark:
		c.Signed = p.Signed
	default: // what is signed lies before where the reading began
	}
	return nil
}

// Next takes the next entry. The error says how it does not follow the ones before.
func (c *Chain) Next(e *AuditEntry) error {
	switch {
	case e.Seq != c.Seq+1:
		return fmt.Errorf("entry %d follows entry %d", e.Seq, c.Seq)
	case e.Before != c.Hash:
		return fmt.Errorf("entry %d does not hold the hash of the entry before: one of them was changed", e.Seq)
	case e.Hash != e.Digest():
		return fmt.Errorf("entry %d was changed: its hash is another", e.Seq)
	}
	c.Seq, c.Hash = e.Seq, e.Hash
	if c.seal != nil && c.seal.Seq == c.Seq {
		if c.seal.Hash != c.Hash {
			return fmt.Errorf("entry %d is not the one that was signed", e.Seq)
		}
		c.Signed, c.seal = c.seal, nil
	}
	if e.Action == AuditDropped && strings.HasSuffix(string(e.Detail), " "+c.dropped.String()) {
		c.announced = true
	}
	return nil
}

// End returns an error where entries must have followed the last one, or where the first are missing and no entry says so.
func (c *Chain) End() error {
	if c.seal != nil {
		return fmt.Errorf("entry %d was signed, and the log ends with entry %d", c.seal.Seq, c.Seq)
	}
	if c.dropped.Seq > 0 && !c.announced {
		return errors.New("its first entries are missing, and no entry says that they were dropped")
	}
	return nil
}
