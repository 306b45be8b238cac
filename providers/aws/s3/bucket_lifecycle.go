package s3

import (
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// dateForm is how dates are written in props. S3 takes no time of day but midnight UTC.
const dateForm = time.DateOnly

// LifecycleRule moves or deletes the objects that all of its conditions match; without conditions, all objects.
type LifecycleRule struct {
	// ID names the rule, at most 255 characters. Left out, S3 makes one, which is not compared.
	ID string
	// Disabled keeps the rule without effect. Default: false.
	Disabled bool
	// Prefix matches keys that begin with it.
	Prefix string
	// Tags match objects that have them all.
	Tags map[string]string
	// SizeGreaterThan matches objects above it, in bytes.
	SizeGreaterThan *props.Size
	// SizeLessThan matches objects below it, in bytes.
	SizeLessThan *props.Size
	// Expiration is when current versions are deleted.
	Expiration *Expiration
	// Transitions are when current versions move to other storage classes, one for each class.
	Transitions []Transition
	// NoncurrentExpiration is when versions that are no longer current are deleted for good.
	NoncurrentExpiration *NoncurrentExpiration
	// NoncurrentTransitions are when versions that are no longer current move, one for each class.
	NoncurrentTransitions []NoncurrentTransition
	// AbortUploadsAfterDays deletes the parts of uploads that were begun this many days ago and not completed. 0: never.
	AbortUploadsAfterDays int `prop:"min=0"`
}

// Expiration is by days, by date, or of delete markers: exactly one.
type Expiration struct {
	// Days after creation, at least 1.
	Days int `prop:"min=0"`
	// Date as 2030-12-31, at midnight UTC.
	Date string
	// DeleteMarkers removes delete markers that no version stands behind. Default: false.
	DeleteMarkers bool
}

// Transition moves objects to a storage class, by days or by date.
type Transition struct {
	// Days after creation; 0 is as soon as possible.
	Days int `prop:"min=0"`
	// Date as 2030-12-31, at midnight UTC; it takes the place of days.
	Date string
	// StorageClass to move to.
	StorageClass string `prop:"required,enum=GLACIER|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|DEEP_ARCHIVE|GLACIER_IR"`
}

// NoncurrentExpiration deletes versions that are no longer current.
type NoncurrentExpiration struct {
	// Days since a newer version took its place, at least 1.
	Days int `prop:"required,min=1"`
	// KeepNewest is how many of the newest such versions are kept all the same, at most 100. 0: none.
	KeepNewest int `prop:"min=0,max=100"`
}

// NoncurrentTransition moves versions that are no longer current.
type NoncurrentTransition struct {
	// Days since a newer version took its place.
	Days int `prop:"min=0"`
	// KeepNewest is how many of the newest such versions stay, at most 100. 0: none.
	KeepNewest int `prop:"min=0,max=100"`
	// StorageClass to move to.
	StorageClass string `prop:"required,enum=GLACIER|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|DEEP_ARCHIVE|GLACIER_IR"`
}

// normal is a rule whose unordered parts are in order and whose empty parts are nil.
func (r LifecycleRule) normal() LifecycleRule {
	r.Tags = orNil(r.Tags)
	r.Transitions = sortedBy(r.Transitions, func(t Transition) string { return t.StorageClass })
	r.NoncurrentTransitions = sortedBy(r.NoncurrentTransitions, func(t NoncurrentTransition) string { return t.StorageClass })
	return r
}

// rule writes a rule as S3 wants it.
func (r LifecycleRule) rule() types.LifecycleRule {
	out := types.LifecycleRule{ID: aws.OrNil(r.ID), Status: types.ExpirationStatusEnabled, Filter: r.filter()}
	if r.Disabled {
		out.Status = types.ExpirationStatusDisabled
	}
	if e := r.Expiration; e != nil {
		out.Expiration = &types.LifecycleExpiration{Days: count(e.Days), Date: date(e.Date)}
		if e.DeleteMarkers {
			out.Expiration.ExpiredObjectDeleteMarker = new(true)
		}
	}
	for _, t := range r.Transitions {
		move := types.Transition{Date: date(t.Date), StorageClass: types.TransitionStorageClass(t.StorageClass)}
		if move.Date == nil {
			move.Days = new(int32(t.Days))
		}
		out.Transitions = append(out.Transitions, move)
	}
	if e := r.NoncurrentExpiration; e != nil {
		out.NoncurrentVersionExpiration = &types.NoncurrentVersionExpiration{
			NoncurrentDays: new(int32(e.Days)), NewerNoncurrentVersions: count(e.KeepNewest),
		}
	}
	for _, t := range r.NoncurrentTransitions {
		out.NoncurrentVersionTransitions = append(out.NoncurrentVersionTransitions, types.NoncurrentVersionTransition{
			NoncurrentDays: new(int32(t.Days)), NewerNoncurrentVersions: count(t.KeepNewest),
			StorageClass: types.TransitionStorageClass(t.StorageClass),
		})
	}
	if r.AbortUploadsAfterDays > 0 {
		out.AbortIncompleteMultipartUpload = &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: new(int32(r.AbortUploadsAfterDays))}
	}
	return out
}

// filter writes the conditions: S3 takes one condition plainly and several only inside And.
func (r LifecycleRule) filter() *types.LifecycleRuleFilter {
	conditions := len(r.Tags)
	for _, set := range []bool{r.Prefix != "", r.SizeGreaterThan != nil, r.SizeLessThan != nil} {
		if set {
			conditions++
		}
	}
	greater, less := (*int64)(r.SizeGreaterThan), (*int64)(r.SizeLessThan)
	switch {
	case conditions == 0:
		return &types.LifecycleRuleFilter{Prefix: new("")}
	case conditions > 1:
		return &types.LifecycleRuleFilter{And: &types.LifecycleRuleAndOperator{
			Prefix: aws.OrNil(r.Prefix), Tags: tagList(r.Tags), ObjectSizeGreaterThan: greater, ObjectSizeLessThan: less,
		}}
	case len(r.Tags) == 1:
		return &types.LifecycleRuleFilter{Tag: &tagList(r.Tags)[0]}
	default:
		return &types.LifecycleRuleFilter{Prefix: aws.OrNil(r.Prefix), ObjectSizeGreaterThan: greater, ObjectSizeLessThan: less}
	}
}

// lifecycleOf reads a rule as S3 shows it.
func lifecycleOf(in types.LifecycleRule) LifecycleRule {
	r := LifecycleRule{ID: awssdk.ToString(in.ID), Disabled: in.Status == types.ExpirationStatusDisabled}
	r.Prefix = awssdk.ToString(in.Prefix) //nolint:staticcheck // only rules of the old form have it here, and they still exist
	if f := in.Filter; f != nil {
		r.readFilter(f)
	}
	if e := in.Expiration; e != nil {
		r.Expiration = &Expiration{
			Days: int(awssdk.ToInt32(e.Days)), Date: dateOf(e.Date), DeleteMarkers: awssdk.ToBool(e.ExpiredObjectDeleteMarker),
		}
	}
	for _, t := range in.Transitions {
		r.Transitions = append(r.Transitions, Transition{
			Days: int(awssdk.ToInt32(t.Days)), Date: dateOf(t.Date), StorageClass: string(t.StorageClass),
		})
	}
	if e := in.NoncurrentVersionExpiration; e != nil {
		r.NoncurrentExpiration = &NoncurrentExpiration{
			Days: int(awssdk.ToInt32(e.NoncurrentDays)), KeepNewest: int(awssdk.ToInt32(e.NewerNoncurrentVersions)),
		}
	}
	for _, t := range in.NoncurrentVersionTransitions {
		r.NoncurrentTransitions = append(r.NoncurrentTransitions, NoncurrentTransition{
			Days: int(awssdk.ToInt32(t.NoncurrentDays)), KeepNewest: int(awssdk.ToInt32(t.NewerNoncurrentVersions)), StorageClass: string(t.StorageClass),
		})
	}
	if a := in.AbortIncompleteMultipartUpload; a != nil {
		r.AbortUploadsAfterDays = int(awssdk.ToInt32(a.DaysAfterInitiation))
	}
	return r.normal()
}

func (r *LifecycleRule) readFilter(f *types.LifecycleRuleFilter) {
	prefix, tags, greater, less := f.Prefix, []types.Tag(nil), f.ObjectSizeGreaterThan, f.ObjectSizeLessThan
	if f.Tag != nil {
		tags = []types.Tag{*f.Tag}
	}
	if and := f.And; and != nil {
		prefix, tags, greater, less = and.Prefix, and.Tags, and.ObjectSizeGreaterThan, and.ObjectSizeLessThan
	}
	if prefix != nil {
		r.Prefix = *prefix
	}
	r.Tags = orNil(tagMap(tags))
	r.SizeGreaterThan, r.SizeLessThan = (*props.Size)(greater), (*props.Size)(less)
}

// aligned puts the rules that are there into the order of those that are wanted: the order of lifecycle rules
// means nothing, and a rule without an ID gets one from S3. What nobody asked for comes last.
func aligned(want, have []LifecycleRule) []LifecycleRule {
	rest, out := slices.Clone(have), make([]LifecycleRule, 0, len(have))
	take := func(i int) {
		out = append(out, rest[i])
		rest = slices.Delete(rest, i, i+1)
	}
	for _, w := range want {
		if i := slices.IndexFunc(rest, w.names); i >= 0 {
			take(i)
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
	return equalProps(r, have)
}

func date(s string) *time.Time {
	t, err := time.Parse(dateForm, s)
	if err != nil {
		return nil
	}
	return &t
}

func dateOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(dateForm)
}
