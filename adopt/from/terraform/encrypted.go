package terraform

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// mostIterations bounds the work that a state can ask for: ten times what OpenTofu uses today.
const mostIterations = 6_000_000

// encryptedState is a state as OpenTofu encrypts it: https://opentofu.org/docs/language/state/encryption/.
type encryptedState struct {
	Meta map[string][]byte `json:"meta"`
	// Data is a nonce and what AES-GCM made of the state.
	Data    []byte `json:"encrypted_data"`
	Version string `json:"encryption_version"`
}

// decrypt opens a state that OpenTofu has encrypted with the method aes_gcm, under a key that pbkdf2 makes of the passphrase.
func decrypt(content []byte, passphrase string) ([]byte, error) {
	var doc encryptedState
	if err := unmarshal(content, &doc); err != nil {
		return nil, err
	}
	pull := "`tofu state pull > state.json` writes it in clear: read that file, and delete it afterwards"
	if passphrase == "" {
		return nil, hinted{errEncrypted, "$" + from.PassphraseVariable + " opens one of pbkdf2; " + pull}
	}
	keys, err := keysOf(doc.Meta, passphrase)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if clear, ok := opened(key, doc.Data); ok {
			return clear, nil
		}
	}
	if len(keys) == 0 {
		return nil, hinted{fmt.Errorf("%w by %s, and no passphrase opens that", errEncrypted, providersOf(doc.Meta)), pull}
	}
	return nil, hinted{fmt.Errorf("%w, and $%s does not open it", errEncrypted, from.PassphraseVariable), pull}
}

// keysOf are the keys that a passphrase gives, by what the state says of its key providers.
func keysOf(meta map[string][]byte, passphrase string) ([][]byte, error) {
	var keys [][]byte
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		var m struct {
			Salt       []byte `json:"salt"`
			Iterations int    `json:"iterations"`
			Hash       string `json:"hash_function"`
			Length     int    `json:"key_length"`
		}
		if json.Unmarshal(meta[name], &m) != nil || len(m.Salt) == 0 {
			continue
		}
		newHash := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}[m.Hash]
		if newHash == nil || m.Iterations < 1 || m.Iterations > mostIterations || !keyLength(m.Length) {
			return nil, fmt.Errorf("%w: the key of %s is made in a way that is not read", errDamaged, segment(name, "a key provider"))
		}
		key, err := pbkdf2.Key(newHash, passphrase, m.Salt, m.Iterations, m.Length)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// keyLength reports whether AES has keys of that many bytes.
func keyLength(n int) bool { return n == 16 || n == 24 || n == 32 }

// opened is what was encrypted under a key.
func opened(key, data []byte) ([]byte, bool) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, false
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(data) < gcm.NonceSize() {
		return nil, false
	}
	clear, err := gcm.Open(nil, data[:gcm.NonceSize()], data[gcm.NonceSize():], nil)
	return clear, err == nil
}

// providersOf are the kinds of key providers that a state names, such as aws_kms.
func providersOf(meta map[string][]byte) string {
	var all []string
	for name := range meta {
		if parts := strings.Split(name, "."); len(parts) == 3 && parts[0] == "key_provider" {
			all = append(all, segment(parts[1], "a key provider"))
		}
	}
	if len(all) == 0 {
		return "a key provider that it does not name"
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}
