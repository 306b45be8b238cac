package install

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
)

// ErrSignature says that a list of packages is not signed by a key that the registry names.
var ErrSignature = errors.New("the signature is not good")

// signer checks the signature of a list of packages, and returns the id of the key that made it. A key that is over counts for what it
// signed: keys of many providers are.
func signer(signed, signature []byte, keys []string) (string, error) {
	var ring openpgp.EntityList
	for _, armored := range keys {
		some, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armored))
		if err != nil {
			return "", fmt.Errorf("%w: a key of the registry cannot be read: %w", ErrSignature, err)
		}
		ring = append(ring, some...)
	}
	by, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(signed), bytes.NewReader(signature), nil)
	if err != nil && !errors.Is(err, pgperrors.ErrKeyExpired) {
		return "", fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if by == nil {
		return "", ErrSignature
	}
	return strings.ToUpper(hex.EncodeToString(by.PrimaryKey.Fingerprint)), nil
}

// sums reads a list of packages as sha256sum writes it: by file name.
func sums(text []byte) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if raw, err := hex.DecodeString(fields[0]); err == nil && len(raw) == 32 {
			all[strings.TrimPrefix(fields[1], "*")] = strings.ToLower(fields[0])
		}
	}
	return all
}
