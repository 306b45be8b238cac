package r2

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// How R2 writes what the props say.

type wireBucket struct {
	Name         string `json:"name"`
	Jurisdiction string `json:"jurisdiction"`
	StorageClass string `json:"storage_class"`
}

// codecs are the forms of what a lifecycle rule does.
func codecs() []kind.Codec {
	return []kind.Codec{
		{
			Name: "not", Write: func(prop any) (any, error) { return !prop.(bool), nil },
			Read: func(wire any) (any, error) { return wire != true, nil },
		},
		{Name: "age", Write: writeAge, Read: readAge},
		{
			Name: "infrequent",
			Write: func(prop any) (any, error) {
				to, err := writeAge(prop)
				to.(kind.Document)["storageClass"] = "InfrequentAccess"
				return []any{to}, err
			},
			Read: func(wire any) (any, error) {
				if list, ok := wire.([]any); ok && len(list) == 1 {
					return readAge(list[0])
				}
				return nil, errForeign
			},
		},
	}
}

var errForeign = errors.New("what no props say")

func writeAge(prop any) (any, error) {
	return kind.Document{"condition": kind.Document{"type": "Age", "maxAge": int64(prop.(time.Duration) / time.Second)}}, nil
}

// readAge is the time of a transition. One by date no props say.
func readAge(wire any) (any, error) {
	shown, _ := wire.(map[string]any)
	seconds, ok := kind.Document(shown).Get("condition.maxAge").(int64)
	if kind.Document(shown).Get("condition.type") != "Age" || !ok {
		return nil, errForeign
	}
	return (time.Duration(seconds) * time.Second).String(), nil
}

// writeLifecycle writes rules, each with the conditions that R2 wants even of a rule for all objects.
func writeLifecycle(all []LifecycleRule) ([]kind.Document, error) {
	rules, err := lifecycleTable.CreatedList(all)
	for _, r := range rules {
		if r["conditions"] == nil {
			r["conditions"] = kind.Document{"prefix": ""}
		}
	}
	return rules, err
}

// readLifecycle reads rules. The id of one that does more than props can say is shown with a note, which no declared id
// equals.
func readLifecycle(shown any) ([]LifecycleRule, error) {
	list, _ := shown.([]any)
	all := make([]LifecycleRule, len(list))
	for i, e := range list {
		rule, _ := e.(map[string]any)
		var err error
		if all[i], err = lifecycleTable.Read(kind.Document(rule)); errors.Is(err, errForeign) {
			all[i].ID = fmt.Sprint(rule["id"], " (by date, or with several classes)")
		} else if err != nil {
			return nil, err
		}
	}
	return all, nil
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
