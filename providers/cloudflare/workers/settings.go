package workers

import (
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The calls that set what is the same for all versions, and that of which each has its own.
const (
	patchSettings = "PatchScriptScriptAndVersionSetting"
	patchShared   = "PatchScriptSetting"
)

// sharedSettings are those that are the same for all versions, by their names on the wire.
var sharedSettings = []string{"observability", "logpush", "tail_consumers", "tags"}

// codecs are the forms of settings that do not follow from their types.
func codecs() []kind.Codec {
	return []kind.Codec{
		{Name: "none", Form: func(v any) any {
			if m, ok := v.(map[string]any); ok && len(m) == 0 {
				return nil
			}
			return v
		}},
		{Name: "placement", Read: readPlacement},
		{Name: "whole", Form: func(v any) any {
			var o Observability
			if m, ok := v.(map[string]any); !ok || props.Load(m, &o) != nil {
				return v
			}
			if w := o.whole(); w != nil {
				return props.Dump(w)
			}
			return nil
		}},
		{
			Name: "tails",
			Write: func(prop any) (any, error) {
				all := []any{}
				for _, t := range prop.([]TailConsumer) {
					all = append(all, map[string]any{"service": string(t.Service)})
				}
				return all, nil
			},
			Read: func(wire any) (any, error) {
				all := []any{}
				for _, one := range asList(wire) {
					service, _ := tree.Get(one, "service")
					all = append(all, map[string]any{"service": service})
				}
				return all, nil
			},
		},
	}
}

// readPlacement reads a mode, or where by one of the others, alone or as the only target.
func readPlacement(wire any) (any, error) {
	shown, _ := wire.(map[string]any)
	at := shown
	if target := asList(shown["target"]); len(target) > 0 {
		at, _ = target[0].(map[string]any)
	}
	p := map[string]any{}
	for _, name := range []string{"region", "host", "hostname"} {
		if text, _ := at[name].(string); text != "" {
			p[name] = text
		}
	}
	if len(p) == 0 && shown["mode"] == "smart" {
		p["mode"] = "smart"
	}
	if len(p) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return p, nil
}

// whole is what is kept with everything that Cloudflare fills in, and nil where nothing is kept, so that what is declared
// and what exists can be compared.
func (o *Observability) whole() *Observability {
	if o == nil || o.Enabled != nil && !*o.Enabled {
		return nil
	}
	var logs Logs
	if o.Logs != nil {
		logs = *o.Logs
	}
	logs = Logs{
		Enabled: orElse(logs.Enabled, true), InvocationLogs: orElse(logs.InvocationLogs, true), SamplingRate: orElse(logs.SamplingRate, 1),
		Persist: orElse(logs.Persist, true), Destinations: logs.Destinations,
	}
	traces := Traces{Enabled: new(false)}
	if o.Traces != nil {
		traces = *o.Traces
	}
	traces = Traces{
		Enabled: orElse(traces.Enabled, true), SamplingRate: orElse(traces.SamplingRate, 1), Persist: orElse(traces.Persist, true),
		Destinations: traces.Destinations,
	}
	return &Observability{Enabled: new(true), SamplingRate: orElse(o.SamplingRate, 1), Logs: &logs, Traces: &traces}
}

func orElse[T any](p *T, otherwise T) *T {
	if p == nil {
		return &otherwise
	}
	return p
}
