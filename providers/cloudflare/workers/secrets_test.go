package workers

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// secretsLive are the names of the secrets that the live version has.
func (l *life) secretsLive() []string {
	l.t.Helper()
	names := []string{}
	for _, b := range l.settings()["bindings"].([]any) {
		if b := b.(obj); b["type"] == "secret_text" || b["type"] == "secret_key" {
			names = append(names, b["name"].(string))
		}
	}
	slices.Sort(names)
	return names
}

// putSecret is what a colleague does by hand.
func (l *life) putSecret(name string) {
	l.t.Helper()
	l.Do(l.t, http.MethodPut, scripts+"/"+l.out.Identity+"/secrets", obj{"name": name, "type": "secret_text", "text": "theirs"})
}

// TestSecretsOfOthers: a secret that somebody else has put on a Worker stays, whatever is uploaded, until leave is given to
// delete it; also where state knows nothing of the Worker.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	l := begin(t)
	props := with(plain(), obj{"env": obj{"STAGE": "test"}})
	l.to(props)
	l.putSecret("TEAM")
	l.putSecret("OTHER")
	steps := map[string]obj{
		"the settings":  with(props, obj{"env": obj{"STAGE": "prod"}}),
		"the code":      with(props, obj{"code": obj{"directory": "dist"}}),
		"nothing":       with(props, obj{"code": obj{"directory": "dist"}}),
		"a secret more": with(props, obj{"code": obj{"directory": "dist"}, "env": obj{"KEY": obj{"secret": "ours"}}}),
	}
	for _, what := range []string{"the settings", "the code", "nothing", "a secret more"} {
		l.to(steps[what])
		if have := l.secretsLive(); !slices.Contains(have, "TEAM") || !slices.Contains(have, "OTHER") {
			t.Errorf("%s changed: the secrets are %v", what, have)
		}
	}
	out := l.out
	l.out = &reconcile.Outcome{Identity: out.Identity} // adopted, or found again
	l.to(with(steps["a secret more"], obj{"deletedSecrets": list{"TEAM"}}))
	if have := l.secretsLive(); !slices.Equal(have, []string{"KEY", "OTHER"}) {
		t.Errorf("with leave for one the secrets are %v", have)
	}
	if wrote := l.to(with(steps["a secret more"], obj{"deletedSecrets": list{"TEAM"}})); len(wrote) > 0 {
		t.Errorf("again: wrote %v", wrote)
	}
}

// TestSecretThatGoes: a secret that is declared no longer is deleted, which no upload does, whichever call changes the rest.
func TestSecretThatGoes(t *testing.T) {
	t.Parallel()
	base := with(plain(), obj{"code": obj{"directory": "dist"}, "env": obj{"STAGE": "test"}})
	for what, next := range map[string]obj{
		"alone":                 {},
		"with the settings":     {"env": obj{"STAGE": "prod"}},
		"with the code":         {"code": obj{"directory": "other", "main": "other.js"}},
		"with a part of calls":  {"code": obj{"directory": "other", "main": "other.js"}, "traffic": int64(20)},
		"for what has its name": {"env": obj{"STAGE": "test", "KEY": "open"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := begin(t)
			lay(t, l.dir, map[string]string{"other/other.js": "export default { fetch() { return new Response('other') } }"})
			env := maps.Clone(base["env"].(obj))
			env["KEY"] = obj{"secret": "hidden"}
			first := with(base, obj{"env": env})
			l.to(first)
			l.edits = func(job *reconcile.Job) { job.Had = first }
			next = with(base, next)
			l.to(next)
			l.edits = nil
			if n := len(l.secretsLive()); n != 0 && next["traffic"] == nil {
				t.Errorf("the secret is still there, after %v", l.Wrote())
			}
			if wrote := l.to(next); len(wrote) > 0 {
				t.Errorf("again: wrote %v", wrote)
			}
		})
	}
}

// TestSecretWhileRolling: where a version has a part of the calls, a secret is deleted once all go to one version.
func TestSecretWhileRolling(t *testing.T) {
	t.Parallel()
	l := begin(t)
	lay(t, l.dir, map[string]string{"other/other.js": "export default { fetch() { return new Response('other') } }"})
	first := with(plain(), obj{"code": obj{"directory": "dist"}, "env": obj{"KEY": obj{"secret": "hidden"}}})
	l.to(first)
	rolling := with(first, obj{"code": obj{"directory": "other", "main": "other.js"}, "traffic": int64(20)})
	l.to(rolling)
	l.edits = func(job *reconcile.Job) { job.Had = rolling }
	last := with(rolling, obj{"env": obj{"STAGE": "prod"}, "traffic": int64(100)})
	l.to(last)
	l.edits = nil
	if have := l.secretsLive(); len(have) > 0 {
		t.Errorf("the secrets are %v, after %v", have, l.Wrote())
	}
	if wrote := l.to(last); len(wrote) > 0 {
		t.Errorf("again: wrote %v", wrote)
	}
}

// TestMissingLags: what a Worker is bound to may be unknown to Workers for a while after it was made, by each of the codes that
// Cloudflare says it with; later it is a mistake.
func TestMissingLags(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{10041, 10143, 10144, 10181, 11000} {
		refused := &cloudflare.Error{Service: "Workers", Operation: "PutScript", Status: 400, Problems: []cloudflare.Problem{{Code: code}}}
		cloud := cloudflaretest.Start(t).Cloud()
		if class := cloud.Classify(write{since: time.Now()}.lag(refused)); class != reconcile.Busy {
			t.Errorf("%d at once is %q", code, class)
		}
		if class := cloud.Classify(write{since: time.Now().Add(-time.Minute)}.lag(refused)); class != reconcile.Invalid {
			t.Errorf("%d after a minute is %q", code, class)
		}
	}
}
