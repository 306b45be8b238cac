package service

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// parseDuration reads a duration as people write it: 90s, 1h30m, 14d.
func parseDuration(text string) (time.Duration, error) { return token.ParseDuration(text) }
