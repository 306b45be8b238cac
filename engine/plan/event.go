package plan

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// EventType says what happened. The set is documented and only grows.
type EventType string

// The types of events.
const (
	EventRun      EventType = "run"      // a run began: Status "running"; or ended: its final state
	EventStart    EventType = "start"    // work on a resource began
	EventProgress EventType = "progress" // what is waited for
	EventDone     EventType = "done"     // work on a resource ended; Status says how
	EventHook     EventType = "hook"     // a hook ended
	EventWarning  EventType = "warning"
	EventSummary  EventType = "summary" // the last line of --json
)

// Status is how work on a resource stands.
type Status string

// The statuses.
const (
	StatusRunning Status = "running"
	StatusDone    Status = "done"
	StatusFailed  Status = "failed"
	StatusBlocked Status = "blocked"
	StatusWaiting Status = "waiting"
	StatusSkipped Status = "not started"
	// StatusInterrupted: its work was cut short where it waited, since somebody asked the run to stop. The next run completes it.
	StatusInterrupted Status = "interrupted"
)

// Event is one step of a run, as it is stored, streamed and shown. Its texts are redacted.
type Event struct {
	Time    time.Time `json:"time"`
	Run     string    `json:"run"`
	Seq     uint64    `json:"seq"`
	Type    EventType `json:"type"`
	Address string    `json:"address,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Action  Action    `json:"action,omitempty"`
	Status  Status    `json:"status,omitempty"`
	// Note is a sentence for people; Error and Hint are those of a failure.
	Note  string `json:"note,omitempty"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// Cause is the same for all failures with one cause.
	Cause string `json:"cause,omitempty"`
	// Class is what the provider makes of a failure: denied, invalid and quota fail the same way until somebody changes something.
	Class reconcile.Class `json:"class,omitempty"`
	// Paths are what was changed.
	Paths []string `json:"paths,omitempty"`
	// Elapsed is in seconds.
	Elapsed float64 `json:"elapsed,omitempty"`
	// Total is how many resources the run works on, in the event of its beginning; 0 where that is unknown.
	Total int `json:"total,omitempty"`
}
