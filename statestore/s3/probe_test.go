package s3_test

import (
	"errors"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// A server that loses updates is refused before anything is written, and one that does not is probed once.
func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind s3test.Kind
		safe bool
	}{{s3test.Versitygw, true}, {s3test.Ministack, true}, {s3test.Moto, false}, {s3test.S3rver, false}} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			server := s3test.Start(t, c.kind)
			url, probed, remembered := server.URL(t, "infra"), false, 0
			probes := s3.WithProbes(func(string) bool { return probed }, func(string) { probed, remembered = true, remembered+1 })
			stage := statestore.Stage{Stack: "shop", Name: "prod"}
			for n := range 2 {
				s, err := s3.Open(url, server.Config, probes)
				if err != nil {
					t.Fatal(err)
				}
				lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r" + string(rune('0'+n))})
				if c.safe && err == nil {
					_, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
				}
				var unsafe *s3.UnsafeError
				if c.safe && err != nil || !c.safe && !errors.As(err, &unsafe) {
					t.Fatalf("time %d: %v", n, err)
				}
			}
			if want := map[bool]int{true: 1}[c.safe]; remembered != want {
				t.Errorf("remembered %d times, want %d", remembered, want)
			}
		})
	}
}
