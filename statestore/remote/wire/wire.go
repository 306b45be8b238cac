// Package wire holds the bodies of the service's HTTP protocol, and how names and errors are written in it.
//
// The client in statestore/remote and the server in service share it. It knows no transport: what a request means, and who
// may send it, is the server's business. docs/service.md describes the protocol, service/openapi.json is its schema.
package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/statestore"
)

// Version is the version of the protocol. A client sends it in the header [VersionHeader].
const (
	Version       = 1
	VersionHeader = "Athanor-Protocol"
)

// MaxBody is the size in bytes that a request body may have, after decompression too.
const MaxBody = 64 << 20

// Text is a text of any bytes. JSON has no place for bytes that are no UTF-8, so such a text is an object with its base64.
type Text string

type textBytes struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object where a string would lose bytes.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(textBytes{[]byte(t)})
}

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b textBytes
		err := json.Unmarshal(data, &b)
		*t = Text(b.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

func texts(list []string) []Text {
	out := make([]Text, 0, len(list))
	for _, s := range list {
		out = append(out, Text(s))
	}
	return out
}

func plain(list []Text) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, string(t))
	}
	return out
}

// Bytes are sealed or opaque bytes. Null and an empty string are different: a fact that is null is removed.
type Bytes []byte

// Place is where an object is.
type Place struct {
	Provider Text `json:"provider"`
	Account  Text `json:"account,omitempty"`
	Region   Text `json:"region,omitempty"`
}

// Generation is one object of a resource, or the intent to create one.
type Generation struct {
	Number   uint64    `json:"number,string"`
	State    Text      `json:"state"`
	Slot     int       `json:"slot"`
	Kind     Text      `json:"kind"`
	Place    Place     `json:"place"`
	Identity Text      `json:"identity,omitempty"`
	Intent   bool      `json:"intent,omitzero"`
	Body     Bytes     `json:"body,omitempty"`
	Written  time.Time `json:"written"`
}

// Row is the state entry of one address.
type Row struct {
	Address     Text         `json:"address"`
	Version     uint64       `json:"version,string"`
	Birth       Text         `json:"birth"`
	Needs       []Text       `json:"needs,omitempty"`
	Generations []Generation `json:"generations,omitempty"`
	Body        Bytes        `json:"body,omitempty"`
	Written     time.Time    `json:"written,omitzero"`
}

// Move renames a row.
type Move struct {
	From Text `json:"from"`
	To   Text `json:"to"`
}

// Fact is a stage-wide fact by name; null removes it.
type Fact struct {
	Name  Text  `json:"name"`
	Value Bytes `json:"value"`
}

// Event is one event of a run.
type Event struct {
	Seq  uint64 `json:"seq,string"`
	Body Bytes  `json:"body"`
}

// Batch is the body of commits, events, renew and complete: one transaction.
type Batch struct {
	Epoch   uint64  `json:"epoch,string"`
	Seq     uint64  `json:"seq,string"`
	Put     []Row   `json:"put,omitempty"`
	Move    []Move  `json:"move,omitempty"`
	Meta    []Fact  `json:"meta,omitempty"`
	Outputs *Bytes  `json:"outputs,omitempty"`
	KeyID   string  `json:"keyId,omitempty"`
	Events  []Event `json:"events,omitempty"`
	Renew   bool    `json:"renew,omitzero"`
	Finish  Text    `json:"finish,omitempty"`
	Summary Bytes   `json:"summary,omitempty"`
}

// Lease answers start and every batch.
type Lease struct {
	Run       Text      `json:"run"`
	Epoch     uint64    `json:"epoch,string"`
	Serial    uint64    `json:"serial,string"`
	Revision  uint64    `json:"revision,string"`
	TTL       string    `json:"ttl"`
	Expires   time.Time `json:"expires"`
	Cancelled bool      `json:"cancelled,omitzero"`
	// Token is the run token, in the answer to start alone.
	Token string `json:"token,omitempty"`
}

// Client is the process that a run is of.
type Client struct {
	Host  Text   `json:"host"`
	PID   int    `json:"pid"`
	Proof string `json:"proof,omitempty"`
}

// NewRun is the body that registers a run.
type NewRun struct {
	Run     Text   `json:"run"`
	Command Text   `json:"command,omitempty"`
	User    Text   `json:"user,omitempty"`
	TTL     string `json:"ttl,omitempty"`
	Client  Client `json:"client"`
	// Plan is the approved plan that the run is of.
	Plan string `json:"plan,omitempty"`
}

// Start is the body that starts a registered run.
type Start struct {
	// Nonce are 32 random bytes of the client, the same when it asks again: the run token is made of them, so that an
	// answer that was lost is given again without the service keeping the token.
	Nonce Bytes `json:"nonce"`
	// Ended is a run whose process the client has proven to have ended.
	Ended Text `json:"ended,omitempty"`
}

// Holder is who holds the lease of a stage.
type Holder struct {
	Run     Text      `json:"run"`
	Host    Text      `json:"host"`
	PID     int       `json:"pid"`
	Command Text      `json:"command"`
	User    Text      `json:"user,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	Proof   string    `json:"proof,omitempty"`
}

// Run is one run of a stage.
type Run struct {
	Run       Text      `json:"run"`
	Command   Text      `json:"command"`
	State     Text      `json:"state"`
	User      Text      `json:"user,omitempty"`
	Host      Text      `json:"host"`
	PID       int       `json:"pid"`
	Epoch     uint64    `json:"epoch,string"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Note      Text      `json:"note,omitempty"`
	Cancelled bool      `json:"cancelled,omitzero"`
	Summary   Bytes     `json:"summary,omitempty"`
}

// Runs is a list of runs, newest first.
type Runs struct {
	Runs []Run `json:"runs"`
}

// Events is a list of events in order.
type Events struct {
	Events []Event `json:"events"`
}

// Stage names a stage.
type Stage struct {
	Stack Text `json:"stack"`
	Stage Text `json:"stage"`
}

// Stages is a list of stages.
type Stages struct {
	Stages []Stage `json:"stages"`
}

// Identity is an object that a damaged row names.
type Identity struct {
	Place    Place `json:"place"`
	Kind     Text  `json:"kind"`
	Identity Text  `json:"identity"`
}

// Damage is a row or fact that cannot be decoded.
type Damage struct {
	Address    Text       `json:"address,omitempty"`
	Identities []Identity `json:"identities,omitempty"`
	Detail     Text       `json:"detail"`
}

// Snapshot is one consistent version of a stage.
type Snapshot struct {
	Serial       uint64   `json:"serial,string"`
	Revision     uint64   `json:"revision,string"`
	Epoch        uint64   `json:"epoch,string"`
	KeyID        string   `json:"keyId,omitempty"`
	Rows         []Row    `json:"rows"`
	Damaged      []Damage `json:"damaged,omitempty"`
	DamagedFacts []Damage `json:"damagedFacts,omitempty"`
	Outputs      *Bytes   `json:"outputs,omitempty"`
	Meta         []Fact   `json:"meta,omitempty"`
	Holder       *Holder  `json:"holder,omitempty"`
	LastRun      *Run     `json:"lastRun,omitempty"`
}

// Order is the body of cancel and unlock.
type Order struct {
	Who Text `json:"who,omitempty"`
	Why Text `json:"why,omitempty"`
	// ID names an unlock, so that one that is repeated says the same.
	ID string `json:"id,omitempty"`
}

// StateVersion is the state that a run left.
type StateVersion struct {
	Serial  uint64    `json:"serial,string"`
	Epoch   uint64    `json:"epoch,string"`
	Run     Text      `json:"run,omitempty"`
	Command Text      `json:"command,omitempty"`
	User    Text      `json:"user,omitempty"`
	Written time.Time `json:"written,omitzero"`
}

// Versions are the versions of a state that are kept, newest first.
type Versions struct {
	Versions []StateVersion `json:"versions"`
}

// FromVersions writes versions.
func FromVersions(list []statestore.Version) Versions {
	out := Versions{make([]StateVersion, 0, len(list))}
	for _, v := range list {
		out.Versions = append(out.Versions, StateVersion{v.Serial, v.Epoch, Text(v.Run), Text(v.Command), Text(v.User), v.Written})
	}
	return out
}

// List reads them back.
func (v Versions) List() []statestore.Version {
	var out []statestore.Version
	for _, w := range v.Versions {
		out = append(out, statestore.Version{
			Serial: w.Serial, Epoch: w.Epoch, Run: string(w.Run), Command: string(w.Command), User: string(w.User), Written: w.Written,
		})
	}
	return out
}

// Done answers an order: false when the run does not hold the lease.
type Done struct {
	Done bool `json:"done"`
}

// Service describes the service and who asks.
type Service struct {
	Store    string `json:"store"`
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	// Account is who the token belongs to, and Grants are what it may do.
	Account string  `json:"account"`
	Token   string  `json:"token"`
	Grants  []Grant `json:"grants"`
	Expires string  `json:"expires,omitempty"`
}

// Grant is a role on the stages that a pattern of stack/stage matches.
type Grant struct {
	Role string `json:"role"`
	On   string `json:"on"`
}

// NewToken is the body that creates an API token.
type NewToken struct {
	Name    string  `json:"name"`
	Grants  []Grant `json:"grants"`
	Expires string  `json:"expires,omitempty"`
}

// Token describes an API token. The secret is in the answer to its creation alone.
type Token struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Grants   []Grant   `json:"grants"`
	Created  time.Time `json:"created"`
	Creator  string    `json:"creator"`
	Expires  time.Time `json:"expires"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	Revoked  time.Time `json:"revoked,omitzero"`
	Secret   string    `json:"secret,omitempty"`
	// Subject is who signed in at which issuer; empty for a token that an admin created.
	Subject string `json:"subject,omitempty"`
}

// Issuers says where people sign in. Audience is what ID tokens of CI jobs must be made for.
type Issuers struct {
	Audience string   `json:"audience"`
	Issuers  []Issuer `json:"issuers"`
}

// Issuer is an identity provider at which people sign in, by authorization code with PKCE.
type Issuer struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes,omitempty"`
}

// SignIn exchanges an ID token for an API token. Nonce is the one that the sign-in of a person was begun with.
type SignIn struct {
	IDToken string `json:"idToken"`
	Nonce   string `json:"nonce,omitempty"`
}

// Tokens is a list of API tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

func fromPlace(p statestore.Place) Place {
	return Place{Text(p.Provider), Text(p.Account), Text(p.Region)}
}

func (p Place) to() statestore.Place {
	return statestore.Place{Provider: string(p.Provider), Account: string(p.Account), Region: string(p.Region)}
}

// FromRow writes a row.
func FromRow(r *statestore.Row) Row {
	out := Row{Address: Text(r.Address), Version: r.Version, Birth: Text(r.Birth), Needs: texts(r.Needs), Body: r.Body, Written: r.Written}
	for i := range r.Generations {
		g := &r.Generations[i]
		out.Generations = append(out.Generations, Generation{
			Number: g.Number, State: Text(g.State), Slot: g.Slot, Kind: Text(g.Kind), Place: fromPlace(g.Place), Identity: Text(g.Identity),
			Intent: g.Intent, Body: g.Body, Written: g.Written,
		})
	}
	return out
}

// Row reads it back.
func (r *Row) Row() statestore.Row {
	out := statestore.Row{
		Address: string(r.Address), Version: r.Version, Birth: string(r.Birth), Needs: plain(r.Needs), Body: r.Body, Written: r.Written,
	}
	for i := range r.Generations {
		g := &r.Generations[i]
		out.Generations = append(out.Generations, statestore.Generation{
			Number: g.Number, State: statestore.State(g.State), Slot: g.Slot, Kind: string(g.Kind), Place: g.Place.to(),
			Identity: string(g.Identity), Intent: g.Intent, Body: g.Body, Written: g.Written,
		})
	}
	return out
}

func fromEvents(events []statestore.Event) []Event {
	out := make([]Event, 0, len(events))
	for _, e := range events {
		out = append(out, Event{Seq: e.Seq, Body: e.Body})
	}
	return out
}

// FromEvents writes events.
func FromEvents(events []statestore.Event) Events { return Events{fromEvents(events)} }

func toEvents(events []Event) []statestore.Event {
	var out []statestore.Event
	for _, e := range events {
		out = append(out, statestore.Event{Seq: e.Seq, Body: e.Body})
	}
	return out
}

// List reads them back.
func (e Events) List() []statestore.Event { return toEvents(e.Events) }

func fromMeta(meta map[string][]byte) []Fact {
	var out []Fact
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		out = append(out, Fact{Text(name), meta[name]})
	}
	return out
}

// FromBatch writes a batch of an epoch.
func FromBatch(epoch uint64, b *statestore.Batch) Batch {
	out := Batch{
		Epoch: epoch, Seq: b.Seq, Meta: fromMeta(b.Meta), KeyID: b.KeyID, Renew: b.Renew, Finish: Text(b.Finish), Summary: b.Summary,
	}
	for i := range b.Put {
		out.Put = append(out.Put, FromRow(&b.Put[i]))
	}
	for _, from := range slices.Sorted(maps.Keys(b.Move)) {
		out.Move = append(out.Move, Move{Text(from), Text(b.Move[from])})
	}
	if b.Outputs != nil {
		out.Outputs = (*Bytes)(&b.Outputs)
	}
	if len(b.Events) > 0 {
		out.Events = fromEvents(b.Events)
	}
	return out
}

// Batch reads it back. Two entries of one name are refused, since a map would keep one of them.
func (b *Batch) Batch() (statestore.Batch, error) {
	out := statestore.Batch{
		Seq: b.Seq, KeyID: b.KeyID, Events: toEvents(b.Events), Renew: b.Renew, Finish: statestore.RunState(b.Finish), Summary: b.Summary,
	}
	for i := range b.Put {
		out.Put = append(out.Put, b.Put[i].Row())
	}
	for _, m := range b.Move {
		if out.Move == nil {
			out.Move = map[string]string{}
		}
		if _, twice := out.Move[string(m.From)]; twice {
			return out, &statestore.InvalidError{Address: string(m.From), Rule: "a batch moves one row twice"}
		}
		out.Move[string(m.From)] = string(m.To)
	}
	for _, fact := range b.Meta {
		if out.Meta == nil {
			out.Meta = map[string][]byte{}
		}
		if _, twice := out.Meta[string(fact.Name)]; twice {
			return out, &statestore.InvalidError{Rule: "a batch sets one fact twice"}
		}
		out.Meta[string(fact.Name)] = fact.Value
	}
	if b.Outputs != nil {
		if out.Outputs = *b.Outputs; out.Outputs == nil {
			out.Outputs = []byte{}
		}
	}
	return out, nil
}

// FromLease writes a lease, with the run token where it is one.
func FromLease(l statestore.Lease) Lease {
	return Lease{
		Run: Text(l.Run), Epoch: l.Epoch, Serial: l.Serial, Revision: l.Revision, TTL: l.TTL.String(), Expires: l.Expires, Cancelled: l.Cancelled,
	}
}

// Lease reads it back.
func (l Lease) Lease(stage statestore.Stage) (statestore.Lease, error) {
	ttl, err := time.ParseDuration(l.TTL)
	return statestore.Lease{
		Stage: stage, Run: string(l.Run), Epoch: l.Epoch, Token: statestore.Token(l.Token), Serial: l.Serial, Revision: l.Revision, TTL: ttl,
		Expires: l.Expires, Cancelled: l.Cancelled,
	}, err
}

// FromHolder writes a holder.
func FromHolder(h statestore.Holder) Holder {
	return Holder{
		Run: Text(h.Run), Host: Text(h.Host), PID: h.PID, Command: Text(h.Command), User: Text(h.User), Since: h.Since, Expires: h.Expires,
		Proof: h.Proof,
	}
}

// Holder reads it back.
func (h *Holder) Holder() statestore.Holder {
	return statestore.Holder{
		Run: string(h.Run), Host: string(h.Host), PID: h.PID, Command: string(h.Command), User: string(h.User), Since: h.Since,
		Expires: h.Expires, Proof: h.Proof,
	}
}

func fromRun(r statestore.Run) Run {
	return Run{
		Run: Text(r.ID), Command: Text(r.Command), State: Text(r.State), User: Text(r.User), Host: Text(r.Host), PID: r.PID, Epoch: r.Epoch,
		Started: r.Started, Ended: r.Ended, Note: Text(r.Note), Cancelled: r.Cancelled, Summary: r.Summary,
	}
}

func (r *Run) to() statestore.Run {
	return statestore.Run{
		ID: string(r.Run), Command: string(r.Command), State: statestore.RunState(r.State), User: string(r.User), Host: string(r.Host),
		PID: r.PID, Epoch: r.Epoch, Started: r.Started, Ended: r.Ended, Note: string(r.Note), Cancelled: r.Cancelled, Summary: r.Summary,
	}
}

// FromRuns writes runs.
func FromRuns(runs []statestore.Run) Runs {
	out := Runs{make([]Run, 0, len(runs))}
	for _, r := range runs {
		out.Runs = append(out.Runs, fromRun(r))
	}
	return out
}

// List reads them back.
func (r Runs) List() []statestore.Run {
	var out []statestore.Run
	for i := range r.Runs {
		out = append(out, r.Runs[i].to())
	}
	return out
}

// FromStages writes stages.
func FromStages(stages []statestore.Stage) Stages {
	out := Stages{make([]Stage, 0, len(stages))}
	for _, s := range stages {
		out.Stages = append(out.Stages, Stage{Text(s.Stack), Text(s.Name)})
	}
	return out
}

// List reads them back.
func (s Stages) List() []statestore.Stage {
	var out []statestore.Stage
	for _, stage := range s.Stages {
		out = append(out, statestore.Stage{Stack: string(stage.Stack), Name: string(stage.Stage)})
	}
	return out
}

func fromDamage(e *statestore.DamagedError) Damage {
	d := Damage{Address: Text(e.Address)}
	if e.Err != nil {
		d.Detail = Text(e.Err.Error())
	}
	for _, id := range e.Identities {
		d.Identities = append(d.Identities, Identity{fromPlace(id.Place), Text(id.Kind), Text(id.Identity)})
	}
	return d
}

func (d *Damage) to(stage statestore.Stage) *statestore.DamagedError {
	e := &statestore.DamagedError{Stage: stage, Address: string(d.Address), Err: damageError(d.Detail)}
	for _, id := range d.Identities {
		e.Identities = append(e.Identities, statestore.Identity{Place: id.Place.to(), Kind: string(id.Kind), Identity: string(id.Identity)})
	}
	return e
}

// damageError is what the server's store has said of a damage.
type damageError string

func (e damageError) Error() string { return string(e) }

// FromSnapshot writes a snapshot.
func FromSnapshot(s *statestore.Snapshot) Snapshot {
	out := Snapshot{Serial: s.Serial, Revision: s.Revision, Epoch: s.Epoch, KeyID: s.KeyID, Rows: make([]Row, 0, len(s.Rows)), Meta: fromMeta(s.Meta)}
	for _, address := range slices.Sorted(maps.Keys(s.Rows)) {
		row := s.Rows[address]
		out.Rows = append(out.Rows, FromRow(&row))
	}
	for _, address := range slices.Sorted(maps.Keys(s.Damaged)) {
		out.Damaged = append(out.Damaged, fromDamage(s.Damaged[address]))
	}
	for _, fact := range s.DamagedFacts {
		out.DamagedFacts = append(out.DamagedFacts, fromDamage(fact))
	}
	if s.Outputs != nil {
		out.Outputs = (*Bytes)(&s.Outputs)
	}
	if s.Holder != nil {
		out.Holder = new(FromHolder(*s.Holder))
	}
	if s.LastRun != nil {
		out.LastRun = new(fromRun(*s.LastRun))
	}
	return out
}

// Snapshot reads it back.
func (s *Snapshot) Snapshot(stage statestore.Stage) *statestore.Snapshot {
	out := &statestore.Snapshot{
		Stage: stage, Serial: s.Serial, Revision: s.Revision, Epoch: s.Epoch, KeyID: s.KeyID, Rows: make(map[string]statestore.Row, len(s.Rows)),
		Damaged: map[string]*statestore.DamagedError{}, Meta: map[string][]byte{},
	}
	for i := range s.Rows {
		row := s.Rows[i].Row()
		out.Rows[row.Address] = row
	}
	for i := range s.Damaged {
		out.Damaged[string(s.Damaged[i].Address)] = s.Damaged[i].to(stage)
	}
	for i := range s.DamagedFacts {
		out.DamagedFacts = append(out.DamagedFacts, s.DamagedFacts[i].to(stage))
	}
	if s.Outputs != nil {
		if out.Outputs = *s.Outputs; out.Outputs == nil {
			out.Outputs = []byte{}
		}
	}
	for _, fact := range s.Meta {
		if out.Meta[string(fact.Name)] = fact.Value; fact.Value == nil {
			out.Meta[string(fact.Name)] = []byte{}
		}
	}
	if s.Holder != nil {
		out.Holder = new(s.Holder.Holder())
	}
	if s.LastRun != nil {
		out.LastRun = new(s.LastRun.to())
	}
	return out
}
