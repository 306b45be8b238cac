package reconcile

import "github.com/athanor-dev/athanor/reconcile/tree"

// Tags are the facts about single props and attributes that a kind states. The fields are those of [Kind].
type Tags struct {
	Moves, Once, AtBirth         []string
	MovedBy                      map[string][]tree.Path
	Late, NeedsSettled, MaskLive []tree.Path
}

// tags are those facts, whichever way the kind states them.
func (k *Kind[P, L, A]) tags() (Tags, error) {
	if k.Tags != nil {
		return k.Tags()
	}
	return Tags{
		Moves: k.Moves, MovedBy: k.MovedBy, Once: k.Once, AtBirth: k.AtBirth, Late: k.Late, NeedsSettled: k.NeedsSettled,
		MaskLive: k.MaskLive,
	}, nil
}
