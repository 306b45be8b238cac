package terraform

import (
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// Archives are the codes of functions that lie in buckets, without those of which a version is named.
func (d *draft) Archives() []from.Archive {
	var all []from.Archive
	for _, o := range d.objects {
		at, ok := valueAt(o.props, "code.s3").(values)
		if !ok || o.kind != "aws.lambda.Function" || isAwaited(at) || at["version"] != nil {
			continue
		}
		all = append(all, from.Archive{
			Address: o.address, Bucket: textOf(at["bucket"]), Key: textOf(at["key"]),
			Name: strings.NewReplacer("/", "-", "[", "-", "]", "").Replace(o.address) + ".zip",
		})
	}
	return all
}

// Copied names the copy in the place of the archive.
func (d *draft) Copied(a from.Archive) {
	for _, o := range d.objects {
		if o.address == a.Address {
			o.props["code"] = values{"zip": a.Name}
		}
	}
}
