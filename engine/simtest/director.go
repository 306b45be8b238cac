package simtest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
)

// Outcome says what becomes of one event.
type Outcome string

// The outcomes. The first six end the process, the others are faults that it lives through.
const (
	Fine Outcome = ""

	BeforeSend Outcome = "before send"             // the process ends before the call, or before the commit
	NotApplied Outcome = "sent, not applied"       // the call fails without an effect, and the process ends before it does anything about it
	AnswerLost Outcome = "applied, answer lost"    // the call has its effect and no answer: the process ends
	NotStored  Outcome = "answered, not stored"    // the answer arrives, and the process ends before its next event
	AfterStore Outcome = "stored, then the end"    // the commit is durable and the process ends
	Severed    Outcome = "fenced before the event" // the lease is taken away; the process lives

	Throttle Outcome = "throttled" // refused, no effect
	Stumble  Outcome = "fails"     // an error and no effect
	Swallow  Outcome = "effect, then an error"
	Deny     Outcome = "denied" // refused for good, this once
	Hang     Outcome = "hangs"  // no answer, for as long as anybody waits
)

// Sort is what kind of event it is.
type Sort int

// The sorts of events.
const (
	Reading Sort = iota
	Writing
	Storing
)

// Event is one effect of a run outside: a call or a commit.
type Event struct {
	Name string
	Sort Sort
}

// Director stands between a process and everything outside it. It lets one event happen at a time, and only when
// nothing else can move, so that the order of a run depends on nothing but the director's choice.
type Director struct {
	// Order ranks events that could happen now; the least goes first, equal ones by name.
	Order func(name string) int
	// Sever is called for the outcome Severed.
	Sever func()

	mu      sync.Mutex
	running bool   // between the start and the end of a process
	stage   string // what the process is doing, "plan " while it plans: part of the names of reads
	seen    map[string]int
	events  []Event
	faults  map[string]Outcome
	hit     int
	doomed  bool // dies at its next event
	dead    bool
	endless bool // met more events than any run has that ends
	denied  int  // how often it was told so
	fenced  bool
	zombies []string // mutations that began after the lease was lost

	pending []*turn
	arrived chan struct{}
}

// mostEvents is more than any run of the scenarios meets: one that meets more does the same for ever.
const mostEvents = 10000

// pace is the turn of a journal that is about to collect a commit. It is no event, and comes before all that are.
const pace = ""

type turn struct {
	name string
	go_  chan struct{}
}

// NewDirector makes one that lets events happen in the order of their names.
func NewDirector() *Director {
	return &Director{arrived: make(chan struct{}, 1)}
}

// Start begins the life of a process that meets these faults, by event name.
func (d *Director) Start(faults map[string]Outcome) (end func()) {
	d.mu.Lock()
	d.running, d.seen, d.events, d.faults = true, map[string]int{}, nil, faults
	d.hit, d.doomed, d.dead, d.fenced, d.zombies, d.endless = 0, false, false, false, nil, false
	d.mu.Unlock()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		d.direct(stop)
	}()
	return func() {
		close(stop)
		<-done
		d.mu.Lock()
		d.running = false
		d.mu.Unlock()
	}
}

// Planning tells that a plan is being made: its reads are named as such.
func (d *Director) Planning(planning bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stage = ""; planning {
		d.stage = "plan "
	}
}

// Life is what is known of a process that ended.
type Life struct {
	Events []Event
	// Hit: every fault that it was to meet came. Dead: it ended in the middle.
	Hit, Dead bool
	// Endless: it met so many events that it would not have ended by itself.
	Endless bool
	// Zombies are the mutations that it began after its lease was lost.
	Zombies []string
}

// Life tells of the process that ended last.
func (d *Director) Life() Life {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Life{d.events, d.hit == len(d.faults), d.dead, d.endless, d.zombies}
}

// direct lets events happen, one at a time, each when everything else waits.
func (d *Director) direct(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-d.arrived:
		}
		for {
			synctest.Wait()
			t := d.next()
			if t == nil {
				break
			}
			close(t.go_)
		}
	}
}

func (d *Director) next() *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == 0 {
		return nil
	}
	rank := func(t *turn) int {
		switch {
		case t.name == pace:
			return math.MinInt
		case d.Order != nil:
			return d.Order(t.name)
		default:
			return 0
		}
	}
	t := slices.MinFunc(d.pending, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
	})
	d.pending = slices.DeleteFunc(d.pending, func(x *turn) bool { return x == t })
	return t
}

// wait waits for its turn.
func (d *Director) wait(name string) {
	t := &turn{name, make(chan struct{})}
	d.mu.Lock()
	if !d.running {
		d.mu.Unlock()
		return
	}
	d.pending = append(d.pending, t)
	d.mu.Unlock()
	select {
	case d.arrived <- struct{}{}:
	default:
	}
	<-t.go_
}

// meet notes an event and says what becomes of it. Names that come again are numbered.
func (d *Director) meet(name string, sort Sort) Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running {
		return Fine
	}
	if d.doomed {
		d.dead = true
	}
	if d.dead {
		return BeforeSend
	}
	if len(d.events) >= mostEvents {
		d.dead, d.endless = true, true
		return BeforeSend
	}
	if d.seen[name]++; d.seen[name] > 1 {
		name = fmt.Sprintf("%s #%d", name, d.seen[name])
	}
	d.events = append(d.events, Event{name, sort})
	o, ok := d.faults[name]
	if !ok {
		return Fine
	}
	d.hit++
	switch o {
	case BeforeSend, AnswerLost, AfterStore:
		d.dead = true
	case NotApplied, NotStored:
		d.doomed = true
	case Severed:
		d.mu.Unlock()
		d.Sever()
		d.mu.Lock()
		d.fenced = true
		return Fine
	case Deny, Hang:
		d.denied++
	default:
	}
	return o
}

// Denied counts how often the cloud refused something for good, or never answered, in all processes.
func (d *Director) Denied() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.denied
}

// read is told of a reading call. Those of a plan wait for their turn as well: which of them comes first is no matter of
// chance then, and so a fault that hits the nth of them hits the same one in every run.
func (d *Director) read(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	stage := d.stage
	d.mu.Unlock()
	d.wait(stage + "read " + name)
	return d.refuse(ctx, d.meet(stage+"read "+name, Reading))
}

// write lets a mutating call happen, or not.
func (d *Director) write(ctx context.Context, name string, do func() error) error {
	d.mu.Lock()
	zombie := d.running && d.fenced && !d.dead
	if zombie {
		d.zombies = append(d.zombies, name)
	}
	d.mu.Unlock()
	d.wait(name)
	if err := ctx.Err(); err != nil {
		return err
	}
	switch o := d.meet(name, Writing); o {
	case Fine, NotStored:
		return do()
	case AnswerLost:
		_ = do() // whatever it says, nobody hears it
		return errCut
	case Swallow:
		if err := do(); err != nil {
			return err
		}
		return errStumble
	case NotApplied:
		return errStumble
	default:
		return d.refuse(ctx, o)
	}
}

// refuse is the answer of a call that has no effect.
func (d *Director) refuse(ctx context.Context, o Outcome) error {
	switch o {
	case Hang:
		<-ctx.Done()
		return ctx.Err()
	case Throttle:
		return errThrottled
	case Stumble:
		return errStumble
	case Deny:
		return errDenied
	case Fine:
		return nil
	default:
		return errCut
	}
}

// Cuts are the outcomes that end the process at an event, Faults those that it lives through.
func Cuts(e Event) []Outcome {
	switch {
	case strings.HasPrefix(e.Name, "plan "):
		return nil // what is cut before anything was written was never there
	case e.Sort == Writing:
		return []Outcome{BeforeSend, NotApplied, AnswerLost, NotStored}
	case e.Sort == Storing:
		return []Outcome{BeforeSend, AfterStore}
	default:
		return []Outcome{BeforeSend}
	}
}

// Faults are the outcomes that a process lives through.
func Faults(e Event) []Outcome {
	switch e.Sort {
	case Writing:
		return []Outcome{Throttle, Stumble, Swallow, Deny, Hang, Severed}
	case Storing:
		if e.Name == acquire {
			return nil // there is no lease yet that could be taken away
		}
		return []Outcome{Severed}
	default:
		return []Outcome{Throttle, Stumble, Deny, Hang}
	}
}

// AddressOf is the address that an event is about, "" when it is about none.
func AddressOf(event string) string {
	words := strings.Fields(event)
	if len(words) < 2 || words[0] == "plan" {
		return ""
	}
	about := words[1]
	if words[0] == "set" && len(words) > 2 {
		about = words[2]
	}
	if i := strings.LastIndexAny(about, "/:"); i > 0 {
		about, _, _ = strings.Cut(about, ":")
		if j := strings.LastIndexByte(about, '/'); j > 0 && words[0] != "commit" && words[0] != "read" && words[0] != "delete" {
			about = about[:j] // the generation
		}
	}
	switch about {
	case "finish", "renewal", "facts":
		return ""
	}
	return about
}
