//go:build !unix

package pgtest

import "syscall"

// account is who a server runs as.
type account struct{}

// mayRun finds that a server's life cannot be bound to that of the tests here.
func mayRun() (account, error) { return account{}, errNoServer }

func (account) attributes() *syscall.SysProcAttr { return nil }

func (account) own(string) error { return nil }
