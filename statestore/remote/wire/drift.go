package wire

import "time"

// MostDriftLines is how many lines a report of drift carries at most.
const MostDriftLines = 1000

// DriftLine is one resource that is not as it was deployed, for display: it has no values.
type DriftLine struct {
	Address Text   `json:"address"`
	Kind    string `json:"kind,omitempty"`
	// Action is what would repair it; "blocked" and "left" where drift --repair does not.
	Action string `json:"action"`
	Paths  []Text `json:"paths,omitempty"` // of the props that differ
}

// NewDrift is what a comparison of a stage with what was deployed has found.
type NewDrift struct {
	Serial uint64 `json:"serial,string"`
	// Drifted is how many resources differ, of which Lines has the first ones. Uncompared could not be read.
	Drifted    int         `json:"drifted"`
	Uncompared int         `json:"uncompared"`
	Lines      []DriftLine `json:"lines"`
}

// Drift is the newest report of a stage.
type Drift struct {
	NewDrift

	At time.Time `json:"at"`
	By Author    `json:"by"`
}
