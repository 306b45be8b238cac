package simtest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// knownFailure is a reason for which cases of cut × next command fail today. The list may only shrink: a case that fails for
// no listed reason is a violation, and so is a reason that no case fails for any more.
type knownFailure struct {
	// defect is the number of what broke in the issue that lists it; 0: this axis has found it.
	defect int
	why    string
	// columns in which it shows; none: in any.
	columns []string
	// scenario is a pattern for the keys of its cases; "": any.
	scenario string
	// violation is what the judges say of it.
	violation string
	// witness is the key of a case that fails for this reason. It is played every day.
	witness string
}

func isWitness(key string) bool {
	return slices.ContainsFunc(known(), func(k knownFailure) bool { return k.witness == key })
}

// knownFailures count what a proof has seen of them.
type knownFailures struct {
	depth depth
	all   []knownFailure
	forms []*regexp.Regexp
	keys  []*regexp.Regexp

	mu        sync.Mutex
	seen      []int
	witnessed []bool
	played    []bool
}

func newKnownFailures(d depth) *knownFailures {
	k := &knownFailures{depth: d, all: known()}
	for _, f := range k.all {
		k.forms = append(k.forms, regexp.MustCompile(f.violation))
		k.keys = append(k.keys, regexp.MustCompile(f.scenario))
	}
	k.seen, k.witnessed, k.played = make([]int, len(k.all)), make([]bool, len(k.all)), make([]bool, len(k.all))
	return k
}

// reason is the listed one for a violation, -1 for none.
func (k *knownFailures) reason(column, key, violation string) int {
	for i, f := range k.all {
		if (len(f.columns) == 0 || slices.Contains(f.columns, column)) && k.keys[i].MatchString(key) && k.forms[i].MatchString(violation) {
			return i
		}
	}
	return -1
}

// unknown are the violations for which no reason is listed. Only cases of cut × next command have listed ones.
func (k *knownFailures) unknown(column, key string, wrong []string) []string {
	if column == "" {
		return wrong
	}
	return slices.DeleteFunc(slices.Clone(wrong), func(w string) bool { return k.reason(column, key, w) >= 0 })
}

// note counts a case, and reports whether it fails for listed reasons alone.
func (k *knownFailures) note(column, key string, wrong []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, f := range k.all {
		k.played[i] = k.played[i] || f.witness == key
	}
	if len(wrong) == 0 || len(k.unknown(column, key, wrong)) > 0 {
		return false
	}
	reasons := map[int]bool{}
	for _, w := range wrong {
		reasons[k.reason(column, key, w)] = true
	}
	for i := range reasons {
		k.seen[i]++
		k.witnessed[i] = k.witnessed[i] || k.all[i].witness == key
	}
	return true
}

// passed says which listed failures are none any more.
func (k *knownFailures) passed() []string {
	var wrong []string
	if *proofFlag == "sure" || *columnFlag != "" {
		return nil // not all are played
	}
	for i, f := range k.all {
		name := fmt.Sprintf("the known failure %q", f.why)
		switch {
		case !k.played[i]:
			wrong = append(wrong, fmt.Sprintf("%s: there is no case %q", name, f.witness))
		case !k.witnessed[i]:
			wrong = append(wrong, fmt.Sprintf("%s: the case %q passes now: remove it from the list, or name one that fails", name, f.witness))
		}
	}
	return wrong
}

// table is what is known to fail, for people.
func (k *knownFailures) table() string {
	var b strings.Builder
	for i, f := range k.all {
		fmt.Fprintf(&b, "%5d  defect %d: %s\n", k.seen[i], f.defect, f.why)
	}
	return b.String()
}

// known are the listed ones. The first that fits counts.
func known() []knownFailure {
	return []knownFailure{
		{
			why:       "stated limit: an entry is lost, nobody says so, and the program does not declare it",
			scenario:  `^destroy with the entry lost of one that nobody declares\|`,
			violation: `^end: .* of q2 is left$`,
			witness:   "destroy with the entry lost of one that nobody declares|acquire|stored, then the end|next|replaced",
		},
		{
			why:     "stated limit: without state and without a program there is nowhere to look",
			columns: []string{"destroy without the program", "removed"}, scenario: `^(recover|destroy (in|with)|put back|(replace|delete|destroy) under a box)`,
			violation: `^end: .* is left$|something refers to it`,
			witness:   "recover|acquire|stored, then the end|next|destroy without the program",
		},
		{
			why:       "stated limit: an entry is lost, and the program no longer names the place or the content that its object is found by",
			scenario:  `^(adopt|recover (after a rename|and delete)|destroy with|(delete|destroy) under a box)`,
			columns:   []string{"another location", "another parent", "another kind", "replaced", "replaced, deleted first"},
			violation: `^end: \S+ has 2 objects|^end: .* is left$`,
			witness:   "recover and delete|acquire|stored, then the end|next|another location",
		},
		{
			why:       "stated limit: what is listed by its parent alone is not found when the parent was deleted outside and no entry has it",
			scenario:  `^(put back, one under|(replace|delete|destroy) under a box)`,
			columns:   []string{"deleted outside"},
			violation: `^end: .* of u is left$|^end: u has 2 objects`,
			witness:   "delete under a box, state lost|acquire|stored, then the end|next|deleted outside",
		},
		{
			why:       "stated limit: drift goes by the state that it has, and does not search",
			scenario:  `^put back, one that was replaced since\|`,
			columns:   []string{"plan and drift"},
			violation: `^plan and drift disagree`,
			witness:   "put back, one that was replaced since|acquire|stored, then the end|next|plan and drift",
		},
		{
			why:       "stated limit: only the same content proves whose an object without tags is",
			scenario:  `equal content`,
			violation: `exists and is not ours`,
			witness:   "equal content begun, applied, answer lost, destroyed|commit x:c1!|stored, then the end|next|edited in place",
		},
		{
			why:       "stated limit: what was released is somebody's retained object, and is taken back with --adopt alone",
			scenario:  `^(forget|retain)\|commit b:gone\|`,
			columns:   []string{"reverted"},
			violation: `^next: it failed: b: sim.Named \S+ was retained by b of shop/test$`,
			witness:   "forget|commit b:gone|stored, then the end|next|reverted",
		},
		{
			why:       "stated limit: state or an entry is lost while reads are stale, and they show what is there no more, or not what is",
			scenario:  `^create under stale reads\|(commit|create) [ab]|^destroy many kinds\|(commit e:gone|delete e )`,
			columns:   []string{"entry lost, destroy", "store lost, destroy", "store lost, edited"},
			violation: `^end: sim.Stale \S+ of a is left$|^next: it failed: e: set color: absent$`,
			witness:   "create under stale reads|commit a:l1|stored, then the end|next|store lost, destroy",
		},
		{
			why:       "stated limit: a change was cut before its answer, the program goes back, and reads are stale: they show what it wants",
			scenario:  `^(update under stale reads\|set color a/1|delete first under stale reads\|delete a sim:pot)\|applied, answer lost`,
			columns:   []string{"reverted"},
			violation: `^end: (a\.color is "blue", not "red"|b\.after is "red", not "blue"|a has no object of kind sim\.Stale)$`,
			witness:   "update under stale reads|set color a/1|applied, answer lost|next|reverted",
		},
	}
}
