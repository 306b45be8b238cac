package wire

import (
	"crypto/sha256"
	"encoding/hex"
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

// Audit is a page of an audit log. Last is the sequence of the newest entry.
type Audit struct {
	Entries []AuditEntry `json:"entries"`
	Last    uint64       `json:"last,string"`
}

// Chain checks entries as they are read, from the first one on.
type Chain struct {
	Seq  uint64
	Hash string
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
	return nil
}
