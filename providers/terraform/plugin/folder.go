package plugin

import (
	"os"
	"path/filepath"
)

// folderPrefix begins the names of the folders of providers.
const folderPrefix = "athanor-plugin-"

// folder is the temporary folder of one provider, with its socket. It is locked as long as this process has it.
type folder struct {
	path string
	lock *os.File // nil where folders cannot be locked
}

// newFolder makes a folder that nobody else may enter, and removes those of processes that were killed. Another process may remove a
// folder between its making and its lock, so that another one is made then.
func newFolder() (*folder, error) {
	removeLeft()
	for {
		path, err := os.MkdirTemp("", folderPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := openFolder(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f := &folder{path, lock}
		if lockFolder(lock) && f.isThere() {
			return f, nil
		}
		f.remove()
	}
}

// isThere reports whether the path is still that of the folder.
func (f *folder) isThere() bool {
	if !canLock {
		return true
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return false
	}
	mine, err := f.lock.Stat()
	return err == nil && os.SameFile(now, mine)
}

// remove removes the folder with what is in it: sockets of a provider that was killed.
func (f *folder) remove() {
	_ = os.RemoveAll(f.path) // what stays is removed by another process
	_ = f.lock.Close()       // it was only locked, or there is none
}

// removeLeft removes the folders that nobody has locked.
func removeLeft() {
	if !canLock {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*")) // the pattern is well formed
	for _, path := range paths {
		lock, err := openFolder(path)
		if err != nil {
			continue
		}
		f := &folder{path, lock}
		if lockFolder(lock) && f.isThere() {
			f.remove()
			continue
		}
		_ = lock.Close() // somebody has it
	}
}
