package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// target is a Worker's name in an account.
type target struct{ account, name string }

// request is a call about the Worker.
func (t target) request(method, below string, body any) cloudflare.Request {
	return cloudflare.Request{Method: method, Path: "/accounts/" + t.account + "/workers/scripts/" + url.PathEscape(t.name) + below, Body: body}
}

// liveWorker is an observed Worker.
type liveWorker struct {
	target
	version      liveVersion // the newest of those that get calls
	content      content     // of that version
	share        int         // in percent, of that version
	stable       string      // the id of the other version that gets calls, "" without one
	rows         map[string]row
	have         WorkerProps // what the table compares
	tags         []string
	crons        []string
	subdomain    string // of the account, where it is needed
	domains      map[string]place
	routes       map[string]place
	classes      map[string]liveClass
	objects      bool // there are some of these classes
	migrationTag string
	alike        bool // its code is not ours, and is what an upload would give it
}

// place is what Cloudflare calls something in a zone.
type place struct {
	id   string
	zone cloudflare.Zone
}

// liveVersion is one version of a Worker.
type liveVersion struct {
	ID          string            `json:"id"`
	Number      int64             `json:"number"`
	Annotations map[string]string `json:"annotations"`
	Resources   struct {
		Bindings json.RawMessage `json:"bindings"`
		Script   struct {
			ETag string `json:"etag"`
		} `json:"script"`
		Runtime struct {
			MigrationTag string `json:"migration_tag"`
		} `json:"script_runtime"`
	} `json:"resources"`
}

// content are the digests of code and assets, "" where nothing tells.
type content struct{ code, files string }

// content is what we noted in a version; in one that is not ours there is nothing.
func (v liveVersion) content() content {
	if tag := v.Annotations[tagNote]; len(tag) == 2*digestLength && strings.Trim(tag, "0123456789abcdef-") == "" {
		return content{tag[:digestLength], strings.TrimPrefix(tag[digestLength:], unknownDigest)}
	}
	return content{}
}

const (
	// tagNote is the note of a version that people know it by: up to 25 characters. It holds the digests of code and assets.
	tagNote      = "workers/tag"
	digestLength = 12
	// triggerNote says what made a version; uploaded is that of an upload, which may have other assets.
	triggerNote, uploaded = "workers/triggered_by", "upload"
)

// noDigest stands for what a version has none of.
const noDigest = "000000000000"

// unknownDigest stands for what others have made of a version that is ours.
const unknownDigest = "------------"

func (l liveWorker) attrs() Worker {
	w := Worker{Name: Name(l.name), ETag: l.version.Resources.Script.ETag, VersionID: l.version.ID}
	if l.have.WorkersDev && l.subdomain != "" {
		w.URL = "https://" + l.name + "." + l.subdomain + ".workers.dev"
	}
	// A version is known by the first eight characters of its id there, and the name is one label of DNS with them.
	if label := l.version.ID[:min(len(l.version.ID), versionPrefix)] + "-" + l.name; l.have.Previews && l.subdomain != "" &&
		len(l.version.ID) > versionPrefix && len(label) <= longestLabel && len(l.classes) == 0 {
		w.PreviewURL = "https://" + label + "." + l.subdomain + ".workers.dev"
	}
	for _, at := range l.routes {
		w.RouteZones = append(w.RouteZones, at.zone.ID)
	}
	w.RouteZones = slices.Compact(sorted(w.RouteZones))
	return w
}

const (
	// versionPrefix is how much of a version's id its address begins with:
	// https://developers.cloudflare.com/workers/configuration/previews/
	versionPrefix = 8
	longestLabel  = 63
)

var errNoName = errors.New("a Worker is found by its name, and there is none")

func targetOf(site workerSite) (target, error) {
	name := cmp.Or(site.ID, site.Name)
	if site.Last != nil {
		name = string(site.Last.Name)
	}
	if name == "" {
		return target{}, errNoName
	}
	return target{site.Location.Account, name}, nil
}

// observeWorker reads the Worker and all that belongs to it.
func observeWorker(ctx context.Context, site workerSite) (liveWorker, error) {
	t, err := targetOf(site)
	if err != nil {
		return liveWorker{}, err
	}
	want := site.Want.resolved(from(site.Assets))
	if text := dateWarning(site.Address, want.CompatibilityDate, want.CompatibilityFlags, time.Now()); text != "" {
		cloudflare.Warn(site.Cloud, text)
	}
	live := liveWorker{target: t}
	var answer json.RawMessage
	if err := cloudflare.Call(ctx, site.Cloud, t.request(http.MethodGet, "/settings", nil), &answer); err != nil {
		return liveWorker{}, cloudflare.Absent(err)
	}
	settings := cloudflare.Document(string(answer))
	if live.have, err = workerTable.Read(settings); err != nil {
		return liveWorker{}, err
	}
	for _, tag := range asList(settings["tags"]) {
		live.tags = append(live.tags, fmt.Sprint(tag))
	}
	live.have.Tags = slices.DeleteFunc(slices.Clone(live.tags), isOwnerTag)
	for _, read := range []func(context.Context, workerSite, *liveWorker) error{
		readVersions, readTriggers, readDomains, readRoutes, readClasses,
	} {
		if err := read(ctx, site, &live); err != nil {
			return liveWorker{}, err
		}
	}
	return live, nil
}

// readVersions finds the newest version that gets calls, and which other one does.
func readVersions(ctx context.Context, site workerSite, live *liveWorker) error {
	var list struct {
		Deployments []struct {
			Versions []struct {
				ID    string  `json:"version_id"`
				Share float64 `json:"percentage"`
			}
		}
	}
	if err := cloudflare.Call(ctx, site.Cloud, live.request(http.MethodGet, "/deployments", nil), &list); err != nil {
		return cloudflare.NotYet(err)
	}
	if len(list.Deployments) == 0 {
		return reconcile.WithClass(fmt.Errorf("worker %s: no version of it is deployed yet", live.name), reconcile.Busy)
	}
	for _, part := range list.Deployments[0].Versions {
		v, err := readVersion(ctx, site.Cloud, live.target, part.ID)
		if err != nil {
			return cloudflare.NotYet(err)
		}
		switch older := live.version.ID; {
		case older == "" || v.Number > live.version.Number:
			live.version, live.share, live.stable = v, int(part.Share), older
		default:
			live.stable = v.ID
		}
	}
	live.migrationTag = live.version.Resources.Runtime.MigrationTag
	live.content = live.version.content()
	if live.content == (content{}) {
		for _, tell := range []func(context.Context, workerSite, *liveWorker) error{descend, readUploaded} {
			if err := tell(ctx, site, live); err != nil {
				return err
			}
		}
	}
	return live.readRows()
}

func readVersion(ctx context.Context, cloud kind.Cloud, t target, id string) (liveVersion, error) {
	var v liveVersion
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodGet, "/versions/"+url.PathEscape(id), nil), &v)
	return v, err
}

// versions are the last ones, the newest first, without what they hold.
func versions(ctx context.Context, cloud kind.Cloud, t target) ([]liveVersion, error) {
	var list struct{ Items []liveVersion }
	err := cloudflare.Call(ctx, cloud, t.request(http.MethodGet, "/versions", nil), &list)
	return list.Items, cloudflare.NotYet(err)
}

// descend tells whether a version that is not ours has the code of our last one, as when somebody has changed a setting or
// a secret: that makes a version too, with the same assets.
func descend(ctx context.Context, site workerSite, live *liveWorker) error {
	list, err := versions(ctx, site.Cloud, live.target)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(v liveVersion) bool { return v.content() != content{} })
	if i < 0 {
		return nil
	}
	ours, err := readVersion(ctx, site.Cloud, live.target, list[i].ID)
	if err != nil {
		return cloudflare.NotYet(err)
	}
	if ours.Resources.Script.ETag != live.version.Resources.Script.ETag {
		return nil
	}
	live.content = ours.content()
	if live.version.Annotations[triggerNote] == uploaded {
		live.content.files = ""
	}
	return nil
}

func (l *liveWorker) readRows() error {
	l.rows = map[string]row{}
	if len(l.version.Resources.Bindings) == 0 {
		return nil
	}
	all, err := tree.Decode(l.version.Resources.Bindings)
	if err != nil {
		return fmt.Errorf("bindings of %s: %w", l.name, err)
	}
	for _, one := range asList(all) {
		wire, _ := one.(map[string]any)
		name, _ := wire["name"].(string)
		l.rows[name] = l.own(offWire(wire))
	}
	return nil
}

// own is a row without what says that something is the Worker's own.
func (t target) own(r row) row {
	if r["script"] == t.name {
		r = maps.Clone(r)
		delete(r, "script")
	}
	return r
}

// shownScript is a Worker as the list of an account shows it.
type shownScript struct {
	ID        string   `json:"id"`
	Tags      []string `json:"tags"`
	ETag      string   `json:"etag"`
	HasAssets *bool    `json:"has_assets"`
}

// listScripts lists all Workers of an account: Cloudflare answers them at once.
func listScripts(ctx context.Context, cloud kind.Cloud, account string) ([]shownScript, error) {
	var list []shownScript
	err := cloudflare.Send(ctx, cloud, http.MethodGet, "/accounts/"+account+"/workers/scripts", nil, &list)
	return list, err
}

// listWorkers goes by owner tags, and by names for what has lost its own. Without a stage and a name it lists all Workers.
func listWorkers(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	list, err := listScripts(ctx, scope.Cloud, scope.Place.Account)
	if err != nil {
		return nil, err
	}
	everyone := scope.Mark.Stack == "" && scope.Prefix == ""
	var all []kind.Found
	for _, w := range list {
		owner := adopt.MarkOf(ownerTags(w.Tags))
		ours := !owner.IsZero() && owner.Stack == scope.Mark.Stack && owner.Stage == scope.Mark.Stage
		if everyone || ours || scope.Prefix != "" && strings.HasPrefix(w.ID, scope.Prefix) {
			all = append(all, kind.Found{Kind: workerType, Place: scope.Place, Identity: w.ID, Name: w.ID, Mark: &owner})
		}
	}
	return all, nil
}
