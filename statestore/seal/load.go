package seal

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
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

// The environment variables that say where the key comes from.
const (
	EnvKeyFile    = "ATHANOR_KEY_FILE"   // path of the key file, instead of the one in the configuration folder
	EnvPassphrase = "ATHANOR_PASSPHRASE" // derive the key from this instead of a file; wins over the file
)

const (
	secretBytes = 32
	filePrefix  = "athanor-key-1:"
	// iterations makes one guess of a passphrase cost about a fifth of a second.
	iterations = 600_000
)

// LoadOrMake gives the key of a stage. It comes from $ATHANOR_PASSPHRASE when that is set (PBKDF2 with
// HMAC-SHA256, salted with stack and stage), else from the key file: the one that $ATHANOR_KEY_FILE names, else
// "key" in dir. An empty dir means the folder "athanor" in the user's configuration folder. A key file
// that does not exist is made, readable by its owner only; of two processes that make it at once both use the same.
//
// Where a store knows a key id already, use [Load]: a new key would not open anything there.
func LoadOrMake(dir, stack, stage string) (*Key, error) {
	return source{os.Getenv, os.UserConfigDir}.key(dir, stack, stage, true)
}

// Load gives the key of a stage like [LoadOrMake] but never makes one, and compares it with the id that
// the store knows. The error is a *KeyError when there is no key, or another one.
func Load(dir, stack, stage, known string) (*Key, error) {
	k, err := source{os.Getenv, os.UserConfigDir}.key(dir, stack, stage, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &KeyError{Want: known}
	}
	if err != nil {
		return nil, err
	}
	return k, k.Check(known)
}

// OwnFile is the key file that nobody but the user of this machine has: that in dir, or in the user's configuration
// folder. It is "" when the key comes from a passphrase, or from a file that $ATHANOR_KEY_FILE names.
func OwnFile(dir string) (string, error) {
	s := source{os.Getenv, os.UserConfigDir}
	if s.getenv(EnvPassphrase) != "" || s.getenv(EnvKeyFile) != "" {
		return "", nil
	}
	return s.keyFile(dir)
}

// source is where the outside world comes in.
type source struct {
	getenv    func(string) string
	configDir func() (string, error)
}

func (s source) key(dir, stack, stage string, makeIt bool) (*Key, error) {
	if passphrase := s.getenv(EnvPassphrase); passphrase != "" {
		salt := frame("athanor passphrase 1", stack, stage)
		secret, err := pbkdf2.Key(sha256.New, passphrase, salt, iterations, secretBytes)
		if err != nil {
			return nil, err
		}
		return newKey(secret, stack, stage)
	}
	path, err := s.keyFile(dir)
	if err != nil {
		return nil, err
	}
	secret, err := readKeyFile(path)
	if makeIt && errors.Is(err, fs.ErrNotExist) {
		if err = makeKeyFile(path); err == nil {
			secret, err = readKeyFile(path)
		}
	}
	if err != nil {
		return nil, err
	}
	return newKey(secret, stack, stage)
}

func (s source) keyFile(dir string) (string, error) {
	if path := s.getenv(EnvKeyFile); path != "" {
		return path, nil
	}
	dir, err := s.folder(dir)
	return filepath.Join(dir, "key"), err
}

// folder is our own folder in the user's configuration folder, unless another one is given.
func (s source) folder(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	config, err := s.configDir()
	if err != nil {
		return "", fmt.Errorf("no configuration folder for the stage key: %w", err)
	}
	return filepath.Join(config, "athanor"), nil
}

// readKeyFile asks the open file for its mode, not the path, so that nothing can be exchanged between.
func readKeyFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KeyFileError{Path: path, Why: "is not a regular file"}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &KeyFileError{Path: path, Why: fmt.Sprintf("can be reached by others (mode %04o)", info.Mode().Perm()), Fix: "chmod 600 " + path}
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
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

func makeKeyFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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
