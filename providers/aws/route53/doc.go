// Package route53 offers records and hosted zones of Amazon Route 53.
//
// It knows how Route 53 writes names and values, so that what it makes of them is no difference, and when a change has
// reached all name servers. It does not know domains, health checks, traffic policies, DNSSEC and query logging; how
// calls are made and judged is the business of package aws.
package route53

import (
	"context"
	"embed"
	"errors"
	"strings"
	"time"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed record.go record_props.go zone.go zone_props.go
var source embed.FS

const (
	recordType = "aws.route53.Record"
	zoneType   = "aws.route53.HostedZone"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(recordKind), reconcile.Erase(zoneKind)},
		Filters:  []string{"route53:hostedzone"},
		Registry: map[string]string{"AWS::Route53::RecordSet": recordType, "AWS::Route53::HostedZone": zoneType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			id, ok := strings.CutPrefix(p.Resource, "hostedzone/")
			return zoneType, id, "", ok && p.Service == "route53"
		},
	}
}

// NewRecord declares a record.
func NewRecord(s *athanor.Stack, name string, p RecordProps, opts ...athanor.Option) Record {
	return athanor.Declare(s, recordKind, name, p, opts...)
}

// ReadRecord uses a record that the stack does not own: by its identity, ZONE/NAME/TYPE, or by RecordProps that say so.
func ReadRecord(s *athanor.Stack, name string, by any) Record {
	return athanor.Read(s, recordKind, name, by)
}

// NewHostedZone declares a hosted zone.
func NewHostedZone(s *athanor.Stack, name string, p HostedZoneProps, opts ...athanor.Option) HostedZone {
	return athanor.Declare(s, zoneKind, name, p, opts...)
}

// ReadHostedZone uses a hosted zone that the stack does not own: by its id, or by HostedZoneProps with its name, and with
// a VPC for a private one.
//
//	zone := route53.ReadHostedZone(s, "zone", route53.HostedZoneProps{Name: domain})
func ReadHostedZone(s *athanor.Stack, name string, by any) HostedZone {
	return athanor.Read(s, zoneKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}

// How often a change is asked about. Route 53 takes five calls a second of an account, and a change takes a minute:
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html
const (
	firstAsked = 500 * time.Millisecond
	lastAsked  = 5 * time.Second
)

var errSpreading = errors.New("the change has not reached all name servers yet")

// inSync waits until a change has reached all name servers. A call that fails while it waits is made again: the change
// itself is made.
func inSync(ctx context.Context, cloud reconcile.Cloud, client *sdk.Client, change *types.ChangeInfo) error {
	for pause := reconcile.Intervals(ctx, firstAsked, lastAsked); change != nil && change.Status == types.ChangeStatusPending; {
		if err := reconcile.Wait(ctx, pause.NextBackOff(), errSpreading); err != nil {
			return err
		}
		out, err := client.GetChange(ctx, &sdk.GetChangeInput{Id: change.Id})
		switch {
		case err == nil:
			change = out.ChangeInfo
		case ctx.Err() != nil || !cloud.Classify(err).Retries():
			return err
		}
	}
	return nil
}

// bare is the id of a zone without what Route 53 writes before it.
func bare(id string) string { return strings.TrimPrefix(id, "/hostedzone/") }
