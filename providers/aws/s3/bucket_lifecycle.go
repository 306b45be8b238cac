package s3

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// LifecycleRule moves or deletes the objects that all of its conditions match; without conditions, all objects.
type LifecycleRule struct {
	// ID names the rule, at most 255 characters. Left out, S3 makes one, which is not compared.
	ID string `wire:"ID"`
	// Disabled keeps the rule without effect.
	Disabled bool `prop:"default=false" wire:"Status,disabled"`
	// Prefix matches keys that begin with it.
	Prefix string `wire:"Filter.And.Prefix"`
	// Tags match objects that have them all.
	Tags map[string]string `wire:"Filter.And.Tags,tags"`
	// SizeGreaterThan matches objects above it, in bytes.
	SizeGreaterThan *props.Size `wire:"Filter.And.ObjectSizeGreaterThan"`
	// SizeLessThan matches objects below it, in bytes.
	SizeLessThan *props.Size `wire:"Filter.And.ObjectSizeLessThan"`
	// Expiration is when current versions are deleted.
	Expiration *Expiration `wire:"Expiration"`
	// Transitions are when current versions move to other storage classes, one for each class.
	Transitions []Transition `prop:"set" wire:"Transitions,elements"`
	// NoncurrentExpiration is when versions that are no longer current are deleted for good.
	NoncurrentExpiration *NoncurrentExpiration `wire:"NoncurrentVersionExpiration"`
	// NoncurrentTransitions are when versions that are no longer current move, one for each class.
	NoncurrentTransitions []NoncurrentTransition `prop:"set" wire:"NoncurrentVersionTransitions,elements"`
	// AbortUploadsAfterDays deletes the parts of uploads that were begun this many days ago and not completed. 0: never.
	AbortUploadsAfterDays int `prop:"min=0" wire:"AbortIncompleteMultipartUpload.DaysAfterInitiation,omitzero"`
}

// Expiration is by days, by date, or of delete markers: exactly one.
type Expiration struct {
	// Days after creation, at least 1.
	Days int `prop:"min=0" wire:"Days,omitzero"`
	// Date as 2030-12-31, at midnight UTC.
	Date string `wire:"Date,date"`
	// DeleteMarkers removes delete markers that no version stands behind.
	DeleteMarkers bool `prop:"default=false" wire:"ExpiredObjectDeleteMarker,omitzero"`
}

// Transition moves objects to a storage class, by days or by date.
type Transition struct {
	// Days after creation; 0 is as soon as possible.
	Days int `prop:"min=0,excludes=date" wire:"Days"`
	// Date as 2030-12-31, at midnight UTC; it takes the place of days.
	Date string `wire:"Date,date"`
	// StorageClass to move to.
	StorageClass string `prop:"required,enum=GLACIER|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|DEEP_ARCHIVE|GLACIER_IR" wire:"StorageClass"`
}

// NoncurrentExpiration deletes versions that are no longer current.
type NoncurrentExpiration struct {
	// Days since a newer version took its place, at least 1.
	Days int `prop:"required,min=1" wire:"NoncurrentDays"`
	// KeepNewest is how many of the newest such versions are kept all the same, at most 100. 0: none.
	KeepNewest int `prop:"min=0,max=100" wire:"NewerNoncurrentVersions,omitzero"`
}

// NoncurrentTransition moves versions that are no longer current.
type NoncurrentTransition struct {
	// Days since a newer version took its place.
	Days int `prop:"min=0" wire:"NoncurrentDays"`
	// KeepNewest is how many of the newest such versions stay, at most 100. 0: none.
	KeepNewest int `prop:"min=0,max=100" wire:"NewerNoncurrentVersions,omitzero"`
	// StorageClass to move to.
	StorageClass string `prop:"required,enum=GLACIER|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|DEEP_ARCHIVE|GLACIER_IR" wire:"StorageClass"`
}

var lifecycleTable = kind.TableOf[LifecycleRule](lifecycleCodecs()...)

// lifecycleCodecs are those of rules: dates are midnight UTC, and tags a list of keys and values.
func lifecycleCodecs() []kind.Codec {
	return []kind.Codec{
		switchCodec("disabled", "Disabled", "Enabled"),
		{
			Name:  "date",
			Write: func(prop any) (any, error) { return fmt.Sprint(prop) + "T00:00:00Z", nil },
			Read:  func(wire any) (any, error) { return strings.Split(fmt.Sprint(wire), "T")[0], nil },
		},
		{
			Name: "tags",
			Write: func(prop any) (any, error) {
				var list []any
				for _, t := range tagList(prop.(map[string]string)) {
					list = append(list, map[string]any{"Key": *t.Key, "Value": *t.Value})
				}
				return list, nil
			},
			Read: func(wire any) (any, error) {
				tags := map[string]any{}
				list, _ := wire.([]any)
				for _, t := range list {
					tag, _ := t.(map[string]any)
					key, _ := tag["Key"].(string)
					tags[key] = tag["Value"]
				}
				return tags, nil
			},
		},
	}
}

// combined is a rule with all of its conditions in And, as they are read: S3 has one condition by itself, and rules of the old
// form have a prefix of their own.
func combined(rule types.LifecycleRule) types.LifecycleRule {
	f := rule.Filter
	if f == nil {
		f = &types.LifecycleRuleFilter{Prefix: rule.Prefix} // deprecated, and such rules still exist
	}
	and := f.And
	if and == nil {
		and = &types.LifecycleRuleAndOperator{
			Prefix: f.Prefix, ObjectSizeGreaterThan: f.ObjectSizeGreaterThan, ObjectSizeLessThan: f.ObjectSizeLessThan,
		}
		if f.Tag != nil {
			and.Tags = []types.Tag{*f.Tag}
		}
	}
	rule.Filter = &types.LifecycleRuleFilter{And: and}
	return rule
}

// filterOf is the filter of a combined rule as S3 takes it: one condition by itself, and several in And.
func filterOf(rule types.LifecycleRule) *types.LifecycleRuleFilter {
	if rule.Filter == nil {
		return &types.LifecycleRuleFilter{Prefix: new("")}
	}
	and, conditions := rule.Filter.And, len(rule.Filter.And.Tags)
	for _, set := range []bool{and.Prefix != nil, and.ObjectSizeGreaterThan != nil, and.ObjectSizeLessThan != nil} {
		if set {
			conditions++
		}
	}
	switch {
	case conditions > 1:
		return rule.Filter
	case len(and.Tags) == 1:
		return &types.LifecycleRuleFilter{Tag: &and.Tags[0]}
	}
	return &types.LifecycleRuleFilter{
		Prefix: and.Prefix, ObjectSizeGreaterThan: and.ObjectSizeGreaterThan, ObjectSizeLessThan: and.ObjectSizeLessThan,
	}
}

// aligned puts the live rules into the order of the declared ones: the order of lifecycle rules means nothing, and a rule
// without an ID gets one from S3. Rules that nobody declares come last.
func aligned(want, have []LifecycleRule) []LifecycleRule {
	rest, out := slices.Clone(have), make([]LifecycleRule, 0, len(have))
	for _, w := range want {
		if i := slices.IndexFunc(rest, w.names); i >= 0 {
			out = append(out, rest[i])
			rest = slices.Delete(rest, i, i+1)
			if w.ID == "" {
				out[len(out)-1].ID = ""
			}
		}
	}
	slices.SortStableFunc(rest, func(a, b LifecycleRule) int { return strings.Compare(a.ID, b.ID) })
	return append(out, rest...)
}

// names reports whether have is the rule that r means: the one of its ID, or one that is equal but for the ID.
func (r LifecycleRule) names(have LifecycleRule) bool {
	if r.ID != "" {
		return r.ID == have.ID
	}
	have.ID = ""
	return lifecycleTable.Equal(r, have)
}

// isDate reports a date such as 2030-12-31. S3 takes no time of day but midnight UTC.
func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}
