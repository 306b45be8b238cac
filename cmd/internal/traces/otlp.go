package traces

import (
	"strconv"
	"time"
)

// The messages of OTLP in JSON: names in camel case, 64-bit numbers as texts, ids in hexadecimal, enumerations as numbers.

type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource resource     `json:"resource"`
	Scopes   []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope   `json:"scope"`
	Spans []*span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// The numbers of enumerations.
const (
	kindInternal = 1
	statusError  = 2
)

type span struct {
	TraceID    string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Events     []happening `json:"events,omitempty"`
	Status     *status     `json:"status,omitempty"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text string `json:"stringValue"`
}

type happening struct {
	Time       string      `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

func text(key, v string) attribute { return attribute{key, value{v}} }

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func (s *span) end(t time.Time) { s.End = nano(t) }

// set adds an attribute, or changes it.
func (s *span) set(key, v string) {
	for i := range s.Attributes {
		if s.Attributes[i].Key == key {
			s.Attributes[i].Value.Text = v
			return
		}
	}
	s.Attributes = append(s.Attributes, text(key, v))
}
