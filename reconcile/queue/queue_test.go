package queue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/queue"
)

// TestOrder: the longest rest goes first, then the smaller address, then who came first.
func TestOrder(t *testing.T) {
	var q queue.Queue
	waiting := map[string]*queue.Waiter{}
	join := func(name string, rest time.Duration, address string) {
		waiting[name] = q.Join(reconcile.Priority{Rest: rest, Address: address})
	}
	join("plain", 0, "")
	join("b", 1, "b")
	join("a", 1, "a")
	join("long", 2, "z")
	join("gone", 3, "x")
	join("plain too", 0, "")
	if !q.Leave(waiting["gone"]) || q.Leave(waiting["gone"]) {
		t.Fatal("a waiter leaves once")
	}
	if first, ok := q.First(); !ok || first.Rest != 2 {
		t.Errorf("first is %+v", first)
	}
	var order []string
	for q.Serve() {
		for name, w := range waiting {
			select {
			case <-w.Turn():
				if !slices.Contains(order, name) {
					order = append(order, name)
				}
			default:
			}
		}
	}
	if got := strings.Join(order, ","); got != "long,a,b,plain,plain too" || q.Len() != 0 {
		t.Errorf("served %s, %d left", got, q.Len())
	}
	if q.Leave(waiting["a"]) {
		t.Error("a waiter left after its turn")
	}
}
