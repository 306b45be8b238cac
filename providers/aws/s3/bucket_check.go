package s3

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checkBucket finds what S3 would refuse only after the bucket was created, beyond what the table of the props says.
func checkBucket(want BucketProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if want.ObjectLockEnabled && want.Versioning == "Suspended" {
		wrong("versioning", "objectLockEnabled needs it Enabled")
	}
	if r := want.ObjectLockRetention; r != nil {
		if !want.ObjectLockEnabled {
			wrong("objectLockRetention", "needs objectLockEnabled")
		}
		if (r.Days > 0) == (r.Years > 0) {
			wrong("objectLockRetention", "needs either days or years")
		}
	}
	if e := want.Encryption; e != nil && e.Algorithm == "AES256" && (e.KMSKey != "" || e.BucketKeyEnabled) {
		wrong("encryption", "kmsKey and bucketKeyEnabled need an algorithm of KMS")
	}
	if text, ok := want.Policy.(string); ok && !token.Has(text) {
		if _, err := tree.Decode([]byte(text)); text != "" && err != nil {
			wrong("policy", "is no JSON: "+err.Error())
		}
	}
	checkWebsite(want.Website, wrong)
	for _, name := range slices.Sorted(maps.Keys(want.Notifications)) {
		want.Notifications[name].check(tree.Path("notifications").Key(name), name, wrong)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Bindings)) {
		path := tree.Path("bindings").Key(name)
		want.Bindings[name].check(path, name, wrong)
		if _, twice := want.Notifications[name]; twice {
			wrong(path, "notifications has one with this name too")
		}
	}
	for i, r := range want.Lifecycle {
		r.check(tree.Path("lifecycle").Index(i), wrong)
	}
	return problems.OrNil()
}

func checkWebsite(w *Website, wrong func(tree.Path, string)) {
	if w == nil {
		return
	}
	switch {
	case w.RedirectTo == "" && w.IndexDocument == "":
		wrong("website", "needs indexDocument or redirectTo")
	case strings.Contains(w.IndexDocument, "/") && !token.Has(w.IndexDocument):
		wrong("website.indexDocument", "is a name without /")
	}
	for i, r := range w.RoutingRules {
		path := tree.Path("website.routingRules").Index(i)
		if r.ReplaceKey != "" && r.ReplaceKeyPrefix != nil {
			wrong(path, "takes replaceKey or replaceKeyPrefix, not both")
		}
		if r.Host == "" && r.Protocol == "" && r.RedirectCode == "" && r.ReplaceKey == "" && r.ReplaceKeyPrefix == nil {
			wrong(path, "sends nowhere: it needs host, protocol, redirectCode, replaceKey or replaceKeyPrefix")
		}
	}
}

func (n Notification) check(at tree.Path, name string, wrong func(tree.Path, string)) {
	destinations := slices.DeleteFunc([]aws.ARN{n.Queue, n.Topic, n.Function}, func(arn aws.ARN) bool { return arn == "" })
	switch {
	case slices.ContainsFunc(destinations, func(arn aws.ARN) bool { return strings.HasSuffix(string(arn), ".fifo") }):
		wrong(at, "S3 sends to no FIFO queues or topics")
	case len(destinations) != 1:
		wrong(at, "needs one of queue, topic and function")
	case len(name) > 255 && !token.Has(name):
		wrong(at, "has a name of more than 255 characters")
	case slices.Contains(n.Events, ""), len(n.Events) == 0:
		wrong(at, "needs events")
	}
}

func (r LifecycleRule) check(at tree.Path, wrong func(tree.Path, string)) {
	date := func(path tree.Path, date string) {
		if date != "" && !token.Has(date) && !isDate(date) {
			wrong(path, "want a date such as 2030-12-31")
		}
	}
	if e := r.Expiration; e != nil {
		ways := slices.DeleteFunc([]bool{e.Days > 0, e.Date != "", e.DeleteMarkers}, func(set bool) bool { return !set })
		if len(ways) != 1 {
			wrong(at.Key("expiration"), "needs exactly one of days, date and deleteMarkers")
		}
		date(at.Key("expiration").Key("date"), e.Date)
	}
	for i, t := range r.Transitions {
		date(at.Key("transitions").Index(i).Key("date"), t.Date)
	}
	if r.Expiration == nil && r.NoncurrentExpiration == nil && len(r.Transitions)+len(r.NoncurrentTransitions)+r.AbortUploadsAfterDays == 0 {
		wrong(at, "does nothing: it needs an expiration, a transition or abortUploadsAfterDays")
	}
}
