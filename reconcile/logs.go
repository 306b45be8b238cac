package reconcile

import (
	"context"
	"iter"
	"time"
)

// LogLine is one line that an object wrote.
type LogLine struct {
	// Time is when it was written, by the clock of the service that kept it.
	Time time.Time
	// Text is the line, without its end.
	Text string
	// Source tells lines of one object apart: an instance, a stream, SourceStderr. "" when there is one alone.
	Source string
}

// Sources of lines that mean the same for every kind.
const (
	SourceStdout = "stdout"
	SourceStderr = "stderr"
	// SourceAthanor is the source of lines that the object did not write itself: what became of it.
	SourceAthanor = "athanor"
)

// LogQuery says which lines are wanted.
type LogQuery struct {
	// Since is the time of the oldest one. Zero: all that is kept.
	Since time.Time
	// Follow goes on with new lines until the context ends. False: those that are there, then the end.
	Follow bool
	// Filter is the text that lines must hold, "" for any. The provider filters where it can.
	Filter string
}

// Logs returns the lines that the object of a job wrote, oldest first. A kind without logs has none; see Spec.Logs.
func (r *runner) Logs(ctx context.Context, job *Job, query LogQuery) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		if r.kind.Logs == nil {
			return
		}
		site, err := r.site(job)
		if err != nil {
			yield(LogLine{}, err)
			return
		}
		for line, err := range r.kind.Logs(ReadOnly(ctx), site, query) {
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
