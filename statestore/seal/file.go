package seal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/athanor-dev/athanor/statestore/internal/durable"
)

const (
	secretBytes = 32
	filePrefix  = "athanor-key-1:"
	// longestFile bounds what is read as a key, an identity or a wrapped key.
	longestFile = 1 << 20
)

// readKeyFile gives the secret in a key file.
func readKeyFile(path string) ([]byte, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	digits, ok := strings.CutPrefix(strings.TrimSpace(string(text)), filePrefix)
	secret, err := hex.DecodeString(digits)
	if !ok || err != nil || len(secret) != secretBytes {
		return nil, &KeyFileError{Path: path, Why: "is not a key file"}
	}
	return secret, nil
}

// readPrivate reads a file that nobody but its owner may read, in a folder that not everybody may change. It asks the
// open file for its mode, not the path, so that nothing can be exchanged between.
func readPrivate(path string) ([]byte, error) {
	f, err := durable.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, durable.ErrNotFile) {
		return nil, &KeyFileError{Path: path, Why: "is not a regular file"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case runtime.GOOS == "windows": // modes say nothing there
	case info.Mode().Perm()&0o077 != 0:
		return nil, &KeyFileError{Path: path, Why: fmt.Sprintf("can be reached by others (mode %04o)", info.Mode().Perm()), Fix: "chmod 600 " + path}
	default:
		if err := checkFolder(path); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, longestFile))
}

// checkFolder refuses a folder in which anybody could put another key in place of this one. A sticky folder does not
// allow that.
func checkFolder(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &KeyFileError{Path: path, Why: fmt.Sprintf("lies in a folder that everybody can write to (mode %04o)", info.Mode().Perm()), Fix: "chmod o-w " + dir}
	}
	return nil
}

func makeKeyFile(path string) error {
	if err := durable.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails: the runtime aborts instead
	temporary, err := durable.Aside(path, []byte(filePrefix+hex.EncodeToString(secret)+"\n"))
	if err != nil {
		return err
	}
	if err := durable.Publish(temporary, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// ErrKeyFile says that the key file cannot be used as it is (*KeyFileError).
var ErrKeyFile = errors.New("the key file cannot be used")

// KeyFileError says what is wrong with a key file.
type KeyFileError struct {
	Path string
	Why  string
	Fix  string // a command that mends it, empty when there is none
}

func (e *KeyFileError) Error() string { return e.Path + " " + e.Why }

// Is reports ErrKeyFile.
func (e *KeyFileError) Is(target error) bool { return target == ErrKeyFile }

// Hint says what the user can do.
func (e *KeyFileError) Hint() string { return e.Fix }
