package render

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// Reading shows how planning goes: on a terminal one line that is drawn again in place and removed at the end, elsewhere a line
// every ten seconds. A plan that is made at once leaves nothing.
type Reading struct {
	screen Screen
	name   string
	began  time.Time
	until  func()

	mu     sync.Mutex
	region region
	read   int
	total  int
	open   map[string]reading
	last   time.Time
}

// reading is one resource that is being read.
type reading struct {
	kind  string
	since time.Time
}

// NewReading begins to show how a stage is planned.
func NewReading(screen Screen, name string) *Reading {
	r := &Reading{screen: screen, name: clean(name), began: screen.now(), open: map[string]reading{}}
	r.last = r.began
	every := lookEvery
	if screen.Size != nil {
		every = redrawEvery
		r.tick() // at once: what follows may take long
	}
	r.until = screen.clock().Every(every, r.tick)
	return r
}

// Read takes what the engine says of the reads of a plan. It may be called from many goroutines.
func (r *Reading) Read(e engine.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total = e.Total
	address := clean(e.Address)
	if e.Done {
		r.read++
		delete(r.open, address)
		return
	}
	r.open[address] = reading{clean(e.Kind), r.screen.now()}
}

// Note shows a line that lasts: what a plan waits for.
func (r *Reading) Note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	style, _ := r.screen.sized()
	r.last = r.screen.now()
	if r.screen.Size == nil {
		style.write(r.screen.Out, clean(line), 4)
		return
	}
	r.draw(wrapped(style.twin(clean(line)), style.Width, 4), r.lines())
}

// Close removes the line.
func (r *Reading) Close() {
	r.until()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draw(nil, nil)
}

func (r *Reading) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.screen.Size != nil {
		r.draw(nil, r.lines())
		return
	}
	if now := r.screen.now(); now.Sub(r.last) >= silence {
		r.last = now
		style, _ := r.screen.sized()
		style.write(r.screen.Out, r.screen.at(now)+r.text(style, now), 0)
	}
}

func (r *Reading) draw(lasting, lines []string) {
	if r.screen.Size != nil {
		io.WriteString(r.screen.Out, r.region.draw(lasting, lines)) //nolint:errcheck // a lost terminal must not fail a plan
	}
}

func (r *Reading) lines() []string {
	style, _ := r.screen.sized()
	return style.clipped([]string{r.text(style, r.screen.now())})
}

// slowRead is how long a read takes before it is named.
const slowRead = 2 * time.Second

// text says how many resources were read, and which read takes longest.
func (r *Reading) text(s Style, now time.Time) string {
	text := s.paint(bold, r.name) + "  planning"
	if r.total > 0 {
		text = fmt.Sprintf("%s  reading %d of %d", s.paint(bold, r.name), r.read, r.total)
	}
	text += "  " + Elapsed(now.Sub(r.began))
	slowest, which := time.Duration(0), ""
	for address, open := range r.open {
		if took := now.Sub(open.since); took > slowest || took == slowest && address < which {
			slowest, which = took, address
		}
	}
	if slowest < slowRead {
		return text
	}
	what := r.open[which].kind + ", "
	if s.narrow() {
		what = ""
	}
	return text + s.paint(dim, fmt.Sprintf("   slowest: %s (%s%s)", which, what, Elapsed(slowest)))
}
