package dns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	tagPrefix = adopt.TagPrefix
	// shortComment is what a free zone allows.
	shortComment = 100
)

// pathOf is that of a record of a zone, without an id that of all.
func pathOf(zone, id string) string {
	path := "/zones/" + url.PathEscape(zone) + "/dns_records"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// observed is a record as an answer shows it.
func observed(zone cloudflare.Zone, answer json.RawMessage) (live liveRecord, err error) {
	shown := cloudflare.Document(string(answer))
	text := func(name string) string { s, _ := shown[name].(string); return s }
	live = liveRecord{zone: zone, id: text("id"), name: text("name"), ttl: shown["ttl"]}
	if live.ttl == automatic {
		delete(shown, "ttl")
	}
	if slices.Contains(texts, text("type")) {
		delete(shown, "data")
	} else {
		delete(shown, "content")
	}
	if data, ok := shown["data"].(map[string]any); ok {
		maps.DeleteFunc(data, func(_ string, v any) bool { return v == nil })
	}
	if text("type") != "MX" && text("type") != "URI" {
		delete(shown, "priority") // "may still be returned", and means nothing
	}
	live.have, err = recordTable.Read(shown)
	comment := text("comment")
	if at := strings.Index(comment, tagPrefix); at >= 0 {
		comment, live.line = comment[:at], comment[at:]
	}
	live.have.Comment, live.owner = strings.TrimSpace(comment), adopt.LineMark(live.line)
	return live, err
}

// tagged is a comment with the owner tag behind it. Where both are too long for a free zone the tag leaves out the store.
func tagged(comment string, owner kind.OwnerTag) string {
	text := strings.TrimSpace(comment + " " + adopt.Line(owner))
	if len(text) > shortComment {
		text = strings.TrimSpace(comment + " " + adopt.Line(withoutStore(owner)))
	}
	return text
}

func withoutStore(owner kind.OwnerTag) kind.OwnerTag {
	owner.Store = ""
	return owner
}

var errSeveral = errors.New("several records of this name and type are not ours")

func observeRecord(ctx context.Context, s recordSite) (live liveRecord, err error) {
	zoneID, id := "", ""
	switch {
	case s.Last != nil:
		zoneID, id = s.Last.ZoneID, s.Last.ID
	case s.ID != "":
		zoneID, id, _ = strings.Cut(s.ID, "/")
		if id == "" {
			zoneID, id = s.Want.Zone, zoneID
		}
	default:
		return findRecord(ctx, s)
	}
	if !cloudflare.IsID(id) {
		return live, reconcile.WithHint(fmt.Errorf("%q is no record", s.ID), "write zone/record, the ids of both")
	}
	zone, err := cloudflare.ZoneOf(ctx, s.Cloud, zoneID)
	if err != nil {
		return live, err
	}
	var answer json.RawMessage
	if err := cloudflare.Send(ctx, s.Cloud, http.MethodGet, pathOf(zone.ID, id), nil, &answer); err != nil {
		return live, cloudflare.Absent(err)
	}
	return observed(zone, answer)
}

// findRecord searches the records of a name and type: for the one that carries the owner tag, else for one that says the
// same, else for one that must not be joined. That one is somebody else's, and refused as such.
func findRecord(ctx context.Context, s recordSite) (liveRecord, error) {
	zone, err := cloudflare.ZoneOf(ctx, s.Cloud, s.Want.Zone)
	if err != nil {
		return liveRecord{}, err
	}
	var ours, same, others []liveRecord
	name := fullName(s.Want.Name, zone.Name)
	for r, err := range records(ctx, s.Cloud, zone, url.Values{"name.exact": {name}, "type": {s.Want.Type}}) {
		switch {
		case err != nil:
			return liveRecord{}, err
		case !r.owner.IsZero() && r.owner.SameResource(s.Owner):
			ours = append(ours, r)
		case r.owner.Stack == s.Owner.Stack && r.owner.Stage == s.Owner.Stage:
			// of another address of this stage, which declares several of one name
		case says(r.have, s.Want):
			same = append(same, r)
		default:
			others = append(others, r)
		}
	}
	// Cloudflare has no second CNAME record for a name, and addresses share its visitors; of other types a name has many.
	if !slices.Contains([]string{"A", "AAAA", "CNAME"}, s.Want.Type) {
		others = nil
	}
	for _, found := range [][]liveRecord{ours, same, others} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return liveRecord{}, reconcile.WithHint(fmt.Errorf("%w: %w: %s", reconcile.ErrAmbiguous, errSeveral, listed(found)),
				"`athanor adopt ADDRESS ZONE/RECORD` takes over one of them")
		}
	}
	return liveRecord{}, fmt.Errorf("%w: no record %s of type %s", reconcile.ErrAbsent, name, s.Want.Type)
}

// says reports whether a record answers what is wanted.
func says(have, want RecordProps) bool {
	return canonical(have.Type, have.Content) == canonical(want.Type, want.Content) &&
		tree.Equal(have.Data, want.Data)
}

func listed(found []liveRecord) string {
	all := make([]string, len(found))
	for i, r := range found {
		all[i] = r.zone.ID + "/" + r.id + " (" + r.have.Content + ")"
	}
	return strings.Join(all, ", ")
}

// records are those of a zone that a listing is asked for.
func records(ctx context.Context, cloud kind.Cloud, zone cloudflare.Zone, query url.Values) iter.Seq2[liveRecord, error] {
	return func(yield func(liveRecord, error) bool) {
		asked := url.Values{"per_page": {"100"}}
		maps.Copy(asked, query)
		for answer, err := range cloudflare.CallPages[json.RawMessage](ctx, cloud, pathOf(zone.ID, ""), asked) {
			live := liveRecord{}
			if err == nil {
				live, err = observed(zone, answer)
			}
			if !yield(live, err) || err != nil {
				return
			}
		}
	}
}

// createRecord carries the owner tag in the call itself.
func createRecord(ctx context.Context, s recordSite) (Record, error) {
	zone, err := cloudflare.ZoneOf(ctx, s.Cloud, s.Want.Zone)
	if err != nil {
		return Record{}, err
	}
	name := fullName(s.Want.Name, zone.Name)
	doc, err := body(s.Want, name, s.Owner)
	if err != nil {
		return Record{}, err
	}
	var made struct{ ID string }
	err = cloudflare.Send(ctx, s.Cloud, http.MethodPost, pathOf(zone.ID, ""), doc, &made)
	if err != nil && s.Cloud.Classify(err) == reconcile.Exists {
		// An identical one exists. Where a search does not find it to be ours, it is that of a sibling, and searching again
		// shows nothing else.
		if _, none := findRecord(ctx, s); errors.Is(none, reconcile.ErrAbsent) {
			err = cloudflare.Invalid(reconcile.WithHint(err, "another address of this stage declares the same record: declare it once"))
		}
	}
	return Record{ID: made.ID, ZoneID: zone.ID, Name: name}, err
}

// listRecords finds the records of a stage by their owner tags, zone after zone; those of all zones when no stage is named.
func listRecords(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	var all []kind.Found
	query := url.Values{}
	if scope.Mark.Stack != "" {
		query.Set("comment.contains", tagPrefix+scope.Mark.Stack+"|"+scope.Mark.Stage+"|")
	}
	for zone, err := range cloudflare.Zones(ctx, scope.Cloud) {
		if err != nil {
			return nil, err
		}
		for r, err := range records(ctx, scope.Cloud, zone, query) {
			if err != nil {
				return nil, err
			}
			all = append(all, kind.Found{
				Kind: recordType, Place: scope.Place, Identity: zone.ID + "/" + r.id, Name: r.name, Mark: &r.owner,
			})
		}
	}
	return all, nil
}
