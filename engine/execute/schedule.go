package execute

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/engine/durations"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// inFlight bounds the tasks at work at once, and of each kind those that wait for their service. It is far above the bound on
// calls, so that waiting for a commit holds nobody up, and bounds only memory.
const inFlight = 512

// task is one piece of work on one node.
type task struct {
	n *plan.Node
	// drop: delete the old object; otherwise make it match.
	drop bool
	// collecting: it takes away what a declared node has left behind.
	collecting bool
	state      taskState
	inHeap     bool
	// first reads what the task is about before any hook runs, and work does it. Either may be nil where do needs none.
	first preview
	work  func(context.Context, *plan.Node) (waiting bool, err error)
	do    func(t *task) (waiting bool, err error)
	sched *schedule // that runs it

	waits int
	after []edge       // what waits for this
	index int          // among the tasks of its schedule
	turn  int          // among them in the order of priority
	rank  atomic.Int64 // the expected time, in ns, from its begin to the end of all that waits for it
	took  float64      // seconds
	// limited is in how many of them a service made it wait.
	limited float64
	// learned: it has shown how long operations take of which nothing was known.
	learned bool
	ended   time.Time // zero: it did not run
	// with is the result that waits for this task's first commit, unless it has left, its own that which waits for others'.
	with, own *company
	left      bool
}

// ending is work after which nothing is waited for.
func ending(work func(context.Context, *plan.Node) error) func(context.Context, *plan.Node) (waiting bool, err error) {
	return func(ctx context.Context, n *plan.Node) (bool, error) { return false, work(ctx, n) }
}

// intends reports that the first commit of a task is an intent that comes soon: after a look, and nothing else.
func (t *task) intends() bool {
	n := t.n
	return !t.drop && n.Decl != nil && !n.Spec.Recorded && !n.Spec.Prepares && len(n.Decl.Options.Before) == 0 &&
		(n.Plan.Action == plan.Create || n.Plan.Action == plan.Replace)
}

// computes reports that nothing of a task is anywhere but in state, and that doing it again would give the same. What a
// run that is cut has not written to state of it is no loss, so that others of its sort go on before it is durable;
// whatever changes the cloud comes after, since state is written in the order of its changes.
func (t *task) computes() bool {
	n := t.n
	if n.Spec == nil || !n.Spec.Recorded || n.Spec.Rerun || n.Spec.InDev {
		return false
	}
	if before, after := n.Hooks(); len(before)+len(after) > 0 {
		return false
	}
	return n.Entry == nil || !slices.ContainsFunc(n.Entry.Generations, func(g *state.Generation) bool { return !g.StateOnly })
}

// passes reports that a task which computes goes on before it is durable: there are others that may.
func (t *task) passes() bool {
	return t != nil && t.computes() && slices.ContainsFunc(t.after, func(e edge) bool { return e.next.computes() })
}

// company is a result that waits for the intents which it sets free, to share their commit: until one of them
// comes, or none can any more.
type company struct {
	left     int           // tasks that may still commit
	alone    chan struct{} // closed when there are none
	reported chan struct{} // closed when the task of the result has ended: nobody who came with it goes on before
}

func newCompany() *company {
	return &company{alone: make(chan struct{}), reported: make(chan struct{})}
}

// leave says that no intent of the task is to be waited for any more.
func (t *task) leave() {
	if t.with != nil && !t.left {
		t.left = true
		t.with.leave()
	}
}

// part is leave, and the task waits for that result no more either.
func (t *task) part() {
	t.leave()
	t.with, t.left = nil, false
}

func (c *company) leave() {
	if c.left--; c.left == 0 {
		close(c.alone)
	}
}

type taskState uint8

const (
	pending taskState = iota
	running
	finished
	failed
	skipped
)

// edge is one task waiting for another.
type edge struct {
	next *task
	// birth: identity is enough, readiness is not waited for.
	birth bool
	freed bool
}

func (t *task) before(next *task, birth bool) {
	if t == nil || next == nil || t == next {
		return
	}
	t.after = append(t.after, edge{next: next, birth: birth})
	next.waits++
}

// action is what a task does to its resource.
func (t *task) action() plan.Action {
	if action := t.n.Doing(); !t.drop || action == plan.Forget {
		return action
	}
	return plan.Delete
}

// priority is that of the calls of a task.
func (t *task) priority() reconcile.Priority {
	return reconcile.Priority{Rest: time.Duration(t.rank.Load()), Address: t.n.Address}
}

// workOf returns tasks as work that waits for other work.
func workOf(tasks []*task) []durations.Work {
	for i, t := range tasks {
		t.index = i
	}
	work := make([]durations.Work, len(tasks))
	for i, t := range tasks {
		after := make([]int, len(t.after))
		for k, e := range t.after {
			after[k] = e.next.index
		}
		work[i] = durations.Work{Kind: t.n.KindName(), Operation: string(t.action()), Address: t.n.Address, After: after}
	}
	return work
}

// rank gives each task the expected time from its begin to the end of all that waits for it, and its turn by that.
func rank(tasks []*task, known durations.Table) {
	for i, rank := range durations.Ranks(workOf(tasks), known) {
		tasks[i].rank.Store(int64(rank))
	}
	order := slices.Clone(tasks) // once, instead of with each step through the heap
	slices.SortStableFunc(order, func(a, b *task) int { return a.priority().Compare(b.priority()) })
	for i, t := range order {
		t.turn = i
	}
}

// slowest returns what took the longest of tasks that have run, and those that their end waited for.
func slowest(tasks []*task) (longest Step, path []Step) {
	ends := make([]time.Time, len(tasks))
	for i, t := range tasks {
		ends[i] = t.ended
		if s := t.step(); s.whole() > longest.whole() {
			longest = s
		}
	}
	for _, i := range durations.Path(workOf(tasks), ends) {
		path = append(path, tasks[i].step())
	}
	return longest, path
}

// step is what the run says of a task that it took long for.
func (t *task) step() Step { return Step{t.n.Address, t.took, t.limited} }

// readyHeap gives the most urgent task.
type readyHeap []*task

func (h readyHeap) Len() int           { return len(h) }
func (h readyHeap) Less(i, j int) bool { return h[i].turn < h[j].turn }
func (h readyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *readyHeap) Push(x any) {
	if t, ok := x.(*task); ok {
		*h = append(*h, t)
	}
}

func (h *readyHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

// signal is what a task tells the schedule.
type signal struct {
	t       *task
	born    bool     // identity is known; the task goes on
	settled *company // all is known, and reaches state with those that it sets free
	passed  bool     // all is known, and is about to reach state
	yielded bool     // it waits for its service, and leaves its place to others
	resumed bool     // it no longer does
	waiting bool     // done, and somebody else must act before it is ready
	err     error
}

// schedule runs tasks, each as soon as what it waits for is there, without levels. A task that fails stops
// those behind it alone.
type schedule struct {
	signals chan signal
	// stopping says that nothing new may start.
	stopping func() bool
	// rank says which tasks are the most urgent, by what is known now.
	rank func([]*task)
	// blocked is told of each task that will not run, and which failed task is the cause.
	blocked func(t, cause *task)

	ready   readyHeap
	running int               // without those that have yielded
	waiting int               // those
	yielded map[string]*crowd // by kind
	over    chan struct{}     // closed when nobody takes signals any more
	// next has tasks for goroutines whose last task has ended, and idle counts those: their stacks have grown already.
	next    chan *task
	idle    int
	invited []*task // by the last signal
}

// crowd is the tasks of a kind of which many wait for their service.
type crowd struct {
	yielded int
	held    readyHeap // that are started when fewer wait
}

func newSchedule(stopping func() bool, rank func([]*task), blocked func(t, cause *task)) *schedule {
	return &schedule{
		signals: make(chan signal), next: make(chan *task, inFlight), stopping: stopping, rank: rank, blocked: blocked,
		yielded: map[string]*crowd{}, over: make(chan struct{}),
	}
}

// run returns when nothing runs and nothing more can start.
func (s *schedule) run(tasks []*task) {
	defer close(s.next)
	defer close(s.over)
	s.rank(tasks)
	for _, t := range tasks {
		if t.waits == 0 {
			s.push(t)
		}
	}
	for {
		s.recall()
		for len(s.ready) > 0 && s.running < inFlight && !s.stopping() {
			t := s.pop()
			if c := s.yielded[t.n.KindName()]; c != nil && c.yielded >= inFlight {
				heap.Push(&c.held, t)
				continue
			}
			s.start(t)
		}
		s.dismiss()
		if s.running+s.waiting == 0 {
			return
		}
		sig := <-s.signals
		if s.take(sig); sig.t.state != running && sig.t.learned {
			s.rank(tasks)
			heap.Init(&s.ready)
			for _, c := range s.yielded {
				heap.Init(&c.held)
			}
		}
	}
}

func (s *schedule) push(t *task) {
	if !t.inHeap && t.state == pending {
		t.inHeap = true
		heap.Push(&s.ready, t)
	}
}

func (s *schedule) pop() *task {
	t, _ := heap.Pop(&s.ready).(*task)
	return t
}

func (s *schedule) start(t *task) {
	t.state, t.sched = running, s
	s.running++
	if s.idle > 0 {
		s.idle--
		s.next <- t
		return
	}
	go func() {
		for more := true; more; t, more = <-s.next {
			waiting, err := t.do(t)
			s.signals <- signal{t: t, waiting: waiting, err: err}
		}
	}()
}

// take acts on one signal.
func (s *schedule) take(sig signal) {
	t := sig.t
	if sig.born {
		s.free(t, byIdentity)
		return
	}
	if sig.passed {
		s.free(t, undurable)
		return
	}
	if sig.settled != nil {
		s.invite(t, sig.settled)
		return
	}
	if sig.yielded {
		s.yield(t)
		return
	}
	if sig.resumed {
		s.resume(t)
		return
	}
	s.running--
	s.idle++
	t.part()
	if t.own != nil {
		close(t.own.reported)
	}
	switch {
	case errors.Is(sig.err, reconcile.ErrInterrupted):
		t.state = failed // those behind it are not blocked: they are not started
	case sig.err != nil:
		t.state = failed
		s.block(t, t)
	case sig.waiting:
		t.state = finished
		s.free(t, byIdentity)
		s.block(t, t)
	default:
		t.state = finished
		s.free(t, all)
	}
}

// yield gives the place of a task that waits to others.
func (s *schedule) yield(t *task) {
	t.leave()
	kind := t.n.KindName()
	if s.yielded[kind] == nil {
		s.yielded[kind] = &crowd{}
	}
	s.yielded[kind].yielded++
	s.running--
	s.waiting++
}

// resume ends that.
func (s *schedule) resume(t *task) {
	s.yielded[t.n.KindName()].yielded--
	s.running++
	s.waiting--
}

// recall makes ready what was held of kinds of which fewer wait now.
func (s *schedule) recall() {
	for _, c := range s.yielded {
		for room := inFlight - c.yielded; room > 0 && len(c.held) > 0; room-- {
			heap.Push(&s.ready, heap.Pop(&c.held))
		}
	}
}

// tell gives a signal to the schedule, unless its run is over.
func (s *schedule) tell(sig signal) {
	select {
	case s.signals <- sig:
	case <-s.over:
	}
}

// yields is a context whose waits give the place of a task to others, as long as there is one.
func (t *task) yields(ctx context.Context) context.Context {
	var mu sync.Mutex
	waits := 0
	return reconcile.WithYield(ctx, func() func() {
		mu.Lock()
		defer mu.Unlock()
		if waits++; waits == 1 {
			t.sched.tell(signal{t: t, yielded: true})
		}
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if waits--; waits == 0 {
				t.sched.tell(signal{t: t, resumed: true})
			}
		}
	})
}

// What waits may go on when all is done (all), when the identity is known (byIdentity), or when the result is known and not
// yet durable (undurable: those that compute, as what they waited for does).
func all(*edge) bool          { return true }
func byIdentity(e *edge) bool { return e.birth }
func undurable(e *edge) bool  { return e.next.state == pending && e.next.computes() }

// free starts those of what waited for t that may go on now.
func (s *schedule) free(t *task, may func(*edge) bool) {
	for i := range t.after {
		e := &t.after[i]
		if e.freed || !may(e) {
			continue
		}
		e.freed = true
		if e.next.waits--; e.next.waits == 0 {
			s.push(e.next)
		}
	}
}

// invite sets free those that wait for t alone and begin with an intent, and lets the result of t wait for it.
func (s *schedule) invite(t *task, c *company) {
	t.own, c.left = c, 1 // itself, until all are invited
	for i := range t.after {
		e := &t.after[i]
		if e.freed || e.next.waits > 1 || e.next.state != pending || !e.next.intends() {
			continue
		}
		e.freed, e.next.waits, e.next.with = true, 0, c
		s.invited = append(s.invited, e.next)
		s.push(e.next)
		c.left++
	}
	c.leave()
}

// dismiss lets nobody wait for a task that was invited and could not be started at once.
func (s *schedule) dismiss() {
	for _, t := range s.invited {
		if t.state == pending {
			t.part()
		}
	}
	s.invited = s.invited[:0]
}

// block says of what still waits for t that it never runs.
func (s *schedule) block(t, cause *task) {
	for i := range t.after {
		e := &t.after[i]
		if e.freed || e.next.state != pending {
			continue
		}
		e.next.state = skipped
		s.blocked(e.next, cause)
		s.block(e.next, cause)
	}
}
