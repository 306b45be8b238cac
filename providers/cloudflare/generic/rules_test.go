package generic

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// documented are rules of the most used types as Cloudflare documents them, written down apart from the overlay: what nothing
// changes in place, what changes, what is never shown, and lists whose order does not count.
var documented = []struct{ typ, replaces, changes, hidden, unordered string }{
	{typ: "accounts.Member", replaces: "email", changes: "policies"},
	{typ: "aigateway.Gateway", replaces: "id", changes: "cache_ttl collect_logs rate_limiting_limit"},
	{typ: "addressing.RegionalHostname", replaces: "hostname", changes: "region_key"},
	{typ: "customcertificates.Certificate", changes: "bundle_method certificate", hidden: "private_key"},
	{typ: "customhostnames.Hostname", replaces: "hostname", changes: "ssl"},
	{typ: "emailrouting.Address", replaces: "email"},
	{typ: "emailrouting.Rule", changes: "actions matchers enabled priority"},
	{typ: "images.Variant", replaces: "id", changes: "options"},
	{typ: "loadbalancers.LoadBalancer", changes: "name default_pools fallback_pool"},
	{typ: "loadbalancers.Monitor", changes: "path interval expected_codes type"},
	{typ: "loadbalancers.Pool", changes: "name origins monitor"},
	{typ: "logpush.Job", replaces: "dataset", changes: "destination_conf enabled"},
	{typ: "mtlscertificates.Certificate", replaces: "certificates ca name", hidden: "private_key"},
	{typ: "origincacertificates.Certificate", replaces: "csr hostnames request_type requested_validity"},
	{typ: "origintlsclientauth.Certificate", replaces: "certificate", hidden: "private_key"},
	{typ: "pages.Project", replaces: "name", changes: "production_branch build_config"},
	{typ: "pipelines.Sink", replaces: "config format"},
	{typ: "pipelines.Stream", replaces: "format schema", changes: "http"},
	{typ: "rules.List", replaces: "kind name", changes: "description"},
	{typ: "secretsstore.Secret", replaces: "name", changes: "scopes", hidden: "value", unordered: "scopes"},
	{typ: "spectrum.App", changes: "dns protocol origin_direct"},
	{typ: "stream.LiveInput", changes: "enabled deleteRecordingAfterDays"},
	{typ: "turnstile.Widget", replaces: "region", changes: "mode domains name", unordered: "domains"},
	{typ: "vectorize.Index", replaces: "config name"},
	{typ: "waitingrooms.WaitingRoom", changes: "host new_users_per_minute total_active_users"},
	{typ: "waitingrooms.Event", changes: "event_start_time event_end_time"},
	{typ: "workersforplatforms.DispatchNamespace", replaces: "name"},
	{typ: "zerotrust.AccessPolicy", changes: "decision include name", unordered: "include exclude require"},
	{typ: "zerotrust.AccessGroup", changes: "include name", unordered: "include"},
	{typ: "zerotrust.AccessServiceToken", changes: "duration name"},
	{typ: "zerotrust.GatewayList", replaces: "type", changes: "name", unordered: "items"},
	{typ: "zerotrust.Tunnel", replaces: "config_src", changes: "name", hidden: "tunnel_secret"},
	{typ: "zerotrust.TunnelRoute", changes: "network"},
	{typ: "zerotrust.VirtualNetwork", changes: "name"},
	{typ: "zerotrust.AccessIdentityProvider", changes: "name config"},
	{typ: "zerotrust.GatewayRule", changes: "action traffic"},
	{typ: "zerotrust.AccessTag", replaces: "name"},
	{typ: "alerting.Policy", changes: "alert_type enabled name"},
	{typ: "alerting.DestinationWebhook", changes: "name url"},
	{typ: "filters.Filter", changes: "expression"},
	{typ: "calls.App", changes: "name"},
	{typ: "iam.OauthClient", changes: "scopes"},
}

// TestDocumentedRules holds what the kinds do against these rules.
func TestDocumentedRules(t *testing.T) {
	for _, rule := range documented {
		t.Run(rule.typ, func(t *testing.T) {
			t.Parallel()
			s := sampled(t, schema.Prefix+rule.typ)
			if rule.typ == "logpush.Job" { // its samples are one and the same word
				s.other["dataset"] = "http_requests"
			}
			l := begin(t, s)
			full := s.variants[0].Props
			for name := range strings.FieldsSeq(rule.replaces + " " + rule.changes + " " + rule.hidden + " " + rule.unordered) {
				if full[name] == nil || s.other[name] == nil {
					t.Fatalf("%s is not declared", name)
				}
			}
			l.settle(full)
			for name := range strings.FieldsSeq(rule.replaces) {
				l.replaces(with(full, name, s.other[name]), name)
			}
			for name := range strings.FieldsSeq(rule.changes) {
				if look := l.look(with(full, name, s.other[name])); len(look.Steps) == 0 || len(look.Replaces()) > 0 {
					t.Errorf("%s does not change in place: %v", name, look.Steps)
				}
			}
			for name := range strings.FieldsSeq(rule.hidden) {
				l.isHidden(full, name, s.other[name])
			}
			for name := range strings.FieldsSeq(rule.unordered) {
				l.orderCountsNot(full, name, s.other[name])
			}
			least := begin(t, s)
			least.settle(s.base)
			for name := range strings.FieldsSeq(rule.changes) {
				if s.base[name] == nil {
					least.isFilledIn(s.base, name, s.other[name])
				}
			}
		})
	}
}

func with(props obj, name string, value any) obj {
	out := tree.Clone(props).(obj)
	out[name] = value
	return out
}

// replaces checks that a change is announced as a replacement, and that settling writes nothing.
func (l *living) replaces(props obj, name string) {
	l.t.Helper()
	if look := l.look(props); len(look.Replaces()) == 0 {
		l.t.Errorf("another %s does not replace: %v", name, look.Steps)
	}
	before := l.objects()
	_, err := l.suite.Kind.Settle(l.t.Context(), l.declare(props), reconcile.Hooks{})
	if !errors.Is(err, reconcile.ErrReplace) || !tree.Equal(before, l.objects()) {
		l.t.Errorf("another %s: settling says %v, and there is %v", name, err, l.objects())
	}
}

// isHidden checks that what others write there is never compared, that another declaration is seen, and that no plan shows it.
func (l *living) isHidden(props obj, name string, other any) {
	l.t.Helper()
	l.edits(l.world, textAt(l.job.Last, l.kind.ID), name, "somebody else's")
	if look := l.look(props); len(look.Steps) > 0 {
		l.t.Errorf("%s is compared with what is there: %v", name, look.Steps)
	}
	steps := l.look(with(props, name, other)).Steps
	if len(steps) != 1 || steps[0].Path != tree.Path("").Key(name) || steps[0].Want != reconcile.Mask {
		l.t.Errorf("another %s shows %v", name, steps)
	}
}

// isFilledIn checks that a value which the service gives to what the program leaves out is no difference, nor is declaring that value.
func (l *living) isFilledIn(props obj, name string, value any) {
	l.t.Helper()
	l.edits(l.world, textAt(l.job.Last, l.kind.ID), name, value)
	if look := l.look(props); len(look.Steps) > 0 {
		l.t.Errorf("%s is not declared, and its value is a difference: %v", name, look.Steps)
	}
	for _, step := range l.look(with(props, name, value)).Steps {
		if step.Want != reconcile.Mask { // what is never shown is written when it is declared
			l.t.Errorf("%s is declared as it is, and differs: %v", name, step)
		}
	}
}

// orderCountsNot checks that another order is no difference, and another element is one.
func (l *living) orderCountsNot(props obj, name string, other any) {
	l.t.Helper()
	both := slices.Concat(props[name].(list), other.(list))
	l.job.Had = with(props, name, both)
	l.settle(l.job.Had)
	turned := slices.Clone(both)
	slices.Reverse(turned)
	if look := l.look(with(props, name, turned)); len(look.Steps) > 0 {
		l.t.Errorf("%s in another order differs: %v", name, look.Steps)
	}
	if look := l.look(with(props, name, other)); len(look.Steps) == 0 {
		l.t.Errorf("an element of %s less shows no difference", name)
	}
	l.settle(props)
}
