package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// stagePath begins the paths of a stage.
const stagePath = "/v1/stacks/{stack}/stages/{stage}"

// routes are all operations. The Pulumi and Terraform protocols are to be under /api/ and /tf/, and the page under /.
func (s *Service) routes() []route {
	const runs, run = stagePath + "/runs", stagePath + "/runs/{run}"
	return []route{
		{method: "GET", path: "/v1/service", need: reader, do: s.about},
		{method: "GET", path: "/v1/stages", need: reader, do: s.listStages},
		{method: "GET", path: stagePath + "/state", need: reader, do: s.snapshot},
		{method: "GET", path: stagePath + "/versions", need: reader, do: s.listVersions},
		{method: "GET", path: stagePath + "/versions/{serial}", need: reader, do: s.version},
		{method: "GET", path: runs, need: reader, do: s.listRuns},
		{method: "POST", path: runs, need: deployer, do: s.register, created: true},
		{method: "POST", path: run + "/start", need: deployer, do: s.start},
		{method: "POST", path: run + "/commits", need: deployer, byRun: true, do: s.commit(isCommit)},
		{method: "POST", path: run + "/events", need: deployer, byRun: true, do: s.commit(isEvents)},
		{method: "POST", path: run + "/renew", need: deployer, byRun: true, do: s.commit(isRenewal)},
		{method: "POST", path: run + "/complete", need: deployer, byRun: true, do: s.commit(isCompletion)},
		{method: "POST", path: run + "/cancel", need: deployer, do: s.interrupt(false)},
		{method: "POST", path: run + "/unlock", need: deployer, do: s.interrupt(true)},
		{method: "GET", path: run + "/events", need: reader, do: s.events},
		{method: "GET", path: "/v1/stacks/{stack}/audit", need: admin, do: s.listAudit},
		{method: "GET", path: "/v1/audit", need: admin, everywhere: true, do: s.listAudit},
		{method: "GET", path: stagePath + "/rule", need: reader, do: s.showRule},
		{method: "PUT", path: stagePath + "/rule", need: admin, do: s.setRule},
		{method: "GET", path: stagePath + "/drift", need: reader, do: s.showDrift},
		{method: "PUT", path: stagePath + "/drift", need: planner, do: s.reportDrift},
		{method: "GET", path: stagePath + "/plans", need: reader, do: s.listPlans},
		{method: "POST", path: stagePath + "/plans", need: planner, do: s.submitPlan, created: true},
		{method: "GET", path: stagePath + "/plans/{plan}", need: reader, do: s.showPlan},
		{method: "POST", path: stagePath + "/plans/{plan}/decision", need: deployer, do: s.decide},
		{method: "GET", path: "/v1/oidc", open: true, do: s.listIssuers},
		{method: "POST", path: "/v1/oidc", open: true, do: s.signIn, created: true},
		{method: "GET", path: "/v1/tokens", need: admin, do: s.listTokens},
		{method: "POST", path: "/v1/tokens", need: admin, do: s.createToken, created: true},
		{method: "DELETE", path: "/v1/tokens/{token}", need: admin, do: s.revokeToken},
	}
}

// unstarted is how long a registered run may start, and mostUnstarted how many a stage may have.
const (
	unstarted     = time.Hour
	mostUnstarted = 1000
)

// registered is a run that has not started. It holds nothing.
type registered struct {
	wire.NewRun

	Token string    `json:"token"` // the API token that registered it
	At    time.Time `json:"at"`
}

// runsFolder holds the registered runs of a stage by their ids.
func runsFolder(stage statestore.Stage) string {
	return "service.runs/" + wire.Segment(stage.Stack) + "/" + wire.Segment(stage.Name)
}

// register notes a run. The same token may register the same run again: the answer may have been lost, or the claim was
// refused and comes again. Whether the id is free is decided when it starts.
func (s *Service) register(in *request) (any, error) {
	var body wire.NewRun
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	if body.Run == "" || len(body.Run) > statestore.MaxAddress {
		return nil, &statestore.InvalidError{Rule: "a claim needs a run id of valid length"}
	}
	if err := in.proven(string(body.User)); err != nil {
		return nil, err
	}
	if _, err := lifeOf(body.TTL, roleOn(in.caller.grants, in.stage)); err != nil {
		return nil, err
	}
	now := s.settings.Clock().UTC()
	entry := registered{body, in.caller.token.ID, now}
	err := s.store.ChangeFolder(in.Context(), runsFolder(in.stage), func(f statestore.Folder) (bool, error) {
		old, err := getRegistered(f, string(body.Run), now)
		if err == nil && old.Token != entry.Token {
			return false, &statestore.InvalidError{Rule: "the run id " + string(body.Run) + " was used before"}
		}
		if err == nil && old.NewRun == body {
			return false, nil
		}
		if err := dropUnstarted(f, now); err != nil {
			return false, err
		}
		document, err := json.Marshal(entry)
		if err != nil {
			return false, err
		}
		return true, f.Put(string(body.Run), document)
	}, string(body.Run))
	return body, err
}

// dropUnstarted drops the runs that were registered too long ago, and refuses more than there may be.
func dropUnstarted(f statestore.Folder, now time.Time) error {
	var old []string
	kept := 0
	for run := range f.Documents("", "") {
		if _, err := getRegistered(f, run, now); err != nil {
			old = append(old, run)
		} else {
			kept++
		}
	}
	if kept >= mostUnstarted {
		return tooMany(time.Minute)
	}
	for _, run := range old {
		if err := f.Delete(run); err != nil {
			return err
		}
	}
	return nil
}

// getRegistered reads a registered run that may still start.
func getRegistered(f statestore.Folder, run string, now time.Time) (*registered, error) {
	document, err := f.Get(run)
	if err != nil {
		return nil, err
	}
	entry := new(registered)
	if document != nil {
		err = json.Unmarshal(document, entry)
	}
	if err == nil && (document == nil || now.Sub(entry.At) > unstarted) {
		err = wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "the run is not registered", "no run "+run+" was registered in the last hour")
	}
	return entry, err
}

// proven refuses a name that claims to be authenticated as somebody else: what stands in parentheses after a name is
// what was authenticated.
func (in *request) proven(user string) error {
	i := strings.LastIndex(user, " (")
	if i < 0 || !strings.HasSuffix(user, ")") || user[i+2:len(user)-1] == in.caller.account() {
		return nil
	}
	return wire.NewProblem(http.StatusForbidden, wire.CodeForbidden, "the name claims to be authenticated", "the caller is "+in.caller.account())
}

// A lease lasts an hour at most. An admin may take one that lasts for good: that of a stage which moved to another store.
const (
	longestLife      = time.Hour
	longestAdminLife = 20 * 365 * 24 * time.Hour
)

// lifeOf reads the time to live of a lease that a caller with a role asks for.
func lifeOf(text string, have role) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	ttl, err := parseDuration(text)
	switch {
	case err != nil || ttl > longestAdminLife:
		return 0, &statestore.InvalidError{Rule: "a lease lasts an hour at most"}
	case ttl > longestLife && have < admin:
		return 0, wire.NewProblem(http.StatusForbidden, wire.CodeForbidden, "the token may not do this",
			"a lease of more than an hour needs the role "+admin.String())
	}
	return ttl, nil
}

// nonceSize is the size of a nonce in bytes.
const nonceSize = 32

// start takes the lease for a registered run. Asked again with the same nonce it answers the same.
func (s *Service) start(in *request) (any, error) {
	var body wire.Start
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	if len(body.Nonce) != nonceSize {
		return nil, &statestore.InvalidError{Rule: fmt.Sprintf("a nonce has %d bytes", nonceSize)}
	}
	var entry *registered
	err := s.store.ReadFolder(in.Context(), runsFolder(in.stage), func(f statestore.Folder) (err error) {
		entry, err = getRegistered(f, in.run, s.settings.Clock())
		return err
	}, in.run)
	if err != nil {
		return nil, err
	}
	if entry.Token != in.caller.token.ID {
		return nil, wire.NewProblem(http.StatusForbidden, wire.CodeForbidden, "the run is another token's", "")
	}
	ttl, err := lifeOf(entry.TTL, roleOn(in.caller.grants, in.stage))
	if err != nil {
		return nil, err
	}
	reserved, err := s.permitted(in, entry.Plan, string(body.Ended))
	if err != nil {
		return nil, err
	}
	token := runToken(in.caller, in.stage, in.run, body.Nonce)
	hash := sha256.Sum256([]byte(token))
	lease, err := s.store.Acquire(in.Context(), in.stage, statestore.Claim{
		Run: in.run, Command: string(entry.Command), User: string(entry.User), TTL: ttl,
		For:       &statestore.Client{Host: string(entry.Client.Host), PID: entry.Client.PID, Proof: entry.Client.Proof},
		TokenHash: hash[:], Ended: string(body.Ended),
	})
	if err == nil && reserved != nil && reserved.serial != nil && lease.Serial != *reserved.serial {
		_, err = s.store.Interrupt(in.Context(), in.stage, statestore.Order{
			Unlock: true, Run: in.run, Who: "athanor serve", Why: "the stage was changed since the plan", ID: "unapproved " + in.run,
		})
		return nil, errors.Join(err, notApproved("the stage was changed since the plan was made", "athanor plan --submit makes a new one"))
	}
	if err != nil {
		if reserved != nil && statestore.Refused(err) {
			err = errors.Join(err, s.unused(in, reserved))
		}
		return nil, err
	}
	answer := wire.FromLease(lease)
	answer.Token = token
	// Not audited, the start is not answered: asked again it is the same start.
	err = s.audit(in.Context(), fmt.Sprint("start ", lease.Epoch, " ", in.stage.Name), s.entry(in, auditStart, string(entry.Command)))
	return answer, err
}

// What each of the requests that write may carry.
func isCommit(b *statestore.Batch) bool { return b.Finish == "" }

func isEvents(b *statestore.Batch) bool { return !b.Renew && len(b.Events) > 0 && isRenewal(b) }

func isRenewal(b *statestore.Batch) bool {
	return b.Finish == "" && len(b.Put) == 0 && len(b.Move) == 0 && len(b.Meta) == 0 && b.Outputs == nil && b.KeyID == "" && len(b.Summary) == 0
}

func isCompletion(b *statestore.Batch) bool { return b.Finish != "" }

// commit applies a batch of a run. The token is checked against the run's in the transaction that writes.
func (s *Service) commit(fits func(*statestore.Batch) bool) func(*request) (any, error) {
	return func(in *request) (any, error) {
		var body wire.Batch
		if err := decode(in, &body); err != nil {
			return nil, err
		}
		batch, err := body.Batch()
		if err != nil {
			return nil, err
		}
		if !fits(&batch) {
			return nil, &statestore.InvalidError{Rule: "the batch carries what this request does not take"}
		}
		lease := statestore.Lease{Stage: in.stage, Run: in.run, Epoch: body.Epoch, Token: statestore.Token(in.secret)}
		lease, err = s.store.Commit(in.Context(), lease, batch)
		if err != nil {
			return nil, err
		}
		if batch.Finish != "" {
			s.forget(in)
			err = s.audit(in.Context(), fmt.Sprint("complete ", lease.Epoch, " ", in.stage.Name), s.entry(in, auditComplete, string(batch.Finish)))
		}
		return wire.FromLease(lease), err
	}
}

// forget drops the registration of a run that has ended, so that a copy of its start that comes late finds nothing, also when
// the run is no longer among those that are kept. One that stays is dropped in an hour.
func (s *Service) forget(in *request) {
	_ = s.store.ChangeFolder(in.Context(), runsFolder(in.stage), func(f statestore.Folder) (bool, error) {
		document, err := f.Get(in.run)
		if err != nil || document == nil {
			return false, err
		}
		return true, f.Delete(in.run)
	}, in.run)
}

// interrupt asks a run to stop, or takes its lease away.
func (s *Service) interrupt(unlock bool) func(*request) (any, error) {
	return func(in *request) (any, error) {
		var body wire.Order
		if err := decode(in, &body); err != nil {
			return nil, err
		}
		if err := in.proven(string(body.Who)); err != nil {
			return nil, err
		}
		if unlock && roleOn(in.caller.grants, in.stage) < admin { // it would end a run that was approved
			if err := s.Permit(in.Context(), in.stage); err != nil {
				return nil, err
			}
		}
		done, err := s.store.Interrupt(in.Context(), in.stage, statestore.Order{
			Unlock: unlock, Run: in.run, Who: string(body.Who), Why: string(body.Why), ID: body.ID,
		})
		if err != nil || !done {
			return wire.Done{}, err
		}
		action := auditCancel
		if unlock {
			action = auditUnlock
		}
		id := strings.Join([]string{action, in.stage.Name, in.run, in.caller.token.ID, body.ID}, " ")
		return wire.Done{Done: true}, s.audit(in.Context(), id, s.entry(in, action, string(body.Why)))
	}
}

func (s *Service) listTokens(in *request) (any, error) {
	all, err := s.tokens.List(in.Context())
	if err != nil {
		return nil, err
	}
	shown := wire.Tokens{Tokens: []wire.Token{}}
	for _, token := range all {
		if grants, err := parseGrants(token.Grants); err != nil || covers(adminOf(in.caller), grants) {
			shown.Tokens = append(shown.Tokens, token)
		}
	}
	return shown, nil
}

// adminOf are the grants by which a caller may rule over tokens.
func adminOf(who *caller) []grant {
	var out []grant
	for _, g := range who.grants {
		if g.role == admin {
			out = append(out, g)
		}
	}
	return out
}

func (s *Service) createToken(in *request) (any, error) {
	var body wire.NewToken
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	grants, err := givenGrants(body.Grants)
	if err != nil {
		return nil, invalid(err)
	}
	if !covers(adminOf(in.caller), grants) {
		return nil, wire.NewProblem(http.StatusForbidden, wire.CodeForbidden, "the token would be stronger than yours", "")
	}
	life := time.Duration(0)
	if body.Expires != "" {
		if life, err = parseDuration(body.Expires); err != nil {
			return nil, invalid(err)
		}
	}
	maker := in.caller.identity()
	token, err := s.tokens.create(in.Context(), s.author(in), apiToken{
		Name: body.Name, Grants: body.Grants, Maker: cmp.Or(maker.Maker, maker.Subject, maker.Token),
	}, life)
	if err != nil && !statestore.Refused(err) && !errors.Is(err, statestore.ErrUnavailable) {
		return nil, invalid(err)
	}
	return token, err
}

func invalid(err error) error { return &statestore.InvalidError{Rule: err.Error()} }

func (s *Service) revokeToken(in *request) (any, error) {
	id := in.PathValue("token")
	all, err := s.tokens.List(in.Context())
	if err != nil {
		return nil, err
	}
	for _, token := range all {
		if token.ID != id {
			continue
		}
		grants, err := parseGrants(token.Grants)
		if err == nil && !covers(adminOf(in.caller), grants) {
			break
		}
		return wire.Done{Done: true}, s.tokens.Revoke(in.Context(), s.author(in), id)
	}
	return nil, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "there is no such token", "")
}
