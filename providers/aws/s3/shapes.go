package s3

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
)

// count is a pointer to n, nil when it is zero.
func count(n int) *int32 {
	if n == 0 {
		return nil
	}
	return new(int32(n))
}

// orNil makes an empty map nil, so that unset and empty are equal.
func orNil[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}

// sorted is a copy in order, nil when empty.
func sorted[T cmp.Ordered](in []T) []T {
	if len(in) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(in))
}

// sortedBy is a copy in the order of a key, nil when empty.
func sortedBy[T any, K cmp.Ordered](in []T, key func(T) K) []T {
	if len(in) == 0 {
		return nil
	}
	return slices.SortedStableFunc(slices.Values(in), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

// equalProps compares props structs that are in normal form.
func equalProps[T any](a, b T) bool { return reflect.DeepEqual(a, b) }

// tagList writes tags in the order of their keys.
func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

// tagMap reads tags.
func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

// each is a list with f applied to every element, nil when empty.
func each[T any](in []T, f func(T) T) []T {
	if len(in) == 0 {
		return nil
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
