package workers

import (
	"cmp"
	"slices"
	"time"
)

// wireSettings are the settings of a Worker and of its version, as Cloudflare writes them.
type wireSettings struct {
	CompatibilityDate  string             `json:"compatibility_date"`
	CompatibilityFlags []string           `json:"compatibility_flags"`
	Limits             *wireLimits        `json:"limits"`
	Placement          *wirePlacement     `json:"placement"`
	Observability      *wireObservability `json:"observability"`
	Logpush            bool               `json:"logpush"`
	Tags               []string           `json:"tags"`
	TailConsumers      []wireTail         `json:"tail_consumers"`
}

type wireLimits struct {
	CPU         *int64 `json:"cpu_ms,omitempty"`
	Subrequests *int   `json:"subrequests,omitempty"`
}

// wirePlacement has a mode, or says where by one of the others, alone or as the only target.
type wirePlacement struct {
	Mode     string          `json:"mode,omitempty"`
	Region   string          `json:"region,omitempty"`
	Host     string          `json:"host,omitempty"`
	Hostname string          `json:"hostname,omitempty"`
	Target   []wirePlacement `json:"target,omitempty"`
}

type wireTail struct {
	Service string `json:"service"`
}

type wireObservability struct {
	Enabled      bool        `json:"enabled"`
	SamplingRate *float64    `json:"head_sampling_rate,omitempty"`
	Logs         *wireLogs   `json:"logs,omitempty"`
	Traces       *wireTraces `json:"traces,omitempty"`
}

type wireLogs struct {
	Enabled        bool     `json:"enabled"`
	InvocationLogs bool     `json:"invocation_logs"`
	SamplingRate   *float64 `json:"head_sampling_rate,omitempty"`
	Persist        *bool    `json:"persist,omitempty"`
	Destinations   []string `json:"destinations,omitempty"`
}

type wireTraces struct {
	Enabled      bool     `json:"enabled"`
	SamplingRate *float64 `json:"head_sampling_rate,omitempty"`
	Persist      *bool    `json:"persist,omitempty"`
	Destinations []string `json:"destinations,omitempty"`
}

func (w *wireLimits) read() *Limits {
	if w == nil || w.CPU == nil && w.Subrequests == nil {
		return nil
	}
	l := &Limits{Subrequests: w.Subrequests}
	if w.CPU != nil {
		l.CPU = new(time.Duration(*w.CPU) * time.Millisecond)
	}
	return l
}

func (l *Limits) wire() *wireLimits {
	if l == nil || l.CPU == nil && l.Subrequests == nil {
		return nil
	}
	w := &wireLimits{Subrequests: l.Subrequests}
	if l.CPU != nil {
		w.CPU = new(l.CPU.Milliseconds())
	}
	return w
}

func (w *wirePlacement) read() *Placement {
	if w == nil {
		return nil
	}
	at := *w
	if len(w.Target) > 0 {
		at = w.Target[0]
	}
	p := Placement{Region: at.Region, Host: at.Host, Hostname: at.Hostname}
	if p == (Placement{}) && w.Mode == "smart" {
		p.Mode = w.Mode
	}
	if p == (Placement{}) {
		return nil
	}
	return &p
}

func (p *Placement) wire() *wirePlacement {
	if p == nil {
		return nil
	}
	return &wirePlacement{Mode: p.Mode, Region: p.Region, Host: p.Host, Hostname: p.Hostname}
}

// whole is what is kept with everything that Cloudflare fills in, and nil where nothing is kept, so that what is declared
// and what is there can be compared.
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
		Persist: orElse(logs.Persist, true), Destinations: slices.Sorted(slices.Values(logs.Destinations)),
	}
	traces := Traces{Enabled: new(false)}
	if o.Traces != nil {
		traces = *o.Traces
	}
	traces = Traces{
		Enabled: orElse(traces.Enabled, true), SamplingRate: orElse(traces.SamplingRate, 1), Persist: orElse(traces.Persist, true),
		Destinations: slices.Sorted(slices.Values(traces.Destinations)),
	}
	return &Observability{Enabled: new(true), SamplingRate: orElse(o.SamplingRate, 1), Logs: &logs, Traces: &traces}
}

func orElse[T any](p *T, otherwise T) *T {
	if p == nil {
		return &otherwise
	}
	return p
}

func (w *wireObservability) read() *Observability {
	if w == nil {
		return nil
	}
	o := Observability{Enabled: &w.Enabled, SamplingRate: w.SamplingRate}
	if l := w.Logs; l != nil {
		o.Logs = &Logs{Enabled: &l.Enabled, InvocationLogs: &l.InvocationLogs, SamplingRate: l.SamplingRate, Persist: l.Persist, Destinations: l.Destinations}
	}
	if t := w.Traces; t != nil {
		o.Traces = &Traces{Enabled: &t.Enabled, SamplingRate: t.SamplingRate, Persist: t.Persist, Destinations: t.Destinations}
	}
	return &o
}

// wire is what is declared, and what is not declared is left to Cloudflare.
func (o *Observability) wire() *wireObservability {
	if o == nil {
		return &wireObservability{}
	}
	w := &wireObservability{Enabled: *orElse(o.Enabled, true), SamplingRate: o.SamplingRate}
	if l := o.Logs; l != nil {
		w.Logs = &wireLogs{*orElse(l.Enabled, true), *orElse(l.InvocationLogs, true), l.SamplingRate, l.Persist, l.Destinations}
	}
	if t := o.Traces; t != nil {
		w.Traces = &wireTraces{*orElse(t.Enabled, true), t.SamplingRate, t.Persist, t.Destinations}
	}
	return w
}

func readTails(all []wireTail) []TailConsumer {
	tails := make([]TailConsumer, len(all))
	for i, t := range all {
		tails[i] = TailConsumer{Name(t.Service)}
	}
	return ordered(tails)
}

func wireTails(all []TailConsumer) []wireTail {
	tails := make([]wireTail, len(all))
	for i, t := range all {
		tails[i] = wireTail{string(t.Service)}
	}
	return tails
}

// ordered are consumers in an order of their own.
func ordered(all []TailConsumer) []TailConsumer {
	return slices.SortedFunc(slices.Values(all), func(a, b TailConsumer) int { return cmp.Compare(a.Service, b.Service) })
}

// merged are what is wanted, with what is not to be changed as it is. A prop is changed where a difference at it, or within
// it, is.
func merged(want WorkerProps, live liveWorker, changed func(prop string) bool) WorkerProps {
	s := live.settings
	for prop, keep := range map[string]func(){
		"compatibilityDate":  func() { want.CompatibilityDate = s.CompatibilityDate },
		"compatibilityFlags": func() { want.CompatibilityFlags = s.CompatibilityFlags },
		"limits":             func() { want.Limits = s.Limits.read() },
		"placement":          func() { want.Placement = s.Placement.read() },
		"observability":      func() { want.Observability = s.Observability.read() },
		"logpush":            func() { want.Logpush = s.Logpush },
		"tailConsumers":      func() { want.TailConsumers = readTails(s.TailConsumers) },
		"tags":               func() { want.Tags = slices.DeleteFunc(slices.Clone(live.tags), isMarkTag) },
	} {
		if !changed(prop) {
			keep()
		}
	}
	return want
}
