package providers

import (
	"regexp"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
)

// TestSharedObjectsAreKnown finds, by the ARN of each type of the registry, the kind by hand that an object of it is taken for: the
// program cannot declare the type, or the service says that its kind manages the same objects.
func TestSharedObjectsAreKnown(t *testing.T) {
	t.Parallel()
	shapes, err := registry.ARNs()
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	shared := 0
	for shape, name := range shapes {
		arn := aws.ARN("arn:aws:" + placeholder.ReplaceAllString(regexp.MustCompile(`^([^:]*):`).ReplaceAllString(shape, "$1:eu-north-1:111122223333:"), "eu-x1"))
		for _, s := range services() {
			if s.Match == nil || s.Family != nil {
				continue
			}
			kind, _, _, ok := s.Match(arn)
			if !ok || s.Registry[name] != "" {
				continue
			}
			shared++
			if s.Also[name] != kind {
				t.Errorf("%s of %s is taken for %s: its service says of the type %q", arn, name, kind, s.Also[name])
			}
		}
	}
	if shared < 8 {
		t.Errorf("%d types share their objects with a kind", shared)
	}
}
