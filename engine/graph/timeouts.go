package graph

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// Timeouts bound the operations of one resource, written as durations ("90s").
type Timeouts struct {
	Create, Update, Delete time.Duration
}

// timeoutTexts is how timeouts are written.
type timeoutTexts struct {
	Create string `json:"create,omitempty"`
	Update string `json:"update,omitempty"`
	Delete string `json:"delete,omitempty"`
}

// MarshalJSON writes durations as people do.
func (t Timeouts) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return token.FormatDuration(d)
	}
	return json.Marshal(timeoutTexts{text(t.Create), text(t.Update), text(t.Delete)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Timeouts) UnmarshalJSON(data []byte) error {
	var texts timeoutTexts
	if err := json.Unmarshal(data, &texts); err != nil {
		return fmt.Errorf("timeouts: want durations as text (90s): %w", err)
	}
	for _, f := range []struct {
		into *time.Duration
		text string
	}{{&t.Create, texts.Create}, {&t.Update, texts.Update}, {&t.Delete, texts.Delete}} {
		*f.into = 0
		if f.text == "" {
			continue
		}
		d, err := token.ParseDuration(f.text)
		if err == nil && d < 0 {
			err = fmt.Errorf("%s is negative", f.text)
		}
		if err != nil {
			return fmt.Errorf("timeouts: %w", err)
		}
		*f.into = d
	}
	return nil
}
