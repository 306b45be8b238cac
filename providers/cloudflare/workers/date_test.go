package workers

import (
	"strings"
	"testing"
	"time"
)

// TestDateWarning: dates that Cloudflare refuses, that hide what a flag promises, and that are old are warned of, and no others.
func TestDateWarning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for _, one := range []struct {
		date string
		flag string
		says string
	}{
		{"2026-02-01", "", ""},
		{"2026-02-02", "", ""},
		{"2026-02-03", "", "is to come"},
		{"2024-03-01", "", ""},
		{"2024-01-31", "", "older than two years"},
		{"2024-03-01", "nodejs_compat", "by names with node: alone"},
		{"2024-09-23", "nodejs_compat", ""},
		{"2024-03-01", "nodejs_compat_v2", ""},
		{"", "nodejs_compat", ""},
		{"soon", "", ""},
	} {
		have := dateWarning("api", one.date, []string{one.flag}, now)
		if (have == "") != (one.says == "") || !strings.Contains(have, one.says) {
			t.Errorf("%s %s: %q, want %q", one.date, one.flag, have, one.says)
		}
	}
}
