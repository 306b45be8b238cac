//go:build !linux || !amd64

package tracetest

import (
	"os"
	"syscall"
)

// Run says [ErrUnsupported].
func Run([]string, *os.ProcAttr, Watch) (syscall.WaitStatus, error) {
	var none syscall.WaitStatus
	return none, ErrUnsupported
}
