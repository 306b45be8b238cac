package terraform

import (
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// Output is an output of a state.
type Output struct {
	Value any
	// Sensitive: its program says that it is secret.
	Sensitive bool
}

// Outputs are the outputs in a state of a tool, "terraform" or "pulumi". Nothing else of the state is opened, so that a state of Pulumi
// needs a passphrase where an output is secret.
func Outputs(tool string, content []byte, o from.Options) (map[string]Output, error) {
	var st *state
	var err error
	if tool == "pulumi" {
		st, err = (&pulumiReader{}).read(content, o.Passphrase("PULUMI_CONFIG_PASSPHRASE"), false)
	} else {
		st, err = parse(content, o.Passphrase())
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]Output, len(st.outputs))
	for name, out := range st.outputs {
		if strings.TrimSpace(name) == "" || out.value == nil {
			continue
		}
		all[name] = Output{plainOutput(out.value), out.sensitive}
	}
	return all, nil
}
