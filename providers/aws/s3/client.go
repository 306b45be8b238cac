package s3

import (
	"unsafe"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// clientOf is the client of a place. Where the endpoint is not AWS's own, buckets are in the path: emulators
// and gateways seldom have a host name for each.
func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg awssdk.Config) unsafe.Pointer {
		return unsafe.Pointer(sdk.NewFromConfig(cfg, func(o *sdk.Options) { o.UsePathStyle = o.BaseEndpoint != nil }))
	})
	return (*sdk.Client)(p), err
}

// arnOf is the ARN of a bucket, or of what is in it. It names neither region nor account.
func arnOf(region, resource string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(region), Service: "s3", Resource: resource}.ARN()
}

// domainOf is what hosts of a region end with.
func domainOf(region string) string {
	switch aws.Partition(region) {
	case "aws-cn":
		return "amazonaws.com.cn"
	case "aws-eusc":
		return "amazonaws.eu"
	case "aws-iso":
		return "c2s.ic.gov"
	case "aws-iso-b":
		return "sc2s.sgov.gov"
	case "aws-iso-e":
		return "cloud.adc-e.uk"
	case "aws-iso-f":
		return "csp.hci.ic.gov"
	default:
		return "amazonaws.com"
	}
}
