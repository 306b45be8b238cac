package dynamodb

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// keysOf are all attributes that are keys, of the table or of an index, with the type of each.
func keysOf(p TableProps) map[string]string {
	keys := fixedKeys(p)
	for _, x := range p.GlobalSecondaryIndexes {
		for _, name := range slices.Concat(x.PartitionKey, x.SortKey) {
			keys[name] = typeIn(p, name)
		}
	}
	return keys
}

// fixedKeys are those of them that nothing can change in place.
func fixedKeys(p TableProps) map[string]string {
	keys := map[string]string{}
	add := func(name string) {
		if name != "" {
			keys[name] = typeIn(p, name)
		}
	}
	add(p.PartitionKey)
	add(p.SortKey)
	for _, x := range p.LocalSecondaryIndexes {
		add(x.SortKey)
	}
	return keys
}

func typeIn(p TableProps, attribute string) string {
	if of := p.Attributes[attribute]; of != "" {
		return of
	}
	return "S"
}

// definitions writes types of keys as the service takes them.
func definitions(keys map[string]string) []types.AttributeDefinition {
	var out []types.AttributeDefinition
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeType(keys[name])})
	}
	return out
}

func schema(partition, sort []string) []types.KeySchemaElement {
	var out []types.KeySchemaElement
	for _, name := range partition {
		out = append(out, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeHash})
	}
	for _, name := range sort {
		out = append(out, types.KeySchemaElement{AttributeName: &name, KeyType: types.KeyTypeRange})
	}
	return out
}

// compareKeys states the types of the keys of the table and of local indexes.
func compareKeys(d *tableDiff, want, have TableProps) {
	fixed := fixedKeys(have)
	eachType(want, have, func(path tree.Path, name string, want, have any) {
		if _, is := fixed[name]; is {
			reconcile.Fixed(d, path, want, have)
		}
	})
}

// compareTypes states the types of keys that global indexes alone have: they change with the indexes. with is the call
// that makes one of these anew, or away.
func compareTypes(d *tableDiff, want, have TableProps, with func(attribute string) *tableOp) {
	fixed := fixedKeys(have)
	eachType(want, have, func(path tree.Path, name string, want, have any) {
		if _, is := fixed[name]; !is {
			reconcile.Value(d, path, want, have, with(name))
		}
	})
}

// eachType goes through the keys that the table has. Text need not be said, and is nil.
func eachType(want, have TableProps, each func(path tree.Path, name string, want, have any)) {
	wants, has := keysOf(want), keysOf(have)
	open := slices.ContainsFunc(slices.Collect(maps.Keys(wants)), token.Has)
	said := func(of string) any {
		if of == "" || of == "S" {
			return nil
		}
		return of
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		// A key that is wanted no more may be the one that is known later.
		if _, wanted := wants[name]; wanted || !open {
			each(tree.Path("attributes").Key(name), name, said(want.Attributes[name]), said(has[name]))
		}
	}
}
