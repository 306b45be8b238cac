package seal

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// forMaster is the use of a key file that wraps the keys which a service holds.
const forMaster = "athanor master key 1"

// MasterKey wraps keys that a service holds under a key file. It never leaves this package.
type MasterKey struct{ key *Key }

// OpenMasterKey reads the key file at a path. A file that does not exist is created when that is asked for, readable by its
// owner only.
func OpenMasterKey(path string, create bool) (*MasterKey, error) {
	secret, err := readKeyFile(path)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err = makeKeyFile(path); err == nil {
			secret, err = readKeyFile(path)
		}
	}
	if err != nil {
		return nil, err
	}
	key, err := newKey(secret, forMaster, "", "")
	return &MasterKey{key}, err
}

// Wrap seals a key. The map is authenticated, and must be given again to unwrap.
func (m *MasterKey) Wrap(plain []byte, bound map[string]string) ([]byte, error) {
	return m.key.sealAs(plainFormat, plain, frame(boundParts(bound)...)), nil
}

// Unwrap opens what [MasterKey.Wrap] sealed.
func (m *MasterKey) Unwrap(sealed []byte, bound map[string]string) ([]byte, error) {
	return m.key.Open(sealed, frame(boundParts(bound)...))
}

// boundParts lists names and values in the order of the names.
func boundParts(bound map[string]string) []string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		parts = append(parts, name, bound[name])
	}
	return parts
}
