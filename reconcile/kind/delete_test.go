package kind_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// TestDeletionAtOnce: an object that stays after its deletion is not waited for, and what the deletion reports still counts.
func TestDeletionAtOnce(t *testing.T) {
	refused := errors.New("refused")
	for _, want := range []error{nil, refused} {
		s := &store{box: &BoxProps{}}
		k := s.kind()
		k.Deletion, k.HoldsData = kind.AtOnce[BoxProps]{}, nil
		k.Delete = func(context.Context, kind.Site[BoxProps, Box]) error {
			s.calls = append(s.calls, "put back")
			return want
		}
		job := &reconcile.Job{Cloud: s, Last: props.Dump(Box{ID: "1"})}
		if err := k.Erase().Delete(t.Context(), job); !errors.Is(err, want) || !slices.Equal(s.calls, []string{"put back"}) {
			t.Errorf("%v after %v, want %v", err, s.calls, want)
		}
	}
}
