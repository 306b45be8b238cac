package plan

import (
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// AbroadName is an address of another stage as this one writes it: STACK/STAGE:ADDRESS.
func AbroadName(stage statestore.Stage, addr string) string { return stage.String() + ":" + addr }

// SplitAbroad reads STACK/STAGE:ADDRESS.
func SplitAbroad(name string) (stage statestore.Stage, addr string, ok bool) {
	where, addr, ok := strings.Cut(name, ":")
	stack, stageName, both := strings.Cut(where, "/")
	return statestore.Stage{Stack: stack, Name: stageName}, addr, ok && both
}
