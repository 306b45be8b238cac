package dynamodb

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// checking collects what is wrong with props.
type checking struct {
	props.Errors
	want TableProps
}

// checkTable finds what DynamoDB would refuse, or would take without doing it, beyond what the table of the props says.
func checkTable(want TableProps) error {
	c := &checking{want: want}
	if want.Name != "" && !validName(want.Name) {
		c.Wrong("name", "want 3 to 255 letters, digits, -, _ and dots")
	}
	if want.SortKey != "" && want.SortKey == want.PartitionKey {
		c.Wrong("sortKey", "want another attribute than the partition key")
	}
	c.types()
	c.indexes()
	c.onDemand("", want.OnDemandThroughput)
	if key := want.KMSKeyARN; key != "" && !token.Has(string(key)) {
		if p, ok := key.Parse(); !ok || p.Service != "kms" || !strings.HasPrefix(p.Resource, "key/") {
			c.Wrong("kmsKeyArn", "want the ARN of a key, and not its id or alias")
		}
	}
	return c.OrNil()
}

func validName(name string) bool {
	return token.Has(name) || len(name) >= 3 && nameRule().Problem(name) == ""
}

// types: DynamoDB refuses definitions of attributes that are no keys.
func (c *checking) types() {
	keys := keysOf(c.want)
	open := slices.ContainsFunc(slices.Collect(maps.Keys(keys)), token.Has)
	for _, name := range slices.Sorted(maps.Keys(c.want.Attributes)) {
		path, of := tree.Path("attributes").Key(name), c.want.Attributes[name]
		if of != "S" && of != "N" && of != "B" && !token.Has(of) {
			c.Wrong(path, "want S for text, N for numbers or B for bytes")
		}
		if _, used := keys[name]; !used && !open && !token.Has(name) {
			c.Wrong(path, "it is no key of the table or an index, and no other attribute has a type")
		}
	}
}

func (c *checking) indexes() {
	for _, name := range slices.Sorted(maps.Keys(c.want.GlobalSecondaryIndexes)) {
		path, x := tree.Path("globalSecondaryIndexes").Key(name), c.want.GlobalSecondaryIndexes[name]
		c.index(path, name, x.Projection, x.NonKeyAttributes)
		if len(x.PartitionKey) < 1 || len(x.PartitionKey) > 4 {
			c.Wrong(path.Key("partitionKey"), "want one to four attributes")
		}
		if len(x.SortKey) > 4 {
			c.Wrong(path.Key("sortKey"), "want at most four attributes")
		}
		if x.ProvisionedThroughput != nil && c.want.ProvisionedThroughput == nil {
			c.Wrong(path.Key("provisionedThroughput"), "the table is billed by request: it counts with the table's own provisionedThroughput alone")
		}
		c.onDemand(path, x.OnDemandThroughput)
	}
	for _, name := range slices.Sorted(maps.Keys(c.want.LocalSecondaryIndexes)) {
		path, x := tree.Path("localSecondaryIndexes").Key(name), c.want.LocalSecondaryIndexes[name]
		c.index(path, name, x.Projection, x.NonKeyAttributes)
		if _, twice := c.want.GlobalSecondaryIndexes[name]; twice {
			c.Wrong(path, "there is a global index of that name")
		}
		if c.want.SortKey == "" {
			c.Wrong(path, "the table has no sort key, and so no local indexes")
		}
		if x.SortKey == c.want.SortKey {
			c.Wrong(path.Key("sortKey"), "it is the sort key of the table")
		}
	}
	if len(c.want.LocalSecondaryIndexes) > 5 {
		c.Wrong("localSecondaryIndexes", "want at most 5 indexes")
	}
}

func (c *checking) index(path tree.Path, name string, projection *string, attributes []string) {
	if !validName(name) {
		c.Wrong(path, "want a name of 3 to 255 letters, digits, -, _ and dots")
	}
	if projection != nil && !token.Has(*projection) && (*projection == "INCLUDE") != (len(attributes) > 0) {
		c.Wrong(path.Key("nonKeyAttributes"), "INCLUDE needs attributes, and nothing else takes any")
	}
}

func (c *checking) onDemand(at tree.Path, bound *OnDemandThroughput) {
	if bound == nil {
		return
	}
	path := at.Key("onDemandThroughput")
	if c.want.ProvisionedThroughput != nil {
		c.Wrong(path, "the table has provisionedThroughput, and is not billed by request")
	}
	if bound.MaxReadRequestUnits == nil && bound.MaxWriteRequestUnits == nil {
		c.Wrong(path, "want maxReadRequestUnits, maxWriteRequestUnits or both")
	}
}
