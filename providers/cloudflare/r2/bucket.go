package r2

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveBucket is an observed bucket. have has what the table compares.
type liveBucket struct {
	target
	have          BucketProps
	domains       map[string]liveDomain
	notifications []liveNotification
	objects       bool // there are some
}

type bucketSite = kind.Site[BucketProps, Bucket]

var (
	bucketTable    = kind.TableOf[BucketProps](codecs()...)
	corsTable      = kind.TableOf[CORSRule]()
	lifecycleTable = kind.TableOf[LifecycleRule](codecs()...)
)

var bucketKind = &kind.Kind[BucketProps, liveBucket, Bucket]{
	Type: bucketType,
	Doc: "A bucket of Cloudflare R2 with its storage class, public names, CORS and lifecycle rules, and notifications. Its " +
		"objects are not managed: a bucket with objects in it holds data, and deleting it needs permission. Locks, Sippy and the " +
		"ciphers of domains are not managed. R2 has no tags, so that the name proves ownership.",

	Observe:    observeBucket,
	Create:     createBucket,
	Compare:    compareBucket,
	Attributes: func(live liveBucket) Bucket { return Bucket{Name: Name(live.name), Jurisdiction: live.jurisdiction} },
	Delete:     deleteBucket,
	Identity:   func(b Bucket) string { return identity(b.Jurisdiction, string(b.Name)) },

	Props:   bucketTable,
	Default: bucketDefaults,
	Check:   checkBucket,
	Named: &kind.Named[BucketProps, liveBucket]{
		Given: func(want BucketProps) string { return want.Name },
		Rule: func(BucketProps) kind.NameRule {
			return kind.NameRule{Min: 3, Max: 63, Marks: "-", Lower: true, Inner: true}
		},
		Live: func(live liveBucket) string { return live.name },
	},
	HoldsData: &kind.HoldsData[BucketProps, liveBucket]{
		Now:       func(live liveBucket) bool { return live.objects },
		MayDelete: func(want BucketProps) bool { return want.ForceDestroy },
	},
	List: listBuckets,

	API: kind.API{
		Source: source,
		Calls: []string{
			"R2.ListBuckets", "R2.GetBucket", "R2.CreateBucket", "R2.PatchBucket", "R2.DeleteBucket",
			"R2.ListBucketDomainManageds", "R2.PutBucketDomainManaged", "R2.ListBucketDomainCustoms",
			"R2.CreateBucketDomainCustom", "R2.UpdateBucketDomainCustom", "R2.DeleteBucketDomainCustom",
			"R2.GetBucketCors", "R2.PutBucketCors", "R2.DeleteBucketCors", "R2.GetBucketLifecycle", "R2.PutBucketLifecycle",
			"R2.ListBucketEventNotifications", "R2.PutBucketEventNotification", "R2.DeleteBucketEventNotification",
			"R2.ListBucketObjects", "R2.DeleteObjects", "Zones.ListZones", "Zones.GetZone",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Workers R2 Storage Read"},
			List:    []string{"Workers R2 Storage Read"},
			Create:  []string{"Workers R2 Storage Write"},
			Update:  []string{"Workers R2 Storage Write", "Zone Read", "Queues Write"},
			Delete:  []string{"Workers R2 Storage Write"},
		},
	},
}

const (
	anywhere  = "default"
	lowestTLS = "1.0"
)

// abortRule is what every bucket has from the beginning:
// https://developers.cloudflare.com/r2/buckets/object-lifecycles/
func abortRule() LifecycleRule {
	return LifecycleRule{ID: "Default Multipart Abort Rule", AbortUploadsAfter: new(7 * 24 * time.Hour)}
}

// bucketDefaults are those that no tag can say, and notifications in the order in which they are compared.
func bucketDefaults(want BucketProps) BucketProps {
	if want.Lifecycle == nil {
		want.Lifecycle = []LifecycleRule{abortRule()}
	}
	domains := maps.Clone(want.Domains)
	for name, d := range domains {
		d.MinTLS = cmp.Or(d.MinTLS, new(lowestTLS))
		domains[name] = d
	}
	want.Domains, want.Notifications = domains, ordered(want.Notifications)
	return want
}

// checkBucket finds what R2 would refuse.
func checkBucket(want BucketProps) error {
	var problems props.Errors
	ids := map[string]bool{}
	for i, rule := range want.Lifecycle {
		if ids[rule.ID] {
			problems.Wrong(tree.Path("lifecycle").Index(i).Key("id"), fmt.Sprintf("two rules have the id %q", rule.ID))
		}
		ids[rule.ID] = true
	}
	for i, n := range want.Notifications {
		if !token.Has(n.Queue) && !cloudflare.IsID(n.Queue) {
			problems.Wrong(tree.Path("notifications").Index(i).Key("queue"), "want the id of a queue, 32 hexadecimal digits")
		}
	}
	return problems.OrNil()
}
