package simtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine/simtest/model"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
)

// Backup is a copy of the store as it is now.
func (s *Sim) Backup(ctx context.Context) (*mem.Store, error) { return s.copied(ctx, "") }

// Restore goes on with a copy of the store that was made before.
func (s *Sim) Restore(backup *mem.Store) { s.record = &store{backup, s.Director, s.record.id} }

// LoseEntry loses the state of one address: as a store does that was restored from before it, or that somebody edited.
// It reports whether there was any.
func (s *Sim) LoseEntry(ctx context.Context, address string) (bool, error) {
	snap, err := s.Record(ctx)
	if err != nil || len(snap.Rows[address].Generations) == 0 {
		return false, err
	}
	rest, err := s.copied(ctx, address)
	s.Restore(rest)
	return true, err
}

// copied makes a store with the entries of this one but for one address.
func (s *Sim) copied(ctx context.Context, but string) (*mem.Store, error) {
	to := mem.New()
	snap, err := s.Record(ctx)
	if err != nil || snap.Serial == 0 {
		return to, err
	}
	batch := statestore.Batch{Seq: 1, Meta: snap.Meta, Outputs: snap.Outputs, KeyID: snap.KeyID, Finish: statestore.Succeeded}
	for address, row := range snap.Rows {
		if address != but {
			row.Version = 0
			row.Needs = slices.DeleteFunc(slices.Clone(row.Needs), func(a string) bool { return a == but })
			batch.Put = append(batch.Put, row)
		}
	}
	lease, err := to.Acquire(ctx, Stage(), statestore.Claim{Run: "copy", Command: "copy"})
	if err != nil {
		return to, err
	}
	_, err = to.Commit(ctx, lease, batch)
	return to, err
}

// Table is the cloud's own table as the model reads it.
func (c *Cloud) Table() []model.Object {
	var all []model.Object
	for _, o := range c.Objects() {
		all = append(all, model.Object{
			Kind: o.Kind, Region: o.Region, ID: o.ID, Name: o.Name, Fields: o.Fields, Labels: o.Labels, Tags: o.Tags,
			Revision: o.Revision, Data: o.Data, Address: o.Owner.Address, Created: o.Created, Retained: o.Owner.Retained,
		})
	}
	return all
}

// Confirm does what somebody must do for all that waits for it, and reports whether anything did.
func (c *Cloud) Confirm() bool {
	return c.Edit(func(o *Object) bool { return o.Waiting != "" }, func(o *Object) { o.Waiting = "" }) > 0
}

// entry is the body of an entry as it is stored, as far as it is read here.
type entry struct {
	Props map[string]any            `json:"props"`
	Gens  map[string]map[string]any `json:"gens"`
}

// opened is the plain body of sealed bytes of the state, bound to what they say.
func (s *Sim) opened(sealed []byte, what string) ([]byte, error) {
	return s.key.Open(sealed, []byte("athanor row\x00"+Stage().Stack+"\x00"+Stage().Name+"\x00"+what))
}

// Entries are the state as its bytes say, and the outputs. The engine is not asked.
func (s *Sim) Entries(ctx context.Context) (entries []model.Entry, outputs map[string]any, err error) {
	snap, err := s.Record(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range snap.Rows {
		plain, err := s.opened(row.Body, row.Birth)
		if err != nil {
			return nil, nil, err
		}
		var body entry
		if err := json.Unmarshal(plain, &body); err != nil {
			return nil, nil, err
		}
		e := model.Entry{Address: row.Address, Needs: row.Needs, Props: body.Props}
		for _, g := range row.Generations {
			e.Generations = append(e.Generations, model.Generation{
				State: string(g.State), Kind: g.Kind, Region: g.Place.Region, Identity: g.Identity, Intent: g.Intent,
			})
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b model.Entry) int { return strings.Compare(a.Address, b.Address) })
	if len(snap.Outputs) == 0 {
		return entries, nil, nil
	}
	plain, err := s.opened(snap.Outputs, "\x00outputs")
	if err != nil {
		return nil, nil, err
	}
	var body struct {
		Values map[string]any `json:"values"`
	}
	err = json.Unmarshal(plain, &body)
	return entries, body.Values, err
}

// Fingerprint tells states apart that a next command could tell apart: everything in the cloud, hidden timers relative to
// now, and everything in the state but for nonces, of which it says what the cloud remembers of them.
func (s *Sim) Fingerprint(ctx context.Context) (string, error) {
	lines := s.Cloud.hiddenLines()
	snap, err := s.Record(ctx)
	if err != nil {
		return "", err
	}
	for _, row := range snap.Rows {
		plain, err := s.opened(row.Body, row.Birth)
		if err != nil {
			return "", err
		}
		var body map[string]any
		if err := json.Unmarshal(plain, &body); err != nil {
			return "", err
		}
		if gens, ok := body["gens"].(map[string]any); ok {
			for _, g := range gens {
				if g, ok := g.(map[string]any); ok && g["nonce"] != nil {
					g["nonce"] = s.Cloud.remembers(fmt.Sprint(g["nonce"]))
				}
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return "", err
		}
		var line strings.Builder
		fmt.Fprintf(&line, "row %s %s %v %s", row.Address, row.Birth, row.Needs, text)
		for _, g := range row.Generations {
			fmt.Fprintf(&line, " %d %s %d %s %v %s %v %s", g.Number, g.State, g.Slot, g.Kind, g.Place, g.Identity, g.Intent, since(g.Written))
		}
		lines = append(lines, line.String())
	}
	if len(snap.Outputs) > 0 {
		plain, err := s.opened(snap.Outputs, "\x00outputs")
		if err != nil {
			return "", err
		}
		lines = append(lines, "outputs "+string(plain))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// since is how long ago something was, as far as anything depends on it: after two minutes nothing does.
func since(at time.Time) string {
	if at.IsZero() || time.Since(at) > 2*time.Minute {
		return "long ago"
	}
	return time.Since(at).String()
}

// left is how long something still lasts.
func left(until time.Time) string {
	if !time.Now().Before(until) {
		return "over"
	}
	return time.Until(until).String()
}

// remembers is what the cloud would answer to a client token.
func (c *Cloud) remembers(nonce string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.tokens[nonce]
	if !ok {
		return "unknown"
	}
	return known.id + " " + left(known.until)
}

// hiddenLines are all objects with what no read shows, and the names that stay taken.
func (c *Cloud) hiddenLines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := []string{fmt.Sprint("serial ", c.serial)}
	for key, o := range c.objects {
		if o.gone && !time.Now().Before(o.hidden) {
			continue // nothing shows that it ever was
		}
		lines = append(lines, fmt.Sprintf("object %s %s %v %d %q %d %q %v %v gone=%v ready=%s hidden=%s reads=%d before=%s",
			key, o.line(), o.Tags, o.Revision, o.Key, o.Owner.Generation, o.Waiting, o.Refuse, o.Created, o.gone, left(o.ready), left(o.hidden), o.staleReads(), o.staleLine()))
	}
	for key, until := range c.reserved {
		if time.Now().Before(until) {
			lines = append(lines, "reserved "+key+" "+left(until))
		}
	}
	done := map[string]string{}
	for _, e := range c.effects {
		if e.Op == "run" || e.Op == "undo" {
			done[e.ID+" "+e.Want] = e.Op
		}
	}
	for what, op := range done {
		lines = append(lines, "command "+op+" "+what)
	}
	return lines
}

// staleReads is where in the rhythm of old and new answers the next read falls, while there is one.
func (o *Object) staleReads() int {
	if !time.Now().Before(o.hidden) {
		return 0
	}
	return o.reads % 3
}

func (o *Object) staleLine() string {
	if o.before == nil || !time.Now().Before(o.hidden) {
		return "nothing"
	}
	return fmt.Sprint(o.before.line(), o.before.Tags)
}
