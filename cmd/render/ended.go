package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// Ending is what is said of a run beside its result.
type Ending struct {
	// Ended is what went wrong with single resources.
	Ended Ended
	// Next is the command that continues, "" for none.
	Next string
	// Exit is the exit code of the command.
	Exit int
	// Errors shows places and lines of the program.
	Errors Errors
}

// Result writes how a run ended: what somebody must do, what failed and what follows from it, and the counts.
func (s Style) Result(w io.Writer, res *engine.Result, end Ending) {
	for _, addr := range slices.Sorted(maps.Keys(res.Waiting)) {
		s.Waiting(w, addr, res.Waiting[addr])
	}
	interrupted := isInterrupted(res)
	s.causes(w, end)
	s.consequences(w, end.Ended.Blocked)
	if hints := failureHints(end.Ended.Failed); len(end.Ended.Failed) > 0 && (len(hints) > 0 || end.Next != "") {
		fmt.Fprintln(w, s.paint(bold, "Next"))
		for _, hint := range hints {
			s.advice(w, 2, "", hint)
		}
		if end.Next != "" && !interrupted {
			s.advice(w, 2, "", end.Next+s.paint(dim, "    continues; what is done stays done"))
		}
	}
	s.Ended(w, res, end.Exit)
	if interrupted && end.Next != "" {
		s.advice(w, 0, s.paint(cyan, "next:")+"  ", end.Next+s.paint(dim, "    continues; what is done stays done"))
	}
	s.Slow(w, res.Slow)
}

// isInterrupted reports whether a run was ended before it had begun everything.
func isInterrupted(res *engine.Result) bool {
	return res.InterruptedBy != "" || res.State == statestore.Cancelled || res.Summary.NotStarted > 0
}

// causes writes what failed, each cause once with all its addresses.
func (s Style) causes(w io.Writer, end Ending) {
	failed := end.Ended.Failed
	if len(failed) == 0 {
		return
	}
	fmt.Fprintln(w, s.paint(bold, "Cause"))
	alike := map[string][]string{}
	for _, e := range failed {
		if e.Cause != "" {
			alike[e.Cause] = append(alike[e.Cause], e.Address)
		}
	}
	shown := map[string]bool{}
	for _, e := range failed {
		if e.Cause != "" && shown[e.Cause] {
			continue
		}
		shown[e.Cause] = true
		sign, took := "  "+s.paint(red, "!")+" ", Elapsed(seconds(e.Elapsed))
		all := alike[e.Cause]
		if len(all) > 1 {
			s.write(w, sign+s.paint(bold, counted(len(all), "resource"))+"  "+s.paint(red, string(e.Action)+" failed"), 6)
		} else {
			line := sign + s.paint(bold, e.Address)
			if !s.narrow() {
				line += "  " + s.paint(dim, e.Kind)
			}
			s.write(w, line+"  "+s.paint(red, string(e.Action)+" failed")+s.paint(dim, " after "+took), 6)
		}
		for line := range strings.SplitSeq(cause(e), "\n") {
			s.write(w, "      "+line, 6)
		}
		if len(all) > 1 {
			for line := range strings.SplitSeq(s.addresses(all, 6), "\n") {
				s.write(w, "      "+s.paint(dim, line), 6)
			}
		} else if at := end.Ended.Places[e.Address]; at != "" {
			where, line := clean(end.Errors.place(place(at))), ""
			if source, ok := end.Errors.line(at); ok {
				line = "  " + strings.TrimSpace(clean(source))
			}
			if room := s.Width - 6 - columns(where); s.Width > 0 && !s.Detailed {
				line = middle(line, room)
			}
			s.write(w, "      "+s.paint(dim, where+line), 8)
		}
	}
}

// consequences writes what was not done because of something else, one line for what needs the same.
func (s Style) consequences(w io.Writer, blocked []engine.Event) {
	if len(blocked) == 0 {
		return
	}
	fmt.Fprintln(w, s.paint(bold, "Consequence"))
	var notes []string
	of := map[string][]engine.Event{}
	for _, e := range blocked {
		why := fmt.Sprintf("not %s: %s", verbs[e.Action].done, oneLine(e.Note))
		if of[why] == nil {
			notes = append(notes, why)
		}
		of[why] = append(of[why], e)
	}
	for _, why := range notes {
		var addresses []string
		for _, e := range of[why] {
			addresses = append(addresses, e.Address)
		}
		s.write(w, "  "+s.paint(yellow, "…")+" "+strings.Join(addresses, ", ")+"  "+why, 4)
	}
}

// failureHints are what can be done about failures, each once.
func failureHints(failed []engine.Event) []string {
	var hints []string
	for _, e := range failed {
		if hint := clean(e.Hint); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	return hints
}

// Ended writes the counts of a run and what it cost.
func (s Style) Ended(w io.Writer, res *engine.Result, exit int) {
	head := "Done:"
	switch {
	case isInterrupted(res):
		head = "Interrupted:"
	case len(res.Failures) > 0 || res.Summary.Blocked > 0 || res.Summary.Failed > 0 || res.Summary.OutputsFailed > 0:
		if head = "Partly done:"; exit == 1 {
			head = "Nothing done:"
		}
	case res.Run == "":
		head = "Nothing to do:"
	}
	cost := []string{counted(int(res.Calls.Reads), "read"), counted(int(res.Calls.Mutations), "change")}
	if n := res.Calls.Throttled; n > 0 {
		cost = append(cost, fmt.Sprintf("%d throttled", n))
	}
	cost = append(cost, Elapsed(res.Took))
	if exit != 0 {
		cost = append(cost, fmt.Sprintf("exit %d", exit))
	}
	s.ends(w, s.Counts(head, res.Summary, false), strings.Join(cost, ", "))
}
