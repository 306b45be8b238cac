package simtest_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine/simtest"
)

// The orders that are played: all of them while there are few addresses, and else some by chance.
const (
	allOrders   = 5  // addresses of a scenario, of which every order is played
	mostOrders  = 7  // of the one stack of which every order is played in full
	orderSeeds  = 40 // of larger ones
	dailyOrders = 2
)

// inEveryOrder plays a scenario with its addresses served in every order: whatever comes first, the end is the same.
func (sc *scenario) inEveryOrder(t *testing.T, ref *outcome, d depth, yield func(item) bool) bool {
	addresses := served(ref.first.Events)
	n := 0
	drawn := map[string]bool{}
	for order := range orders(addresses, allOrders, sc.name) {
		name := "in the order " + strings.Join(order, " ")
		if drawn[name] {
			continue
		}
		drawn[name] = true
		if n++; d == sample && n > dailyOrders {
			return true
		}
		if !yield(item{key: sc.key(name), cut: name, play: func() *outcome { return sc.inOrder(t, order, ref) }}) {
			return false
		}
	}
	return true
}

// inOrder plays a scenario with the first address in an order served first, as far as it can be.
func (sc *scenario) inOrder(t *testing.T, order []string, ref *outcome) (out *outcome) {
	ordered := *sc
	ordered.setup = append(slices.Clip(sc.setup), servedIn(order))
	synctest.Test(t, func(t *testing.T) { out = ordered.play(t.Context(), point{}, ref) })
	return out
}

// orders gives all orders of a few addresses, and some of many.
func orders(addresses []string, few int, seed string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		if len(addresses) <= few {
			permute(addresses, len(addresses), yield)
			return
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(seed))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range orderSeeds {
			r.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
			if !yield(slices.Clone(addresses)) {
				return
			}
		}
	}
}

// permute gives every order of the first k, by exchanging.
func permute(of []string, k int, yield func([]string) bool) bool {
	if k <= 1 {
		return yield(slices.Clone(of))
	}
	for i := range k {
		of[i], of[k-1] = of[k-1], of[i]
		if !permute(of, k-1, yield) {
			return false
		}
		of[i], of[k-1] = of[k-1], of[i]
	}
	return true
}

// served are the addresses that a run's events are about.
func served(events []simtest.Event) []string {
	var all []string
	for _, e := range events {
		if a := simtest.AddressOf(e.Name); a != "" && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryOrderOfSeven: a stack of seven with every order in which its events can come, 5,040 of them, with -proof=full; and
// some of them every day.
func TestEveryOrderOfSeven(t *testing.T) {
	sc := &scenario{name: "seven", do: deploy(
		res("Named", "a", m{}), res("Assigned", "b", m{"after": "⟦a.id⟧"}), res("Slow", "c", m{"after": "⟦a.id⟧"}), res("Plain", "d", m{"base": "⟦b.id⟧"}),
		res("Named", "e", m{"after": "⟦b.id⟧", "peer": "⟦f.id⟧"}), res("Named", "f", m{"base": "⟦e.id⟧"}), res("Note", "g", m{"text": "⟦d.id⟧ ⟦c.id⟧"}),
	)}
	ref := sc.inBubble(t, point{}, nil)
	if len(ref.wrong) > 0 {
		t.Fatal(ref.wrong)
	}
	n := 0
	for order := range orders([]string{"a", "b", "c", "d", "e", "f", "g"}, mostOrders, sc.name) {
		if n++; *proofFlag != "full" && n > 24 {
			break
		}
		if out := sc.inOrder(t, order, ref); len(out.wrong) > 0 || out.shape != ref.shape {
			t.Errorf("%v: %v", order, out.wrong)
		}
	}
	t.Log(fmt.Sprint(n, " orders"))
}
