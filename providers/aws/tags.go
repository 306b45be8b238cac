package aws

import (
	"fmt"
	"maps"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// Tags are the author's tags with the mark.
func Tags(author map[string]string, mark reconcile.Mark) map[string]string {
	all := maps.Clone(author)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, adopt.Tags(mark))
	return all
}

// OwnTags are live tags without those that AWS itself sets and nobody may change.
func OwnTags(live map[string]string) map[string]string {
	own := maps.Clone(live)
	maps.DeleteFunc(own, func(k, _ string) bool { return strings.HasPrefix(k, "aws:") })
	return own
}

// CheckTags refuses tags that are not the author's to set.
func CheckTags(author map[string]string) error {
	for k := range author {
		if adopt.IsMark(k) || strings.HasPrefix(k, "aws:") {
			return reconcile.WithHint(fmt.Errorf("tags: %q is reserved", k), "choose another beginning than athanor: and aws:")
		}
	}
	return nil
}
