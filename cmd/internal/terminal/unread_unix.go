//go:build unix

package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// whenUnread calls unread when nothing that is written to a file can reach anybody any more: its terminal has closed,
// or the reader of its pipe. It waits in the kernel and costs nothing meanwhile. What it returns ends the wait.
func whenUnread(file *os.File, unread func()) (end func(), err error) {
	wake, ended, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer wake.Close()
		fds := []unix.PollFd{{Fd: int32(file.Fd())}, {Fd: int32(wake.Fd())}} // no events: errors are told unasked
		_, err := unix.Poll(fds, -1)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Poll(fds, -1)
		}
		if err == nil && fds[1].Revents == 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			unread()
		}
	}()
	return func() { ended.Close() }, nil
}
