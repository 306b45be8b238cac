package cloudflare

import (
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// warnings are what kinds warn of, each once, until somebody asks. It is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	said map[string]bool // whether it was asked for already
}

func newWarnings() *warnings { return &warnings{said: map[string]bool{}} }

// take returns what was not asked for before, sorted.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for text, taken := range w.said {
		if !taken {
			all = append(all, text)
			w.said[text] = true
		}
	}
	slices.Sort(all)
	return all
}

// Warn warns of what is declared and works, but not as its author may think. The command prints it once.
func Warn(cloud reconcile.Cloud, text string) {
	c, ok := cloud.(*Cloud)
	if !ok || c.warnings == nil {
		return
	}
	c.warnings.mu.Lock()
	defer c.warnings.mu.Unlock()
	if _, known := c.warnings.said[text]; !known {
		c.warnings.said[text] = false
	}
}
