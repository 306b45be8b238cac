package s3

import "github.com/athanor-dev/athanor/reconcile"

func comparePolicy(d *bucketDiff, want, have string) {
	reconcile.JSON(d, "policy", want, have, putPolicy(want))
}
