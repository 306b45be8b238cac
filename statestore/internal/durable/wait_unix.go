//go:build unix

package durable

import "syscall"

// withoutWaiting keeps the opening of a pipe from waiting for its writer.
const withoutWaiting = syscall.O_NONBLOCK
