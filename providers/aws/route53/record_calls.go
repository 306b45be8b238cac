package route53

import (
	"context"
	"errors"
	"fmt"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errNoKey = errors.New("a record is found by its zone, name and type")
	errGoing = errors.New("the record is still there")
)

// wanted is what a record is looked for by.
func wanted(site recordSite) (key, error) {
	switch {
	case site.Last != nil:
		return key{site.Last.HostedZoneID, site.Last.Name, site.Last.Type, site.Last.SetIdentifier}, nil
	case site.ID != "":
		k, ok := parsed(site.ID)
		if !ok {
			return k, fmt.Errorf("%w, as ZONE/NAME/TYPE: %s", errNoKey, site.ID)
		}
		return k, nil
	}
	k := keyOf(site.Want)
	if k.zone == "" || k.name == "" || k.kind == "" {
		return k, errNoKey
	}
	return k, nil
}

func observeRecord(ctx context.Context, site recordSite) (liveRecord, error) {
	k, err := wanted(site)
	if err != nil {
		return liveRecord{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveRecord{}, err
	}
	return recordAt(ctx, client, k)
}

// recordAt asks for the first record from a key on, which is the one of the key if there is one. What is pending is
// shown: https://docs.aws.amazon.com/Route53/latest/APIReference/API_ListResourceRecordSets.html
func recordAt(ctx context.Context, client *sdk.Client, k key) (liveRecord, error) {
	out, err := client.ListResourceRecordSets(ctx, &sdk.ListResourceRecordSetsInput{
		HostedZoneId: &k.zone, StartRecordName: &k.name, StartRecordType: types.RRType(k.kind), StartRecordIdentifier: aws.OrNil(k.set), MaxItems: new(int32(1)),
	})
	if err != nil {
		return liveRecord{}, aws.Absent(err)
	}
	for _, set := range out.ResourceRecordSets {
		if k.of(set) {
			return liveRecord{k, set}, nil
		}
	}
	return liveRecord{}, reconcile.ErrAbsent
}

// of reports that a set is the one of this key.
func (k key) of(set types.ResourceRecordSet) bool {
	return k == key{k.zone, hostOf(sdkaws.ToString(set.Name)), string(set.Type), sdkaws.ToString(set.SetIdentifier)}
}

// observeRecords lists zones, a few hundred records a page, as long as that is cheaper than asking for each record.
func observeRecords(ctx context.Context, sites []recordSite) ([]reconcile.Observed[liveRecord], error) {
	answers := make([]reconcile.Observed[liveRecord], len(sites))
	keys, zones := make([]key, len(sites)), map[string][]int{}
	for i, site := range sites {
		if keys[i], answers[i].Err = wanted(site); answers[i].Err == nil {
			zones[keys[i].zone] = append(zones[keys[i].zone], i)
		}
	}
	if len(sites) == 0 {
		return answers, nil
	}
	client, err := clientOf(sites[0].Cloud)
	if err != nil {
		return nil, err
	}
	for zone, asked := range zones {
		seen, whole, err := listed(ctx, client, zone, len(asked))
		for _, i := range asked {
			set, there := seen[keys[i]]
			switch {
			case err != nil:
				answers[i].Err = aws.Absent(err)
			case there:
				answers[i].Live = liveRecord{keys[i], set}
			case whole:
				answers[i].Err = reconcile.ErrAbsent
			default:
				answers[i].Live, answers[i].Err = recordAt(ctx, client, keys[i])
			}
		}
	}
	return answers, nil
}

// listed are the records of a zone in so many pages; whole says that there are no more.
func listed(ctx context.Context, client *sdk.Client, zone string, most int) (seen map[key]types.ResourceRecordSet, whole bool, err error) {
	seen = map[key]types.ResourceRecordSet{}
	pages := sdk.NewListResourceRecordSetsPaginator(listResourceRecordSetsCall(client.ListResourceRecordSets), &sdk.ListResourceRecordSetsInput{HostedZoneId: &zone})
	for n := 0; n < most && pages.HasMorePages(); n++ {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, false, err
		}
		for _, set := range page.ResourceRecordSets {
			seen[key{zone, hostOf(sdkaws.ToString(set.Name)), string(set.Type), sdkaws.ToString(set.SetIdentifier)}] = set
		}
	}
	return seen, !pages.HasMorePages(), nil
}

// change makes one change of a zone and waits until all name servers know it; made is told before that.
func change(ctx context.Context, cloud reconcile.Cloud, zone string, action types.ChangeAction, set types.ResourceRecordSet, made func() error) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	out, err := client.ChangeResourceRecordSets(ctx, &sdk.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{Action: action, ResourceRecordSet: &set}}},
	})
	if err != nil {
		return err
	}
	if made != nil {
		if err := made(); err != nil {
			return err
		}
	}
	return inSync(ctx, cloud, client, out.ChangeInfo)
}

// createRecord fails where there is a record already: the look that follows tells whether it is the one declared.
func createRecord(ctx context.Context, site recordSite) (Record, error) {
	k := keyOf(site.Want)
	made := k.record()
	err := change(ctx, site.Cloud, k.zone, types.ChangeActionCreate, whole(site.Want), func() error {
		if site.Born == nil {
			return nil
		}
		return site.Born(ctx, made)
	})
	if _, refused := errors.AsType[*types.InvalidChangeBatch](err); refused {
		return Record{}, explained(ctx, site.Cloud, k, err)
	}
	return made, err
}

// explained tells a record that somebody made meanwhile, which is to be looked at, from a mistake: Route 53 has one code
// for both.
func explained(ctx context.Context, cloud reconcile.Cloud, k key, cause error) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	if _, err := recordAt(ctx, client, k); err == nil {
		return aws.Busy(cause)
	}
	return reconcile.WithHint(cause, "a CNAME stands alone under its name, and records of one name and type have one routing policy: "+
		"where this record takes the place of another, the option deleteFirst lets that go first")
}

// deleteRecord says what is there, as Route 53 wants it: what changes between the look and the call is looked at again.
func deleteRecord(ctx context.Context, site recordSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	k, err := wanted(site)
	if err != nil {
		return err
	}
	live, err := recordAt(ctx, client, k)
	if err != nil {
		return err
	}
	err = change(ctx, site.Cloud, k.zone, types.ChangeActionDelete, live.set, nil)
	if _, refused := errors.AsType[*types.InvalidChangeBatch](err); !refused {
		return err
	}
	switch again, look := recordAt(ctx, client, k); {
	case look != nil:
		return look // absent is what is wanted
	case !again.equals(live):
		return aws.Busy(fmt.Errorf("%w: %w", errGoing, err))
	}
	return err
}
