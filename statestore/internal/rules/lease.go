// Package rules holds the decisions that every store makes the same way: who gets a lease, who still
// has it, whether a batch is the next one, a replay or neither.
//
// It is pure: it knows no file, no database and no clock but the one that it is handed.
package rules

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
)

// Head is the one record that every write of a stage reads and checks.
type Head struct {
	// Epoch is raised by each acquire and each unlock, and never used again.
	Epoch  uint64 `json:"epoch"`
	Serial uint64 `json:"serial"`
	// Revision rises with whatever [statestore.Store.Load] shows but runs and leases.
	Revision uint64 `json:"revision,omitzero"`
	KeyID    string `json:"key,omitempty"`
	// LastFinal is the epoch of the newest run that reached a final state, 0 when none did.
	LastFinal uint64 `json:"lastFinal,omitzero"`
	Tenure    Tenure `json:"tenure,omitzero"`
	// Newest is the version that the stage has, and Past are those before it that are kept, oldest first. A program that
	// knows nothing of versions drops both when it writes, so that what it wrote is seen to be missing.
	Newest Version   `json:"newest,omitzero"`
	Past   []Version `json:"past,omitempty"`
	// Empty is the epoch of the run that found nothing: what it writes has no version before it.
	Empty uint64 `json:"empty,omitzero"`
}

// Version is a state of the stage that a run left.
type Version struct {
	Serial   uint64    `json:"serial,omitzero"`
	Revision uint64    `json:"revision,omitzero"`
	Epoch    uint64    `json:"epoch,omitzero"` // of the run that left it
	Written  time.Time `json:"written,omitzero"`
	KeyID    string    `json:"key,omitempty"`
	// Until is the epoch of the run that replaced it. What that run changed leads back to it, and takes so many bytes.
	Until uint64 `json:"until,omitzero"`
	Bytes int    `json:"bytes,omitzero"`
}

// Complete reports whether all that was written is in the versions.
func (h *Head) Complete() bool { return h.Newest.Serial == h.Serial && h.Newest.Revision == h.Revision }

// Tenure is the newest run's hold on the stage. It stays after the release, so that a replay of the last
// batch is known for what it is.
type Tenure struct {
	Run       string        `json:"run"`
	Command   string        `json:"command"`
	User      string        `json:"user,omitempty"`
	Process   host.Process  `json:"process"`
	Since     time.Time     `json:"since"`
	TTL       time.Duration `json:"ttl"`
	Renewed   time.Time     `json:"renewed"`
	Uptime    time.Duration `json:"uptime,omitempty"` // of the machine at the renewal, 0 when unknown
	Seq       uint64        `json:"seq"`              // of the newest batch
	Cancelled bool          `json:"cancelled,omitzero"`
	Released  bool          `json:"released,omitzero"`
	// Proof and Token are those of a claim that a service made for a client.
	Proof string `json:"proof,omitempty"`
	Token []byte `json:"token,omitempty"`
	// Order is the ID of the order that took the lease away.
	Order string `json:"order,omitempty"`
}

// Held reports whether somebody took the lease and neither gave it back nor lost it. The holder may
// have ended or its time may be over: see Live.
func (t *Tenure) Held() bool { return t.Run != "" && !t.Released }

// Live reports whether the lease excludes others: held, its time not over, its process not known to
// have ended.
func (t *Tenure) Live(w host.World) bool {
	return t.Held() && t.elapsed(w) < t.TTL && !w.Dead(t.Process)
}

// elapsed is the time since the last renewal. Within one boot of one machine, and one time namespace, the time since boot
// decides, since the wall clock can be set while a holder is well; elsewhere there is only the wall clock.
func (t *Tenure) elapsed(w host.World) time.Duration {
	if t.Uptime > 0 && w.Self.Boot != "" && w.Self.Boot == t.Process.Boot && w.Self.Space == t.Process.Space {
		if now, known := w.Uptime(); known && now >= t.Uptime {
			return now - t.Uptime
		}
	}
	return w.Now().Sub(t.Renewed)
}

// Renew extends the lease from now on.
func (t *Tenure) Renew(w host.World) {
	t.Renewed = w.Now().UTC().Round(0)
	t.Uptime = 0
	if w.Self.Boot == t.Process.Boot && w.Self.Space == t.Process.Space { // another replica of a service counts from another boot
		t.Uptime, _ = w.Uptime()
	}
}

// Holder describes the tenure to people.
func (t *Tenure) Holder() statestore.Holder {
	return statestore.Holder{
		Run: t.Run, Host: t.Process.Host, PID: t.Process.PID, Command: t.Command, User: t.User,
		Since: t.Since, Expires: t.Renewed.Add(t.TTL), Proof: t.Proof,
	}
}

// Lease is what the holder gets.
func (h *Head) Lease(stage statestore.Stage) statestore.Lease {
	t := &h.Tenure
	return statestore.Lease{
		Stage: stage, Run: t.Run, Epoch: h.Epoch, Serial: h.Serial, Revision: h.Revision, TTL: t.TTL,
		Expires: t.Renewed.Add(t.TTL), Cancelled: t.Cancelled,
	}
}

// Takeover is what an acquisition does beside taking the lease.
type Takeover struct {
	// Again: the run had it already and nothing was written since; its first answer was lost.
	Again bool
	// Lost is the epoch of the run that did not finish, 0 when there is none.
	Lost uint64
	Note string // why it is lost
	// Ended is its process, when that has certainly ended.
	Ended host.Process
}

// Acquire decides whether the claim gets the lease and, if so, gives it in the head.
func Acquire(h *Head, stage statestore.Stage, claim statestore.Claim, w host.World) (Takeover, error) {
	if err := checkClaim(stage, claim); err != nil {
		return Takeover{}, err
	}
	var take Takeover
	t := &h.Tenure
	if t.Held() {
		if t.Run == claim.Run && t.Seq == 0 {
			t.Renew(w)
			return Takeover{Again: true}, nil
		}
		ended := t.Proof != "" && claim.Ended == t.Run
		if t.Live(w) && !ended {
			return Takeover{}, &statestore.HeldError{Stage: stage, Holder: t.Holder()}
		}
		reason := "its lease expired"
		if w.Dead(t.Process) {
			reason, take.Ended = "its process ended", t.Process
		} else if ended {
			reason = "its process ended"
		}
		take.Lost, take.Note = h.Epoch, reason+"; taken over by run "+claim.Run
		h.LastFinal = h.Epoch
	}
	h.Epoch = NextEpoch(h.Epoch, w.Now())
	ttl := claim.TTL
	if ttl == 0 {
		ttl = statestore.DefaultTTL
	}
	h.Tenure = Tenure{
		Run: claim.Run, Command: claim.Command, User: claim.User, Process: w.Self, Since: w.Now().UTC().Round(0), TTL: ttl,
		Token: claim.TokenHash,
	}
	if c := claim.For; c != nil {
		// The boot stays the service's: its machine's clock counts the lease. Without a lock no store takes the client for dead.
		h.Tenure.Process.Host, h.Tenure.Process.PID, h.Tenure.Process.Names, h.Tenure.Process.Lock = c.Host, c.PID, "", nil
		h.Tenure.Proof = c.Proof
	}
	h.Tenure.Renew(w)
	return take, nil
}

func checkClaim(stage statestore.Stage, claim statestore.Claim) error {
	rule := ""
	switch {
	case stage.Stack == "" || stage.Name == "":
		rule = "a stage has no stack or no name"
	case len(stage.Stack) > statestore.MaxAddress || len(stage.Name) > statestore.MaxAddress:
		rule = "the name of a stack or stage is too long"
	case claim.Run == "" || len(claim.Run) > statestore.MaxAddress:
		rule = "a claim needs a run id of valid length"
	case claim.TTL != 0 && claim.TTL < statestore.MinTTL:
		rule = "the lease is too short"
	default:
		return nil
	}
	return &statestore.InvalidError{Rule: rule}
}

// NextEpoch is greater than every epoch before. Beginning at the clock's milliseconds keeps it so when a store was
// lost and made anew, or restored from a copy; when the clock was set back it just counts on.
func NextEpoch(last uint64, now time.Time) uint64 {
	return max(last+1, uint64(max(now.UnixMilli(), 1)))
}

// Fenced reports whether the lease is another than the newest one.
func Fenced(h *Head, lease statestore.Lease) bool {
	return h.Epoch != lease.Epoch || h.Tenure.Run != lease.Run || lease.Run == "" || !h.Tenure.admits(lease.Token)
}

// admits reports whether a token is the one of the tenure, if it has one.
func (t *Tenure) admits(token statestore.Token) bool {
	if len(t.Token) == 0 {
		return true
	}
	hash := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(hash[:], t.Token) == 1
}

// Unlock takes the lease away. Done is false when nobody has it, or another run than the one meant; fresh is false when the
// same order did so before.
func Unlock(h *Head, order statestore.Order, w host.World) (done, fresh bool) {
	t := &h.Tenure
	switch {
	case order.Run != "" && order.Run != t.Run:
		return false, false
	case t.Released && order.ID != "" && order.ID == t.Order:
		return true, false
	case !t.Held(), order.Expired > 0 && t.elapsed(w) < t.TTL+order.Expired:
		return false, false
	}
	h.LastFinal = h.Epoch
	h.Epoch = NextEpoch(h.Epoch, w.Now())
	t.Released, t.Order = true, order.ID
	return true, true
}

// Cancel asks the holder to stop. Asked reports that there is a live holder who now knows or knew
// already; fresh, that the head changed.
func Cancel(h *Head, order statestore.Order, w host.World) (asked, fresh bool) {
	t := &h.Tenure
	if !t.Live(w) || order.Run != "" && order.Run != t.Run {
		return false, false
	}
	fresh = !t.Cancelled
	t.Cancelled = true
	return true, fresh
}
