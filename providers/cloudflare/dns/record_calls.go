package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	sdk "github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	markPrefix = adopt.TagPrefix
	// shortComment is what a free zone allows.
	shortComment = 100
)

// shown is a record as Cloudflare writes it.
type shown struct {
	ID, Name, Type, Content, Comment string

	Data           map[string]any
	Priority       *int
	TTL            int64
	Proxied        bool
	PrivateRouting bool `json:"private_routing"`
	Tags           []string
	Settings       struct {
		FlattenCNAME bool `json:"flatten_cname"`
		IPv4Only     bool `json:"ipv4_only"`
		IPv6Only     bool `json:"ipv6_only"`
	}
}

// ttl is nil where Cloudflare chooses.
func (s shown) ttl() *time.Duration {
	if s.TTL <= automatic {
		return nil
	}
	return new(time.Duration(s.TTL) * time.Second)
}

// seen reads a record from the answer itself: the client's own types know each part of data by another Go type.
func seen(zone cloudflare.Zone, r *sdk.RecordResponse) (liveRecord, error) {
	live := liveRecord{zone: zone}
	if err := json.Unmarshal([]byte(r.JSON.RawJSON()), &live.shown); err != nil {
		return live, err
	}
	if live.Data != nil {
		data, err := tree.Of(live.Data)
		if err != nil {
			return live, err
		}
		live.Data, _ = data.(map[string]any)
	}
	if live.Type != "MX" && live.Type != "URI" {
		live.Priority = nil // "may still be returned", and means nothing
	}
	at := strings.Index(live.Comment, markPrefix)
	if at < 0 {
		at = len(live.Comment)
	}
	live.comment, live.line = strings.TrimSpace(live.Comment[:at]), live.Comment[at:]
	live.mark = adopt.LineMark(live.line)
	return live, nil
}

// marked is a comment with the mark behind it. Where both are too long for a free zone the mark goes without the store.
func marked(comment string, mark reconcile.Mark) string {
	text := strings.TrimSpace(comment + " " + adopt.Line(mark))
	if len(text) > shortComment {
		text = strings.TrimSpace(comment + " " + adopt.Line(withoutStore(mark)))
	}
	return text
}

func withoutStore(m reconcile.Mark) reconcile.Mark {
	m.Store = ""
	return m
}

var errSeveral = errors.New("several records of this name and type are not ours")

func observeRecord(ctx context.Context, site recordSite) (liveRecord, error) {
	zoneID, id := "", ""
	switch {
	case site.Last != nil:
		zoneID, id = site.Last.ZoneID, site.Last.ID
	case site.ID != "":
		zoneID, id, _ = strings.Cut(site.ID, "/")
		if id == "" {
			zoneID, id = site.Want.Zone, zoneID
		}
	default:
		return findRecord(ctx, site)
	}
	if !cloudflare.IsID(id) {
		return liveRecord{}, reconcile.WithHint(fmt.Errorf("%q is no record", site.ID), "write zone/record, the ids of both")
	}
	zone, err := cloudflare.ZoneOf(ctx, site.Cloud, zoneID)
	if err != nil {
		return liveRecord{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveRecord{}, err
	}
	var p sdk.RecordGetParams
	p.ZoneID.Value = zone.ID
	r, err := client.Get(ctx, id, p)
	if err != nil {
		return liveRecord{}, cloudflare.Absent(err)
	}
	return seen(zone, r)
}

// findRecord looks among the records of a name and type: for the one that carries the mark, else for one that says the
// same, else for one that must not be joined. That one is somebody else's, and refused as such.
func findRecord(ctx context.Context, site recordSite) (liveRecord, error) {
	zone, err := cloudflare.ZoneOf(ctx, site.Cloud, site.Want.Zone)
	if err != nil {
		return liveRecord{}, err
	}
	var ours, same, others []liveRecord
	var p sdk.RecordListParams
	p.Name.Present = true
	p.Name.Value.Exact.Value, p.Name.Value.Exact.Present = fullName(site.Want.Name, zone.Name), true
	p.Type.Value, p.Type.Present = sdk.RecordListParamsType(site.Want.Type), true
	for r, err := range records(ctx, site.Cloud, zone, p) {
		switch {
		case err != nil:
			return liveRecord{}, err
		case sameThing(r.mark, site.Mark):
			ours = append(ours, r)
		case r.mark.Stack == site.Mark.Stack && r.mark.Stage == site.Mark.Stage:
			// of another address of this stage, which declares several of one name
		case says(r, site.Want):
			same = append(same, r)
		default:
			others = append(others, r)
		}
	}
	// Cloudflare has no second CNAME record for a name, and addresses share its visitors; of other types a name has many.
	if !slices.Contains([]string{"A", "AAAA", "CNAME"}, site.Want.Type) {
		others = nil
	}
	for _, found := range [][]liveRecord{ours, same, others} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return liveRecord{}, reconcile.WithHint(fmt.Errorf("%w: %w: %s", reconcile.ErrAmbiguous, errSeveral, told(found)),
				"`athanor adopt ADDRESS ZONE/RECORD` takes over one of them")
		}
	}
	return liveRecord{}, fmt.Errorf("%w: no record %s of type %s", reconcile.ErrAbsent, fullName(site.Want.Name, zone.Name), site.Want.Type)
}

func sameThing(have, want reconcile.Mark) bool {
	return have.Stack == want.Stack && have.Stage == want.Stage && have.Address == want.Address && !have.IsZero()
}

// says reports a record that answers what is wanted.
func says(live liveRecord, want RecordProps) bool {
	if slices.Contains(texts, live.Type) {
		return canonical(live.Type, live.Content) == canonical(want.Type, want.Content)
	}
	return tree.Equal(orNone(live.Data), orNone(want.Data))
}

func told(found []liveRecord) string {
	all := make([]string, len(found))
	for i, r := range found {
		all[i] = r.zone.ID + "/" + r.ID + " (" + r.Content + ")"
	}
	return strings.Join(all, ", ")
}

// records are those of a zone that a listing is asked for.
func records(ctx context.Context, cloud reconcile.Cloud, zone cloudflare.Zone, p sdk.RecordListParams) iter.Seq2[liveRecord, error] {
	return func(yield func(liveRecord, error) bool) {
		client, err := clientOf(cloud)
		if err != nil {
			yield(liveRecord{}, err)
			return
		}
		p.ZoneID.Value = zone.ID
		for r, err := range cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.RecordResponse], error) {
			p.Page.Value, p.Page.Present = float64(page), true
			p.PerPage.Value, p.PerPage.Present = 100, true
			return client.List(ctx, p)
		}) {
			live := liveRecord{}
			if err == nil {
				live, err = seen(zone, &r)
			}
			if !yield(live, err) || err != nil {
				return
			}
		}
	}
}

// createRecord carries the mark in the call itself.
func createRecord(ctx context.Context, site recordSite) (Record, error) {
	zone, err := cloudflare.ZoneOf(ctx, site.Cloud, site.Want.Zone)
	if err != nil {
		return Record{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Record{}, err
	}
	name := fullName(site.Want.Name, zone.Name)
	text, err := json.Marshal(body(site.Want, name, site.Mark))
	if err != nil {
		return Record{}, err
	}
	p := sdk.RecordNewParams{Body: sdk.RecordNewParamsBody{}}
	p.ZoneID.Value = zone.ID
	r, err := client.New(ctx, p, option.WithRequestBody("application/json", text))
	if err != nil && site.Cloud.Classify(err) == reconcile.Exists {
		// An identical one is there. Where a look does not find it to be ours, it is that of a sibling, and looking again
		// shows nothing else.
		if _, look := findRecord(ctx, site); errors.Is(look, reconcile.ErrAbsent) {
			err = cloudflare.Invalid(reconcile.WithHint(err, "another address of this stage declares the same record: declare it once"))
		}
	}
	if err != nil {
		return Record{}, err
	}
	return Record{ID: r.ID, ZoneID: zone.ID, Name: name}, nil
}

func deleteRecord(ctx context.Context, site recordSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	var p sdk.RecordDeleteParams
	p.ZoneID.Value = site.Last.ZoneID
	_, err = client.Delete(ctx, site.Last.ID, p)
	return err
}

// listRecords finds the records of a stage by their marks, zone after zone; those of all zones when no stage is named.
func listRecords(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	var p sdk.RecordListParams
	if scope.Mark.Stack != "" {
		p.Comment.Present = true
		p.Comment.Value.Contains.Value, p.Comment.Value.Contains.Present = markPrefix+scope.Mark.Stack+"|"+scope.Mark.Stage+"|", true
	}
	for zone, err := range cloudflare.Zones(ctx, scope.Cloud) {
		if err != nil {
			return nil, err
		}
		for r, err := range records(ctx, scope.Cloud, zone, p) {
			if err != nil {
				return nil, err
			}
			all = append(all, reconcile.Found{
				Kind: recordType, Place: scope.Place, Identity: zone.ID + "/" + r.ID, Name: r.Name, Mark: &r.mark,
			})
		}
	}
	return all, nil
}
