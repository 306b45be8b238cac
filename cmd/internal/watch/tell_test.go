package watch

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestTell: a burst is told once, when nothing happened for a moment; one that does not end is told in parts; and what comes while
// nobody listens is told in one. Its time is that of a bubble.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Watcher{changes: make(chan []string), stop: make(chan struct{}), pending: map[string]bool{}, wake: make(chan struct{}, 1)}
		w.stopped.Go(w.tell)
		change := func(path string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pend(path)
		}
		told := func(after time.Duration, want ...string) {
			t.Helper()
			began := time.Now()
			if batch := <-w.changes; !slices.Equal(batch, want) || time.Since(began) != after {
				t.Errorf("told of %v after %s, want %v after %s", batch, time.Since(began), want, after)
			}
		}
		for _, path := range []string{"c", "a", "b", "a"} {
			change(path)
			time.Sleep(quiet - time.Millisecond)
		}
		told(time.Millisecond, "a", "b", "c")

		change("a")
		time.Sleep(time.Hour)
		change("b")
		change("a")
		synctest.Wait()
		told(0, "a", "b")

		var want []string
		for n := 0; time.Duration(n)*quiet/2 <= patience; n++ {
			change(fmt.Sprintf("%02d", n))
			want = append(want, fmt.Sprintf("%02d", n))
			time.Sleep(quiet / 2)
		}
		change("last")
		synctest.Wait()
		told(0, append(want, "last")...)

		close(w.stop)
		w.stopped.Wait()
	})
}
