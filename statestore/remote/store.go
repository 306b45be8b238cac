// Package remote is the store behind a service: athanor serve, by HTTP.
//
// It knows the requests of the protocol in docs/service.md, which of them are sent again when an answer is lost, and how
// the process of another run of this machine is proven to have ended. Who may do what, and who holds a stage, is decided
// by the service. The token comes from the caller.
package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Store is a store behind a service. It connects when it is first used.
type Store struct {
	client *client
	world  host.World
	plan   string   // that the runs are of
	secret [32]byte // the nonces of runs are made of it, the same for a run that asks again

	mu sync.Mutex
	id string
}

var _ statestore.Store = (*Store)(nil)

// Option sets how a store behaves.
type Option func(*Store)

// WithPatience sets how long a call goes on asking a service that does not answer, or whose store is away, once it has
// answered. A service that never answered is asked for a third of it. The default is 10 s.
func WithPatience(d time.Duration) Option { return func(s *Store) { s.client.patience = d } }

// WithTransport sets what requests are sent with.
func WithTransport(t http.RoundTripper) Option { return func(s *Store) { s.client.http.Transport = t } }

// OnMachine sets the machine that the store asks for processes, for tests.
func OnMachine(machine host.World) Option { return func(s *Store) { s.world = machine } }

// Origin reads the address of a service, https://HOST[:PORT][/PATH], and returns it in one form. Without TLS it must be on
// the loopback: a token would be readable on the way.
func Origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address of a service is https://HOST, without a name, a password or parameters")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return "", errors.New("without TLS a service must be on the loopback: everybody on the way could read the token")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// Open names a store by the address of its service. Token returns the API token for it, and is asked once, when the
// store is first used. Open connects to nothing.
func Open(address string, token func(origin string) (string, error), options ...Option) (*Store, error) {
	origin, err := Origin(address)
	if err != nil {
		return nil, err
	}
	s := &Store{client: newClient(origin, token), world: host.Real()}
	_, _ = rand.Read(s.secret[:]) // it never fails
	for _, option := range options {
		option(s)
	}
	return s, nil
}

// Place is the address of the service.
func (s *Store) Place() string { return s.client.origin }

// stagePath is the path of a stage.
func stagePath(stage statestore.Stage) string {
	return "/v1/stacks/" + wire.Segment(stage.Stack) + "/stages/" + wire.Segment(stage.Name)
}

func runPath(stage statestore.Stage, run string) string {
	return stagePath(stage) + "/runs/" + wire.Segment(run)
}

// Service asks the service who it is and who asks.
func (s *Store) Service(ctx context.Context) (wire.Service, error) {
	var about wire.Service
	err := s.client.call(ctx, statestore.Stage{}, request{method: http.MethodGet, path: "/v1/service"}, &about)
	return about, err
}

// Load implements [statestore.Store].
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	var answer wire.Snapshot
	if err := s.client.call(ctx, stage, request{method: http.MethodGet, path: stagePath(stage) + "/state"}, &answer); err != nil {
		return nil, err
	}
	snap := answer.Snapshot(stage)
	if h := snap.Holder; h != nil {
		if s.ended(h.Proof) {
			snap.Holder = nil
		} else {
			h.Proof = ""
		}
	}
	return snap, nil
}

// Versions implements [statestore.Versions].
func (s *Store) Versions(ctx context.Context, stage statestore.Stage) ([]statestore.Version, error) {
	var answer wire.Versions
	err := s.client.call(ctx, stage, request{method: http.MethodGet, path: stagePath(stage) + "/versions"}, &answer)
	return answer.List(), err
}

// LoadVersion implements [statestore.Versions].
func (s *Store) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (*statestore.Snapshot, error) {
	var answer wire.Snapshot
	path := stagePath(stage) + "/versions/" + strconv.FormatUint(serial, 10)
	if err := s.client.call(ctx, stage, request{method: http.MethodGet, path: path}, &answer); err != nil {
		return nil, err
	}
	return answer.Snapshot(stage), nil
}

// ended reports whether the process that a proof names has ended, as far as this machine can tell.
func (s *Store) ended(proof string) bool {
	var p host.Process
	return proof != "" && json.Unmarshal([]byte(proof), &p) == nil && s.world.Dead(p)
}

// nonce is that of a run, the same each time this store starts it.
func (s *Store) nonce(stage statestore.Stage, run string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%d:%s%d:%s%s", s.secret[:], len(stage.Stack), stage.Stack, len(stage.Name), stage.Name, run))
	return sum[:]
}

// purpose names what the lock of a run is held for.
func purpose(stage statestore.Stage, run string) string {
	return fmt.Sprintf("%q %q %q", stage.Stack, stage.Name, run)
}

// Acquire implements [statestore.Store]: it registers the run and starts it. A holder on this machine whose process has
// ended is proven so here, since the service cannot see it. A claim for another process is held by no lock of this one: the
// end of this process does not free it.
func (s *Store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	if claim.For != nil {
		lease, err := s.acquire(ctx, stage, claim, *claim.For)
		return lease, hidden(err)
	}
	lock, fresh := s.world.Locks.Hold(purpose(stage, claim.Run))
	self := s.world.Self
	self.Lock = lock
	proof, err := json.Marshal(self)
	if err != nil {
		return statestore.Lease{}, err
	}
	lease, err := s.acquire(ctx, stage, claim, statestore.Client{Host: self.Host, PID: self.PID, Proof: string(proof)})
	if err != nil && fresh && statestore.Refused(err) {
		s.world.Locks.Release(purpose(stage, claim.Run))
	}
	return lease, hidden(err)
}

// hidden takes the proof out of an error that names a holder.
func hidden(err error) error {
	if held, ok := errors.AsType[*statestore.HeldError](err); ok {
		held.Holder.Proof = ""
	}
	return err
}

func (s *Store) acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim, client statestore.Client) (statestore.Lease, error) {
	body := wire.NewRun{
		Run: wire.Text(claim.Run), Command: wire.Text(claim.Command), User: wire.Text(claim.User),
		Client: wire.Client{Host: wire.Text(client.Host), PID: client.PID, Proof: client.Proof},
		Plan:   s.plan,
	}
	if claim.TTL != 0 {
		body.TTL = claim.TTL.String()
	}
	register := request{method: http.MethodPost, path: stagePath(stage) + "/runs", body: body}
	if err := s.client.call(ctx, stage, register, nil); err != nil {
		return statestore.Lease{}, err
	}
	start := wire.Start{Nonce: s.nonce(stage, claim.Run)}
	for {
		var answer wire.Lease
		err := s.client.call(ctx, stage, request{method: http.MethodPost, path: runPath(stage, claim.Run) + "/start", body: start}, &answer)
		if err == nil {
			return answer.Lease(stage)
		}
		held, ok := errors.AsType[*statestore.HeldError](err)
		if !ok || wire.Text(held.Holder.Run) == start.Ended {
			return statestore.Lease{}, err
		}
		if !s.ended(held.Holder.Proof) {
			return statestore.Lease{}, err
		}
		start.Ended = wire.Text(held.Holder.Run)
	}
}

// Commit implements [statestore.Store].
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	if lease.Run == "" || lease.Token == "" {
		return lease, &statestore.FencedError{Stage: lease.Stage, Run: lease.Run, Note: "it has no token"}
	}
	var answer wire.Lease
	err := s.client.call(ctx, lease.Stage, request{
		method: http.MethodPost, path: runPath(lease.Stage, lease.Run) + "/" + operation(&batch), body: wire.FromBatch(lease.Epoch, &batch),
		token: string(lease.Token),
	}, &answer)
	if err != nil {
		return lease, err
	}
	next, err := answer.Lease(lease.Stage)
	next.Token = lease.Token
	if err == nil && batch.Finish != "" {
		s.world.Locks.Release(purpose(lease.Stage, lease.Run))
	}
	return next, err
}

// operation is the request that takes a batch.
func operation(b *statestore.Batch) string {
	changes := len(b.Put) > 0 || len(b.Move) > 0 || len(b.Meta) > 0 || b.Outputs != nil || b.KeyID != "" || len(b.Summary) > 0
	switch {
	case b.Finish != "":
		return "complete"
	case changes:
		return "commits"
	case b.Renew:
		return "renew"
	case len(b.Events) > 0:
		return "events"
	}
	return "commits"
}

// Interrupt implements [statestore.Store]. The run is always named, so that a copy of the request that comes late never
// meets the next one.
func (s *Store) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (bool, error) {
	if order.Run == "" {
		newest, err := s.Runs(ctx, stage, 1)
		if err != nil || len(newest) == 0 || newest[0].State != statestore.Running {
			return false, err
		}
		order.Run = newest[0].ID
	}
	body, verb := wire.Order{Who: wire.Text(order.Who), Why: wire.Text(order.Why)}, "/cancel"
	if order.Unlock {
		body.ID, verb = rand.Text(), "/unlock"
	}
	var answer wire.Done
	err := s.client.call(ctx, stage, request{method: http.MethodPost, path: runPath(stage, order.Run) + verb, body: body}, &answer)
	return answer.Done, err
}

// Runs implements [statestore.Store].
func (s *Store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	var answer wire.Runs
	path := stagePath(stage) + "/runs?limit=" + strconv.Itoa(max(limit, 0))
	err := s.client.call(ctx, stage, request{method: http.MethodGet, path: path}, &answer)
	return answer.List(), err
}

// Events implements [statestore.Store]. One answer has a page of them.
func (s *Store) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	var all []statestore.Event
	for {
		want := 0
		if limit > 0 {
			want = limit - len(all)
		}
		var answer wire.Events
		path := fmt.Sprintf("%s/events?after=%d&limit=%d", runPath(stage, run), after, want)
		if err := s.client.call(ctx, stage, request{method: http.MethodGet, path: path}, &answer); err != nil {
			return nil, err
		}
		page := answer.List()
		all = append(all, page...)
		if len(page) == 0 || limit > 0 && len(all) >= limit {
			return all, nil
		}
		after = page[len(page)-1].Seq
	}
}

// Stages implements [statestore.Store]: those that the token may read.
func (s *Store) Stages(ctx context.Context) ([]statestore.Stage, error) {
	var answer wire.Stages
	err := s.client.call(ctx, statestore.Stage{}, request{method: http.MethodGet, path: "/v1/stages"}, &answer)
	return answer.List(), err
}

// ID implements [statestore.Store].
func (s *Store) ID(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" {
		return s.id, nil
	}
	about, err := s.Service(ctx)
	s.id = about.Store
	return about.Store, err
}

// Close implements [statestore.Store].
func (s *Store) Close() error {
	s.client.http.CloseIdleConnections()
	return nil
}
