package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// LockName is the name of the lock file, beside the program of a stack.
const LockName = "athanor.lock"

// lockFormat is the format of the lock file, maxLock its largest size in bytes.
const (
	lockFormat = 1
	maxLock    = 4 << 20
)

// Lock is what the lock file holds: for each provider the version that runs, and the hashes of its packages.
type Lock struct {
	Format    int               `json:"format"`
	Providers map[string]Locked `json:"providers"`
}

// Locked is one provider of a lock file.
type Locked struct {
	Version string `json:"version"`
	// SignedBy are the ids of the keys that signed the list of its packages, empty for one that nobody signed.
	SignedBy []string `json:"signedBy,omitempty"`
	// Hashes are those of its packages, by platform (linux_amd64): zh: is of the file that is downloaded, h1: of what is in it.
	Hashes map[string][]string `json:"hashes"`
}

// ReadLock reads the lock file of a folder. One that is not there is empty.
func ReadLock(folder string) (*Lock, error) {
	lock := &Lock{Format: lockFormat, Providers: map[string]Locked{}}
	path := filepath.Join(folder, LockName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lock, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxLock:
		return nil, fmt.Errorf("%s is no regular file, or larger than %d MiB", path, maxLock>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := json.NewDecoder(bytes.NewReader(data))
	read.DisallowUnknownFields()
	if err := read.Decode(lock); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if lock.Format != lockFormat {
		return nil, fmt.Errorf("%s was written by another athanor (format %d, this one knows %d)", path, lock.Format, lockFormat)
	}
	for source, l := range lock.Providers {
		if s, err := ParseSource(source); err != nil || s.String() != source || !isVersion(l.Version) {
			return nil, fmt.Errorf("%s: %q, version %q: want HOST/NAMESPACE/NAME and a version", path, source, l.Version)
		}
	}
	return lock, nil
}

// write replaces the lock file in one step.
func (l *Lock) write(folder string) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	// It is checked in, and read by everybody who works on the program.
	return localfile.Replace(filepath.Join(folder, LockName), append(data, '\n'), 0o644)
}

// hash is the one that a user approves: that of the downloaded package of this platform, else of what is in it; "" without any.
func (l Locked) hash(platform string) string {
	hashes := slices.Sorted(slices.Values(l.Hashes[platform]))
	for _, prefix := range []string{"zh:", "h1:"} {
		if i := slices.IndexFunc(hashes, func(h string) bool { return strings.HasPrefix(h, prefix) }); i >= 0 {
			return hashes[i]
		}
	}
	return ""
}

// add notes a hash of a platform.
func (l *Locked) add(platform, hash string) {
	if l.Hashes == nil {
		l.Hashes = map[string][]string{}
	}
	if !slices.Contains(l.Hashes[platform], hash) {
		l.Hashes[platform] = append(l.Hashes[platform], hash)
		slices.Sort(l.Hashes[platform])
	}
}

// with returns the hashes of one kind of a platform, "zh:" or "h1:".
func (l Locked) with(platform, prefix string) []string {
	var all []string
	for _, h := range l.Hashes[platform] {
		if strings.HasPrefix(h, prefix) {
			all = append(all, h)
		}
	}
	return all
}
