package install

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// DefaultHost is the registry of a source that names none.
const DefaultHost = "registry.opentofu.org"

// Source is where a provider comes from: the registry's host, the namespace and the name.
type Source struct{ Host, Namespace, Name string }

var (
	sourcePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`) })
	sourceHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-z](?:[0-9a-z-]*[0-9a-z])?(?:\.[0-9a-z](?:[0-9a-z-]*[0-9a-z])?)*(?::[0-9]{1,5})?$`)
	})

	errSource = errors.New("want NAMESPACE/NAME or HOST/NAMESPACE/NAME, such as hashicorp/random")
)

// ParseSource reads NAMESPACE/NAME or HOST/NAMESPACE/NAME. Names are the same in small and capital letters, and come out small.
func ParseSource(text string) (Source, error) {
	parts := strings.Split(strings.ToLower(text), "/")
	if len(parts) == 2 {
		parts = append([]string{DefaultHost}, parts...)
	}
	if len(parts) != 3 || !sourceHost().MatchString(parts[0]) || !sourcePart().MatchString(parts[1]) || !sourcePart().MatchString(parts[2]) {
		return Source{}, fmt.Errorf("%q: %w", text, errSource)
	}
	return Source{parts[0], parts[1], parts[2]}, nil
}

// String is the whole source, with its host.
func (s Source) String() string { return s.Host + "/" + s.Namespace + "/" + s.Name }

// file is the name of the package of a version for a platform.
func (s Source) file(version, platform string) string {
	return "terraform-provider-" + s.Name + "_" + version + "_" + platform + ".zip"
}
