package s3

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
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
	out := make([]types.Tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return out
}

// tagMap reads tags.
func tagMap(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[awssdk.ToString(t.Key)] = awssdk.ToString(t.Value)
	}
	return out
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
