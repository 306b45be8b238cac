package adopt_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestFind looks for the object of shop/dev/db among some, whose names are the numbers of generations, with a letter for others.
func TestFind(t *testing.T) {
	ours := reconcile.Mark{Stack: "shop", Stage: "dev", Address: "db"}
	of := func(name string) (reconcile.Mark, string) {
		mark := ours
		if name[0] == 'x' {
			mark.Address = "other"
		}
		_, err := fmt.Sscanf(name[1:], "%d", &mark.Generation)
		if name == "x" {
			return reconcile.Mark{}, name
		}
		if err != nil {
			t.Fatal(err)
		}
		return mark, name
	}
	broken := errors.New("broken")
	read := func(name string) (string, error) {
		switch name {
		case "gone":
			return "", fmt.Errorf("%w: no object", reconcile.ErrAbsent)
		case "broken":
			return "", broken
		}
		return name, nil
	}
	creating := reconcile.Facts{Owner: ours, Nonce: "n"}
	creating.Owner.Generation = 2
	for _, c := range []struct {
		facts  reconcile.Facts
		keys   []string
		want   string
		others []string
		err    error
	}{
		{reconcile.Facts{Owner: ours}, nil, "", nil, nil},
		{reconcile.Facts{Owner: ours}, []string{"o1", "x3", "gone", "o2", "x"}, "o2", []string{"x3", "x"}, nil},
		{reconcile.Facts{Owner: ours}, []string{"o2", "o1"}, "o2", nil, nil},
		{reconcile.Facts{Owner: ours}, []string{"o2", "o2"}, "", nil, reconcile.ErrAmbiguous},
		{reconcile.Facts{Owner: ours}, []string{"o1", "broken"}, "", nil, broken},
		{creating, []string{"o1", "o3"}, "", nil, nil},
		{creating, []string{"o3", "o2"}, "o2", nil, nil},
		{reconcile.Facts{}, []string{"o1", "x"}, "", []string{"o1", "x"}, nil},
	} {
		found, others, err := adopt.Find(c.facts, c.keys, read, of)
		have := ""
		if found != nil {
			have = *found
		}
		if have != c.want || !slices.Equal(others, c.others) || !errors.Is(err, c.err) {
			t.Errorf("%v: %q, others %v, %v", c.keys, have, others, err)
		}
	}
}
