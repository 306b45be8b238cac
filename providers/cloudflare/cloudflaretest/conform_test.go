package cloudflaretest

import (
	"strings"
	"testing"
)

// TestConform: a golden body with a mistake that its author copied from the table is found in Cloudflare's description.
func TestConform(t *testing.T) {
	consumers := At{Method: "POST", Path: "/accounts/A/queues/Q/consumers"}
	settings := At{Method: consumers.Method, Path: consumers.Path, In: "settings"}
	rules := At{Method: "PUT", Path: "/accounts/A/r2/buckets/B/lifecycle", In: "rules[]"}
	for _, c := range []struct {
		name string
		in   At
		body object
		want string
	}{
		{"right", consumers, object{"type": "worker", "settings": object{"batch_size": 1}}, ""},
		{"a part", settings, object{"max_wait_time_ms": 1500}, ""},
		{"another name", settings, object{"max_wait_time": 1500}, "additional properties 'max_wait_time' not allowed"},
		{"another type", settings, object{"batch_size": "10"}, "got string, want number"},
		{"another word", consumers, object{"type": "push"}, "value must be one of"},
		{"an element", rules, object{"id": "logs", "conditions": object{"prefix": ""}, "enabled": true}, ""},
		{"a member of an element is missed", rules, object{"id": "logs", "conditions": object{}}, "missing property 'prefix'"},
		{"another name in an element", rules, object{"id": "logs", "conditions": object{"prefix": "", "suffix": ""}}, "additional properties 'suffix'"},
		{"no such part", At{Method: "PATCH", Path: "/zones/Z", In: "sizes"}, object{}, "its body has no sizes"},
		{"no such operation", At{Method: "PATCH", Path: "/zones"}, object{}, "PATCH /zones is no operation"},
	} {
		w := &witness{TB: t}
		Conform(w, c.body, c.in)
		if said := strings.Join(w.said, "\n"); (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: told %q, want %q", c.name, said, c.want)
		}
	}
}
