package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// update is how a Worker is made what is wanted.
type update struct {
	declared WorkerProps // as the program has it
	want     WorkerProps // with what a build says
	owner    kind.OwnerTag
}

// write is one call that makes a version.
type write struct {
	target
	cloud   kind.Cloud
	want    WorkerProps
	owner   kind.OwnerTag
	live    liveWorker // zero for a new Worker
	assets  map[string]kind.Asset
	changed func(tree.Path) bool
	secret  func(tree.Path) bool
	since   time.Time
}

// createWorker uploads everything that belongs to a version.
func createWorker(ctx context.Context, site workerSite) (Worker, error) {
	w := write{
		target: target{site.Location.Account, site.Name}, cloud: site.Cloud, want: site.Want.resolved(from(site.Assets)), owner: site.Owner, assets: site.Assets,
		changed: func(tree.Path) bool { return true }, secret: secretAt(site.Secret), since: site.Since,
	}
	return Worker{Name: Name(site.Name)}, w.put(ctx)
}

// of is the write that an update makes. What is not to be changed is as it is.
func (u *update) of(on kind.Update[liveWorker]) write {
	w := write{
		target: on.Live.target, cloud: on.Cloud, owner: u.owner, live: on.Live, assets: on.Assets, secret: secretAt(on.Secret), since: on.Since,
		want: workerTable.Merged(u.want, on.Live.have, on.Changed),
		changed: func(at tree.Path) bool {
			return slices.ContainsFunc(on.Changed, func(p tree.Path) bool { return p.Within(at) })
		},
	}
	if date, flags, files := u.declared.ofBuild(); w.changed("code") {
		w.want = w.want.taking(u.want, date, flags, false)
		changed := w.changed
		w.changed = func(at tree.Path) bool { return changed(at) || files && at == "assets" }
	}
	if !w.changed("mark") {
		w.owner = kind.OwnerTag{}
	}
	return w
}

// upload makes a version with code, assets and all settings. It gets all calls at once, or its share of them.
func (u *update) upload() *kind.Operation[liveWorker] {
	name, upload := "PutScript", write.put
	if *u.want.Traffic < everything {
		name, upload = "CreateScriptVersion", write.roll
	}
	return kind.Set(name, func(ctx context.Context, on kind.Update[liveWorker]) error {
		w := u.of(on)
		if err := w.ignored("code"); err != nil {
			return err
		}
		return upload(w, ctx)
	})
}

// patch makes a version with other settings and the same code and assets, which gets all calls at once. Where somebody has
// uploaded a version that gets no calls yet, that would go live with it: then everything is uploaded. Without the code at hand
// that cannot be, and need not: the Worker is about to go.
func (u *update) patch() *kind.Operation[liveWorker] {
	return kind.Set(patchSettings, func(ctx context.Context, on kind.Update[liveWorker]) error {
		w := u.of(on)
		list, err := versions(ctx, w.cloud, w.target)
		if err != nil {
			return err
		}
		if _, prepared := w.want.Code.digest(w.asset); prepared && len(list) > 0 && list[0].ID != w.live.version.ID {
			if err := w.ignored("code"); err != nil {
				return err
			}
			return w.put(ctx)
		}
		if err := w.deleteSecrets(ctx); err != nil {
			return err
		}
		return w.patch(ctx)
	})
}

// patch makes a version with other settings, live at once.
func (w write) patch(ctx context.Context) error {
	settings, err := w.settings()
	if err != nil {
		return err
	}
	body, err := formOf(map[string]any{"settings": settings}, nil)
	if err != nil {
		return err
	}
	return w.lag(cloudflare.NotYet(cloudflare.Call(ctx, w.cloud, w.request(http.MethodPatch, "/settings", body), nil)))
}

// deleteSecrets deletes those that are no longer wanted, one by one: no deployment deletes a secret. Each makes a version, which
// says nothing of its code and assets: it comes before the call that notes them.
func (w write) deleteSecrets(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, e := range entries(w.want, w.secret) {
		wanted[e.name] = true
	}
	for _, name := range sortedKeys(w.live.rows) {
		if wanted[name] || !holdsHidden(w.live.rows[name]) || !w.changed(tree.Path("env").Key(name)) {
			continue
		}
		err := cloudflare.Call(ctx, w.cloud, w.request(http.MethodDelete, "/secrets/"+url.PathEscape(name), nil), nil)
		if refused, ok := errors.AsType[*cloudflare.Error](err); ok && refused.Has(noSecret) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The codes of deleting a secret that is not there, and one of a Worker whose newest version gets no calls yet.
const (
	noSecret  = 10056
	notLatest = 10215
)

// patchUnversioned sets what is the same for all versions.
func (u *update) patchUnversioned() *kind.Operation[liveWorker] {
	return kind.Set(patchShared, func(ctx context.Context, on kind.Update[liveWorker]) error { return u.of(on).putUnversioned(ctx) })
}

func (w write) putUnversioned(ctx context.Context) error {
	all, err := w.settled()
	if err != nil {
		return err
	}
	shared := kind.Document{}
	for _, name := range sharedSettings {
		shared[name] = all[name]
	}
	return cloudflare.NotYet(cloudflare.Call(ctx, w.cloud, w.request(http.MethodPatch, "/script-settings", shared), nil))
}

// settled are all settings: what is not declared is what clears it.
func (w write) settled() (kind.Document, error) {
	doc := kind.Document{
		"compatibility_date": "", "compatibility_flags": []any{}, "limits": nil, "placement": nil,
		"observability": kind.Document{"enabled": false}, "tail_consumers": []any{}, "tags": w.tags(),
	}
	return doc, workerTable.Created(w.want, doc)
}

func (w write) tags() []string {
	owner := tagsOf(w.owner)
	if w.owner.IsZero() { // it stays
		owner = slices.DeleteFunc(slices.Clone(w.live.tags), isAuthorsTag)
	}
	return append(owner, sorted(w.want.Tags)...)
}

// settings are those of a change without code: what is set to null goes back to its default.
func (w write) settings() (kind.Document, error) {
	rows, err := w.bindings()
	if err != nil {
		return nil, err
	}
	all, err := w.settled()
	all["bindings"] = rows
	if c := w.live.content; c.code != "" && c.files != "" {
		all["annotations"] = map[string]any{tagNote: c.code + c.files}
	}
	return all, err
}

// metadata is what an upload says beside the modules. What has its default is left out, and, of a version that is not live
// at once, what is the same for all versions.
func (w write) metadata(ctx context.Context, live bool) (kind.Document, error) {
	rows, err := w.bindings()
	if err != nil {
		return nil, err
	}
	m := kind.Document{"annotations": map[string]any{tagNote: w.tag()}, "tags": w.tags()}
	if err := workerTable.Created(w.want, m); err != nil {
		return nil, err
	}
	if !w.want.Logpush {
		delete(m, "logpush")
	}
	if !live {
		for _, name := range sharedSettings {
			delete(m, name)
		}
	}
	if w.want.Code != nil {
		m["main_module"], m["bindings"] = w.want.Code.main(), rows
	}
	migrations, err := migration(w.want, w.live, w.changed)
	if err != nil {
		return nil, err
	}
	if migrations != nil {
		m["migrations"] = migrations
	}
	if all := containers(w.want); all != nil {
		m["containers"] = all
	}
	return m, w.addAssets(ctx, m)
}

// addAssets uploads files, and says which those of the version are.
func (w write) addAssets(ctx context.Context, m kind.Document) error {
	if w.keepsAssets() {
		m["keep_assets"] = true
		return nil
	}
	if w.want.Assets == nil {
		return nil
	}
	p, err := readPrepared(w.assets)
	if err != nil {
		return err
	}
	ticket, err := uploadFiles(ctx, w.cloud, w.target, p)
	m["assets"] = map[string]any{"jwt": ticket, "config": w.want.Assets.config(p)}
	return err
}

// keepsAssets reports that assets are left alone, as others have made them.
func (w write) keepsAssets() bool {
	digest, _ := w.want.Assets.filesDigest(w.asset)
	return w.live.name != "" && !w.changed("assets") && w.live.content.files != either(digest)
}

func (w write) asset(name string) (kind.Asset, bool) { return from(w.assets)(name) }

// from finds what was prepared by its name.
func from(assets map[string]kind.Asset) func(string) (kind.Asset, bool) {
	return func(name string) (kind.Asset, bool) { a, ok := assets[name]; return a, ok }
}

// tag notes code and assets.
func (w write) tag() string {
	code, _ := w.want.Code.digest(w.asset)
	files, _ := w.want.Assets.filesDigest(w.asset)
	if w.keepsAssets() {
		files = cmp.Or(w.live.content.files, unknownDigest)
	}
	return either(code) + either(files)
}

func either(digest string) string {
	if digest == "" {
		return noDigest
	}
	return digest
}

var errIgnored = errors.New("the code is to be left alone, and what is to be changed goes with it alone")

// ignored refuses an upload of code that is to be left alone.
func (w write) ignored(path tree.Path) error {
	want, _ := w.want.Code.digest(w.asset)
	if !w.changed(path) && w.live.content.code != either(want) {
		return cloudflare.Invalid(errIgnored)
	}
	return nil
}

// bindings are the environment. What is not to be changed and is otherwise there, or is secret, is taken from the version
// before.
func (w write) bindings() ([]map[string]any, error) {
	all := []map[string]any{}
	known := map[string]bool{}
	inherit := func(name string) { // without a version it would be the newest, which may get no calls
		all = append(all, map[string]any{"name": name, "type": "inherit", "version_id": w.live.version.ID})
	}
	for _, e := range entries(w.want, w.secret) {
		known[e.name] = true
		if e.holdsSecret(w.secret) {
			return nil, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%s: %w", e.path, errReadable), "give it a name of its own in env"))
		}
		have, there := w.live.rows[e.name]
		want, hidden := apart(w.own(settled(e.row)))
		switch kept := !w.changed(e.path) && (hidden != nil || !tree.Equal(want, have)); {
		case there && (kept || e.later()):
			inherit(e.name)
		case !e.later():
			t, _ := typeOf(e.row)
			all = append(all, t.onWire(e.name, w.own(settled(e.row))))
		}
	}
	for _, name := range sortedKeys(w.live.rows) {
		if !known[name] && !w.changed(tree.Path("env").Key(name)) {
			inherit(name)
		}
	}
	return all, nil
}

var errReadable = errors.New("everybody who sees the Worker could read a secret in JSON")

// form is the whole upload.
func (w write) form(ctx context.Context, live bool) (cloudflare.Form, error) {
	parts, err := modules(w.want.Code, w.assets)
	if err != nil {
		return cloudflare.Form{}, err
	}
	metadata, err := w.metadata(ctx, live)
	if err != nil {
		return cloudflare.Form{}, err
	}
	return formOf(map[string]any{"metadata": metadata}, parts)
}

// formOf is a form with a field of JSON, and modules behind it.
func formOf(field map[string]any, parts []module) (cloudflare.Form, error) {
	return cloudflare.NewForm(func(form *multipart.Writer) error {
		for name, value := range field {
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			if err := form.WriteField(name, string(text)); err != nil {
				return err
			}
		}
		for _, m := range parts {
			if err := addPart(form, m.name, m.kind, m.content); err != nil {
				return err
			}
		}
		return nil
	})
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

// addPart adds a part whose name is that of its file too: the client's own forms have no names of files.
func addPart(form *multipart.Writer, name, kind string, content []byte) error {
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="%[1]s"; filename="%[1]s"`, quoted.Replace(name))},
		"Content-Type":        {kind},
	})
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	return err
}

// put uploads a version that gets all calls at once. Where a version waits for calls no secret can be deleted before that.
func (w write) put(ctx context.Context) error {
	err := w.deleteSecrets(ctx)
	refused, ok := errors.AsType[*cloudflare.Error](err)
	late := ok && refused.Has(notLatest)
	if err != nil && !late {
		return err
	}
	body, err := w.form(ctx, true)
	if err != nil {
		return err
	}
	err = w.lag(cloudflare.Call(ctx, w.cloud, w.request(http.MethodPut, "?bindings_inherit=strict", body), nil))
	if err != nil || !late {
		return err
	}
	if err := w.deleteSecrets(ctx); err != nil {
		return err
	}
	return w.patch(ctx)
}

// grace is how long what a Worker is bound to may be unknown to Workers, since it has just been made.
const grace = 15 * time.Second

// missing are the codes about something that a Worker is bound to and that is not there: a namespace, a database, a queue,
// a bucket, a Worker, and so on.
var missing = []int64{10041, 10181, 11000, 10085, 10143, 10144, 10157, 10159, 10182, 100119, 100143}

// lag tells what is not there yet from a mistake, by time: the look before could not know.
func (w write) lag(err error) error {
	refused, ok := errors.AsType[*cloudflare.Error](err)
	if ok && slices.ContainsFunc(missing, refused.Has) && time.Since(w.since) < grace {
		return reconcile.WithClass(err, reconcile.Busy)
	}
	return err
}
