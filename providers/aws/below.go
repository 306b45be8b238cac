package aws

import (
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Below is a name below the address of what a text refers to, in the scope of s, for what a constructor declares beside it. A
// text that is no reference counts by what it ends in.
func Below(s *athanor.Stack, of, name string) string {
	address := of[strings.LastIndexAny(of, ":/")+1:]
	if uses, err := token.Refs(of); err == nil && len(uses) > 0 {
		address = uses[0].Ref.Address
	}
	return strings.TrimPrefix(address, s.Address("")) + "/" + name
}
