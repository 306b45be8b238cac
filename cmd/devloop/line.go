package devloop

import (
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// The types of the lines that a session writes with --json, beside the events of its runs. They are documented in
// docs/dev.md.
const (
	LineWatching  = "watching"  // what is watched: once at the start, and again when it is more or less
	LineOpened    = "opened"    // the stage is this session's
	LineChanged   = "changed"   // these files were saved
	LineBuilt     = "built"     // the program was evaluated anew
	LinePlanned   = "planned"   // what is to be done is known
	LineDeployed  = "deployed"  // a plan was applied, or nothing was to be done: a summary
	LineLooked    = "looked"    // the same for a round in the background
	LineProblem   = "problem"   // what does not build or plan, or holds the stage: an error that does not end the session
	LineStopping  = "stopping"  // the session is to end: what is at work is finished, and nothing new begins
	LineEnding    = "ending"    // the session ends
	LineDestroyed = "destroyed" // what the session created is deleted: a summary
)

// Line is one step of the loop.
type Line struct {
	Time  time.Time `json:"time"`
	Type  string    `json:"type"`
	Stack string    `json:"stack,omitempty"`
	Stage string    `json:"stage"`
	// Paths were saved.
	Paths []string `json:"paths,omitempty"`
	// Count is how many files and folders the stack is made of; Folders how many are watched for it.
	Count   int `json:"count,omitempty"`
	Folders int `json:"folders,omitempty"`
	// Elapsed is in seconds, and of it Compiled is what the compiler took.
	Elapsed  float64         `json:"elapsed,omitempty"`
	Compiled float64         `json:"compiled,omitempty"`
	Summary  *engine.Summary `json:"summary,omitempty"`
	// Drift: something outside athanor changed it, not the program.
	Drift bool `json:"drift,omitempty"`
}
