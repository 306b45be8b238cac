package yamlstack

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// place is where something stands in a file.
type place struct {
	file         *file
	line, column int
}

func (p place) String() string {
	return p.file.name + ":" + strconv.Itoa(p.line) + ":" + strconv.Itoa(p.column)
}

// of is where a node of f stands.
func (f *file) of(n *yaml.Node) place {
	return place{f, max(n.Line, 1), max(n.Column, 1)}
}

// problem is one mistake in a program.
type problem struct {
	at      place
	address string
	err     error
}

// enough is how many problems are kept: more are no help to anybody.
const enough = 200

func (l *loader) wrong(at place, address string, err error) {
	if len(l.problems) < enough {
		l.problems = append(l.problems, problem{at, address, err})
	}
}

func (l *loader) wrongf(at place, format string, args ...any) {
	l.wrong(at, "", fmt.Errorf(format, args...))
}

// near attaches what may have been meant.
func near(err error, word string, from []string) error {
	if meant, ok := props.Nearest(word, from); ok {
		return reconcile.WithHint(err, "did you mean %s?", meant)
	}
	if len(from) > 0 && len(from) <= 20 {
		return reconcile.WithHint(err, "there is %s", strings.Join(from, ", "))
	}
	return err
}

// wrongProps reports what Decode found, each where it stands. find gives the place of a path.
func (l *loader) wrongProps(address string, err error, find func(tree.Path) place) {
	fields, ok := errors.AsType[props.Errors](err)
	if !ok {
		l.wrong(find(""), address, err)
		return
	}
	before := l.problems
	for _, f := range fields {
		var one error = f
		if f.Hint != "" {
			one = reconcile.WithHint(f, "%s", f.Hint)
		}
		if at := find(f.Path); !isTold(before, at) {
			l.wrong(at, address, one)
		}
	}
}

// isTold reports whether one of the problems stands where a value begins: what is wrong with the value is then its consequence.
func isTold(problems []problem, at place) bool {
	return slices.ContainsFunc(problems, func(p problem) bool {
		return p.at.file == at.file && p.at.line == at.line && (p.at.column == at.column || p.at.column == at.column+1)
	})
}

// result is everything that is wrong, in the order of the files; nil when nothing is.
func (l *loader) result() error {
	if len(l.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(l.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.file.index, b.at.file.index), cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	e := &engine.GraphError{}
	for i, p := range l.problems {
		if i > 0 && p.at == l.problems[i-1].at && p.err.Error() == l.problems[i-1].err.Error() {
			continue // an instance of the same for, or another use of the same anchor
		}
		e.Problems = append(e.Problems, engine.Problem{Address: p.address, Source: p.at.String(), Err: p.err})
	}
	return e
}
