package service

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// What the audit log has entries of.
const (
	auditStart    = "run.start"
	auditComplete = "run.complete"
	auditCancel   = "run.cancel"
	auditUnlock   = "run.unlock"
	auditOrphan   = "run.orphaned"
	auditCreate   = "token.create"
	auditRevoke   = "token.revoke"
)

// auditActions are the actions of the audit log, which the description of the protocol lists. Each entry of the tests is held to it.
func auditActions() []string {
	var description struct {
		Components struct {
			Schemas struct {
				AuditEntry struct {
					Properties struct{ Action struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(Description, &description); err != nil {
		panic(err) // it is a file of this package
	}
	return description.Components.Schemas.AuditEntry.Properties.Action.Enum
}

// auditFolder holds the entries of a stack, a chain of its own; those of no stack are of the empty one.
func auditFolder(stack string) string { return "service.audit/" + wire.Segment(stack) }

// auditHead is the newest entry of a chain, the newest one that was signed, and the newest one that is no longer kept.
type auditHead struct {
	Seq     uint64          `json:"seq"`
	Hash    string          `json:"hash"`
	Signed  *wire.AuditSeal `json:"signed,omitempty"`
	Dropped wire.AuditMark  `json:"dropped,omitzero"`
}

const auditHeadKey = "head"

// entryKey is the key of an entry. Its first digits are those of the chunk that is read at once.
func entryKey(seq uint64) string { return fmt.Sprintf("e%016x", seq) }

// chunk is how many entries have a common beginning of their keys.
const chunk = 256

// idKey is the key by which an entry is found that was written before.
func idKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "i" + hex.EncodeToString(sum[:16])
}

// storedEntry is an entry with the key by which it is found when it was written before.
type storedEntry struct {
	wire.AuditEntry

	ID string `json:"id,omitempty"`
}

// audit appends an entry once.
func (s *Service) audit(ctx context.Context, id string, entry wire.AuditEntry) error {
	return s.auditLog.add(ctx, s.settings.Clock(), id, entry)
}

// auditLog appends to the chains of a store.
type auditLog struct {
	store statestore.Folders
	// keys sign what is newest in a chain: the first one does, and each of them may have signed what was. Without any, nothing is.
	keys []ed25519.PrivateKey
	// unsound is told why a chain is not signed any more: it was changed by something else than a service.
	unsound func(stack string, err error)

	mu     sync.Mutex
	queues map[string]*auditQueue // by stack
}

// add appends an entry once: what is done again, because its answer was lost, has the same id and adds nothing. Entries of a stack
// that are added at the same time are appended by one change.
func (l *auditLog) add(ctx context.Context, now time.Time, id string, entry wire.AuditEntry) error {
	stack := string(entry.Stack)
	entry.At = now.UTC()
	return l.queue(stack).add(ctx, storedEntry{entry, idKey(id)}, func(entries []storedEntry) error {
		keys := make([]string, len(entries))
		for i := range entries {
			keys[i] = entries[i].ID
		}
		return l.change(ctx, stack, now, func(f statestore.Folder, _ *auditHead) ([]storedEntry, error) { return unknown(f, entries) }, keys...)
	})
}

// unknown are the entries that were not written before, each once.
func unknown(f statestore.Folder, entries []storedEntry) ([]storedEntry, error) {
	var fresh []storedEntry
	seen := map[string]bool{}
	for _, entry := range entries {
		known, err := f.Get(entry.ID)
		if err != nil {
			return nil, err
		}
		if known == nil && !seen[entry.ID] {
			fresh = append(fresh, entry)
		}
		seen[entry.ID] = true
	}
	return fresh, nil
}

// change appends the entries that collect returns, if any, and signs the last one. Keys are those of the documents that collect reads.
func (l *auditLog) change(
	ctx context.Context, stack string, now time.Time, collect func(statestore.Folder, *auditHead) ([]storedEntry, error), keys ...string,
) error {
	var unsound error
	err := l.store.ChangeFolder(ctx, auditFolder(stack), func(f statestore.Folder) (bool, error) {
		head, err := headOf(f)
		if err != nil {
			return false, err
		}
		unsound = l.sound(f, stack, &head)
		entries, err := collect(f, &head)
		if err != nil || len(entries) == 0 {
			unsound = nil
			return false, err
		}
		sign := len(l.keys) > 0 && unsound == nil
		if from := head.unsigned(); sign && from <= head.Seq {
			note := wire.AuditEntry{
				Author: wire.Author{Account: "athanor serve"}, Action: wire.AuditUnsigned, Stack: wire.Text(stack), At: now.UTC(),
				Detail: wire.Text(fmt.Sprintf("entries %d to %d were written without the key", from, head.Seq)),
			}
			entries = append([]storedEntry{{AuditEntry: note}}, entries...)
		}
		for i := range entries {
			if err := head.add(f, &entries[i]); err != nil {
				return false, err
			}
		}
		if sign {
			head.Signed = wire.SealAudit(l.keys[0], stack, wire.AuditMark{Seq: head.Seq, Hash: head.Hash})
		}
		return true, putJSON(f, auditHeadKey, head)
	}, append(keys, auditHeadKey)...)
	if unsound != nil && err == nil && l.unsound != nil {
		l.unsound(stack, unsound)
	}
	return err
}

// sound returns an error where the chain is not the one that was signed. Nothing is signed then: a signature would say that it is.
func (l *auditLog) sound(f statestore.Folder, stack string, head *auditHead) error {
	if len(l.keys) == 0 || head.Signed == nil || head.Signed.Seq < head.Dropped.Seq { // dropped by replicas that sign nothing
		return nil
	}
	if err := head.Signed.Verify(stack); err != nil {
		return err
	}
	if !slices.ContainsFunc(l.keys, func(key ed25519.PrivateKey) bool {
		public, ok := key.Public().(ed25519.PublicKey)
		return ok && wire.KeyText(public) == head.Signed.Key
	}) {
		return fmt.Errorf("it is signed with %s, which is not one of the keys of this replica", head.Signed.Key)
	}
	if head.Signed.AuditMark == head.Dropped {
		return nil
	}
	document, err := f.Get(entryKey(head.Signed.Seq))
	var entry wire.AuditEntry
	if err != nil || json.Unmarshal(document, &entry) != nil || entry.Hash != head.Signed.Hash || head.Seq < head.Signed.Seq {
		return fmt.Errorf("entry %d is not the one that was signed", head.Signed.Seq)
	}
	return nil
}

// headOf reads what a chain ends with.
func headOf(f statestore.Folder) (head auditHead, err error) {
	document, err := f.Get(auditHeadKey)
	if err == nil && document != nil {
		err = json.Unmarshal(document, &head)
	}
	return head, err
}

// unsigned is the first entry that is kept and not signed.
func (h *auditHead) unsigned() uint64 {
	if h.Signed == nil {
		return h.Dropped.Seq + 1
	}
	return max(h.Signed.Seq, h.Dropped.Seq) + 1
}

// add writes the next entry, with the document by which it is found again.
func (h *auditHead) add(f statestore.Folder, entry *storedEntry) error {
	entry.Seq, entry.Before = h.Seq+1, h.Hash
	entry.Hash = entry.Digest()
	h.Seq, h.Hash = entry.Seq, entry.Hash
	if entry.ID != "" {
		if err := putJSON(f, entry.ID, entry.Seq); err != nil {
			return err
		}
	}
	return putJSON(f, entryKey(entry.Seq), entry)
}

func putJSON(f statestore.Folder, key string, value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return f.Put(key, document)
}

// How the log is shortened.
const (
	// LeastAuditKept is how long entries are kept at least: webhooks are told of them for a day.
	LeastAuditKept = 30 * 24 * time.Hour
	mostDropped    = 256            // entries at once
	dropEvery      = 24 * time.Hour // how much longer an entry may be kept, so that not every hour adds an entry that says what was dropped
)

// Retain drops the entries of the audit log that are older than [Settings.AuditKeep] and than the stages of the stack demand, from the oldest
// on, and says in each log what was dropped: the chain begins there. The newest entry always stays. Any replica may do so at any time. A chain that was changed is an error,
// and nothing of it is dropped. It returns how many entries were dropped.
func (s *Service) Retain(ctx context.Context) (int, error) {
	if s.settings.AuditKeep == 0 {
		return 0, nil
	}
	chains, err := s.chains(ctx)
	if err != nil {
		return 0, err
	}
	all := 0
	var failed error
	for _, stack := range slices.Sorted(maps.Keys(chains)) {
		kept, err := s.retention(ctx, stack)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("the audit log of %q: %w", stack, err))
			continue
		}
		kept = max(kept, s.settings.AuditKeep)
		for wait := dropEvery; ; wait = 0 {
			dropped, err := s.shorten(ctx, stack, kept, wait)
			all += dropped
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("the audit log of %q: %w", stack, err))
			}
			if dropped < mostDropped || err != nil {
				break
			}
		}
	}
	return all, failed
}

// shorten drops a number of entries of one chain that are older than kept, if the oldest one is by more than wait.
func (s *Service) shorten(ctx context.Context, stack string, kept, wait time.Duration) (int, error) {
	now := s.settings.Clock()
	dropped := 0
	err := s.auditLog.change(ctx, stack, now, func(f statestore.Folder, head *auditHead) ([]storedEntry, error) {
		dropped = 0
		chain := wire.Chain{AuditMark: head.Dropped}
		limit := now.Add(-kept)
		for chain.Seq+1 < head.Seq && dropped < mostDropped {
			document, err := f.Get(entryKey(chain.Seq + 1))
			if err != nil {
				return nil, err
			}
			var entry storedEntry
			if err := json.Unmarshal(document, &entry); err != nil {
				return nil, fmt.Errorf("entry %d cannot be read: %w", chain.Seq+1, err)
			}
			if dropped == 0 && !entry.At.Before(limit.Add(-wait)) || !entry.At.Before(limit) {
				break
			}
			if err := chain.Next(&entry.AuditEntry); err != nil {
				return nil, err
			}
			for _, key := range []string{entryKey(entry.Seq), entry.ID} {
				if err := deleteNamed(f, key); err != nil {
					return nil, err
				}
			}
			dropped++
		}
		if dropped == 0 {
			return nil, nil
		}
		head.Dropped = chain.AuditMark
		return []storedEntry{{AuditEntry: wire.AuditEntry{
			Author: wire.Author{Account: "athanor serve"}, Action: wire.AuditDropped, Stack: wire.Text(stack), At: now.UTC(),
			Detail: wire.Text(fmt.Sprintf("%d entries, to %v", dropped, head.Dropped)),
		}}}, nil
	})
	if err != nil {
		dropped = 0
	}
	return dropped, err
}

func deleteNamed(f statestore.Folder, key string) error {
	if key == "" {
		return nil
	}
	return f.Delete(key)
}

// entry is what a request did.
func (s *Service) entry(in *request, action, detail string) wire.AuditEntry {
	return wire.AuditEntry{
		Author: s.author(in), Action: action, Stack: wire.Text(in.stage.Stack), Stage: wire.Text(in.stage.Name), Run: wire.Text(in.run), Detail: wire.Text(detail),
	}
}

// author is who sends a request.
func (s *Service) author(in *request) wire.Author {
	return wire.Author{Account: in.caller.account(), Token: in.caller.token.ID, From: remoteOf(in.Request, s.settings.Proxies)}
}

// mostEntries is how many entries one answer has at most.
const mostEntries = 1000

// listAudit gives the entries of a chain behind a cursor.
func (s *Service) listAudit(in *request) (any, error) {
	after, err := in.whole("after")
	if err != nil {
		return nil, err
	}
	return s.auditPage(in.Context(), in.stage.Stack, after, mostEntries)
}

// auditPage reads at most so many entries of the chain of a stack behind a cursor.
func (s *Service) auditPage(ctx context.Context, stack string, after uint64, most int) (wire.Audit, error) {
	answer := wire.Audit{}
	err := s.store.ReadFolder(ctx, auditFolder(stack), func(f statestore.Folder) error {
		answer = wire.Audit{Entries: []wire.AuditEntry{}}
		head, err := headOf(f)
		if err != nil {
			return err
		}
		answer.Dropped, answer.Signed = head.Dropped, head.Signed
		for seq := max(after, head.Dropped.Seq) + 1; seq <= head.Seq && len(answer.Entries) < most; seq = (seq/chunk + 1) * chunk {
			prefix := entryKey(seq)
			for _, document := range f.Documents(prefix[:len(prefix)-2], prefix) {
				var entry wire.AuditEntry
				if err := json.Unmarshal(document, &entry); err != nil {
					entry = wire.AuditEntry{Action: "damaged"}
				}
				answer.Entries = append(answer.Entries, entry)
			}
		}
		answer.Last = head.Seq
		return nil
	}, auditHeadKey)
	answer.Entries = answer.Entries[:min(len(answer.Entries), most)]
	return answer, err
}

// collected notes the end of an orphaned run, which no caller asked for.
func (s *Service) collected(ctx context.Context, stage statestore.Stage) error {
	runs, err := s.store.Runs(ctx, stage, 1)
	if err != nil || len(runs) == 0 {
		return err
	}
	return s.audit(ctx, "orphan "+runs[0].ID+" "+stage.Name, wire.AuditEntry{
		Author: wire.Author{Account: "athanor serve"}, Action: auditOrphan, Stack: wire.Text(stage.Stack), Stage: wire.Text(stage.Name),
		Run: wire.Text(runs[0].ID), Detail: wire.Text("its lease ended " + statestore.Ago(s.settings.Orphaned) + " ago or more"),
	})
}
