package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// CodeNotApproved says that a run needs a plan which somebody else has approved.
const CodeNotApproved = "not-approved"

// The states of a submitted plan.
const (
	PlanWaiting  = "waiting"
	PlanApproved = "approved"
	PlanRejected = "rejected"
	PlanUsed     = "used"
	PlanExpired  = "expired"
)

// PlanLine is one line of a plan, for display: it has no values.
type PlanLine struct {
	Address Text   `json:"address"`
	Action  string `json:"action"`
	Kind    string `json:"kind,omitempty"`
}

// NewPlan is a plan that is submitted for approval. The document is the saved plan, sealed under the key of the stage.
type NewPlan struct {
	Serial   uint64     `json:"serial,string"`
	Document Bytes      `json:"document"`
	Lines    []PlanLine `json:"lines"`
}

// Plan is a submitted plan.
type Plan struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
	NewPlan

	State     string    `json:"state"`
	Submitter Author    `json:"submitter"`
	Submitted time.Time `json:"submitted"`
	Decider   *Author   `json:"decider,omitempty"`
	Decided   time.Time `json:"decided,omitzero"`
	Note      Text      `json:"note,omitempty"`
	Run       Text      `json:"run,omitempty"` // that used it
}

// DigestOf is what names the document of a plan in an approval.
func DigestOf(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

// Plans are the submitted plans of a stage, the newest first.
type Plans struct {
	Plans []Plan `json:"plans"`
}

// Decision approves or rejects the plan whose document has the digest.
type Decision struct {
	Digest  string `json:"digest"`
	Approve bool   `json:"approve"`
	Note    Text   `json:"note,omitempty"`
}

// StageRule is what a stage demands of the runs on it, of the page, and of the audit log.
type StageRule struct {
	// Approval: a run needs a plan that somebody else has approved.
	Approval bool `json:"approval"`
	// Private: the page shows addresses, kinds and statuses only.
	Private bool `json:"private,omitzero"`
	// Retention is how long entries of the audit log of the stack are kept at least, as a duration; empty: as the service keeps them.
	Retention string `json:"retention,omitempty"`
}

// StageRuleChange changes the rule of a stage. What is nil stays as it is.
type StageRuleChange struct {
	Approval *bool `json:"approval,omitempty"`
	Private  *bool `json:"private,omitempty"`
	// Retention is a duration; 0s demands none any more.
	Retention string `json:"retention,omitempty"`
}
