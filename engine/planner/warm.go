package planner

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Warm is what an engine keeps from one plan to the next, where a process makes many of one stage: the ways to places,
// with their clients and credentials; what was prepared; what is used and not owned. All of it can be made again.
// Who uses one tells it which files change (Changed), and now and then that time has passed (Cool).
type Warm struct {
	mu       sync.Mutex
	ways     *observe.Ways
	prepared map[string]*preparation
	reads    map[string]map[string]any
	waiting  map[string]bool
}

// preparation is what was prepared for an address, as long as its props and what it is made of stay.
type preparation struct {
	props  string // their digest
	assets map[string]reconcile.Asset
	from   []string
	old    bool // it must be prepared anew
}

// NewWarm keeps nothing yet.
func NewWarm() *Warm {
	return &Warm{ways: observe.NewWays(), prepared: map[string]*preparation{}, reads: map[string]map[string]any{}}
}

// Changed has what was prepared from these files and folders, absolute paths, prepared anew.
func (w *Warm) Changed(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.prepared {
		p.old = p.old || slices.ContainsFunc(p.from, func(from string) bool {
			return slices.ContainsFunc(paths, func(path string) bool { return inside(path, from) || inside(from, path) })
		})
	}
}

// inside reports that a path is another or lies in it.
func inside(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

// Sources are the files and folders that what the last plan declares is made of, sorted.
func (w *Warm) Sources() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, p := range w.prepared {
		all = append(all, p.from...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Cool forgets what goes by time: where credentials lead, and what was only read.
func (w *Warm) Cool() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ways.Clear()
	clear(w.reads)
}

// kept are the ways to locations that are kept.
func (w *Warm) kept() *observe.Ways {
	if w == nil {
		return nil
	}
	return w.ways
}

// waits reports that somebody had to act on an address when it was looked at last. Nil keeps nothing.
func (w *Warm) waits(addr string) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting[addr]
}

// planned notes what waits for somebody, and forgets the preparations of what is not declared any more.
func (w *Warm) planned(p *plan.Plan, x *plan.Index) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = map[string]bool{}
	for _, a := range p.Actions {
		if a.Action == plan.Wait || a.Waiting != "" {
			w.waiting[a.Address] = true
		}
	}
	maps.DeleteFunc(w.prepared, func(addr string, _ *preparation) bool {
		n := x.Nodes[addr]
		return n == nil || n.Decl == nil
	})
}

// Settled notes what waits for somebody after a run.
func (w *Warm) Settled(waiting map[string]string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for addr := range waiting {
		w.waiting[addr] = true
	}
}

// madeOf are the files and folders that an address was made of when it was prepared last.
func (w *Warm) madeOf(addr string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.prepared[addr]; p != nil {
		return p.from
	}
	return nil
}

// digestOf is one digest of values, "" where they cannot be written.
func digestOf(values ...any) string {
	t, err := tree.Of(values)
	if err != nil {
		return ""
	}
	return tree.Digest(t)
}

// readKey tells reads apart; "" for one that other resources or another stack's outputs decide.
func readKey(n *plan.Node) string {
	if len(n.Uses())+len(n.Props.Outputs()) > 0 {
		return ""
	}
	return digestOf(n.Read.Kind, n.Read.ID, n.Read.Settings, n.Read.Query)
}

// readBefore are the attributes of what is only read, as they were seen last.
func (w *Warm) readBefore(n *plan.Node) (map[string]any, bool) {
	id := readKey(n)
	if w == nil || id == "" {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	attrs, ok := w.reads[id]
	return attrs, ok
}

// readNow keeps what was read.
func (w *Warm) readNow(n *plan.Node) {
	id := readKey(n)
	if w == nil || id == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads[id] = n.Attrs
}
