package terraform

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
)

// mostSealed bounds how many secrets of states are opened: the key of each is made slowly.
const mostSealed = 2000

var (
	errSealed   = errors.New("it has sealed secrets")
	errPassword = errors.New("the password is not the one that its secrets were sealed with")
)

// alchemySealed is a secret as Alchemy writes it: https://github.com/alchemy-run/alchemy/blob/main/alchemy/src/encrypt.ts.
type alchemySealed struct {
	Version    string `json:"version"`
	Ciphertext []byte `json:"ciphertext"`
	IV         []byte `json:"iv"`
	Salt       []byte `json:"salt"`
	Tag        []byte `json:"tag"`
}

// open opens a secret with the password of the app: text, or any value under "data".
func (r *alchemyReader) open(sealed any) (any, error) {
	m, _ := sealed.(map[string]any)
	data, isJSON := m["data"]
	if isJSON {
		sealed = data
	}
	raw, err := json.Marshal(sealed)
	if err != nil {
		return nil, err
	}
	text, known := r.opened[string(raw)]
	if !known {
		if r.password == "" {
			return nil, hinted{errSealed, "$ALCHEMY_PASSWORD (or $ATHANOR_SOURCE_PASSPHRASE) is the password of the app, which opens them"}
		}
		if len(r.opened) >= mostSealed {
			return nil, fmt.Errorf("%w: it has more than %d secrets", errDamaged, mostSealed)
		}
		if text, err = openAlchemy(raw, r.password); err != nil {
			return nil, err
		}
		r.opened[string(raw)] = text
	}
	if !isJSON {
		return text, nil
	}
	var v any
	if err := checkDepth([]byte(text)); err != nil {
		return nil, err
	}
	if err := unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%w: a secret holds no JSON", errDamaged)
	}
	return v, nil
}

// openAlchemy opens a secret in either of Alchemy's forms: AES-256-GCM with a key by scrypt, or text of older versions in a box of NaCl
// with a hash of the password for a key.
func openAlchemy(raw []byte, password string) (string, error) {
	var box []byte
	if json.Unmarshal(raw, &box) == nil {
		return openAlchemyBox(box, password)
	}
	var s alchemySealed
	if err := json.Unmarshal(raw, &s); err != nil || s.Version != "v1" || len(s.IV) != 12 || len(s.Tag) != 16 || len(s.Salt) == 0 {
		return "", fmt.Errorf("%w: a secret is sealed in a form that is not known", errDamaged)
	}
	key, err := scrypt.Key([]byte(password), s.Salt, 16384, 8, 1, 32)
	if err != nil {
		return "", err
	}
	text, ok := opened(key, append(append(s.IV, s.Ciphertext...), s.Tag...))
	if !ok {
		return "", errPassword
	}
	return string(text), nil
}

func openAlchemyBox(box []byte, password string) (string, error) {
	const nonce = 24
	if len(box) < nonce+secretbox.Overhead {
		return "", fmt.Errorf("%w: a secret is too short", errDamaged)
	}
	key := blake2b.Sum256([]byte(password))
	text, ok := secretbox.Open(nil, box[nonce:], (*[nonce]byte)(box), &key)
	if !ok {
		return "", errPassword
	}
	return string(text), nil
}
