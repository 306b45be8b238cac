package plan

// PlanOptions say how to plan.
type PlanOptions struct {
	// Adopt takes over what is there and has no owner tag.
	Adopt bool
	// Take takes over one object by its identity, and touches nothing else.
	Take *Take
	// TakeOver lets objects be deleted that have the owner tag of another store.
	TakeOver bool
	// Incomplete says that the state may lack entries, as one does that was put back to something older: every location is
	// searched for objects of the stage that neither an entry nor the program explains, and they are deleted. Without any
	// state that is done anyway.
	Incomplete bool
	// NoObserve compares with the record only.
	NoObserve bool
	// Force runs commands again although nothing of them differs.
	Force bool
	// Target and Exclude are globs over addresses: only those with what they need; all but those and what needs them.
	Target, Exclude []string
	// Replace are addresses to replace although nothing calls for it; it is leave for data as well.
	Replace []string
	// AllowDelete are globs of addresses whose data may go.
	AllowDelete []string
	// Dev is set for the plans of a dev session, and for them alone.
	Dev *Dev
}

// Take names the object that is to become an address's own.
type Take struct {
	Address string
	// Identity is the physical identity, or the name where the kind can list.
	Identity string
}
