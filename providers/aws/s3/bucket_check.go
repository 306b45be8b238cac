package s3

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var nameForm = props.Pattern(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// checkBucket finds what S3 would refuse only after the bucket was made.
func checkBucket(want BucketProps) error {
	var bad props.Errors
	say := func(path, problem string) { bad = append(bad, problemAt(path, problem)) }
	if want.Name != "" && !token.Has(want.Name) && !nameForm().MatchString(want.Name) {
		say("name", "wants 3 to 63 lower case letters, digits, \".\" and \"-\", beginning and ending with a letter or digit")
	}
	if want.ObjectLockEnabled && want.Versioning == "Suspended" {
		say("versioning", "objectLockEnabled needs it Enabled")
	}
	if r := want.ObjectLockRetention; r != nil {
		if !want.ObjectLockEnabled {
			say("objectLockRetention", "needs objectLockEnabled")
		}
		if (r.Days > 0) == (r.Years > 0) {
			say("objectLockRetention", "needs either days or years")
		}
	}
	if e := want.Encryption; e != nil && e.Algorithm == "AES256" && (e.KMSKey != "" || e.BucketKeyEnabled) {
		say("encryption", "kmsKey and bucketKeyEnabled need an algorithm of KMS")
	}
	for i, r := range want.CORS {
		if r.MaxAge != nil && (*r.MaxAge%time.Second != 0 || *r.MaxAge < 0) {
			say(fmt.Sprintf("cors[%d].maxAge", i), "must be whole seconds")
		}
	}
	if text, ok := want.Policy.(string); ok && !token.Has(text) {
		if _, err := tree.Decode([]byte(text)); text != "" && err != nil {
			say("policy", "is no JSON: "+err.Error())
		}
	}
	checkWebsite(want.Website, say)
	told := want.allNotifications()
	for _, name := range slices.Sorted(maps.Keys(told)) {
		told[name].check(name, func(problem string) { say(string(notificationPath(want, name)), problem) })
		_, bound := want.Bindings[name]
		if _, twice := want.Notifications[name]; bound && twice {
			say(string(notificationPath(want, name)), "notifications has one with this name too")
		}
	}
	for i, r := range want.Lifecycle {
		r.check(func(path, problem string) { say(fmt.Sprintf("lifecycle[%d]%s", i, path), problem) })
	}
	bad = append(bad, checkTags(want.Tags, 44)...)
	if len(bad) == 0 {
		return nil
	}
	return bad
}

func checkWebsite(w *Website, say func(path, problem string)) {
	if w == nil {
		return
	}
	redirects := w.RedirectTo != ""
	switch {
	case redirects && (w.IndexDocument != "" || w.ErrorDocument != "" || len(w.RoutingRules) > 0):
		say("website", "redirectTo excludes indexDocument, errorDocument and routingRules")
	case !redirects && w.IndexDocument == "":
		say("website", "needs indexDocument or redirectTo")
	case !redirects && w.RedirectProtocol != "":
		say("website.redirectProtocol", "needs redirectTo")
	case strings.Contains(w.IndexDocument, "/") && !token.Has(w.IndexDocument):
		say("website.indexDocument", "is a name without /")
	}
	for i, r := range w.RoutingRules {
		path := fmt.Sprintf("website.routingRules[%d]", i)
		if r.ReplaceKey != "" && r.ReplaceKeyPrefix != nil {
			say(path, "takes replaceKey or replaceKeyPrefix, not both")
		}
		if r.Host == "" && r.Protocol == "" && r.RedirectCode == "" && r.ReplaceKey == "" && r.ReplaceKeyPrefix == nil {
			say(path, "sends nowhere: it needs host, protocol, redirectCode, replaceKey or replaceKeyPrefix")
		}
	}
	if len(w.RoutingRules) > 50 {
		say("website.routingRules", "want at most 50")
	}
}

func (n Notification) check(name string, say func(problem string)) {
	targets := 0
	for _, arn := range []aws.ARN{n.Queue, n.Topic, n.Function} {
		if arn != "" {
			targets++
		}
		if strings.HasSuffix(string(arn), ".fifo") {
			say("S3 tells no FIFO queues or topics")
		}
	}
	switch {
	case targets != 1:
		say("needs one of queue, topic and function")
	case len(name) > 255 && !token.Has(name):
		say("has a name of more than 255 characters")
	case slices.Contains(n.Events, ""), len(n.Events) == 0:
		say("needs events")
	}
}

func (r LifecycleRule) check(say func(path, problem string)) {
	if e := r.Expiration; e != nil {
		set := 0
		for _, is := range []bool{e.Days > 0, e.Date != "", e.DeleteMarkers} {
			if is {
				set++
			}
		}
		if set != 1 {
			say(".expiration", "needs exactly one of days, date and deleteMarkers")
		}
		checkDate(".expiration.date", e.Date, say)
	}
	for i, t := range r.Transitions {
		path := fmt.Sprintf(".transitions[%d]", i)
		if t.Days > 0 && t.Date != "" {
			say(path, "takes days or date, not both")
		}
		checkDate(path+".date", t.Date, say)
	}
	if r.Expiration == nil && r.NoncurrentExpiration == nil && len(r.Transitions)+len(r.NoncurrentTransitions)+r.AbortUploadsAfterDays == 0 {
		say("", "does nothing: it needs an expiration, a transition or abortUploadsAfterDays")
	}
}

func checkDate(path, date string, say func(path, problem string)) {
	if date == "" || token.Has(date) {
		return
	}
	if _, err := time.Parse(dateForm, date); err != nil {
		say(path, "want a date such as 2030-12-31")
	}
}

// checkTags finds keys that are not the author's to set, and more tags than fit beside the mark.
func checkTags(tags map[string]string, most int) props.Errors {
	bad := aws.CheckTags(tags)
	if len(tags) > most {
		bad = append(bad, problemAt("tags", fmt.Sprintf("has %d tags; %d fit beside those of the mark", len(tags), most)))
	}
	return bad
}

func problemAt(path, problem string) *props.FieldError {
	return &props.FieldError{Path: tree.Path(path), Problem: problem}
}
