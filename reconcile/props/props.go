// Package props turns Go structs into trees and back, and tells what the structs say of themselves.
//
// A struct field is a prop, named by [Name] or by its json tag. A field may be: text and types named after
// it, bool, whole numbers, float64, time.Duration, [Size], pointers to these, token.Int, token.Bool,
// token.Duration, token.Secret, structs and pointers to structs, lists, maps with text as keys, and any.
// The tag prop:"required,enum=A|B,min=0,max=900,maxlen=256,maxitems=10" is checked by [Decode]. Its words default=V and
// immutable are part of the documentation; what they and the other words do is said by the attribute table of a kind.
//
// What is not set is left out of a tree: the zero value of a plain field, a nil pointer, map or list. An empty
// list or map that is not nil is kept: it says "explicitly none".
//
// The package knows types and their documentation. It does not know kinds, resources or clouds, and no values
// of references.
package props

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// FieldError is one mistake in a prop. It never holds the value.
type FieldError struct {
	Path    tree.Path
	Problem string
	// Hint says what to do about it; it may be empty.
	Hint string
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return string(e.Path) + ": " + e.Problem
}

// Errors are all mistakes in a struct's props.
type Errors []*FieldError

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "; ")
}

// Wrong adds what is wrong at a path.
func (e *Errors) Wrong(path tree.Path, problem string) {
	*e = append(*e, &FieldError{Path: path, Problem: problem})
}

// OrNil is nil when nothing is wrong.
func (e Errors) OrNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Unwrap makes each of them a target for errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, f := range e {
		all[i] = f
	}
	return all
}
