package s3

import (
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/reconcile"
)

// clientOf is the client of a place.
func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	c, ok := cloud.(interface{ S3() *sdk.Client })
	if !ok {
		return nil, fmt.Errorf("%T is no place for buckets", cloud)
	}
	return c.S3(), nil
}

// partitionOf is the family of regions that one belongs to, with the ending of its hosts.
func partitionOf(region string) (name, suffix string) {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov", "amazonaws.com"
	case strings.HasPrefix(region, "eusc-"):
		return "aws-eusc", "amazonaws.eu"
	default:
		return "aws", "amazonaws.com"
	}
}
