package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Team is what a service knows beside stages: tokens and the audit log. An error that a visitor may read is a [Refusal].
type Team interface {
	// Roles lists the roles that a token can have, the weakest first.
	Roles() []string
	Tokens(ctx context.Context) ([]wire.Token, error)
	CreateToken(ctx context.Context, name string, grants []wire.Grant, life time.Duration) (wire.Token, error)
	RevokeToken(ctx context.Context, id string) error
	// Audit returns the entries of a stack behind a number; those of no stack with the empty name.
	Audit(ctx context.Context, stack string, after uint64) (wire.Audit, error)
}

func (p *Page) team(v *visit) (Team, error) {
	if v.visitor.Team == nil {
		return nil, notFound("Only a service has tokens and an audit log, and shows them to admins", "athanor serve")
	}
	return v.visitor.Team, nil
}

// tokensBody is the list of tokens.
type tokensBody struct {
	Tokens  []tokenLine
	Roles   []string
	Created *wire.Token // with its secret, which is shown once
}

type tokenLine struct {
	ID, Name, Creator          string
	Grants                     []wire.Grant
	Created, LastUsed, Expires *moment
	Left                       string
	Status                     status
	Revocable                  bool
}

func (p *Page) tokens(v *visit) error { return p.showTokens(v, nil) }

func (p *Page) showTokens(v *visit, created *wire.Token) error {
	team, err := p.team(v)
	if err != nil {
		return err
	}
	tokens, err := team.Tokens(v.Context())
	if err != nil {
		return err
	}
	body := &tokensBody{Roles: team.Roles(), Created: created}
	for _, t := range tokens {
		line := tokenLine{
			ID: t.ID, Name: t.Name, Creator: t.Creator, Grants: t.Grants, Created: momentOf(t.Created, v.now), LastUsed: momentOf(t.LastUsed, v.now),
			Expires: momentOf(t.Expires, v.now),
		}
		switch left := t.Expires.Sub(v.now); {
		case !t.Revoked.IsZero():
			line.Status = status{"", "wait", "revoked"}
		case left <= 0:
			line.Status = status{"", "clock", "expired"}
		case left < 7*24*time.Hour:
			line.Status, line.Revocable = status{"warn", "clock", "expires in " + statestore.Ago(left)}, true
		default:
			line.Status, line.Revocable = status{"ok", "ok", "valid, " + statestore.Ago(left)}, true
		}
		body.Tokens = append(body.Tokens, line)
	}
	f := p.frame(v.visitor, "Tokens")
	f.Site, f.Body = "tokens", body
	return p.show(v, "tokens", f)
}

// createToken makes a token and shows its secret in the answer, once.
func (p *Page) createToken(v *visit) error {
	team, err := p.team(v)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(v.PostFormValue("days"))
	if err != nil || days < 1 || days > 365 {
		return &problem{http.StatusUnprocessableEntity, "A token is good for 1 to 365 days", "", ""}
	}
	grants := []wire.Grant{{Role: v.PostFormValue("role"), On: v.PostFormValue("on")}}
	created, err := team.CreateToken(v.Context(), v.PostFormValue("name"), grants, time.Duration(days)*24*time.Hour)
	if err != nil {
		return err
	}
	return p.showTokens(v, &created)
}

func (p *Page) revokeToken(v *visit) error {
	team, err := p.team(v)
	if err == nil {
		err = team.RevokeToken(v.Context(), v.PostFormValue("token"))
	}
	if err != nil {
		return err
	}
	http.Redirect(v.writer, v.Request, "/tokens", http.StatusSeeOther)
	return nil
}

// auditBody is a part of the audit log of one stack.
type auditBody struct {
	Stack    string
	Stacks   []chip
	Entries  []auditLine
	OlderURL string
	Last     uint64
}

type auditLine struct {
	wire.AuditEntry

	When   *moment
	Target string
}

// auditPage is how many entries one page has.
const auditPage = 200

// audit shows the newest entries of a stack's log; older ones by the number that they are before.
func (p *Page) audit(v *visit) error {
	team, err := p.team(v)
	if err != nil {
		return err
	}
	body := &auditBody{Stack: v.FormValue("stack")}
	stages, err := p.settings.Store.Stages(v.Context())
	if err != nil {
		return err
	}
	names := []string{""}
	for _, s := range stages {
		if v.visitor.May(Read, s) {
			names = append(names, s.Stack)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		shown, link := name, "/audit?stack="+url.QueryEscape(name)
		if name == "" {
			shown, link = "tokens and the service", "/audit"
		}
		body.Stacks = append(body.Stacks, chip{Name: shown, URL: link, Current: name == body.Stack})
	}
	head, err := team.Audit(v.Context(), body.Stack, ^uint64(0)>>1)
	if err != nil {
		return err
	}
	before, err := strconv.ParseUint(v.FormValue("before"), 10, 64)
	if err != nil || before > head.Last+1 {
		before = head.Last + 1
	}
	after := uint64(0)
	if before > head.Dropped.Seq+auditPage+1 {
		after = before - auditPage - 1
		body.OlderURL = "/audit?stack=" + url.QueryEscape(body.Stack) + "&before=" + strconv.FormatUint(after+1, 10)
	}
	page, err := team.Audit(v.Context(), body.Stack, after)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(page.Entries) {
		if e.Seq < before {
			target := string(e.Stage)
			if e.Run != "" {
				target += " " + shortRun(string(e.Run))
			}
			body.Entries = append(body.Entries, auditLine{e, momentOf(e.At, v.now), target})
		}
	}
	body.Last = page.Last
	f := p.frame(v.visitor, "Audit")
	f.Site, f.Body = "audit", body
	return p.show(v, "audit", f)
}
