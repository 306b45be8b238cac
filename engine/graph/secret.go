package graph

import (
	"errors"

	"github.com/athanor-dev/athanor/reconcile"
)

// SecretSource says where a secret comes from; exactly one of Env, File and Sealed is set.
type SecretSource struct {
	Env string `json:"env,omitempty"`
	// File is relative to the stack's directory; a trailing newline is cut.
	File string `json:"file,omitempty"`
	// Sealed reads the sealed file beside the program, in the graph's directory.
	Sealed bool `json:"sealed,omitempty"`
	// AllowEmpty takes an empty value for one. Without it an empty secret is an error: it is nearly always a variable that
	// somebody forgot to fill.
	AllowEmpty bool `json:"allowEmpty,omitempty"`
}

// OrEmpty is the same source, from which an empty value is taken as well.
func (s SecretSource) OrEmpty() SecretSource {
	s.AllowEmpty = true
	return s
}

// EmptyError returns the error about a secret without a value.
func (s SecretSource) EmptyError() error {
	what, way := "its sealed value is empty", "seal it again: athanor secret set"
	switch {
	case s.Env != "":
		what, way = "$"+s.Env+" is set, and empty", "export "+s.Env+"=…"
	case s.File != "":
		what, way = s.File+" is empty", "write it"
	}
	return reconcile.WithHint(errors.New(what), "%s; where nothing is meant, say allowEmpty: true, in Go OrEmpty()", way)
}
