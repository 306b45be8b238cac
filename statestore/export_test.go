package statestore

import (
	"context"
	"time"
)

// Clocks lets tests turn each clock of a journal on its own.
type Clocks struct {
	Mono func() time.Time
	Wall func() time.Time
	Boot func() (time.Duration, bool)
}

// BeginAt is Begin with other clocks.
func BeginAt(ctx context.Context, store Store, stage Stage, claim Claim, c Clocks) (*Journal, error) {
	return begin(ctx, store, stage, claim, clock{mono: c.Mono, wall: c.Wall, boot: c.Boot})
}
