package r2

import (
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveBucket is a bucket as it was seen.
type liveBucket struct {
	target
	storageClass  string
	public        bool
	domains       map[string]liveDomain
	cors          []CORSRule
	lifecycle     []LifecycleRule
	foreign       bool // a lifecycle rule does what no props say
	notifications []liveNotification
	objects       bool // there are some
}

type (
	bucketSite = reconcile.Site[BucketProps, Bucket]
	bucketDiff = reconcile.Diff[liveBucket]
)

var bucketKind = &reconcile.Kind[BucketProps, liveBucket, Bucket]{
	Type: bucketType,
	Doc: "A bucket of Cloudflare R2 with its storage class, public names, CORS and lifecycle rules, and notifications. Its " +
		"objects are not managed: a bucket with objects in it holds data, and deleting it needs leave. Locks, Sippy and the " +
		"ciphers of domains are not managed. R2 has no tags, so that its name tells whose it is.",

	Observe: observeBucket,
	Create:  createBucket,
	Compare: compareBucket,
	Attrs: func(live liveBucket) Bucket {
		return Bucket{Name: Name(live.name), Jurisdiction: live.jurisdiction}
	},
	Delete:   deleteBucket,
	Identity: func(b Bucket) string { return identity(b.Jurisdiction, string(b.Name)) },

	Naming: func(BucketProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 63, Lower: true}
	},
	Given:     func(want BucketProps) string { return want.Name },
	Defaults:  bucketDefaults,
	Check:     checkBucket,
	AtBirth:   []string{"name", "jurisdiction"},
	Late:      []tree.Path{"domains", "notifications"},
	Holds:     func(live liveBucket) bool { return live.objects },
	MayDelete: func(want BucketProps) bool { return want.ForceDestroy },
	List:      listBuckets,

	Source: source,
	Calls: []string{
		"R2.ListBuckets", "R2.GetBucket", "R2.CreateBucket", "R2.PatchBucket", "R2.DeleteBucket",
		"R2.ListBucketDomainManageds", "R2.PutBucketDomainManaged", "R2.ListBucketDomainCustoms",
		"R2.CreateBucketDomainCustom", "R2.UpdateBucketDomainCustom", "R2.DeleteBucketDomainCustom",
		"R2.GetBucketCors", "R2.PutBucketCors", "R2.DeleteBucketCors", "R2.GetBucketLifecycle", "R2.PutBucketLifecycle",
		"R2.ListBucketEventNotifications", "R2.PutBucketEventNotification", "R2.DeleteBucketEventNotification",
		"R2.ListBucketObjects", "R2.DeleteObjects", "Zones.ListZones", "Zones.GetZone",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Workers R2 Storage Read"},
		List:    []string{"Workers R2 Storage Read"},
		Create:  []string{"Workers R2 Storage Write"},
		Update:  []string{"Workers R2 Storage Write", "Zone Read", "Queues Write"},
		Delete:  []string{"Workers R2 Storage Write"},
	},
}

const (
	anywhere = "default"
	standard = "Standard"
)

// abortRule is what every bucket has from the beginning:
// https://developers.cloudflare.com/r2/buckets/object-lifecycles/
func abortRule() LifecycleRule {
	return LifecycleRule{ID: "Default Multipart Abort Rule", AbortUploadsAfter: new(7 * 24 * time.Hour)}
}

func bucketDefaults(want BucketProps) BucketProps {
	if want.Jurisdiction == nil {
		want.Jurisdiction = new(anywhere)
	}
	if want.StorageClass == nil {
		want.StorageClass = new(standard)
	}
	if want.Lifecycle == nil {
		want.Lifecycle = []LifecycleRule{abortRule()}
	}
	return want
}

var bucketName = props.Pattern(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// checkBucket finds what R2 would refuse.
func checkBucket(want BucketProps) error {
	var problems props.Errors
	wrong := func(path tree.Path, format string, args ...any) {
		problems.Wrong(path, fmt.Sprintf(format, args...))
	}
	whole := func(path tree.Path, span *time.Duration) {
		if span != nil && *span%time.Second != 0 {
			wrong(path, "want whole seconds")
		}
	}
	if want.Name != "" && !token.Has(want.Name) && !bucketName().MatchString(want.Name) {
		wrong("name", "want 3 to 63 lower-case letters, digits and -, with a letter or digit at both ends")
	}
	for i, rule := range want.CORS {
		at := tree.Path("cors").Index(i)
		whole(at.Key("maxAge"), &rule.MaxAge)
		for _, m := range rule.Methods {
			if !token.Has(m) && !slices.Contains([]string{"GET", "PUT", "POST", "DELETE", "HEAD"}, m) {
				wrong(at.Key("methods"), "no such method: %s", m)
			}
		}
	}
	ids := map[string]bool{}
	for i, rule := range want.Lifecycle {
		at := tree.Path("lifecycle").Index(i)
		if ids[rule.ID] {
			wrong(at.Key("id"), "two rules have the id %q", rule.ID)
		}
		ids[rule.ID] = true
		whole(at.Key("abortUploadsAfter"), rule.AbortUploadsAfter)
		whole(at.Key("deleteAfter"), rule.DeleteAfter)
		whole(at.Key("infrequentAccessAfter"), rule.InfrequentAccessAfter)
	}
	for i, n := range want.Notifications {
		if !token.Has(n.Queue) && !cloudflare.IsID(n.Queue) {
			wrong(tree.Path("notifications").Index(i).Key("queue"), "want the id of a queue, 32 hexadecimal digits")
		}
	}
	return problems.OrNil()
}
