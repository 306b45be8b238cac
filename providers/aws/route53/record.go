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
	"fmt"
	"iter"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed record.go zone.go
var source embed.FS

const (
	recordType = "aws.route53.Record"
	zoneType   = "aws.route53.HostedZone"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{recordKind.Erase(), zoneKind.Erase()},
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

// RecordProps declare a record: the answer to a question for a name and a type, with values or as an alias. Limits are
// those of https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecordSet.html
type RecordProps struct {
	// HostedZoneID is the zone that the record is in.
	HostedZoneID string `prop:"required,immutable" wire:"-,zone"`
	// Name of the record with its domain, such as www.example.com or *.example.com; neither case nor a dot at the end
	// counts.
	Name string `prop:"required,immutable,maxlen=1024" wire:"Name,host"`
	// Type of the record. A CNAME stands alone under its name, so that a change from or to
	// it needs the option deleteFirst.
	Type string `prop:"required,immutable,enum=A|AAAA|CAA|CNAME|DS|HTTPS|MX|NAPTR|NS|PTR|SOA|SPF|SRV|SSHFP|SVCB|TLSA|TXT" wire:"Type"`
	// TTL is how long resolvers keep the answer, in whole seconds. Aliases have that of their target. Default: 5m.
	TTL *time.Duration `prop:"min=0s,max=2147483647s" wire:"TTL"`
	// Values are the answers; their order does not count. Those of TXT records are plain text, which is quoted and split as
	// DNS wants it, unless they begin with a quote: then they are taken as they are. Default: none, alias is set instead.
	Values []string `prop:"deferrable"`
	// Alias answers as something of AWS does. Default: none, values are set instead.
	Alias *Alias `wire:"AliasTarget"`
	// SetIdentifier tells apart records of one name and type, which one of the routing policies below chooses from.
	// Default: none, one record.
	SetIdentifier string `prop:"immutable,maxlen=128" wire:"SetIdentifier"`
	// Weight is a routing policy: the share of answers among the weights of all, from 0 to 255. Default: none.
	Weight *int `prop:"min=0,max=255" wire:"Weight"`
	// Region is a routing policy: the record of the region nearest by latency answers. Default: none.
	Region string `wire:"Region"`
	// Failover is a routing policy: SECONDARY answers while PRIMARY is not healthy. Default: none.
	Failover string `prop:"enum=PRIMARY|SECONDARY" wire:"Failover"`
	// GeoLocation is a routing policy: by where the question comes from. Default: none.
	GeoLocation *GeoLocation `wire:"GeoLocation"`
	// GeoProximity is a routing policy: by how near the question comes from. Default: none.
	GeoProximity *GeoProximity `wire:"GeoProximityLocation"`
	// MultiValueAnswer is a routing policy: up to eight healthy records answer.
	MultiValueAnswer bool `prop:"default=false" wire:"MultiValueAnswer"`
	// CIDR is a routing policy: by the network that the question comes from. Default: none.
	CIDR *CIDR `wire:"CidrRoutingConfig"`
	// HealthCheckID is the health check without which the record is no answer. Default: none.
	HealthCheckID string `prop:"deferrable,maxlen=64" wire:"HealthCheckId"`
}

// Alias answers as something of AWS does, such as a load balancer or a distribution.
type Alias struct {
	// HostedZoneID is that of the target: each service has its own, and a record of the same zone has the zone's.
	HostedZoneID string `prop:"required" wire:"HostedZoneId,zone"`
	// DNSName of the target; neither case nor a dot at the end counts.
	DNSName string `prop:"required" wire:"DNSName,host"`
	// EvaluateTargetHealth makes the record no answer while its target is not healthy.
	EvaluateTargetHealth bool `prop:"default=false" wire:"EvaluateTargetHealth"`
}

// GeoLocation is where questions come from: a continent, a country, or one with a part of it.
type GeoLocation struct {
	// ContinentCode is of two letters: AF, AN, AS, EU, OC, NA or SA. Default: none.
	ContinentCode string `wire:"ContinentCode"`
	// CountryCode is of two letters, * for all that no other record answers. Default: none.
	CountryCode string `wire:"CountryCode"`
	// SubdivisionCode is a state of the country. Default: none.
	SubdivisionCode string `wire:"SubdivisionCode"`
}

// GeoProximity is where an answer is at home: a region, a local zone group, or a point on earth.
type GeoProximity struct {
	// AWSRegion is a region of AWS. Default: none.
	AWSRegion string `wire:"AWSRegion"`
	// LocalZoneGroup is a group of local zones, such as us-east-1-bue-1. Default: none.
	LocalZoneGroup string `wire:"LocalZoneGroup"`
	// Latitude north of the equator, in degrees with up to two decimals: 49.22. Default: none.
	Latitude string `wire:"Coordinates.Latitude"`
	// Longitude east of Greenwich, in degrees with up to two decimals: -74.01. Default: none.
	Longitude string `wire:"Coordinates.Longitude"`
	// Bias makes the area larger, up to 99, or smaller, down to -99.
	Bias int `prop:"min=-99,max=99,default=0" wire:"Bias"`
}

// CIDR is a set of networks.
type CIDR struct {
	// CollectionID is the collection that has the location.
	CollectionID string `prop:"required" wire:"CollectionId"`
	// LocationName in the collection, * for all that is in no other.
	LocationName string `prop:"required" wire:"LocationName"`
}

// Record is what others may refer to of a record.
type Record struct {
	// ID is ZONE/NAME/TYPE, with /SETIDENTIFIER after it where there is one.
	ID string `attr:"early"`
	// HostedZoneID is the zone that the record is in.
	HostedZoneID string `attr:"early"`
	// Name of the record, in lower case and without a dot at the end.
	Name string `attr:"early"`
	// Type of the record.
	Type string `attr:"early"`
	// SetIdentifier of the record, "" without.
	SetIdentifier string `attr:"early"`
}

// liveRecord is an observed record.
type liveRecord struct {
	key key
	set types.ResourceRecordSet
}

// key is what a record is found by.
type key struct{ zone, name, kind, set string }

type recordSite = kind.Site[RecordProps, Record]

const defaultTTL = 5 * time.Minute

var (
	errNoKey = errors.New("a record is found by its zone, name and type")
	errGoing = errors.New("the record is still there")
)

// inOneForm is the codec of text that Route 53 writes in another way.
func inOneForm(name string, form func(string) string) kind.Codec {
	return kind.Codec{
		Name:  name,
		Write: func(prop any) (any, error) { return form(reflect.ValueOf(prop).String()), nil },
		Form: func(tree any) any {
			if text, ok := tree.(string); ok {
				return form(text)
			}
			return tree
		},
	}
}

var recordTable = kind.TableOf[RecordProps](inOneForm("zone", bare), inOneForm("host", hostOf)).For(kind.Both(types.ResourceRecordSet{}))

var recordKind = &kind.Kind[RecordProps, liveRecord, Record]{
	Type: recordType,
	Doc: "A record of Route 53, with values or as an alias, and with any routing policy. A record carries no owner tag: one that is " +
		"there already counts as ours when it is what is declared, and is never written over otherwise, unless it is adopted. " +
		"After a lost state of the stage, one that the program no longer mentions is not found. Traffic policies are not offered.",

	Observe:    observeRecord,
	Bulk:       observeRecords,
	Create:     createRecord,
	Compare:    compareRecord,
	Attributes: func(live liveRecord) Record { return live.key.record() },
	Delete:     deleteRecord,
	Identity:   func(r Record) string { return r.ID },

	Props: recordTable,
	Default: func(want RecordProps) RecordProps {
		if want.Alias == nil {
			aws.OrDefault(&want.TTL, defaultTTL)
		}
		return want
	},
	Check: checkRecord,
	Key:   func(want RecordProps) string { return keyOf(want).String() },
	Owner: kind.OwnedByContent[RecordProps, liveRecord]{},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Route53", "route53", source, kind.Permissions{
		Observe: []string{"ListResourceRecordSets"},
		Create:  []string{"ChangeResourceRecordSets", "GetChange"},
		Update:  []string{"ChangeResourceRecordSets", "GetChange"},
		Delete:  []string{"ChangeResourceRecordSets"},
		Resource: func(location kind.Location, name string) []string {
			zone, _, _ := strings.Cut(name, "/")
			arn := "arn:" + aws.Partition(location.Region) + ":route53:::"
			return []string{arn + "hostedzone/" + zone, arn + "change/*"}
		},
	}),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

// bare is the id of a zone without what Route 53 writes before it.
func bare(id string) string { return strings.TrimPrefix(id, "/hostedzone/") }

func keyOf(want RecordProps) key {
	return key{bare(want.HostedZoneID), hostOf(want.Name), want.Type, want.SetIdentifier}
}

// String is the identity of the record: a set identifier may hold anything, and comes last.
func (k key) String() string {
	id := k.zone + "/" + k.name + "/" + k.kind
	if k.set != "" {
		id += "/" + k.set
	}
	return id
}

func (k key) record() Record {
	return Record{ID: k.String(), HostedZoneID: k.zone, Name: k.name, Type: k.kind, SetIdentifier: k.set}
}

// parsed reads an identity.
func parsed(id string) (k key, ok bool) {
	f := strings.SplitN(strings.TrimPrefix(id, "/hostedzone/"), "/", 4)
	if len(f) < 3 {
		return key{}, false
	}
	k = key{zone: f[0], name: hostOf(f[1]), kind: f[2]}
	if len(f) == 4 {
		k.set = f[3]
	}
	return k, true
}

// checkRecord finds what Route 53 would refuse.
func checkRecord(want RecordProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	switch {
	case want.Alias != nil && len(want.Values) > 0:
		wrong("values", "an alias has none")
	case want.Alias == nil && len(want.Values) == 0:
		wrong("values", "want some, or an alias")
	case want.Alias != nil && want.TTL != nil:
		wrong("ttl", "an alias has that of its target")
	case want.Type == "CNAME" && len(want.Values) > 1:
		wrong("values", "a CNAME has one")
	}
	policies := 0
	for _, set := range []bool{
		want.Weight != nil, want.Region != "", want.Failover != "", want.GeoLocation != nil, want.GeoProximity != nil, want.MultiValueAnswer, want.CIDR != nil,
	} {
		if set {
			policies++
		}
	}
	switch {
	case policies > 1:
		wrong("setIdentifier", "want one routing policy")
	case policies == 1 && want.SetIdentifier == "":
		wrong("setIdentifier", "a routing policy needs one")
	case policies == 0 && want.SetIdentifier != "":
		wrong("setIdentifier", "it needs a routing policy")
	}
	for i, v := range want.Values {
		if problem := wrongAddress(want.Type, v); problem != "" {
			wrong(tree.Path("values").Index(i), problem)
		}
	}
	return problems.OrNil()
}

func wrongAddress(kind, value string) string {
	addr, err := netip.ParseAddr(value)
	switch {
	case token.Has(value):
	case kind == "A" && (err != nil || !addr.Is4()):
		return "want an IPv4 address"
	case kind == "AAAA" && (err != nil || !addr.Is6()):
		return "want an IPv6 address"
	}
	return ""
}

// wanted is what a record is looked for by.
func wanted(s recordSite) (key, error) {
	switch {
	case s.Last != nil:
		return key{s.Last.HostedZoneID, s.Last.Name, s.Last.Type, s.Last.SetIdentifier}, nil
	case s.ID != "":
		k, ok := parsed(s.ID)
		if !ok {
			return k, fmt.Errorf("%w, as ZONE/NAME/TYPE: %s", errNoKey, s.ID)
		}
		return k, nil
	}
	k := keyOf(s.Want)
	if k.zone == "" || k.name == "" || k.kind == "" {
		return k, errNoKey
	}
	return k, nil
}

func observeRecord(ctx context.Context, s recordSite) (liveRecord, error) {
	k, err := wanted(s)
	if err != nil {
		return liveRecord{}, err
	}
	return recordAt(ctx, s.Cloud, k)
}

type (
	reading = aws.Gather[key, liveRecord]
	read    = aws.Answer[liveRecord]
)

// recordAt reads a record, together with others of its zone that are wanted at the same time.
func recordAt(ctx context.Context, cloud kind.Cloud, k key) (liveRecord, error) {
	client, together := clientOf(cloud), aws.Shared(cloud, "records of the hosted zone "+k.zone, func() *reading { return &reading{} })
	return together.Ask(ctx, k, func(ctx context.Context, all []key) []read { return recordsAt(ctx, client, k.zone, all) })
}

// firstFrom asks for the first record from a key on, which is the one of the key if there is one. What is pending is
// shown: https://docs.aws.amazon.com/Route53/latest/APIReference/API_ListResourceRecordSets.html
func firstFrom(ctx context.Context, client *sdk.Client, k key) (liveRecord, error) {
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

// observeRecords reads the records of each zone together.
func observeRecords(ctx context.Context, sites []recordSite) ([]kind.Observed[liveRecord], error) {
	answers := make([]kind.Observed[liveRecord], len(sites))
	keys, zones := make([]key, len(sites)), map[string][]int{}
	for i, s := range sites {
		if keys[i], answers[i].Err = wanted(s); answers[i].Err == nil {
			zones[keys[i].zone] = append(zones[keys[i].zone], i)
		}
	}
	for zone, asked := range zones {
		of := make([]key, len(asked))
		for n, i := range asked {
			of[n] = keys[i]
		}
		for n, a := range recordsAt(ctx, clientOf(sites[0].Cloud), zone, of) {
			answers[asked[n]] = kind.Observed[liveRecord]{Live: a.Value, Err: a.Err}
		}
	}
	return answers, nil
}

// recordsAt reads records of one zone: several by listing the zone, a few hundred records a page, as long as that is cheaper
// than asking for each record.
func recordsAt(ctx context.Context, client *sdk.Client, zone string, keys []key) []read {
	answers := make([]read, len(keys))
	if len(keys) == 1 {
		answers[0].Value, answers[0].Err = firstFrom(ctx, client, keys[0])
		return answers
	}
	seen, whole, err := listed(ctx, client, zone, len(keys))
	for i, k := range keys {
		set, there := seen[k]
		switch {
		case err != nil:
			answers[i].Err = aws.Absent(err)
		case there:
			answers[i].Value = liveRecord{k, set}
		case whole:
			answers[i].Err = reconcile.ErrAbsent
		default:
			answers[i].Value, answers[i].Err = firstFrom(ctx, client, k)
		}
	}
	return answers
}

// listed are the records of a zone in so many pages; whole says that there are no more.
func listed(ctx context.Context, client *sdk.Client, zone string, most int) (seen map[key]types.ResourceRecordSet, whole bool, err error) {
	seen = map[key]types.ResourceRecordSet{}
	for page, err := range setsIn(ctx, client, zone) {
		if err != nil {
			return nil, false, err
		}
		for _, set := range page.ResourceRecordSets {
			seen[key{zone, hostOf(sdkaws.ToString(set.Name)), string(set.Type), sdkaws.ToString(set.SetIdentifier)}] = set
		}
		if most--; !page.IsTruncated || most == 0 {
			return seen, !page.IsTruncated, nil
		}
	}
	return seen, true, nil
}

// setsIn are the records of a zone, by page.
func setsIn(ctx context.Context, client *sdk.Client, zone string) iter.Seq2[*sdk.ListResourceRecordSetsOutput, error] {
	in := &sdk.ListResourceRecordSetsInput{HostedZoneId: &zone}
	return aws.Pages(ctx, client.ListResourceRecordSets, in, func(in *sdk.ListResourceRecordSetsInput, out *sdk.ListResourceRecordSetsOutput) bool {
		in.StartRecordName, in.StartRecordType, in.StartRecordIdentifier = out.NextRecordName, out.NextRecordType, out.NextRecordIdentifier
		return out.IsTruncated
	})
}

// stored saves the identity of what was just made.
func stored[A any](ctx context.Context, creation *kind.Creation[A], made A) error {
	if creation.Store == nil {
		return nil
	}
	return creation.Store(ctx, made)
}

// createRecord fails where there is a record already: the look that follows tells whether it is the one declared.
func createRecord(ctx context.Context, s recordSite) (Record, error) {
	k := keyOf(s.Want)
	info, err := change(ctx, s.Cloud, k.zone, types.ChangeActionCreate, whole(s.Want))
	if _, refused := errors.AsType[*types.InvalidChangeBatch](err); refused {
		return Record{}, explained(ctx, s.Cloud, k, err)
	}
	made := k.record()
	if err == nil {
		err = stored(ctx, s.New, made)
	}
	if err != nil {
		return made, err
	}
	return made, inSync(ctx, s.Cloud, info)
}

// explained tells a record that somebody made meanwhile, which is to be looked at, from a mistake: Route 53 has one code
// for both.
func explained(ctx context.Context, cloud kind.Cloud, k key, cause error) error {
	if _, err := recordAt(ctx, cloud, k); err == nil {
		return aws.Busy(cause)
	}
	return reconcile.WithHint(cause, "a CNAME stands alone under its name, and records of one name and type have one routing policy: "+
		"where this record takes the place of another, the option deleteFirst lets that go first")
}

// deleteRecord says what is there, as Route 53 wants it: what changes between the look and the call is looked at again.
func deleteRecord(ctx context.Context, s recordSite) error {
	k, err := wanted(s)
	if err != nil {
		return err
	}
	live, err := recordAt(ctx, s.Cloud, k)
	if err != nil {
		return err
	}
	_, err = change(ctx, s.Cloud, k.zone, types.ChangeActionDelete, live.set)
	if _, refused := errors.AsType[*types.InvalidChangeBatch](err); !refused {
		return err
	}
	switch again, look := recordAt(ctx, s.Cloud, k); {
	case look != nil:
		return look // absent is what is wanted
	case !again.equals(live):
		return aws.Busy(fmt.Errorf("%w: %w", errGoing, err))
	}
	return err
}

// compareRecord states every aspect. One call writes the whole record: what is not to be changed, since it is ignored or left for
// later, keeps its live value.
func compareRecord(d *kind.Diff[liveRecord], want RecordProps, live liveRecord) {
	have := propsOf(live)
	upsert := kind.Set("ChangeResourceRecordSets", func(ctx context.Context, u kind.Update[liveRecord]) error {
		have := propsOf(u.Live)
		written := recordTable.Merged(want, have, u.Changed)
		if !slices.Contains(u.Changed, "values") {
			written.Values = have.Values
		}
		info, err := change(ctx, u.Cloud, u.Live.key.zone, types.ChangeActionUpsert, whole(written))
		if err != nil {
			return aws.NotYet(err)
		}
		return aws.NotYet(inSync(ctx, u.Cloud, info))
	})
	kind.Compare(d, recordTable, want, have, upsert)
	// Both are read as what is there: a type that differs, or is known later, is no difference of the values.
	reconcile.List(d, "values", valuesOf(have.Type, want.Values), valuesOf(have.Type, have.Values), upsert)
}

// whole is a record as Route 53 takes it.
func whole(p RecordProps) types.ResourceRecordSet {
	var set types.ResourceRecordSet
	_ = recordTable.Created(p, kind.Struct(&set)) // no prop is written by what may fail
	for _, v := range valuesOf(p.Type, p.Values) {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: &v})
	}
	if !p.MultiValueAnswer {
		set.MultiValueAnswer = nil
	}
	if g := set.GeoProximityLocation; g != nil && *g.Bias == 0 {
		g.Bias = nil
	}
	return set
}

// propsOf is what would be declared of a record as it is there.
func propsOf(live liveRecord) RecordProps {
	p, _ := recordTable.Read(kind.Struct(&live.set)) // what Route 53 shows has the form of what it takes
	p.HostedZoneID = live.key.zone
	for _, r := range live.set.ResourceRecords {
		p.Values = append(p.Values, sdkaws.ToString(r.Value))
	}
	return p
}

// equals reports that two observations saw the same.
func (l liveRecord) equals(m liveRecord) bool {
	a, b := propsOf(l), propsOf(m)
	a.Values, b.Values = valuesOf(a.Type, a.Values), valuesOf(b.Type, b.Values)
	return reflect.DeepEqual(a, b)
}
