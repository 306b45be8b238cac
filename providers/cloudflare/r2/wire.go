package r2

import (
	"cmp"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// How R2 writes what the props say.

type wireBucket struct {
	Name         string `json:"name"`
	Jurisdiction string `json:"jurisdiction"`
	StorageClass string `json:"storage_class"`
}

type wireCORS struct {
	Rules []wireCORSRule `json:"rules"`
}

type wireCORSRule struct {
	ID      string `json:"id,omitempty"`
	Allowed struct {
		Origins []string `json:"origins"`
		Methods []string `json:"methods"`
		Headers []string `json:"headers,omitempty"`
	} `json:"allowed"`
	ExposeHeaders []string `json:"exposeHeaders,omitempty"`
	MaxAge        int64    `json:"maxAgeSeconds,omitempty"`
}

func writeCORS(rules []CORSRule) wireCORS {
	w := wireCORS{Rules: []wireCORSRule{}}
	for _, r := range rules {
		rule := wireCORSRule{ID: r.ID, ExposeHeaders: r.ExposeHeaders, MaxAge: int64(r.MaxAge / time.Second)}
		rule.Allowed.Origins, rule.Allowed.Methods, rule.Allowed.Headers = r.Origins, r.Methods, r.Headers
		w.Rules = append(w.Rules, rule)
	}
	return w
}

func readCORS(w wireCORS) []CORSRule {
	var rules []CORSRule
	for _, r := range w.Rules {
		rules = append(rules, CORSRule{
			ID: r.ID, Origins: r.Allowed.Origins, Methods: r.Allowed.Methods, Headers: r.Allowed.Headers,
			ExposeHeaders: r.ExposeHeaders, MaxAge: time.Duration(r.MaxAge) * time.Second,
		})
	}
	return rules
}

type wireLifecycle struct {
	Rules []wireRule `json:"rules"`
}

type wireRule struct {
	ID         string `json:"id"`
	Enabled    bool   `json:"enabled"`
	Conditions struct {
		Prefix string `json:"prefix"`
	} `json:"conditions"`
	Abort  *transition  `json:"abortMultipartUploadsTransition,omitempty"`
	Delete *transition  `json:"deleteObjectsTransition,omitempty"`
	Class  []transition `json:"storageClassTransitions,omitempty"`
}

type transition struct {
	Condition *struct {
		Type   string `json:"type"`
		MaxAge int64  `json:"maxAge,omitempty"`
		Date   string `json:"date,omitempty"`
	} `json:"condition,omitempty"`
	StorageClass string `json:"storageClass,omitempty"`
}

const infrequent = "InfrequentAccess"

func after(span *time.Duration, class string) *transition {
	if span == nil {
		return nil
	}
	t := &transition{StorageClass: class}
	t.Condition = &struct {
		Type   string `json:"type"`
		MaxAge int64  `json:"maxAge,omitempty"`
		Date   string `json:"date,omitempty"`
	}{Type: "Age", MaxAge: int64(*span / time.Second)}
	return t
}

// age is the time of a transition. ok is false for one by date, which no props say.
func (t *transition) age() (span *time.Duration, ok bool) {
	if t == nil || t.Condition == nil {
		return nil, true
	}
	return new(time.Duration(t.Condition.MaxAge) * time.Second), t.Condition.Type == "Age"
}

func writeLifecycle(rules []LifecycleRule) wireLifecycle {
	w := wireLifecycle{Rules: []wireRule{}}
	for _, r := range rules {
		rule := wireRule{ID: r.ID, Enabled: !r.Disabled, Abort: after(r.AbortUploadsAfter, ""), Delete: after(r.DeleteAfter, "")}
		rule.Conditions.Prefix = r.Prefix
		if t := after(r.InfrequentAccessAfter, infrequent); t != nil {
			rule.Class = []transition{*t}
		}
		w.Rules = append(w.Rules, rule)
	}
	return w
}

// readLifecycle reads rules. The id of one that does more than props can say is shown with a note, which no declared id
// equals.
func readLifecycle(w wireLifecycle) (rules []LifecycleRule) {
	for _, r := range w.Rules {
		rule := LifecycleRule{ID: r.ID, Prefix: r.Conditions.Prefix, Disabled: !r.Enabled}
		var abort, remove bool
		rule.AbortUploadsAfter, abort = r.Abort.age()
		rule.DeleteAfter, remove = r.Delete.age()
		class := len(r.Class) <= 1
		if len(r.Class) > 0 {
			var byAge bool
			rule.InfrequentAccessAfter, byAge = r.Class[0].age()
			class = class && byAge
		}
		if !abort || !remove || !class {
			rule.ID += " (by date, or with several classes)"
		}
		rules = append(rules, rule)
	}
	return rules
}

type wireDomain struct {
	Domain  string `json:"domain,omitempty"`
	Enabled bool   `json:"enabled"`
	ZoneID  string `json:"zoneId,omitempty"`
	MinTLS  string `json:"minTLS,omitempty"`
}

type wireDomains struct {
	Domains []struct {
		wireDomain
		ZoneName string `json:"zoneName"`
	}
}

func (w wireDomains) read() map[string]liveDomain {
	all := map[string]liveDomain{}
	for _, d := range w.Domains {
		tls := cmp.Or(d.MinTLS, lowestTLS)
		all[d.Domain] = liveDomain{Domain{MinTLS: &tls, Disabled: !d.Enabled}, cloudflare.Zone{ID: d.ZoneID, Name: d.ZoneName}}
	}
	return all
}

// liveDomain is an observed name with its zone.
type liveDomain struct {
	Domain
	zone cloudflare.Zone
}

type wireNotifications struct {
	Queues []struct {
		QueueID string `json:"queueId"`
		Rules   []struct {
			ID      string   `json:"ruleId"`
			Actions []string `json:"actions"`
			Prefix  string   `json:"prefix"`
			Suffix  string   `json:"suffix"`
		} `json:"rules"`
	} `json:"queues"`
}

func (w wireNotifications) read() (all []liveNotification) {
	for _, q := range w.Queues {
		for _, r := range q.Rules {
			n := Notification{Queue: q.QueueID, Actions: r.Actions, Prefix: r.Prefix, Suffix: r.Suffix}
			all = append(all, liveNotification{ordered([]Notification{n})[0], r.ID})
		}
	}
	return all
}

// liveNotification is an observed rule.
type liveNotification struct {
	Notification
	id string
}

// ordered is a list of notifications in the one order in which they compare.
func ordered(all []Notification) []Notification {
	all = slices.Clone(all)
	for i := range all {
		all[i].Actions = slices.Compact(slices.Sorted(slices.Values(all[i].Actions)))
	}
	slices.SortFunc(all, func(a, b Notification) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Suffix, b.Suffix),
			slices.Compare(a.Actions, b.Actions))
	})
	return all
}
