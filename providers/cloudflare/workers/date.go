package workers

import (
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// oldDate is the age from which a compatibility date is warned of: the runtime gains a dozen behaviours in that time,
// https://developers.cloudflare.com/workers/configuration/compatibility-flags/.
const oldDate = 2 * 365 * 24 * time.Hour

// dateWarning says what is to be known of a compatibility date at a time; "" where there is nothing.
func dateWarning(address, date string, flags []string, now time.Time) string {
	if date == "" || token.Has(date) {
		return ""
	}
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return "" // the check says so
	}
	switch {
	case at.After(now.Add(24 * time.Hour)): // somewhere it may be tomorrow
		return fmt.Sprintf("%s: compatibilityDate %s is to come: Cloudflare refuses the code until then", address, date)
	case date < bareNames && slices.Contains(flags, "nodejs_compat") && !slices.Contains(flags, "nodejs_compat_v2"):
		return fmt.Sprintf("%s: nodejs_compat with compatibilityDate %s offers Node's modules by names with node: alone, and few of them: from %s on it offers all",
			address, date, bareNames)
	case now.Sub(at) > oldDate:
		return fmt.Sprintf("%s: compatibilityDate %s is older than two years: the runtime behaves as it did then", address, date)
	}
	return ""
}
