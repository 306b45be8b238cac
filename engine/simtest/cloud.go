package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Object is one object in the cloud.
type Object struct {
	Kind, Region, ID, Name string
	// Fields are what users set: "color", "size", "peer", "after", "base", "secret", "parent".
	Fields map[string]string
	Labels map[string]string
	Tags   map[string]string
	// Revision counts updates, for kinds that show it.
	Revision int
	// Key is told only in the answer to the call that made it.
	Key string
	// Data is what users have put in.
	Data int
	// Waiting is what somebody must do before it works.
	Waiting string
	// Refuse makes every deletion fail.
	Refuse bool

	// Owner is whose it is in truth, tags or not: the owner tag that it was made with or got last.
	Owner reconcile.Mark
	// Created: a call of ours created it.
	Created bool

	ready  time.Time // busy until then
	hidden time.Time // until then reads may show what was before
	before *Object   // what they show: nil for nothing
	gone   bool      // deleted, and perhaps still shown
	reads  int
	inside []*Object // what it held when it was read
}

// Cloud is the simulated cloud. It outlives every process that talks to it.
type Cloud struct {
	// Account that the credentials lead to.
	Account string
	// Director decides when a call happens and what becomes of it.
	Director *Director

	mu       sync.Mutex
	traits   map[string]Trait
	objects  map[string]*Object // by region and identity
	reserved map[string]time.Time
	tokens   map[string]remembered
	serial   int
	builds   int
	effects  []Effect
	broken   []string
}

// remembered is what the cloud remembers of a client token.
type remembered struct {
	id    string
	until time.Time
}

// Effect is one mutation that happened.
type Effect struct {
	Op, Kind, ID string
	Owner        reconcile.Mark
	// Path is what an update changed, from Have to Want; "" of other effects. Of a command Want is what it ran with, or what was undone.
	Path, Have, Want string
	// Foreign: the object was not created by a call of ours, and had no owner tag of ours.
	Foreign bool
	// Data is how much of the users' data was deleted.
	Data int
}

func (e Effect) String() string {
	return fmt.Sprintf("%s %s %s/%d (%s)", e.Op, e.Kind, e.Owner.Address, e.Owner.Generation, e.ID)
}

// What the cloud answers.
var (
	errThrottled = errors.New("slow down")
	errStumble   = errors.New("internal error")
	errDenied    = errors.New("access denied")
	errTaken     = errors.New("the name is taken")
	errReserved  = errors.New("the name was used recently")
	errBusy      = errors.New("an operation is in progress")
	errInUse     = errors.New("something refers to it")
	errQuota     = errors.New("quota exceeded")
	errRefused   = errors.New("deletion refused")
	errNoName    = errors.New("it is found by its name, and has none")
	// errCut is what a process is told that is no longer there.
	errCut = errors.New("the process is gone")
)

// Classify tells the classes of the cloud's answers.
func classOf(err error) reconcile.Class {
	for class, these := range map[reconcile.Class][]error{
		reconcile.Throttled: {errThrottled}, reconcile.Transient: {errStumble}, reconcile.Denied: {errDenied, errRefused},
		reconcile.Exists: {errTaken}, reconcile.Busy: {errBusy, errReserved}, reconcile.Conflict: {errInUse}, reconcile.Quota: {errQuota},
	} {
		if slices.ContainsFunc(these, func(e error) bool { return errors.Is(err, e) }) {
			return class
		}
	}
	return reconcile.Unknown
}

// NewCloud makes an empty cloud with these kinds.
func NewCloud(d *Director, traits ...Trait) *Cloud {
	c := &Cloud{
		Account: "1", Director: d, traits: map[string]Trait{}, objects: map[string]*Object{},
		reserved: map[string]time.Time{}, tokens: map[string]remembered{},
	}
	for _, t := range traits {
		c.traits[t.Type] = t
	}
	return c
}

func at(region, id string) string { return region + "|" + id }

// Put places an object as if somebody else had made it.
func (c *Cloud) Put(o Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o = o.copy() // the caller may put it into many clouds
	if o.ID == "" {
		o.ID = identity(o.Name)
	}
	c.objects[at(o.Region, o.ID)] = &o
}

// Edit changes objects by hand: those that which chooses. It returns how many.
func (c *Cloud) Edit(which func(*Object) bool, change func(*Object)) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, o := range c.objects {
		if !o.gone && which(o) {
			change(o)
			n++
		}
	}
	return n
}

// Remove deletes objects by hand, behind everybody's back.
func (c *Cloud) Remove(which func(*Object) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.objects, func(_ string, o *Object) bool { return which(o) })
}

// Objects are those that are there in truth, in order.
func (c *Cloud) Objects() []Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Object
	for _, k := range slices.Sorted(maps.Keys(c.objects)) {
		if o := c.objects[k]; !o.gone {
			all = append(all, o.copy())
		}
	}
	return all
}

func (o *Object) copy() Object {
	c := *o
	c.Fields, c.Labels, c.Tags = maps.Clone(o.Fields), maps.Clone(o.Labels), maps.Clone(o.Tags)
	return c
}

// Effects are the mutations so far.
func (c *Cloud) Effects() []Effect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.effects)
}

// Broken says where too much was there at one instant.
func (c *Cloud) Broken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.broken)
}

// read makes one reading call. do runs under the lock.
func (c *Cloud) read(ctx context.Context, name string, do func() error) error {
	return reconcile.Through(ctx, reconcile.Call{Service: "sim", Operation: "read"}, func(ctx context.Context) error {
		if err := c.Director.read(ctx, name); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return do()
	})
}

// write makes one mutating call. do runs under the lock and names what it did.
func (c *Cloud) write(ctx context.Context, name string, do func() (Effect, error)) error {
	return reconcile.Through(ctx, reconcile.Call{Service: "sim", Operation: "write", Mutates: true}, func(ctx context.Context) error {
		return c.Director.write(ctx, name, func() error {
			c.mu.Lock()
			defer c.mu.Unlock()
			e, err := do()
			if err == nil && e.Op != "" {
				c.effects = append(c.effects, e)
				c.watch()
			}
			return err
		})
	})
}

// shown is what a read shows of an object now, nil when nothing. While a write may not be visible yet, reads show the
// one or the other, as replicas that lag behind do.
func (c *Cloud) shown(o *Object) *Object {
	if time.Now().Before(o.hidden) {
		if o.reads++; o.reads%3 != 0 {
			return o.before
		}
	}
	if o.gone {
		return nil
	}
	return o
}

// touch is called before an object changes: for a while reads may show it as it was.
func (c *Cloud) touch(o *Object, exists bool) {
	lag := c.traits[o.Kind].Stale
	if lag == 0 {
		return
	}
	o.before = nil
	if exists {
		old := o.copy()
		old.before, old.hidden = nil, time.Time{}
		o.before = &old
	}
	o.hidden, o.reads = time.Now().Add(lag), 0
}

// find gives an object that is there in truth.
func (c *Cloud) find(region, id string) (*Object, bool) {
	o, ok := c.objects[at(region, id)]
	return o, ok && !o.gone
}

// used reports whether a live object refers to this one in a way that the cloud enforces.
func (c *Cloud) used(o *Object) bool {
	for _, other := range c.objects {
		if !other.gone && other != o && !c.traits[other.Kind].Attached && (other.Fields["base"] == o.ID || other.Fields["parent"] == o.ID) {
			return true
		}
	}
	return false
}

// The bounds that hold at every instant: two live objects for an address, more only for those whose deletion the cloud
// refused, and four in all.
const (
	mostLive = 2
	mostEver = 4
)

// watch checks the bounds after each effect.
func (c *Cloud) watch() {
	live, all := map[string]int{}, map[string]int{}
	for _, o := range c.objects {
		if o.gone || o.Owner.Address == "" || o.Owner.Retained { // what was retained is no longer an object of the address
			continue
		}
		key := o.Owner.Address
		if all[key]++; !o.Refuse {
			live[key]++
		}
	}
	for key, n := range all {
		if live[key] > mostLive+c.Director.Denied() || n > mostEver {
			c.broken = append(c.broken, fmt.Sprintf("%d things of %s at once, %d of them not refused, after %s", n, key, live[key], c.effects[len(c.effects)-1]))
		}
	}
}

// ByAddress chooses the objects of one address.
func ByAddress(address string) func(*Object) bool {
	return func(o *Object) bool { return o.Owner.Address == address }
}

// String lists what is there, for failures.
func (c *Cloud) String() string {
	var b strings.Builder
	for _, o := range c.Objects() {
		fmt.Fprintf(&b, "%s %s %s/%d %v tags=%v\n", o.Kind, o.ID, o.Owner.Address, o.Owner.Generation, o.Fields, o.Tags)
	}
	return b.String()
}
