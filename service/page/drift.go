package page

import (
	"net/http"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// driftBody is the newest report of drift of a stage.
type driftBody struct {
	Status status
	At     *moment
	By     string
	Stale  bool // state has changed since
	Lines  []driftLine
	More   int // that the report counts and does not name
}

type driftLine struct {
	Address, Kind, URL string
	Verb               verb
	Paths              []wire.Text
}

// driftOf reads the newest report of a stage; nil when there is none, or nobody keeps reports here.
func (p *Page) driftOf(v *visit, snap *statestore.Snapshot) (*driftBody, error) {
	if p.settings.Drift == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	report, err := p.settings.Drift(v.Request, v.visitor, snap.Stage)
	if report == nil || err != nil {
		return nil, err
	}
	b := &driftBody{
		Status: status{"ok", "ok", "none"}, At: momentOf(report.At, v.now), By: report.By.Account, Stale: report.Serial != snap.Serial,
		More: report.Drifted - len(report.Lines),
	}
	switch {
	case report.Drifted > 0:
		b.Status = status{"warn", "warn", count(report.Drifted, "resource") + " drifted"}
	case report.Uncompared > 0:
		b.Status = status{"warn", "warn", count(report.Uncompared, "resource") + " not compared"}
	}
	hide, err := p.isPrivate(v.Context(), snap.Stage)
	if err != nil {
		return nil, err
	}
	for _, l := range report.Lines {
		if hide {
			l.Paths = nil
		}
		b.Lines = append(b.Lines, driftLine{string(l.Address), l.Kind, resourceURL(snap.Stage, string(l.Address)), verbOf(l.Action), l.Paths})
	}
	return b, nil
}

// Drift is what pages ask for the newest report of drift of a stage; nil when there is none.
type Drift func(r *http.Request, visitor *Visitor, stage statestore.Stage) (*wire.Drift, error)

// Note says what another tool has left in a stage, and what people can do about it.
type Note struct {
	Title, Detail string
	// Items name what it is about, without values.
	Items []string
	// Commands are of the tool, for people to copy.
	Commands []string
}
