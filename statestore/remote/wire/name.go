package wire

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// plainName are names that every proxy passes on as they are. The first character excludes "." and "..", which are
// resolved on the way, and "~", which begins an encoded name.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

// errName says that a segment of a path is no name.
var errName = errors.New("a name in the path is neither text nor ~ and base64url")

// Segment writes a name as one segment of a path: as it is, or as ~ and its base64url when proxies could change it.
func Segment(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "~" + base64.RawURLEncoding.EncodeToString([]byte(name))
}

// Name reads a segment that was percent-decoded once. A name has one form only when it is encoded, so that no two
// paths that differ there are of one stage.
func Name(segment string) (string, error) {
	name := segment
	if encoded, ok := strings.CutPrefix(segment, "~"); ok {
		decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		if err != nil || plainName.Match(decoded) {
			return "", errName
		}
		name = string(decoded)
	}
	if name == "" || len(name) > statestore.MaxAddress {
		return "", errName
	}
	return name, nil
}
