//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is who a server runs as, and owns its files.
type account struct{ uid, gid int }

// mayRun gives this process's account, or for root one that is not root.
func mayRun() (account, error) {
	if os.Getuid() != 0 {
		return account{os.Getuid(), os.Getgid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		return account{uid, gid}, errors.Join(errUID, errGID)
	}
	return account{}, errors.New("root cannot run PostgreSQL, and there is neither an account postgres nor nobody")
}

// attributes let a command run as the account, in a process group of its own: what interrupts the tests must not
// reach the server before the one that ends it.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.uid != os.Getuid() {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// own gives a folder to the account.
func (a account) own(dir string) error {
	if a.uid == os.Getuid() {
		return nil
	}
	return os.Chown(dir, a.uid, a.gid)
}
