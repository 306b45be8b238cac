package cloudcontrol

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestUnserved: a type that Cloud Control cannot serve names its way out, and what that names exists.
func TestUnserved(t *testing.T) {
	t.Parallel()
	hint := func(name string) string {
		_, err := Kind(name)
		if !errors.Is(err, registry.ErrUnserved) {
			t.Errorf("%s: %v", name, err)
		}
		return strings.Join(reconcile.Hints(err), ", ")
	}
	if have := hint("AWS::CodeBuild::Project"); !strings.Contains(have, "AWS::CloudFormation::Stack with a template in a bucket") {
		t.Errorf("hint %q", have)
	}
	if _, err := Kind("AWS::CloudFormation::Stack"); err != nil {
		t.Error(err)
	}
	word := regexp.MustCompile(`AWS::\w+::\w+`)
	for name, other := range insteadOf {
		if have := hint(name); have != "use "+other {
			t.Errorf("%s: hint %q", name, have)
		}
		for _, served := range word.FindAllString(other, -1) {
			if _, err := Kind(served); err != nil {
				t.Errorf("%s leads to %v", name, err)
			}
		}
	}
}
