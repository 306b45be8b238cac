package route53

import (
	"cmp"
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
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// HostedZoneProps declare a hosted zone. Limits are those of
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_CreateHostedZone.html
type HostedZoneProps struct {
	// Name of the domain, such as example.com; neither case nor a dot at the end counts.
	Name string `prop:"required,immutable" wire:"-,host"`
	// Comment, up to 256 characters. Default: none.
	Comment string `prop:"maxlen=256" wire:"-"`
	// VPCs make the zone a private one, which answers in these networks alone. Changing it replaces the zone when that
	// makes a public one private or the other way; the networks of a private one change in place. Default: none, a public
	// zone.
	VPCs []VPC
	// DelegationSetID is a reusable set of name servers, for public zones. Default: none, Route 53 assigns four.
	DelegationSetID string `prop:"immutable,maxlen=32" wire:"-"`
	// ForceDestroy deletes the records that are in the zone with it.
	ForceDestroy bool `prop:"default=false"`
	// Tags of the zone, beside the owner tags. Default: none.
	Tags map[string]string
}

// VPC is a network that asks a private zone.
type VPC struct {
	// VPCID of the network.
	VPCID string `prop:"required"`
	// Region of the network. Default: none, that of the stack.
	Region string
}

// HostedZone is what others may refer to of a hosted zone.
type HostedZone struct {
	// ID of the zone, such as Z1D633PJN98FT9.
	ID string `attr:"early"`
	// ARN of the zone.
	ARN aws.ARN `attr:"early"`
	// Name of the domain, in lower case and without a dot at the end.
	Name string `attr:"early"`
	// NameServers are those that the domain is to be delegated to. A private zone has none.
	NameServers []string `attr:"early"`
}

// liveZone is an observed hosted zone.
type liveZone struct {
	place       kind.Location
	zone        types.HostedZone
	delegation  string
	nameServers []string
	vpcs        []types.VPC
	tags        map[string]string
	born        kind.OwnerTag // by its caller reference, zero when it is not ours
}

type zoneSite = kind.Site[HostedZoneProps, HostedZone]

var zoneTable = kind.TableOf[HostedZoneProps](inOneForm("host", hostOf))

var zoneKind = &kind.Kind[HostedZoneProps, liveZone, HostedZone]{
	Type: zoneType,
	Doc: "A hosted zone of Route 53, public or private. A zone with records beside its own holds data, and deleting it needs " +
		"permission. One of the same name (and network, for private ones) that is there already is not ours until it is adopted. Query " +
		"logging, DNSSEC and accelerated recovery are not managed.",

	Observe:    observeZone,
	Create:     createZone,
	Compare:    compareZone,
	Attributes: zoneAttrs,
	Delete:     deleteZone,
	Identity:   func(z HostedZone) string { return z.ID },

	Props: zoneTable,
	Check: checkZone,
	Owner: kind.Tagged[HostedZoneProps, liveZone]{
		Tag:   liveZone.owner,
		Check: func(want HostedZoneProps) error { return aws.CheckTags(want.Tags).OrNil() },
		Compare: func(d *kind.Diff[liveZone], want HostedZoneProps, live liveZone) {
			aws.CompareTags(d, want.Tags, live.tags, "ChangeTagsForResource", putTags, dropTags)
		},
	},
	HoldsData: &kind.HoldsData[HostedZoneProps, liveZone]{
		Now: liveZone.holds,
		What: func(live liveZone) string {
			return fmt.Sprintf("%d records", *live.zone.ResourceRecordSetCount-ownRecords)
		},
		MayDelete: func(want HostedZoneProps) bool { return want.ForceDestroy },
	},
	Contents: heldByZone,
	List:     listZones,

	EventuallyVisible: aws.EventuallyVisible,

	API: kind.API{
		Source: source,
		Calls: []string{
			"Route53.GetHostedZone", "Route53.ListHostedZonesByName", "Route53.ListHostedZones", "Route53.ListTagsForResource",
			"Route53.ListTagsForResources", "Route53.ListResourceRecordSets", "Route53.CreateHostedZone", "Route53.DeleteHostedZone",
			"Route53.UpdateHostedZoneComment", "Route53.AssociateVPCWithHostedZone", "Route53.DisassociateVPCFromHostedZone",
			"Route53.ChangeTagsForResource", "Route53.ChangeResourceRecordSets", "Route53.GetChange",
		},
		Permissions: kind.Permissions{
			Observe: []string{"route53:GetHostedZone", "route53:ListHostedZonesByName", "route53:ListTagsForResource"},
			List:    []string{"route53:ListHostedZones", "route53:ListTagsForResources"},
			Create:  []string{"route53:CreateHostedZone", "route53:ChangeTagsForResource", "route53:GetChange", "route53:AssociateVPCWithHostedZone"},
			Update: []string{
				"route53:UpdateHostedZoneComment", "route53:AssociateVPCWithHostedZone", "route53:DisassociateVPCFromHostedZone",
				"route53:ChangeTagsForResource", "route53:GetChange",
			},
			Delete: []string{"route53:DeleteHostedZone", "route53:ListResourceRecordSets", "route53:ChangeResourceRecordSets"},
			// The id of a zone is Route 53's to choose.
			Resource: func(location kind.Location, _ string) []string {
				arn := "arn:" + aws.Partition(location.Region) + ":route53:::"
				return []string{arn + "hostedzone/*", arn + "change/*"}
			},
			// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonroute53.html
			Anywhere: []string{"route53:CreateHostedZone", "route53:ListHostedZones", "route53:ListHostedZonesByName"},
			Only:     map[string][]tree.Path{"route53:AssociateVPCWithHostedZone": {"vpcs"}},
			Calls: map[string][]string{
				"UpdateHostedZoneComment":    {"route53:UpdateHostedZoneComment"},
				"ChangeTagsForResource":      {"route53:ChangeTagsForResource"},
				"AssociateVPCWithHostedZone": {"route53:AssociateVPCWithHostedZone", "route53:DisassociateVPCFromHostedZone", "route53:GetChange"},
			},
			// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/hosted-zone-private-associate-vpcs-different-accounts.html
			Depends: []kind.Dependence{{
				Actions: []string{"ec2:DescribeVpcs"}, Calls: []string{"AssociateVPCWithHostedZone"}, Props: []tree.Path{"vpcs.*.vpcId"},
				Resource: aws.Everything,
			}},
		},
	},
}

func zoneAttrs(live liveZone) HostedZone {
	id := bare(*live.zone.Id)
	return HostedZone{ID: id, ARN: zoneARN(live.place, id), Name: hostOf(*live.zone.Name), NameServers: live.nameServers}
}

func zoneARN(location kind.Location, id string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(location.Region), Service: "route53", Resource: "hostedzone/" + id}.ARN()
}

func (l liveZone) owner() kind.OwnerTag {
	if mark := adopt.MarkOf(l.tags); !mark.IsZero() {
		return mark
	}
	return l.born
}

// ownRecords are the NS and the SOA that every zone has.
const ownRecords = 2

func (l liveZone) holds() bool {
	n := l.zone.ResourceRecordSetCount
	return n != nil && *n > ownRecords
}

func (l liveZone) private() bool { return l.zone.Config != nil && l.zone.Config.PrivateZone }

// checkZone finds what Route 53 would refuse, beyond what the table says.
func checkZone(want HostedZoneProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if name := hostOf(want.Name); !token.Has(name) && (len(name) > 255 || strings.Contains(name, "..") || strings.HasPrefix(name, ".")) {
		wrong("name", "want a domain name, up to 255 characters")
	}
	if len(want.VPCs) > 0 && want.DelegationSetID != "" {
		wrong("delegationSetId", "a private zone has no name servers of its own")
	}
	return problems.OrNil()
}

var (
	errNoName     = errors.New("a hosted zone is found by its id or its name, and there is neither")
	errRecordsNew = errors.New("records came while the zone was emptied")
)

func observeZone(ctx context.Context, s zoneSite) (liveZone, error) {
	client := clientOf(s.Cloud)
	switch {
	case s.Last != nil:
		return zoneAt(ctx, client, s, s.Last.ID)
	case s.ID != "":
		id := s.ID
		if p, ok := aws.ARN(id).Parse(); ok {
			id = strings.TrimPrefix(p.Resource, "hostedzone/")
		}
		return zoneAt(ctx, client, s, bare(id))
	case s.Want.Name == "":
		return liveZone{}, errNoName
	}
	return findZone(ctx, client, s)
}

func zoneAt(ctx context.Context, client *sdk.Client, s zoneSite, id string) (liveZone, error) {
	var out *sdk.GetHostedZoneOutput
	var tags *sdk.ListTagsForResourceOutput
	err := aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		out, err = client.GetHostedZone(ctx, &sdk.GetHostedZoneInput{Id: &id})
		return err
	}, func(ctx context.Context) (err error) {
		tags, err = client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceType: types.TagResourceTypeHostedzone, ResourceId: &id})
		return err
	})
	if err != nil {
		return liveZone{}, err
	}
	live := liveZone{place: s.Location, zone: *out.HostedZone, vpcs: out.VPCs, born: bornOf(sdkaws.ToString(out.HostedZone.CallerReference), s.Owner)}
	if set := out.DelegationSet; set != nil {
		live.delegation, live.nameServers = strings.TrimPrefix(sdkaws.ToString(set.Id), "/delegationset/"), set.NameServers
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

// findZone looks among the zones of a name. One that carries our owner tag is it: while a generation is being made, of
// that generation alone, since the others are what it replaces. Else it is the one that answers the same questions.
func findZone(ctx context.Context, client *sdk.Client, s zoneSite) (liveZone, error) {
	ids, err := zonesNamed(ctx, client, s.Want.Name)
	if err != nil {
		return liveZone{}, err
	}
	ours, others, err := adopt.Find(s.Facts, ids, func(id string) (liveZone, error) { return zoneAt(ctx, client, s, id) },
		func(l liveZone) (kind.OwnerTag, string) { return l.owner(), bare(*l.zone.Id) })
	switch {
	case err != nil:
		return liveZone{}, err
	case ours != nil:
		return *ours, nil
	}
	same := slices.DeleteFunc(slices.Clone(others), func(l liveZone) bool { return !l.answers(s) })
	if s.Owner.IsZero() && len(same) == 0 && len(s.Want.VPCs) == 0 {
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
	return liveZone{}, fmt.Errorf("%w: zones %s are all of %s", reconcile.ErrAmbiguous, strings.Join(found, ", "), hostOf(s.Want.Name))
}

// answers reports that a zone answers questions from where the wanted one does: from everywhere, or from one network.
func (l liveZone) answers(s zoneSite) bool {
	if len(s.Want.VPCs) == 0 {
		return !l.private()
	}
	return slices.ContainsFunc(l.vpcs, func(v types.VPC) bool {
		return slices.ContainsFunc(s.Want.VPCs, func(w VPC) bool { return w.VPCID == sdkaws.ToString(v.VPCId) })
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
func reference(s zoneSite) string {
	return fmt.Sprintf("%s%d-%s", ownersPart(s.Owner), s.Owner.Generation, digest(s.Nonce, s.New.Deleted))
}

func ownersPart(mark kind.OwnerTag) string {
	return "athanor-" + digest(mark.Stack, mark.Stage, mark.Address) + "-"
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// bornOf returns the owner tag in a caller reference, if it is that of this owner.
func bornOf(text string, mark kind.OwnerTag) kind.OwnerTag {
	rest, ok := strings.CutPrefix(text, ownersPart(mark))
	number, _, _ := strings.Cut(rest, "-")
	generation, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || mark.IsZero() {
		return kind.OwnerTag{}
	}
	return kind.OwnerTag{Stack: mark.Stack, Stage: mark.Stage, Address: mark.Address, Generation: generation}
}

func createZone(ctx context.Context, s zoneSite) (HostedZone, error) {
	client := clientOf(s.Cloud)
	out, err := client.CreateHostedZone(ctx, creation(s))
	if err != nil {
		return HostedZone{}, err
	}
	id := bare(sdkaws.ToString(out.HostedZone.Id))
	made := HostedZone{ID: id, ARN: zoneARN(s.Location, id), Name: hostOf(s.Want.Name)}
	if out.DelegationSet != nil {
		made.NameServers = out.DelegationSet.NameServers
	}
	if err := stored(ctx, s.New, made); err != nil {
		return made, err
	}
	return made, inSync(ctx, s.Cloud, out.ChangeInfo)
}

// creation is the body of the call that creates a zone. Further networks and tags have calls of their own.
func creation(s zoneSite) *sdk.CreateHostedZoneInput {
	in := &sdk.CreateHostedZoneInput{
		Name: new(hostOf(s.Want.Name)), CallerReference: new(reference(s)), DelegationSetId: aws.OrNil(s.Want.DelegationSetID),
		HostedZoneConfig: &types.HostedZoneConfig{Comment: aws.OrNil(s.Want.Comment), PrivateZone: len(s.Want.VPCs) > 0},
	}
	if len(s.Want.VPCs) > 0 {
		in.VPC = networkOf(s.Want.VPCs[0], s.Location)
	}
	return in
}

func networkOf(v VPC, location kind.Location) *types.VPC {
	return &types.VPC{VPCId: &v.VPCID, VPCRegion: types.VPCRegion(cmp.Or(v.Region, location.Region))}
}

// deleteZone empties the zone first, with permission: Route 53 deletes none that has records beside its own.
func deleteZone(ctx context.Context, s zoneSite) error {
	client := clientOf(s.Cloud)
	id := s.Last.ID
	var changes []types.Change
	if s.MayDelete {
		var err error
		if changes, err = emptying(ctx, client, id, s.Last.Name); err != nil {
			return err
		}
	}
	for len(changes) > 0 {
		n := fitting(changes)
		_, err := client.ChangeResourceRecordSets(ctx, &sdk.ChangeResourceRecordSetsInput{
			HostedZoneId: &id, ChangeBatch: &types.ChangeBatch{Changes: changes[:n]},
		})
		if _, refused := errors.AsType[*types.InvalidChangeBatch](err); refused {
			return aws.Busy(fmt.Errorf("%w: %w", errRecordsNew, err))
		}
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	_, err := client.DeleteHostedZone(ctx, &sdk.DeleteHostedZoneInput{Id: &id})
	return err
}

// heldByZone lists the records of a zone beside its own.
func heldByZone(ctx context.Context, s zoneSite, most int) ([]kind.Found, error) {
	client := clientOf(s.Cloud)
	changes, err := emptying(ctx, client, s.Last.ID, s.Last.Name)
	if err != nil {
		return nil, err
	}
	all := make([]kind.Found, 0, min(len(changes), most))
	for _, c := range changes[:min(len(changes), most)] {
		set := c.ResourceRecordSet
		id := key{bare(s.Last.ID), hostOf(sdkaws.ToString(set.Name)), string(set.Type), sdkaws.ToString(set.SetIdentifier)}
		all = append(all, kind.Found{Kind: recordType, Identity: id.String()})
	}
	return all, nil
}

// emptying are the deletions of all records but the zone's own.
func emptying(ctx context.Context, client *sdk.Client, id, name string) ([]types.Change, error) {
	var changes []types.Change
	for page, err := range setsIn(ctx, client, id) {
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

// mostTagged is how many zones one call returns the tags of.
const mostTagged = 10

// listZones returns the owner tags too: the tagging service knows hosted zones in one region alone.
func listZones(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	client := clientOf(scope.Cloud)
	var ids []string
	next := func(in *sdk.ListHostedZonesInput, out *sdk.ListHostedZonesOutput) bool {
		in.Marker = out.NextMarker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListHostedZones, &sdk.ListHostedZonesInput{}, next) {
		if err != nil {
			return nil, err
		}
		for _, z := range page.HostedZones {
			ids = append(ids, bare(sdkaws.ToString(z.Id)))
		}
	}
	var all []kind.Found
	for batch := range slices.Chunk(ids, mostTagged) {
		out, err := client.ListTagsForResources(ctx, &sdk.ListTagsForResourcesInput{ResourceType: types.TagResourceTypeHostedzone, ResourceIds: batch})
		if err != nil {
			return nil, err
		}
		for _, set := range out.ResourceTagSets {
			found := kind.Found{Kind: zoneType, Place: scope.Place, Identity: sdkaws.ToString(set.ResourceId)}
			if mark := adopt.MarkOf(tagMap(&set)); !mark.IsZero() {
				found.Mark = &mark
			}
			all = append(all, found)
		}
	}
	return all, nil
}

// compareZone states every aspect.
func compareZone(d *kind.Diff[liveZone], want HostedZoneProps, live liveZone) {
	have := HostedZoneProps{Name: sdkaws.ToString(live.zone.Name), DelegationSetID: live.delegation}
	if live.zone.Config != nil {
		have.Comment = sdkaws.ToString(live.zone.Config.Comment)
	}
	kind.CompareEach(d, zoneTable, want, have, map[tree.Path]*kind.Operation[liveZone]{
		"comment": kind.Set("UpdateHostedZoneComment", func(ctx context.Context, u kind.Update[liveZone]) error {
			in := &sdk.UpdateHostedZoneCommentInput{Id: new(bare(*u.Live.zone.Id)), Comment: aws.OrNil(want.Comment)}
			_, err := clientOf(u.Cloud).UpdateHostedZoneComment(ctx, in)
			return aws.NotYet(err)
		}),
	})
	if wanted, have := networks(want.VPCs, d.Place()), live.networks(d.Place()); (len(want.VPCs) > 0) == live.private() {
		reconcile.Value(d, "vpcs", wanted, have, putNetworks(want))
	} else {
		reconcile.Fixed(d, "vpcs", wanted, have)
	}
}

// networks are VPCs in one form and order, nil for none.
func networks(vpcs []VPC, location kind.Location) any {
	var list []any
	for _, v := range slices.SortedFunc(slices.Values(vpcs), func(a, b VPC) int { return cmp.Compare(a.VPCID, b.VPCID) }) {
		m := map[string]any{"vpcId": v.VPCID}
		if v.Region != "" && v.Region != location.Region {
			m["region"] = v.Region
		}
		list = append(list, m)
	}
	if list == nil {
		return nil
	}
	return list
}

func (l liveZone) networks(location kind.Location) any {
	var vpcs []VPC
	for _, v := range l.vpcs {
		vpcs = append(vpcs, VPC{VPCID: sdkaws.ToString(v.VPCId), Region: string(v.VPCRegion)})
	}
	return networks(vpcs, location)
}

// putNetworks lets new ones in before it takes others out: a private zone is never without one.
func putNetworks(want HostedZoneProps) *kind.Operation[liveZone] {
	return kind.Set("AssociateVPCWithHostedZone", func(ctx context.Context, u kind.Update[liveZone]) error {
		client := clientOf(u.Cloud)
		same := func(a, b *types.VPC) bool { return *a.VPCId == *b.VPCId && a.VPCRegion == b.VPCRegion }
		gone := slices.Clone(u.Live.vpcs)
		for _, v := range want.VPCs {
			network := networkOf(v, u.Location)
			if at := slices.IndexFunc(gone, func(have types.VPC) bool { return same(&have, network) }); at >= 0 {
				gone = slices.Delete(gone, at, at+1)
				continue
			}
			out, err := client.AssociateVPCWithHostedZone(ctx, &sdk.AssociateVPCWithHostedZoneInput{HostedZoneId: u.Live.zone.Id, VPC: network})
			if err != nil {
				return aws.NotYet(err)
			}
			if err := inSync(ctx, u.Cloud, out.ChangeInfo); err != nil {
				return err
			}
		}
		for _, network := range gone {
			out, err := client.DisassociateVPCFromHostedZone(ctx, &sdk.DisassociateVPCFromHostedZoneInput{HostedZoneId: u.Live.zone.Id, VPC: &network})
			if err != nil {
				return aws.NotYet(err)
			}
			if err := inSync(ctx, u.Cloud, out.ChangeInfo); err != nil {
				return err
			}
		}
		return nil
	})
}

func putTags(ctx context.Context, on kind.Update[liveZone], tags map[string]string) error {
	list := aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
	return changeTags(ctx, on, &sdk.ChangeTagsForResourceInput{AddTags: list})
}

func dropTags(ctx context.Context, on kind.Update[liveZone], keys []string) error {
	return changeTags(ctx, on, &sdk.ChangeTagsForResourceInput{RemoveTagKeys: keys})
}

func changeTags(ctx context.Context, on kind.Update[liveZone], in *sdk.ChangeTagsForResourceInput) error {
	in.ResourceType, in.ResourceId = types.TagResourceTypeHostedzone, new(bare(*on.Live.zone.Id))
	_, err := clientOf(on.Cloud).ChangeTagsForResource(ctx, in)
	return aws.NotYet(err)
}
