package random

import "github.com/athanor-dev/athanor"

// NewID declares an identifier.
func NewID(s *athanor.Stack, name string, p IDProps, opts ...athanor.Option) ID {
	return athanor.Declare(s, idKind, name, p, opts...)
}

// NewPassword declares a password.
func NewPassword(s *athanor.Stack, name string, p PasswordProps, opts ...athanor.Option) Password {
	return athanor.Declare(s, passwordKind, name, p, opts...)
}
