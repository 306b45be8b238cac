package route53

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errNoName     = errors.New("a hosted zone is found by its id or its name, and there is neither")
	errZoneGoing  = errors.New("the hosted zone is still there")
	errRecordsNew = errors.New("records came while the zone was emptied")
)

func observeZone(ctx context.Context, site zoneSite) (liveZone, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveZone{}, err
	}
	switch {
	case site.Last != nil:
		return zoneAt(ctx, client, site, site.Last.ID)
	case site.ID != "":
		id := site.ID
		if p, ok := aws.ARN(id).Parse(); ok {
			id = strings.TrimPrefix(p.Resource, "hostedzone/")
		}
		return zoneAt(ctx, client, site, bare(id))
	case site.Want.Name == "":
		return liveZone{}, errNoName
	}
	return findZone(ctx, client, site)
}

func zoneAt(ctx context.Context, client *sdk.Client, site zoneSite, id string) (liveZone, error) {
	out, err := client.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: &id})
	if err != nil {
		return liveZone{}, aws.Absent(err)
	}
	live := liveZone{place: site.Place, zone: *out.HostedZone, vpcs: out.VPCs, born: bornOf(sdkaws.ToString(out.HostedZone.CallerReference), site.Mark)}
	if set := out.DelegationSet; set != nil {
		live.delegation, live.nameServers = strings.TrimPrefix(sdkaws.ToString(set.Id), "/delegationset/"), set.NameServers
	}
	tags, err := client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceType: types.TagResourceTypeHostedzone, ResourceId: &id})
	if err != nil {
		return live, aws.Absent(err)
	}
	live.tags = tagMap(tags.ResourceTagSet)
	return live, nil
}

func tagMap(set *types.ResourceTagSet) map[string]string {
	if set == nil {
		return map[string]string{}
	}
	return aws.TagMap(set.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

// findZone looks among the zones of a name. One that carries our mark is it: while a generation is being made, of that
// generation alone, since the others are what it replaces. Else it is the one that answers the same questions.
func findZone(ctx context.Context, client *sdk.Client, site zoneSite) (liveZone, error) {
	ids, err := zonesNamed(ctx, client, site.Want.Name)
	if err != nil {
		return liveZone{}, err
	}
	var ours, others []liveZone
	for _, id := range ids {
		live, err := zoneAt(ctx, client, site, id)
		if errors.Is(err, reconcile.ErrAbsent) {
			continue
		}
		if err != nil {
			return liveZone{}, err
		}
		switch o := live.owner(); {
		case o.IsZero() || o.Stack != site.Mark.Stack || o.Stage != site.Mark.Stage || o.Address != site.Mark.Address:
			others = append(others, live)
		case site.Nonce == "" || o.Generation == site.Mark.Generation:
			ours = append(ours, live)
		}
	}
	if len(ours) > 0 {
		return slices.MaxFunc(ours, func(a, b liveZone) int { return int(a.owner().Generation) - int(b.owner().Generation) }), nil
	}
	same := slices.DeleteFunc(slices.Clone(others), func(l liveZone) bool { return !l.answers(site) })
	if site.Mark.IsZero() && len(same) == 0 && len(site.Want.VPCs) == 0 {
		same = others // a question that says nothing of networks: a private zone will do, if there is but one
	}
	switch len(same) {
	case 0:
		return liveZone{}, reconcile.ErrAbsent
	case 1:
		return same[0], nil
	}
	var found []string
	for _, l := range same {
		found = append(found, bare(*l.zone.Id))
	}
	return liveZone{}, fmt.Errorf("%w: zones %s are all of %s", reconcile.ErrAmbiguous, strings.Join(found, ", "), hostOf(site.Want.Name))
}

// answers reports that a zone answers questions from where the wanted one does: from everywhere, or from one network.
func (l liveZone) answers(site zoneSite) bool {
	if len(site.Want.VPCs) == 0 {
		return !l.private()
	}
	return slices.ContainsFunc(l.vpcs, func(v types.VPC) bool {
		return slices.ContainsFunc(site.Want.VPCs, func(w VPC) bool { return w.VPCID == sdkaws.ToString(v.VPCId) })
	})
}

func zonesNamed(ctx context.Context, client *sdk.Client, name string) ([]string, error) {
	var ids []string
	in := &sdk.ListHostedZonesByNameInput{DNSName: new(hostOf(name))}
	for {
		out, err := client.ListHostedZonesByName(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, z := range out.HostedZones {
			if hostOf(sdkaws.ToString(z.Name)) == hostOf(name) {
				ids = append(ids, bare(sdkaws.ToString(z.Id)))
			}
		}
		if !out.IsTruncated || hostOf(sdkaws.ToString(out.NextDNSName)) != hostOf(name) {
			return ids, nil
		}
		in = &sdk.ListHostedZonesByNameInput{DNSName: out.NextDNSName, HostedZoneId: out.NextHostedZoneId}
	}
}

// reference is written into the zone in the call that creates it, which takes no tags: it names the owner and the
// generation, so that a creation that was cut right after it is found again. The rest is the intent's nonce, and what was
// there before: a reference is used once.
func reference(site zoneSite) string {
	return fmt.Sprintf("%s%d-%s", ownersPart(site.Mark), site.Mark.Generation, digest(site.Nonce, site.Gone))
}

func ownersPart(mark reconcile.Mark) string {
	return "athanor-" + digest(mark.Stack, mark.Stage, mark.Address) + "-"
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// bornOf is the mark in a caller reference, if it is that of this owner.
func bornOf(text string, mark reconcile.Mark) reconcile.Mark {
	rest, ok := strings.CutPrefix(text, ownersPart(mark))
	number, _, _ := strings.Cut(rest, "-")
	generation, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || mark.IsZero() {
		return reconcile.Mark{}
	}
	return reconcile.Mark{Stack: mark.Stack, Stage: mark.Stage, Address: mark.Address, Generation: generation}
}

func createZone(ctx context.Context, site zoneSite) (HostedZone, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return HostedZone{}, err
	}
	want := site.Want
	in := &sdk.CreateHostedZoneInput{
		Name: new(hostOf(want.Name)), CallerReference: new(reference(site)), DelegationSetId: aws.OrNil(want.DelegationSetID),
		HostedZoneConfig: &types.HostedZoneConfig{Comment: aws.OrNil(want.Comment), PrivateZone: len(want.VPCs) > 0},
	}
	if len(want.VPCs) > 0 {
		in.VPC = networkOf(want.VPCs[0], site.Place)
	}
	out, err := client.CreateHostedZone(ctx, in)
	if err != nil {
		return HostedZone{}, err
	}
	id := bare(sdkaws.ToString(out.HostedZone.Id))
	made := HostedZone{ID: id, ARN: zoneARN(site.Place, id), Name: hostOf(want.Name)}
	if out.DelegationSet != nil {
		made.NameServers = out.DelegationSet.NameServers
	}
	if site.Born != nil {
		if err := site.Born(ctx, made); err != nil {
			return made, err
		}
	}
	return made, inSync(ctx, site.Cloud, client, out.ChangeInfo)
}

func networkOf(v VPC, place reconcile.Place) *types.VPC {
	region := v.Region
	if region == "" {
		region = place.Region
	}
	return &types.VPC{VPCId: &v.VPCID, VPCRegion: types.VPCRegion(region)}
}

// deleteZone empties the zone first, with leave: Route 53 deletes none that has records beside its own.
func deleteZone(ctx context.Context, site zoneSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := site.Last.ID
	changes, err := emptying(ctx, client, id, site.Last.Name)
	if err != nil {
		return err
	}
	if len(changes) > 0 && !site.MayDelete {
		return fmt.Errorf("%w: %d records", reconcile.ErrHoldsData, len(changes))
	}
	for batch := range slices.Chunk(changes, mostChanges) {
		if _, err := client.ChangeResourceRecordSets(ctx, &sdk.ChangeResourceRecordSetsInput{HostedZoneId: &id, ChangeBatch: &types.ChangeBatch{Changes: batch}}); err != nil {
			if _, refused := errors.AsType[*types.InvalidChangeBatch](err); refused {
				return aws.Busy(fmt.Errorf("%w: %w", errRecordsNew, err))
			}
			return err
		}
	}
	if _, err := client.DeleteHostedZone(ctx, &sdk.DeleteHostedZoneInput{Id: &id}); err != nil {
		return err
	}
	if _, err := client.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: &id}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errZoneGoing)
}

// heldByZone lists the records of a zone beside its own.
func heldByZone(ctx context.Context, site zoneSite, most int) ([]reconcile.Found, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return nil, err
	}
	changes, err := emptying(ctx, client, site.Last.ID, site.Last.Name)
	if err != nil {
		return nil, err
	}
	all := make([]reconcile.Found, 0, min(len(changes), most))
	for _, c := range changes[:min(len(changes), most)] {
		set := c.ResourceRecordSet
		id := key{bare(site.Last.ID), hostOf(sdkaws.ToString(set.Name)), string(set.Type), sdkaws.ToString(set.SetIdentifier)}
		all = append(all, reconcile.Found{Kind: recordType, Identity: id.String()})
	}
	return all, nil
}

// mostChanges of one call: a thousand are allowed, with a bound on their text.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html#limits-api-requests-changeresourcerecordsets
const mostChanges = 100

// emptying are the deletions of all records but the zone's own.
func emptying(ctx context.Context, client *sdk.Client, id, name string) ([]types.Change, error) {
	var changes []types.Change
	for pages := sdk.NewListResourceRecordSetsPaginator(listResourceRecordSetsCall(client.ListResourceRecordSets), &sdk.ListResourceRecordSetsInput{HostedZoneId: &id}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, set := range page.ResourceRecordSets {
			own := set.Type == types.RRTypeNs || set.Type == types.RRTypeSoa
			if own && hostOf(sdkaws.ToString(set.Name)) == name {
				continue
			}
			changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &set})
		}
	}
	return changes, nil
}

// mostTagged is how many things one call tells the tags of.
const mostTagged = 10

// listZones tells the marks too: the tagging service knows hosted zones in one region alone.
func listZones(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var ids []string
	for pages := sdk.NewListHostedZonesPaginator(listHostedZonesCall(client.ListHostedZones), &sdk.ListHostedZonesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, z := range page.HostedZones {
			ids = append(ids, bare(sdkaws.ToString(z.Id)))
		}
	}
	var all []reconcile.Found
	for batch := range slices.Chunk(ids, mostTagged) {
		out, err := client.ListTagsForResources(ctx, &sdk.ListTagsForResourcesInput{ResourceType: types.TagResourceTypeHostedzone, ResourceIds: batch})
		if err != nil {
			return nil, err
		}
		for _, set := range out.ResourceTagSets {
			found := reconcile.Found{Kind: zoneType, Place: scope.Place, Identity: sdkaws.ToString(set.ResourceId)}
			if mark := adopt.MarkOf(tagMap(&set)); !mark.IsZero() {
				found.Mark = &mark
			}
			all = append(all, found)
		}
	}
	return all, nil
}
