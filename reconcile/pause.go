package reconcile

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// pause is the backoff of all waiting: 100 ms growing by half to 10 s, each up to half shorter or longer. The time allowed
// is the context's, not a count. What is added by chance depends on whose thing it is: it keeps resources and stages apart
// as well as any, and a run that is repeated waits as it did before.
type pause struct {
	backoff *backoff.ExponentialBackOff
	chance  *rand.Rand
}

func newPause(job *Job) *pause {
	h := fnv.New64a()
	for _, s := range []string{job.Mark.Store, job.Mark.Stack, job.Mark.Stage, job.Address} {
		_, _ = h.Write([]byte(s)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return &pause{
		backoff: backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(100*time.Millisecond),
			backoff.WithRandomizationFactor(0),
			backoff.WithMultiplier(1.5),
			backoff.WithMaxInterval(10*time.Second),
			backoff.WithMaxElapsedTime(0),
		),
		chance: rand.New(rand.NewPCG(h.Sum64(), job.Mark.Generation)),
	}
}

func (p *pause) next() time.Duration {
	return time.Duration(float64(p.backoff.NextBackOff()) * (0.5 + p.chance.Float64()))
}

// reset begins again with the shortest wait.
func (p *pause) reset() { p.backoff.Reset() }

// sleep waits or returns why when ctx ends first.
func sleep(ctx context.Context, d time.Duration, why error) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return why
	case <-t.C:
		return nil
	}
}
