package reconcile

import (
	"context"
	"errors"
	"reflect"
	"sync"
)

// Dev is one dev session: what is watched, deployed again and again, and lives as long as somebody works on it. A nil
// *Dev is a plain deploy. Its fields are set once, before the first use; it must not be copied after that.
type Dev struct {
	// Dir is a private folder of the project, absolute, for what objects of the session keep, such as their logs.
	Dir string
	// Output receives each line that an object of the session prints, with secrets masked; nil drops them. It is called
	// from many goroutines and must not block for long.
	Output func(address string, line LogLine)

	mu     sync.Mutex
	owned  map[reflect.Type]Ender
	closed bool
}

// Ender is something that lives as long as a dev session.
type Ender interface {
	// End ends everything, in good order as long as ctx lasts and at once when it ends. Nothing is left when it returns.
	End(ctx context.Context) error
}

// Owned returns the one value of type T that a session owns, begun when it is first asked for. After Close it fails
// with ErrDevClosed: what would be begun then, nobody would end.
func Owned[T Ender](d *Dev, begin func() T) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := reflect.TypeFor[T]()
	if t, ok := d.owned[key].(T); ok {
		return t, nil
	}
	if d.closed {
		return *new(T), ErrDevClosed
	}
	if d.owned == nil {
		d.owned = map[reflect.Type]Ender{}
	}
	t := begin()
	d.owned[key] = t
	return t, nil
}

// ErrDevClosed says that the dev session has ended.
var ErrDevClosed = errors.New("the dev session has ended")

// Close ends everything that the session owns, all at once, and returns when nothing is left of it. The context bounds
// how long they may take to end in good order. A session that is closed owns nothing new.
func (d *Dev) Close(ctx context.Context) error {
	d.mu.Lock()
	owned := d.owned
	d.owned, d.closed = nil, true
	d.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, len(owned))
	for _, e := range owned {
		wg.Go(func() { errs <- e.End(ctx) })
	}
	wg.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// Print passes a line to the output of the session.
func (d *Dev) Print(address string, line LogLine) {
	if d != nil && d.Output != nil {
		d.Output(address, line)
	}
}
