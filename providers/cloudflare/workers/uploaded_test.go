package workers

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestUploadedByOthers: code that somebody else has uploaded and that is equal is not uploaded once more. What is not equal is, and so is what
// nothing can tell: static files.
func TestUploadedByOthers(t *testing.T) {
	t.Parallel()
	const script = "export default { async fetch() { return new Response('hello') } }"
	mine := func(name, kind, text string) cloudflaretest.Module {
		return cloudflaretest.Module{Name: name, Type: kind, Content: []byte(text)}
	}
	files := []cloudflaretest.Module{mine("a.txt", "text/plain", sources["dist/a.txt"]), mine("index.js", esm, sources["dist/index.js"])}
	tags, upload := []string{"PatchScriptSetting"}, []string{"PutScript"}
	for what, c := range map[string]struct {
		code    obj
		main    string
		modules []cloudflaretest.Module
		wrote   []string
	}{
		"equal":             {obj{"script": script}, "index.js", []cloudflaretest.Module{mine("index.js", esm, script)}, tags},
		"another name":      {obj{"script": script}, "worker.js", []cloudflaretest.Module{mine("worker.js", "text/javascript+module; charset=utf-8", script)}, tags},
		"another text":      {obj{"script": script}, "index.js", []cloudflaretest.Module{mine("index.js", esm, script+"\n")}, upload},
		"a module more":     {obj{"script": script}, "index.js", []cloudflaretest.Module{mine("index.js", esm, script), mine("b.txt", "text/plain", "b")}, upload},
		"modules":           {obj{"directory": "dist"}, "index.js", files, tags},
		"another type":      {obj{"directory": "dist"}, "index.js", []cloudflaretest.Module{mine("a.txt", "application/octet-stream", sources["dist/a.txt"]), files[1]}, upload},
		"modules, renamed":  {obj{"directory": "dist"}, "worker.js", []cloudflaretest.Module{files[0], mine("worker.js", esm, sources["dist/index.js"])}, upload},
		"another beginning": {obj{"directory": "dist", "main": "b.js"}, "index.js", []cloudflaretest.Module{mine("b.js", esm, script), mine("index.js", esm, script)}, upload},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := begin(t)
			if what == "another beginning" {
				lay(t, l.dir, map[string]string{"dist/b.js": script})
			}
			l.Upload(t, "ours", cloudflaretest.Upload{Metadata: obj{"main_module": c.main, "compatibility_date": date}, Modules: c.modules})
			props := obj{"name": "ours", "code": c.code, "compatibilityDate": date}
			l.wrote("taking it over", l.to(props), slices.Clone(c.wrote)...)
			l.wrote("the same again", l.to(props))
			if settings := l.settings(); len(settings["tags"].([]any)) == 0 {
				t.Errorf("it has no owner tag: %v", settings)
			}
			l.wrote("a variable", l.to(with(props, obj{"env": obj{"STAGE": "prod"}})), "PatchScriptScriptAndVersionSetting")
			l.Reset()
			l.wrote("the variable again", l.to(with(props, obj{"env": obj{"STAGE": "prod"}})))
			if text := strings.Join(names(l), " "); strings.Contains(text, "GetScriptContent") {
				t.Errorf("the version is ours, and its code is read: %s", text)
			}
		})
	}
}

// TestUploadedFilesByOthers: which static files a version has is not shown, so that they are uploaded. What has none is not uploaded.
func TestUploadedFilesByOthers(t *testing.T) {
	t.Parallel()
	const script = "export default { async fetch() { return new Response('hello') } }"
	l := begin(t)
	props := obj{"name": "ours", "code": obj{"script": script}, "assets": obj{"directory": "site"}, "compatibilityDate": date}
	l.to(props)
	last := l.Uploads("ours")
	theirs := last[len(last)-1]
	for _, name := range []string{"annotations", "tags"} {
		delete(theirs.Metadata, name)
	}
	theirs.Metadata["keep_assets"] = true
	delete(theirs.Metadata, "assets")
	theirs.Modules = []cloudflaretest.Module{{Name: "other.js", Type: esm, Content: []byte(script)}}
	theirs.Metadata["main_module"] = "other.js"
	l.Upload(t, "ours", theirs)
	without := obj{"name": "ours", "code": obj{"script": script}, "compatibilityDate": date}
	l.wrote("files that are not declared", l.to(without), "PutScript")
	if files, _ := l.Assets("ours"); len(files) != 0 {
		t.Errorf("it serves %v", files)
	}
}

// names are the calls that were made.
func names(l *life) []string {
	var all []string
	for _, c := range l.Calls() {
		all = append(all, c.Name())
	}
	return all
}

// TestReadBeforeItsBuild: what a Worker has is read alike before its build and after it, no matter who uploaded it: else a run that builds takes its own
// reading for a change of somebody else, and refuses what its plan announces.
func TestReadBeforeItsBuild(t *testing.T) {
	t.Parallel()
	change := func(u *cloudflaretest.Upload) {
		u.Modules = slices.Clone(u.Modules)
		u.Modules[0].Content = append(slices.Clone(u.Modules[0].Content), '\n')
	}
	dated := func(u *cloudflaretest.Upload) { u.Metadata["compatibility_date"] = "2025-09-01" }
	for what, c := range map[string]struct {
		files, descends bool // of the build; the Worker was ours before
		edit            func(*cloudflaretest.Upload)
	}{
		"ours":                             {true, true, nil},
		"ours without static files":        {false, true, nil},
		"equal":                            {true, false, func(*cloudflaretest.Upload) {}},
		"equal without static files":       {false, false, func(*cloudflaretest.Upload) {}},
		"other code":                       {true, false, change},
		"other code without static files":  {false, false, change},
		"another date without files":       {false, false, dated},
		"another date":                     {true, false, dated},
		"no static files":                  {true, false, func(u *cloudflaretest.Upload) { delete(u.Metadata, "assets") }},
		"ours, uploaded by somebody again": {true, true, dated},
		"ours, with other code":            {true, true, change},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := begin(t)
			built(t, l.dir)
			settings := l.dir + "/output/notes/wrangler.json"
			if text, err := os.ReadFile(settings); err != nil {
				t.Fatal(err)
			} else if !c.files {
				lay(t, l.dir, map[string]string{"output/notes/wrangler.json": regexp.MustCompile(`"assets":\{[^}]*\},`).ReplaceAllString(string(text), "")})
			}
			props := obj{"name": "ours", "code": obj{"build": "output/notes"}, "env": obj{"NOTES": obj{"kv": cache}}}
			l.to(props)
			if c.edit != nil {
				uploads := l.Uploads("ours")
				theirs := uploads[len(uploads)-1]
				for _, name := range []string{"annotations", "tags"} {
					delete(theirs.Metadata, name)
				}
				if !c.descends {
					props["name"] = "theirs"
					if theirs.Metadata["assets"] != nil {
						theirs.Metadata["assets"] = obj{"jwt": sessionOf(l, "theirs")}
					}
				}
				c.edit(&theirs)
				l.Upload(t, props["name"].(string), theirs)
				l.out = nil
			}
			have := func(job *reconcile.Job) map[tree.Path]any {
				look, err := l.kind.Look(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				all := map[tree.Path]any{}
				for _, s := range look.Steps {
					all[s.Path] = s.Have
				}
				return all
			}
			after := l.job(props)
			before := l.job(props)
			before.Assets = nil
			first := have(before)
			for path, value := range have(after) {
				if known, announced := first[path]; !announced || !tree.Equal(known, value) {
					t.Errorf("%s: %v before the build, %v after it", path, known, value)
				}
			}
			if c.edit == nil {
				return
			}
			l.to(props)
			l.wrote("the same again", l.to(props))
		})
	}
}

// sessionOf uploads no static file, as somebody else: the Worker has static files then, and there is none.
func sessionOf(l *life, name string) string {
	l.t.Helper()
	jwt, _ := l.Do(l.t, http.MethodPost, scripts+"/"+name+"/assets-upload-session", obj{"manifest": obj{}}).(obj)["jwt"].(string)
	return jwt
}
