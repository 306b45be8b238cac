package workers

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// workerCalls are the operations that take the bodies below.
var workerCalls = []cloudflaretest.At{
	{Method: "PATCH", Path: "/accounts/A/workers/scripts/W/settings", In: "settings"},
}

// TestGoldenSettings has the settings of a Worker as
// https://developers.cloudflare.com/api/resources/workers/subresources/scripts/subresources/script_and_version_settings/methods/edit/
// names and measures them: times in milliseconds, shares up to 1.
func TestGoldenSettings(t *testing.T) {
	cloudflaretest.GoldenDocument(t, workerTable, obj{
		"compatibilityDate": "2026-01-31", "compatibilityFlags": list{"nodejs_compat"}, "limits": obj{"cpu": "50ms", "subrequests": int64(10)},
		"placement": obj{"region": "aws:eu-central-1"}, "logpush": true, "tailConsumers": list{obj{"service": "tail"}},
		"observability": obj{
			"samplingRate": 0.5, "logs": obj{"invocationLogs": false, "samplingRate": 0.25, "persist": false, "destinations": list{"sink"}},
			"traces": obj{"samplingRate": 0.75, "persist": true, "destinations": list{"drain"}},
		},
	}, kind.Document{
		"compatibility_date": "2026-01-31", "compatibility_flags": list{"nodejs_compat"}, "limits": obj{"cpu_ms": 50, "subrequests": 10},
		"placement": obj{"region": "aws:eu-central-1"}, "logpush": true, "tail_consumers": list{obj{"service": "tail"}},
		"observability": obj{
			"enabled": true, "head_sampling_rate": 0.5,
			"logs":   obj{"enabled": true, "invocation_logs": false, "head_sampling_rate": 0.25, "persist": false, "destinations": list{"sink"}},
			"traces": obj{"enabled": true, "head_sampling_rate": 0.75, "persist": true, "destinations": list{"drain"}},
		},
	}, workerCalls...)
}

// TestGoldenPlacement has the other ways to say where a Worker runs, of which one is given.
func TestGoldenPlacement(t *testing.T) {
	for _, placement := range []obj{{"mode": "smart"}, {"host": "db.example:5432"}, {"hostname": "db.example"}} {
		sent := kind.Document{}
		p := kindtest.PropsOf(t, workerTable, obj{"compatibilityDate": "2026-01-31", "placement": placement})
		if err := workerTable.Created(p, sent); err != nil {
			t.Fatal(err)
		}
		cloudflaretest.Body(t, obj{"placement": sent["placement"]}, obj{"placement": placement}, workerCalls...)
	}
}

// TestGoldenCleared has settings of which none is declared, as the same page takes them: null and empty clear.
func TestGoldenCleared(t *testing.T) {
	sent, err := write{want: WorkerProps{Tags: []string{"team-web"}}}.settled()
	if err != nil {
		t.Fatal(err)
	}
	cloudflaretest.Body(t, sent, obj{
		"compatibility_date": "", "compatibility_flags": list{}, "limits": nil, "placement": nil, "logpush": false,
		"observability": obj{"enabled": false}, "tail_consumers": list{}, "tags": list{"team-web"},
	}, workerCalls...)
}
