package local

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// nameNew gives a file a name in the same folder that must be free, in one step: a run that is cut leaves the file under
// the one name or under the other. ok is false where the file system cannot.
func nameNew(root *os.Root, from, to string) (ok bool, err error) {
	dir, err := root.Open(filepath.Dir(to))
	if err != nil {
		return false, err
	}
	defer dir.Close()
	at := int(dir.Fd())
	err = unix.Renameat2(at, filepath.Base(from), at, filepath.Base(to), unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return false, nil
	}
	return true, &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
