package seal

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The environment variables that say where the key comes from.
const (
	EnvKeyFile     = "ATHANOR_KEY_FILE"     // path of the key file, instead of the one in the configuration folder
	EnvPassphrase  = "ATHANOR_PASSPHRASE"   // opens a wrapped key; without one the key is derived from it instead of a file
	EnvAgeIdentity = "ATHANOR_AGE_IDENTITY" // opens a wrapped key: path of a file with age identities, or an identity itself
)

// iterations makes one guess of a passphrase cost about a fifth of a second.
const iterations = 600_000

// Place says for which stage a key is wanted, and where to look.
type Place struct {
	// Config is the folder of the key file "key" and of the age identities "age.txt"; "" means the folder "athanor" in the
	// user's configuration folder.
	Config string
	// Beside are the folders where a wrapped key and sealed secrets may lie: the program's first.
	Beside []string
	// Read reads at most so many bytes of a file in these folders; nil reads any file. A checkout may hold a link there, or
	// what is no file.
	Read func(path string, most int64) ([]byte, error)
	// Stored is the wrapped ring that the store holds, nil when it holds none. It counts where it is newer.
	Stored []byte
	// Service wraps and opens keys for which a key service is named; nil when there is none.
	Service      KeyService
	Stack, Stage string
}

// KeyService wraps keys under a key that never leaves the service. Bound is authenticated and no secret: it must be given
// again to unwrap.
type KeyService interface {
	Wrap(name string, plain []byte, bound map[string]string) ([]byte, error)
	Unwrap(name string, sealed []byte, bound map[string]string) ([]byte, error)
}

// Origin is where a key came from.
type Origin struct {
	// Text says it to people: "the key file /home/ada/.config/athanor/key".
	Text string
	// Alone says that a key file in this user's configuration folder is all that there is of the key, as far as is known: one
	// that $ATHANOR_KEY_FILE names may be anywhere else too.
	Alone bool
	// Unsalted says that the key is derived from a passphrase with a salt that everybody can compute, as older versions did.
	Unsalted bool
}

// Origin says where the key came from.
func (k *Key) Origin() Origin { return k.origin }

// Find gives the ring of a stage. A wrapped one beside the program or in the store wins; see [Key.Wrap]. Else a stage
// that has a passphrase ($ATHANOR_PASSPHRASE) is born with a random key, wrapped beside the program; one that was born
// of a passphrase before keys were wrapped derives it (PBKDF2 with HMAC-SHA256, salted with stack and stage). Without
// a passphrase the key is derived from the key file: the one that $ATHANOR_KEY_FILE names, else "key" in the
// configuration folder. A key file that does not exist is made, readable by its owner only; of two processes that make
// it at once both use the same.
//
// Known is the key's id as the store knows it, "" when nothing was sealed yet. With a known id, or with a wrapped key
// or sealed secrets beside the program, which name one, nothing is ever made, and another key is a *KeyError naming the
// id. The way of derivation that a stage was born with goes on to work after its key was wrapped.
func Find(p Place, known string) (*Key, error) {
	return source{os.Getenv, os.UserConfigDir}.find(p, known, true)
}

// Load gives the key like [Find] and never makes one.
func Load(p Place, known string) (*Key, error) {
	return source{os.Getenv, os.UserConfigDir}.find(p, known, false)
}

// LoadOrMake gives the key of a stage like [Find], where no store and no program say which one it must be.
func LoadOrMake(dir, stack, stage string) (*Key, error) {
	return Find(Place{Config: dir, Stack: stack, Stage: stage}, "")
}

// source is where the outside world comes in.
type source struct {
	getenv    func(string) string
	configDir func() (string, error)
}

func (s source) find(p Place, known string, makeIt bool) (*Key, error) {
	file, err := p.wrapped()
	if err != nil {
		return nil, err
	}
	if file != nil {
		if known != "" && !file.has(known) {
			return nil, &KeyError{Want: known, Have: file.Key}
		}
		return s.unwrap(p, file, known)
	}
	if known == "" {
		secrets, err := p.Secrets()
		if err != nil {
			return nil, err
		}
		known = secrets.Key
	}
	if passphrase := s.getenv(EnvPassphrase); makeIt && known == "" && passphrase != "" && len(p.Beside) > 0 {
		return s.bornWrapped(p, passphrase)
	}
	makeIt = makeIt && known == ""
	k, err := s.derived(p, makeIt)
	if errors.Is(err, fs.ErrNotExist) && !makeIt { // else the file cannot be made
		return nil, &KeyError{Want: known}
	}
	if err != nil {
		return nil, err
	}
	return k, k.Check(known)
}

// derived is the key that a stage is born with.
func (s source) derived(p Place, makeIt bool) (*Key, error) {
	if passphrase := s.getenv(EnvPassphrase); passphrase != "" {
		salt := frame("athanor passphrase 1", p.Stack, p.Stage)
		secret, err := pbkdf2.Key(sha256.New, passphrase, salt, iterations, secretBytes)
		if err != nil {
			return nil, err
		}
		return p.born(secret, Origin{Text: "the passphrase in $" + EnvPassphrase, Unsalted: true})
	}
	path, err := s.keyFile(p.Config)
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
	return p.born(secret, Origin{Text: "the key file " + path, Alone: s.getenv(EnvKeyFile) == ""})
}

func (p Place) born(secret []byte, origin Origin) (*Key, error) {
	k, err := newKey(secret, forStage, p.Stack, p.Stage)
	if err == nil {
		k.origin = origin
	}
	return k, err
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
