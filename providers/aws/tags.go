package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Tags are the tags of an object: those of the settings, the author's, which win over them, and the owner's.
func Tags(cloud reconcile.Cloud, author map[string]string, mark reconcile.Mark) map[string]string {
	all := map[string]string{}
	maps.Copy(all, DefaultTags(cloud))
	maps.Copy(all, author)
	maps.Copy(all, adopt.Tags(mark))
	return all
}

// DefaultTags are the tags that the settings give every object which can have tags. Nil: none.
func DefaultTags(cloud reconcile.Cloud) map[string]string {
	if c, ok := cloud.(*Cloud); ok {
		return c.settings.Tags
	}
	return nil
}

// TagSides are the two sides of a comparison of tags: the wanted ones, and the live ones of which the program decides. It does
// not decide on tags that AWS sets, nor on those that the settings ignore and nobody declares.
func TagSides(cloud reconcile.Cloud, author map[string]string, mark reconcile.Mark, live map[string]string) (want, have map[string]string) {
	want, have = Tags(cloud, author, mark), OwnTags(live)
	maps.DeleteFunc(have, func(key, _ string) bool {
		_, declared := want[key]
		return !declared && IgnoresTag(cloud, key)
	})
	return want, have
}

// IgnoresTag reports whether the settings leave tags of a key to others. Tags of an owner are never others'.
func IgnoresTag(cloud reconcile.Cloud, key string) bool {
	c, ok := cloud.(*Cloud)
	return ok && !adopt.IsMark(key) && slices.ContainsFunc(c.settings.IgnoreTags, func(pattern string) bool {
		prefix, many := strings.CutSuffix(pattern, "*")
		return key == pattern || many && strings.HasPrefix(key, prefix)
	})
}

// OwnTags are live tags without those that AWS sets, which nobody may change.
func OwnTags(live map[string]string) map[string]string {
	own := maps.Clone(live)
	maps.DeleteFunc(own, func(k, _ string) bool { return systemTag(k) })
	return own
}

// TagList are tags as a service writes them, in order; nil for nil. tag makes one of its own type.
func TagList[T any](tags map[string]string, tag func(key, value *string) T) []T {
	if tags == nil {
		return nil
	}
	list := make([]T, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag(&k, new(tags[k])))
	}
	return list
}

// TagMap reads tags as a service writes them. parts takes one of its own type apart.
func TagMap[T any](list []T, parts func(T) (key, value *string)) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		key, value := parts(t)
		tags[sdk.ToString(key)] = sdk.ToString(value)
	}
	return tags
}

// Tag is one tag as services write it in JSON.
type Tag struct{ Key, Value string }

// LowerTag is one of services that begin the names of members in lower case.
type LowerTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// JSONTags are tags in the order of their keys; nil for nil.
func JSONTags[T Tag | LowerTag](tags map[string]string) []T {
	return TagList(tags, func(key, value *string) T { return T(Tag{*key, *value}) })
}

// MapOfTags reads such tags.
func MapOfTags[T Tag | LowerTag](list []T) map[string]string {
	return TagMap(list, func(t T) (key, value *string) { tag := Tag(t); return &tag.Key, &tag.Value })
}

func systemTag(key string) bool { return strings.HasPrefix(strings.ToLower(key), "aws:") }

// CheckTags finds tags that are not the author's to set.
func CheckTags(author map[string]string) props.Errors {
	var errs props.Errors
	for _, k := range slices.Sorted(maps.Keys(author)) {
		if adopt.IsMark(k) || systemTag(k) {
			errs = append(errs, &props.FieldError{
				Path: tree.Path("tags").Key(k), Problem: fmt.Sprintf("%q is not for authors", k),
				Hint: "tags that begin with athanor: are owner tags, and those that begin with aws: are set by AWS",
			})
		}
	}
	return errs
}

// CompareTags states the tags of an object, the author's and the owner tags, under the path tags. put and drop are
// made in one go, and only as far as each is needed.
func CompareTags[L any](d *reconcile.Diff[L], author, live map[string]string, name string,
	put func(ctx context.Context, on reconcile.Update[L], tags map[string]string) error,
	drop func(ctx context.Context, on reconcile.Update[L], keys []string) error,
) {
	want, have := TagSides(d.Cloud(), author, d.Mark(), live)
	gone := maps.Clone(have)
	maps.DeleteFunc(gone, func(key, _ string) bool { _, wanted := want[key]; return wanted })
	maps.DeleteFunc(have, func(key, _ string) bool { _, isGone := gone[key]; return isGone })
	reconcile.Map(d, "tags", want, have, name,
		func(ctx context.Context, on reconcile.Update[L], tags map[string]string, _ []string) error {
			return put(ctx, on, tags)
		})
	reconcile.Map(d, "tags", nil, gone, untagging(name),
		func(ctx context.Context, on reconcile.Update[L], _ map[string]string, keys []string) error {
			return drop(ctx, on, keys)
		})
}

// untagging is the operation that takes tags away, by the one that gives them. Some services have one for both.
func untagging(operation string) string {
	if of, ok := strings.CutPrefix(operation, "Tag"); ok {
		return "Untag" + of
	}
	if to, ok := strings.CutPrefix(operation, "AddTagsTo"); ok {
		return "RemoveTagsFrom" + to
	}
	return operation
}
