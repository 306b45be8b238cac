package random

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
)

func world(t kindtest.T) kindtest.World {
	return kindtest.World{Cloud: nowhere{}, Dir: t.TempDir()}
}

func TestIDConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  idKind.Erase(),
		World: world,
		Base:  map[string]any{},
		Variants: []kindtest.Variant{
			{Name: "other", Props: map[string]any{"bytes": int64(20), "prefix": "run-", "version": int64(2)}},
		},
	})
}

func TestPasswordConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  passwordKind.Erase(),
		World: world,
		Base:  map[string]any{},
		Variants: []kindtest.Variant{
			{Name: "other", Props: map[string]any{"length": int64(12), "alphabet": "0123456789abcdef", "version": int64(1)}},
		},
	})
}
