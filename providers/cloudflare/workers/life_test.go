package workers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// life is one Worker in a world of its own, in a directory with all samples, and what state holds of it.
type life struct {
	*cloudflaretest.Server
	t     *testing.T
	kind  reconcile.Any
	dir   string
	out   *reconcile.Outcome
	edits func(*reconcile.Job)
}

func begin(t *testing.T) *life {
	t.Helper()
	l := &life{Server: cloudflaretest.Start(t), t: t, kind: workerKind.Erase(), dir: t.TempDir()}
	prepare(t, l.Server)
	lay(t, l.dir, sources)
	return l
}

// job is the Worker as it is declared, prepared and in state.
func (l *life) job(props obj) *reconcile.Job {
	l.t.Helper()
	job := l.Job(l.t, l.kind, props, l.out)
	job.Dir = l.dir
	job.Digest = func(domain string, data []byte) string { return digestOf(domain, string(data)) }
	if l.out != nil {
		job.Written = l.out.Written
	}
	if l.edits != nil {
		l.edits(job)
	}
	if props == nil {
		return job
	}
	if err := l.kind.Prepare(l.t.Context(), job, reconcile.Workspace{Dir: l.dir, Cache: filepath.Join(l.dir, ".cache")}); err != nil {
		l.t.Fatal(err)
	}
	return job
}

// try reconciles the Worker.
func (l *life) try(props obj) error {
	l.t.Helper()
	l.Reset()
	out, err := l.kind.Settle(l.t.Context(), l.job(props), reconcile.Hooks{})
	if err == nil {
		l.out = &out
	}
	return err
}

// to reconciles the Worker, and returns which calls that took.
func (l *life) to(props obj) []string {
	l.t.Helper()
	if err := l.try(props); err != nil {
		l.t.Fatal(err)
	}
	return l.Wrote()
}

func (l *life) wrote(what string, have []string, want ...string) {
	l.t.Helper()
	for i := range want {
		want[i] = "Workers." + want[i]
	}
	if !slices.Equal(have, want) {
		l.t.Errorf("%s: wrote %v, want %v", what, have, want)
	}
}

func (l *life) settings() obj {
	l.t.Helper()
	return l.Do(l.t, http.MethodGet, scripts+"/"+l.out.Identity+"/settings", nil).(obj)
}

// TestCalls counts: what is equal is not uploaded again, and each change makes the one call that it takes.
func TestCalls(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{
		"code": obj{"directory": "dist"}, "assets": obj{"directory": "public"}, "env": obj{"STAGE": "prod", "KEY": obj{"secret": "hidden"}},
		"crons": list{"0 3 * * *"}, "workersDev": true, "domains": list{"www.shop.example"}, "routes": obj{"shop.example/*": obj{}},
	})
	l.wrote("a creation", l.to(props), "CreateScriptAssetUpload", "CreateAssetUpload", "PutScript",
		"PutScriptSchedule", "CreateScriptSubdomain", "PutDomain", "CreateRoute")
	if have := l.AssetsTaken(); have != 2 {
		t.Errorf("%d files uploaded, want 2: what is ignored, and what says how to serve, is none", have)
	}
	if url := l.out.Attrs["url"]; url != "https://shop-test-orders."+"example"+".workers.dev" && !strings.HasPrefix(fmt.Sprint(url), "https://shop-test-orders.") {
		t.Errorf("url %v", url)
	}
	l.wrote("the same again", l.to(props))
	if n := len(l.Calls()); n > 10 { // the account, eight of the Worker, and the routes of a zone
		t.Errorf("the same again takes %d reads: %v", n, l.Calls())
	}
	lay(t, l.dir, map[string]string{"public/new.html": "<h1>new</h1>"})
	l.wrote("a new file", l.to(props), "CreateScriptAssetUpload", "CreateAssetUpload", "PutScript")
	if have := l.AssetsTaken(); have != 3 {
		t.Errorf("%d files uploaded, want 3: two are there already", have)
	}
	lay(t, l.dir, map[string]string{"dist/a.txt": "other text\n"})
	l.wrote("other code", l.to(props), "CreateScriptAssetUpload", "PutScript")
	l.wrote("another secret", l.to(with(props, obj{"env": obj{"STAGE": "prod", "KEY": obj{"secret": "other"}}})), "PatchScriptScriptAndVersionSetting")
	l.wrote("logs", l.to(with(props, obj{"env": obj{"STAGE": "prod", "KEY": obj{"secret": "other"}}, "logpush": true})), "PatchScriptSetting")
	if files, _ := l.Assets(l.out.Identity); len(files) != 3 {
		t.Errorf("after changes of settings there are the files %v", files)
	}
}

// TestFilesOfUploads: which files changed is said of what state tells of, and not of what somebody else has uploaded since, or under
// other rules.
func TestFilesOfUploads(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{"code": obj{"directory": "dist"}, "assets": obj{"directory": "public"}})
	l.to(props)
	deployed := l.job(props).Assets
	lay(t, l.dir, map[string]string{"public/new.html": "<h1>new</h1>", "dist/a.txt": "other text"})
	ruled := with(props, obj{"code": obj{"directory": "dist", "rules": obj{".txt": "data"}}})
	other := maps.Clone(deployed)
	for name, a := range other {
		a.Digest = "another"
		other[name] = a
	}
	for _, c := range []struct {
		what         string
		props        obj
		old          map[string]reconcile.Asset
		code, assets string
	}{
		{"what was deployed", props, deployed, "[a.txt]", "[new.html]"},
		{"another upload", props, other, "", ""},
		{"other rules", ruled, deployed, "", "[new.html]"},
		{"an old state", props, nil, "", ""},
	} {
		job := l.job(c.props)
		job.OldAssets = c.old
		look, err := l.kind.Look(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]string{}
		for _, s := range look.Steps {
			if have[string(s.Path)] = ""; s.Files != nil {
				have[string(s.Path)] = fmt.Sprint(slices.Concat(s.Files.Modified, s.Files.Added))
			}
		}
		if want := map[string]string{"code": c.code, "assets": c.assets}; !maps.Equal(have, want) {
			t.Errorf("%s: %v, want %v", c.what, have, want)
		}
	}
}

// TestMail: a binding that says less than the one before says nothing of the rest.
func TestMail(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(with(plain(), obj{"env": obj{"MAIL": obj{"sendEmail": obj{"destination": "a@shop.example"}}, "LIMIT": obj{"rateLimit": obj{"namespace": "7", "limit": int64(5), "period": "60s"}}}}))
	l.to(with(plain(), obj{"bindings": obj{"MAIL": obj{"sendEmail": obj{}}}}))
	if row := l.settings()["bindings"].([]any)[0].(obj); row["destination_address"] != nil {
		t.Errorf("%v", row)
	}
}

// TestSecret: what is secret by what it is becomes a secret of the Worker, wherever the author writes it; JSON may hold none.
func TestSecret(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.edits = func(job *reconcile.Job) { job.Secret = map[tree.Path]bool{"env.KEY": true} }
	l.to(with(plain(), obj{"env": obj{"KEY": "hidden"}}))
	row := l.settings()["bindings"].([]any)[0].(obj)
	if row["type"] != "secret_text" || row["text"] != nil {
		t.Errorf("the secret is %v", row)
	}
	err := l.try(with(plain(), obj{"env": obj{"KEY": obj{"json": obj{"a": "hidden"}}}}))
	if !errors.Is(err, errReadable) || strings.Contains(fmt.Sprint(err), "hidden") {
		t.Errorf("a secret in JSON: %v", err)
	}
}

// TestTraffic rolls a version out in steps.
func TestTraffic(t *testing.T) {
	t.Parallel()
	l := begin(t)
	version := func(text string, share int64) obj {
		return with(plain(), obj{"code": obj{"script": "export default {} // " + text}, "traffic": share})
	}
	shares := func() string {
		t.Helper()
		var all []string
		live := l.Do(t, http.MethodGet, scripts+"/"+l.out.Identity+"/deployments", nil).(obj)["deployments"].([]any)[0].(obj)
		for _, part := range live["versions"].([]any) {
			v := l.Do(t, http.MethodGet, scripts+"/"+l.out.Identity+"/versions/"+part.(obj)["version_id"].(string), nil).(obj)
			all = append(all, fmt.Sprint(v["number"], "@", part.(obj)["percentage"]))
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		what   string
		props  obj
		shares string
		wrote  []string
	}{
		{"the first has all", version("one", 10), "1@100", []string{"PutScript"}},
		{"the next has its share", version("two", 10), "2@10 1@90", []string{"CreateScriptVersion", "PatchScriptSetting", "CreateScriptDeployment"}},
		{"the same again", version("two", 10), "2@10 1@90", nil},
		{"a better one takes its place", version("three", 10), "3@10 1@90", []string{"CreateScriptVersion", "PatchScriptSetting", "CreateScriptDeployment"}},
		{"it gets more", version("three", 50), "3@50 1@50", []string{"CreateScriptDeployment"}},
		{"another setting is another version", with(version("three", 50), obj{"env": obj{"STAGE": "test"}}), "4@50 1@50", []string{"CreateScriptVersion", "PatchScriptSetting", "CreateScriptDeployment"}},
		{"all go back to the version before", with(version("three", 0), obj{"env": obj{"STAGE": "test"}}), "4@0 1@100", []string{"CreateScriptDeployment"}},
		{"and stay there", with(version("three", 0), obj{"env": obj{"STAGE": "test"}}), "4@0 1@100", nil},
		{"it gets all", with(version("three", 100), obj{"env": obj{"STAGE": "test"}}), "4@100", []string{"CreateScriptDeployment"}},
		{"the next is for all at once", version("four", 100), "5@100", []string{"PutScript"}},
	} {
		l.wrote(step.what, l.to(step.props), step.wrote...)
		if have := shares(); have != step.shares {
			t.Errorf("%s: %s, want %s", step.what, have, step.shares)
		}
	}
	err := l.try(with(version("class Room", 10), obj{"code": obj{"script": "export class Room {} export default {}"}, "durableObjects": obj{"Room": obj{}}}))
	if !errors.Is(err, errMigrates) || len(l.Wrote()) != 0 {
		t.Errorf("a class for some calls alone: %v, wrote %v", err, l.Wrote())
	}
}

// TestPreviews: a version has an address of its own where previews are on, also without workers.dev and while it gets no calls.
func TestPreviews(t *testing.T) {
	t.Parallel()
	l := begin(t)
	url := func(props obj) string {
		t.Helper()
		l.to(with(plain(), props))
		at, _ := l.out.Attrs["previewUrl"].(string)
		return at
	}
	if have := url(obj{}); have != "" {
		t.Errorf("without previews: %s", have)
	}
	before := url(obj{"previews": true})
	newest := l.Do(t, http.MethodGet, scripts+"/"+l.out.Identity+"/versions", nil).(obj)["items"].([]any)[0].(obj)["id"].(string)
	if want := "https://" + newest[:8] + "-" + l.out.Identity + ".example.workers.dev"; before != want {
		t.Errorf("%q, want %q; %v", before, want, l.out.Attrs)
	}
	after := url(obj{"previews": true, "code": obj{"script": "export default {} // two"}, "traffic": int64(0)})
	if after == before || !strings.HasSuffix(after, "-"+l.out.Identity+".example.workers.dev") {
		t.Errorf("the next version is at %q, the one before at %q", after, before)
	}
	if have := url(obj{"previews": true, "code": obj{"script": "export class Room {} export default {}"}, "durableObjects": obj{"Room": obj{}}}); have != "" {
		t.Errorf("with Durable Objects: %s", have)
	}
}

// TestListed: a scan shows the Workers that nobody declares, and the listing of a stage does not.
func TestListed(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(plain())
	l.Upload(t, "theirs", cloudflaretest.Upload{
		Metadata: obj{"main_module": "index.js", "compatibility_date": "2026-01-01"},
		Modules:  []cloudflaretest.Module{{Name: "index.js", Type: "application/javascript+module", Content: []byte("export default {}")}},
	})
	names := func(scope reconcile.Scope) string {
		t.Helper()
		scope.Cloud, scope.Place = l.Cloud(), reconcile.Place{Provider: "cloudflare", Account: l.Account}
		found, err := l.kind.List(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range found {
			all = append(all, f.Identity)
		}
		return strings.Join(all, " ")
	}
	if have := names(reconcile.Scope{}); !strings.Contains(have, "theirs") || !strings.Contains(have, l.out.Identity) {
		t.Errorf("of everybody: %s", have)
	}
	if have := names(reconcile.Scope{Mark: l.job(nil).Mark}); have != l.out.Identity {
		t.Errorf("of the stage: %s", have)
	}
}

// TestFaults breaks one call of a creation at a time. In the end there is one Worker, uploaded as rarely as can be.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		fault   cloudflaretest.Fault
		uploads int
	}{
		{"the answer of the upload is lost", cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.DropAnswer}, 1},
		{"the upload never arrives", cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.CutBefore}, 2},
		{"the upload is throttled twice", cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.Throttle, Times: 2}, 3},
		{"what it is bound to is not known yet", cloudflaretest.Fault{Op: "Workers.PutScript", Kind: cloudflaretest.Refuse, Code: "10041"}, 2},
		{"the answer of a file is lost", cloudflaretest.Fault{Op: "Workers.CreateAssetUpload", Kind: cloudflaretest.DropAnswer}, 1},
		{"the settings cannot be read at first", cloudflaretest.Fault{Op: "Workers.GetScriptScriptAndVersionSetting", Kind: cloudflaretest.ServerError, Nth: 2}, 1},
		{"the answer about a route is lost", cloudflaretest.Fault{Op: "Workers.CreateRoute", Kind: cloudflaretest.DropAnswer}, 1},
		{"the answer about a domain is lost", cloudflaretest.Fault{Op: "Workers.PutDomain", Kind: cloudflaretest.DropAnswer}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := begin(t)
			armed := l.Inject(c.fault)
			l.to(with(plain(), obj{"assets": obj{"directory": "public"}, "domains": list{"www.shop.example"}, "routes": obj{"shop.example/*": obj{}}}))
			uploads := 0
			for _, name := range l.Wrote() {
				if name == "Workers.PutScript" {
					uploads++
				}
			}
			if armed.Fired() == 0 || uploads != c.uploads || len(mine(t, l.Server)) != 1 {
				t.Errorf("fired %d, %d uploads, want %d; Workers %v", armed.Fired(), uploads, c.uploads, mine(t, l.Server))
			}
			if files, _ := l.Assets(l.out.Identity); len(files) != 2 {
				t.Errorf("it serves %v", files)
			}
		})
	}
}

// TestWaitingVersion: a version that somebody has uploaded and not deployed does not go live with a change of settings.
func TestWaitingVersion(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(with(plain(), obj{"env": obj{"KEY": obj{"secret": "hidden"}, "STAGE": "prod"}}))
	l.UploadVersion(t, l.out.Identity, cloudflaretest.Upload{
		Metadata: obj{"main_module": "index.js", "compatibility_date": date},
		Modules:  []cloudflaretest.Module{{Name: "index.js", Type: esm, Content: []byte("export default {} // not yet")}},
	})
	l.wrote("another setting", l.to(with(plain(), obj{"env": obj{"KEY": obj{"secret": "hidden"}, "STAGE": "test"}})), "PutScript")
	uploads := l.Uploads(l.out.Identity)
	if text := string(uploads[len(uploads)-1].Modules[0].Content); strings.Contains(text, "not yet") || len(l.settings()["bindings"].([]any)) != 2 {
		t.Errorf("live are %v and %s", l.settings()["bindings"], text)
	}
}

// TestIgnored: what the author leaves to others stays as they make it.
func TestIgnored(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{"env": obj{"STAGE": "prod", "TURNS": "1"}})
	l.to(props)
	foreign := cloudflaretest.Upload{
		Metadata: obj{"main_module": "index.js", "compatibility_date": date, "bindings": list{
			obj{"type": "plain_text", "name": "STAGE", "text": "by hand"},
			obj{"type": "plain_text", "name": "TURNS", "text": "2"},
			obj{"type": "secret_text", "name": "THEIRS", "text": "hidden"},
		}},
		Modules: []cloudflaretest.Module{{Name: "index.js", Type: esm, Content: []byte("export default {} // by hand")}},
	}
	l.Upload(t, l.out.Identity, foreign)
	l.edits = func(job *reconcile.Job) { job.Ignore = []tree.Path{"code", "assets", "env.STAGE", "env.THEIRS"} }
	l.wrote("a setting beside foreign code", l.to(props), "PatchScriptScriptAndVersionSetting")
	uploads := l.Uploads(l.out.Identity)
	if text := string(uploads[len(uploads)-1].Modules[0].Content); !strings.Contains(text, "by hand") {
		t.Errorf("the code is %s", text)
	}
	have := map[string]any{}
	for _, b := range l.settings()["bindings"].([]any) {
		have[b.(obj)["name"].(string)] = b.(obj)["text"]
	}
	if have["STAGE"] != "by hand" || have["TURNS"] != "1" || len(have) != 3 {
		t.Errorf("the environment is %v", have)
	}
	err := l.try(with(props, obj{"durableObjects": obj{"Room": obj{}}}))
	if !errors.Is(err, errIgnored) || len(l.Wrote()) != 0 {
		t.Errorf("a class in code that is left alone: %v, wrote %v", err, l.Wrote())
	}
}

// TestIgnoredAssets: assets that the author leaves to others stay under new code, and are seen once they are not left any more.
func TestIgnoredAssets(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{"assets": obj{"directory": "site"}})
	l.to(props)
	upload(true)(t, l.Server, l.out.Identity, WorkerProps{Assets: new(Assets)}, nil)
	l.edits = func(job *reconcile.Job) { job.Ignore = []tree.Path{"assets"} }
	l.wrote("other code beside foreign assets", l.to(with(props, obj{"code": obj{"bundle": "src/other.ts"}})), "PutScript")
	if files, _ := l.Assets(l.out.Identity); len(files) != 1 || files["/by-hand.txt"] == nil {
		t.Errorf("it serves %v", files)
	}
	l.edits = nil
	l.wrote("assets that are left no more", l.to(with(props, obj{"code": obj{"bundle": "src/other.ts"}})), "CreateScriptAssetUpload", "PutScript")
	if files, _ := l.Assets(l.out.Identity); files["/index.html"] == nil {
		t.Errorf("it serves %v", files)
	}
}

// TestSessionExpires: a session that ended before all was uploaded is begun anew, and what arrived is not sent again.
func TestSessionExpires(t *testing.T) {
	t.Parallel()
	l := begin(t)
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprintf("many/%d.txt", i)] = fmt.Sprint("file ", i)
	}
	lay(t, l.dir, files)
	armed := l.Inject(cloudflaretest.Fault{Op: "Workers.CreateAssetUpload", Kind: cloudflaretest.ServerError, Nth: 2})
	l.to(obj{"assets": obj{"directory": "many"}, "compatibilityDate": date})
	if have := l.AssetsTaken(); armed.Fired() != 1 || have != 5 {
		t.Errorf("%d files taken, want 5; %v", have, l.Wrote())
	}
	if have, _ := l.Assets(l.out.Identity); len(have) != 5 {
		t.Errorf("it serves %v", have)
	}
}

// TestGolden holds our uploads against those of wrangler.
func TestGolden(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.AddNamespace("00000000000000000000000000000001", "golden")
	l.dir = t.TempDir()
	cloudflaretest.Sample(t, "shop", l.dir)
	l.to(obj{
		"name": "shop", "code": obj{"bundle": "src/index.ts"}, "compatibilityDate": date, "compatibilityFlags": list{"nodejs_als"},
		"env": obj{
			"STAGE": "prod", "LIMITS": obj{"json": obj{"orders": int64(2)}}, "CACHE": obj{"kv": "00000000000000000000000000000001"},
			"ROOM": obj{"durableObject": "Room"}, "JOBS": obj{"queue": "jobs"}, "FILES": obj{"r2": "files", "jurisdiction": "eu"},
			"DB": obj{"d1": users}, "ASSETS": obj{"assets": true},
		},
		"durableObjects": obj{"Room": obj{}}, "limits": obj{"cpu": "50ms"}, "logpush": true, "placement": obj{"mode": "smart"},
		"observability": obj{"samplingRate": 0.5}, "tailConsumers": list{obj{"service": "logs"}},
		"assets": obj{"directory": "public", "notFoundHandling": "404-page", "runWorkerFirstAt": list{"/*", "!/style.css"}},
	})
	for _, differs := range cloudflaretest.Golden(t, "shop").Unlike(l.Uploads("shop")[0]) {
		t.Errorf("shop: %s", differs)
	}
	m := begin(t)
	dir := filepath.Join(m.dir, "modules")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cloudflaretest.Sample(t, "modules", dir)
	if err := os.Remove(filepath.Join(dir, "wrangler.json")); err != nil {
		t.Fatal(err)
	}
	m.to(obj{"name": "modules", "code": obj{"directory": "modules"}, "compatibilityDate": date, "env": obj{"STAGE": "prod"}})
	for _, differs := range cloudflaretest.Golden(t, "modules").Unlike(m.Uploads("modules")[0]) {
		t.Errorf("modules: %s", differs)
	}
}
