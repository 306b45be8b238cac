package wire

import (
	"errors"
	"net/http"

	"github.com/athanor-dev/athanor/statestore"
)

// ProblemType is the media type of errors (RFC 9457).
const ProblemType = "application/problem+json"

// The codes of problems. The type of a problem is /problems/CODE.
const (
	CodeHeld         = "held"
	CodeFenced       = "fenced"
	CodeConflict     = "conflict"
	CodeOwned        = "owned"
	CodeNeeded       = "needed"
	CodeInvalid      = "invalid"
	CodeReplay       = "replay"
	CodeDamaged      = "damaged"
	CodeNewer        = "newer"
	CodeUnavailable  = "unavailable"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeNotFound     = "not-found"
	CodeNoVersion    = "no-version"
	CodeTooLarge     = "too-large"
	CodeTooMany      = "too-many-requests"
	CodeProtocol     = "protocol"
	CodeMalformed    = "malformed"
)

// Problem is the body of an error. Which of its data there is depends on the code.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail Text   `json:"detail,omitempty"`
	Code   string `json:"code"`
	// Hint is an instruction for the user.
	Hint string `json:"hint,omitempty"`

	Holder     *Holder    `json:"holder,omitempty"`
	Run        Text       `json:"run,omitempty"`
	Note       Text       `json:"note,omitempty"`
	Address    Text       `json:"address,omitempty"`
	Claimant   Text       `json:"claimant,omitempty"`
	By         []Text     `json:"by,omitempty"`
	Identity   *Identity  `json:"identity,omitempty"`
	Identities []Identity `json:"identities,omitempty"`
	Want       uint64     `json:"want,omitzero,string"`
	Have       uint64     `json:"have,omitzero,string"`
	Seq        uint64     `json:"seq,omitzero,string"`
	Next       uint64     `json:"next,omitzero,string"`
	Rule       Text       `json:"rule,omitempty"`
}

// NewProblem makes a problem of a code.
func NewProblem(status int, code, title string, detail string) *Problem {
	return &Problem{Type: "/problems/" + code, Title: title, Status: status, Detail: Text(detail), Code: code}
}

// Error is what the service has said.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return string(p.Detail)
	}
	return p.Title
}

// FromError writes an error of a store. Nil: it is none that clients branch on.
func FromError(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	text := err.Error()
	if e, ok := errors.AsType[*statestore.HeldError](err); ok {
		p := NewProblem(http.StatusConflict, CodeHeld, "another run holds the stage", text)
		p.Holder = new(FromHolder(e.Holder))
		return p
	}
	if e, ok := errors.AsType[*statestore.FencedError](err); ok {
		p := NewProblem(http.StatusConflict, CodeFenced, "the run no longer holds the lease", text)
		p.Run, p.Note = Text(e.Run), Text(e.Note)
		return p
	}
	if e, ok := errors.AsType[*statestore.ReplayError](err); ok {
		p := NewProblem(http.StatusConflict, CodeReplay, "the batch is not the next one and not a replay", text)
		p.Seq, p.Next = e.Seq, e.Next
		return p
	}
	if e, ok := errors.AsType[*statestore.DamagedError](err); ok {
		d := fromDamage(e)
		p := NewProblem(http.StatusInternalServerError, CodeDamaged, "state is damaged", string(d.Detail))
		p.Address, p.Identities = d.Address, d.Identities
		return p
	}
	if e, ok := errors.AsType[*statestore.NewerError](err); ok {
		p := NewProblem(http.StatusInternalServerError, CodeNewer, "the store was written by a newer version", text)
		p.Have, p.Want = e.Have, e.Known
		return p
	}
	if e, ok := errors.AsType[*statestore.NoVersionError](err); ok {
		p := NewProblem(http.StatusNotFound, CodeNoVersion, "the store keeps no such version", text)
		p.Want = e.Serial
		return p
	}
	if errors.Is(err, statestore.ErrUnavailable) {
		return NewProblem(http.StatusServiceUnavailable, CodeUnavailable, "the store of the service is unavailable", "")
	}
	return fromRowError(err, text)
}

// fromRowError writes the errors that refuse a row of a batch.
func fromRowError(err error, text string) *Problem {
	if e, ok := errors.AsType[*statestore.ConflictError](err); ok {
		p := NewProblem(http.StatusConflict, CodeConflict, "the row was changed by another writer", text)
		p.Address, p.Want, p.Have = Text(e.Address), e.Want, e.Have
		return p
	}
	if e, ok := errors.AsType[*statestore.OwnedError](err); ok {
		p := NewProblem(http.StatusConflict, CodeOwned, "the identity belongs to another row", text)
		p.Address, p.Claimant = Text(e.Address), Text(e.Claimant)
		p.Identity = &Identity{fromPlace(e.Place), Text(e.Kind), Text(e.Identity)}
		return p
	}
	if e, ok := errors.AsType[*statestore.NeededError](err); ok {
		p := NewProblem(http.StatusConflict, CodeNeeded, "another row needs the row", text)
		p.Address, p.By = Text(e.Address), texts(e.By)
		return p
	}
	if e, ok := errors.AsType[*statestore.InvalidError](err); ok {
		p := NewProblem(http.StatusUnprocessableEntity, CodeInvalid, "the write has an invalid structure", text)
		p.Address, p.Rule = Text(e.Address), Text(e.Rule)
		return p
	}
	return nil
}

// Err reads the error of a store back; place names the service, and a problem that is none of a store is returned as it is.
func (p *Problem) Err(stage statestore.Stage, place string) error {
	switch p.Code {
	case CodeHeld:
		e := &statestore.HeldError{Stage: stage}
		if p.Holder != nil {
			e.Holder = p.Holder.Holder()
		}
		return e
	case CodeFenced:
		return &statestore.FencedError{Stage: stage, Run: string(p.Run), Note: string(p.Note)}
	case CodeReplay:
		return &statestore.ReplayError{Seq: p.Seq, Next: p.Next}
	case CodeDamaged:
		d := Damage{Address: p.Address, Identities: p.Identities, Detail: p.Detail}
		return d.to(stage)
	case CodeNewer:
		return &statestore.NewerError{Path: place, Have: p.Have, Known: p.Want}
	case CodeConflict:
		return &statestore.ConflictError{Address: string(p.Address), Want: p.Want, Have: p.Have}
	case CodeOwned:
		e := &statestore.OwnedError{Address: string(p.Address), Claimant: string(p.Claimant)}
		if p.Identity != nil {
			e.Place, e.Kind, e.Identity = p.Identity.Place.to(), string(p.Identity.Kind), string(p.Identity.Identity)
		}
		return e
	case CodeNeeded:
		return &statestore.NeededError{Address: string(p.Address), By: plain(p.By)}
	case CodeInvalid:
		return &statestore.InvalidError{Address: string(p.Address), Rule: string(p.Rule)}
	case CodeNoVersion:
		return &statestore.NoVersionError{Stage: stage, Serial: p.Want}
	case CodeUnavailable:
		return &statestore.UnavailableError{Path: place, Err: p}
	}
	return p
}
