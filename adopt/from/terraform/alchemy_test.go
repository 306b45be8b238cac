package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"go.yaml.in/yaml/v3"
)

// alchemyPassword is the password that the states in testdata/alchemy were written with.
const alchemyPassword = "hunter2hunter2"

// alchemyFolder are the files in testdata/alchemy: alchemy 0.77.0 of npm wrote them with the Cloudflare server of cloudflaretest.
func alchemyFolder(t testing.TB) []byte {
	t.Helper()
	var all []AlchemyFile
	err := filepath.WalkDir("testdata/alchemy", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(all, AlchemyFile{File: strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), State: content})
		return err
	})
	if err != nil || len(all) < 15 {
		t.Fatal(len(all), err)
	}
	return packed(t, all...)
}

func packed(t testing.TB, files ...AlchemyFile) []byte {
	t.Helper()
	content, err := AlchemyStates(files)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// alchemyFile is a state that no real tool wrote, in the form of those that one did.
func alchemyFile(t testing.TB, kind, id string, output map[string]any) AlchemyFile {
	t.Helper()
	return alchemyFileAt(t, "shop/prod/"+id, kind, id, "created", output)
}

func alchemyFileAt(t testing.TB, fqn, kind, id, status string, output map[string]any) AlchemyFile {
	t.Helper()
	all := map[string]any{alchemyKind: kind, "Symbol(alchemy::ResourceScope)": map[string]any{"@scope": nil}}
	maps.Copy(all, output)
	state, err := json.Marshal(map[string]any{
		"status": status, "kind": kind, "id": id, "fqn": fqn, "seq": 1, "data": map[string]any{}, "props": map[string]any{}, "output": all,
	})
	if err != nil {
		t.Fatal(err)
	}
	return AlchemyFile{File: ".alchemy/" + fqn + ".json", State: state}
}

func alchemyStack(t testing.TB, content []byte) (from.Stack, string) {
	t.Helper()
	d, err := Alchemy{Find: kindsOf(t)}.Draft(from.File{Name: "prod", Content: content}, withPassphrase(alchemyPassword))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}

// TestAlchemy reads what the real Alchemy wrote: identities of its outputs, an environment by references, and secrets that are sealed.
func TestAlchemy(t *testing.T) {
	content := alchemyFolder(t)
	s, text := alchemyStack(t, content)
	for _, want := range []string{
		"kv: ${sessions.id}", "d1: ${orders.id}", "queue: shop-jobs", "r2: shop-uploads", "LEVEL: debug", "API_KEY: ${secret.", "adopt: shop-vectors",
		"adopt: 5f733c35bf6a008ba0538174c87bce1c", "assets/cache:", "deliveryDelay: 5s", "- api.shop.example", "script: shop-w2", "workersDev: true",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if len(s.Secrets) != 1 || s.Secrets[0].Value != "correct-horse-9" || strings.Contains(text, "correct-horse-9") {
		t.Errorf("%+v\n%s", s.Secrets, text)
	}
	if strings.Count(text, "workersDev") != 1 {
		t.Errorf("the Worker with url: false answers under workers.dev\n%s", text)
	}
	got := outcomes(s)
	for address, want := range map[string]from.Outcome{
		"shop/prod/sessions": from.Mapped, "shop/prod/assets/cache": from.Mapped, "shop/prod/domain": from.Folded, "shop/prod/api/url": from.Folded,
		"shop/prod/note": from.Needless, "shop/prod/pg": from.Unmapped, "shop/prod/records": from.Unmapped, "shop/prod/tunnel": from.Unmapped,
		"alchemy/shop/prod/assets.json": from.Needless,
	} {
		if got[address] != want {
			t.Errorf("%s is %q, want %q", address, got[address], want)
		}
	}
	if len(got) != 17 {
		t.Errorf("of 17 files %d are reported: %v", len(got), got)
	}
	if !slices.Contains(s.LetGo, "rm -- 'alchemy/shop/prod/sessions.json'") || strings.Contains(strings.Join(s.LetGo, "\n"), "note.json") {
		t.Error(s.LetGo)
	}
	if stack, stage := (Alchemy{}).Place(from.File{Content: content}); stack != "shop" || stage != "prod" {
		t.Error(stack, stage)
	}
}

// TestAlchemySecrets opens nothing without the password. The text form is that of older versions, as libsodium 0.7 of npm seals it.
func TestAlchemySecrets(t *testing.T) {
	content := alchemyFolder(t)
	for password, want := range map[string]error{"": errSealed, "another": errPassword} {
		_, err := Alchemy{Find: kindsOf(t)}.Draft(from.File{Name: "s", Content: content}, withPassphrase(password))
		if !errors.Is(err, want) || strings.Contains(fmt.Sprint(err), "correct-horse-9") {
			t.Errorf("%q: %v", password, err)
		}
	}
	worker := func(sealed any) []byte {
		return packed(t, alchemyFile(t, "cloudflare::Worker", "w", map[string]any{
			"name": "w", "script": "export default {}", "compatibilityDate": "2026-01-01", "bindings": map[string]any{"KEY": map[string]any{"@secret": sealed}},
		}))
	}
	s, text := alchemyStack(t, worker("rWg4Oho8hb9zCad/rFONxP/i77CEIuM86tXn9KnQMaKHV3kC6l+UKnPBcVIRk7+19tBiY3JgMQ=="))
	if len(s.Secrets) != 1 || s.Secrets[0].Value != "correct-horse-9" || strings.Contains(text, "correct-horse-9") {
		t.Errorf("%+v\n%s", s.Secrets, text)
	}
	for name, sealed := range map[string]any{"short": "AAAA", "no base64": "%", "a number": 1, "nothing": map[string]any{}, "a version": map[string]any{"version": "v2"}} {
		_, err := Alchemy{Find: kindsOf(t)}.Draft(from.File{Name: "s", Content: worker(sealed)}, withPassphrase(alchemyPassword))
		if !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAlchemyRecords makes a resource of each record of one resource of Alchemy. No real tool wrote the state: its form is that of
// DnsRecord in https://github.com/alchemy-run/alchemy/blob/main/alchemy/src/cloudflare/dns-records.ts.
func TestAlchemyRecords(t *testing.T) {
	s, text := alchemyStack(t, packed(t, alchemyFile(t, "cloudflare::DnsRecords", "records", map[string]any{"zoneId": "z1", "records": []any{
		map[string]any{"id": "r1", "zoneId": "z1", "name": "www.shop.example", "type": "CNAME", "content": "shop.example", "proxied": true, "ttl": 1},
		map[string]any{"id": "r2", "zoneId": "z1", "name": "shop.example", "type": "MX", "content": "mail.shop.example", "priority": 10, "ttl": 300, "proxied": false},
	}})))
	if len(s.Resources) != 2 || outcomes(s)["shop/prod/records"] != from.Mapped {
		t.Errorf("%+v", s.Entries)
	}
	for _, want := range []string{"adopt: z1/r1", "adopt: z1/r2", "ttl: 5m", "priority: 10", "proxied: true"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// TestAlchemyAWS maps resources of AWS. No real tool wrote the state: its form is that of the package's types.
func TestAlchemyAWS(t *testing.T) {
	const arn = "arn:aws:iam::123456789012:role/worker"
	document := map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}}}
	s, text := alchemyStack(t, packed(t,
		alchemyFile(t, "sqs::Queue", "jobs", map[string]any{
			"queueName": "jobs", "arn": "arn:aws:sqs:eu-north-1:123456789012:jobs", "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/jobs", "visibilityTimeout": 120,
		}),
		alchemyFile(t, "iam::Role", "role", map[string]any{
			"roleName": "worker", "arn": arn, "assumeRolePolicy": document, "policies": []any{map[string]any{"policyName": "queue", "policyDocument": document}},
		}),
		alchemyFile(t, "iam::PolicyAttachment", "attach", map[string]any{"roleName": "worker", "policyArn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}),
		alchemyFile(t, "lambda::Function", "f", map[string]any{"arn": "x"}),
	))
	for _, want := range []string{"adopt: " + arn, "visibilityTimeout: 2m", "- arn:aws:iam::aws:policy/ReadOnlyAccess", "queue:", "kind: aws.sqs.Queue"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if got := outcomes(s); got["shop/prod/attach"] != from.Folded || got["shop/prod/f"] != from.Unmapped {
		t.Error(got)
	}
}

// TestAlchemyUnfinished leaves to Alchemy what it has begun to make or to delete, and what it does not know.
func TestAlchemyUnfinished(t *testing.T) {
	s, _ := alchemyStack(t, packed(t,
		alchemyFileAt(t, "shop/prod/a", "cloudflare::KVNamespace", "a", "creating", nil),
		alchemyFileAt(t, "shop/prod/b", "cloudflare::KVNamespace", "b", "deleting", map[string]any{"namespaceId": "n", "title": "b"}),
		alchemyFile(t, "stripe::Product", "c", map[string]any{"id": "prod_1"}),
		alchemyFile(t, "cloudflare::KVNamespace", "d", map[string]any{"namespaceId": "", "title": "local", "dev": map[string]any{"id": "d"}}),
	))
	if len(s.Resources) != 0 || len(s.Entries) != 4 {
		t.Errorf("%+v", s.Entries)
	}
	for address, outcome := range outcomes(s) {
		if outcome != from.Unmapped {
			t.Errorf("%s: %s", address, outcome)
		}
	}
}

func TestAlchemyRecognized(t *testing.T) {
	one, err := os.ReadFile("testdata/alchemy/shop/prod/sessions.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []from.Source{Source{}, Pulumi{}, Alchemy{}, CloudFormation{Name: "cloudformation"}} {
		for content, want := range map[string]string{
			string(alchemyFolder(t)): "alchemy", string(one): "alchemy", string(stateOf(t)): "terraform", string(exportOf(t)): "pulumi",
		} {
			if got := source.Recognizes(from.File{Name: "s.json", Content: []byte(content)}); got != (source.Kind() == want) {
				t.Errorf("%s: %v for %.60s", source.Kind(), got, content)
			}
		}
	}
}

func TestAlchemyRefused(t *testing.T) {
	kv := map[string]any{"namespaceId": "n", "title": "t"}
	for name, c := range map[string]struct {
		content []byte
		err     error
	}{
		"cut":     {[]byte(`{"kind":"cloudflare::KVNamespace","fqn":"shop/prod/a","output":{`), errDamaged},
		"nothing": {packed(t, AlchemyFile{File: "a.json", State: []byte(`{"pid":1}`)}), errNoStates},
		"stages": {packed(t, alchemyFileAt(t, "shop/prod/a", "cloudflare::KVNamespace", "a", "created", kv),
			alchemyFileAt(t, "shop/dev/a", "cloudflare::KVNamespace", "a", "created", kv)), errStages},
		"types": {packed(t, AlchemyFile{File: "a.json", State: []byte(`{"kind":"k","fqn":"a/b/c","output":[]}`)}), errDamaged},
		"deep":  {[]byte(`{"kind":"k","fqn":"a/b/c","output":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`), errDamaged},
	} {
		if _, err := (Alchemy{Find: kindsOf(t)}).Draft(from.File{Name: "s", Content: c.content}, from.Options{}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := AlchemyStates([]AlchemyFile{{File: "a.json", State: []byte(`{"a":`)}}); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "a.json") {
		t.Error(err)
	}
}

// TestAlchemyNamesAreData puts syntax into everything that a state names.
func TestAlchemyNamesAreData(t *testing.T) {
	for _, text := range []string{"a: b\n- c", "${stack}", "{{.}}", "x\"y'z", "../../etc/passwd", "\u202etxt", "\x1b[31mred", "::", "'; rm -rf ~; '", ""} {
		file := alchemyFileAt(t, "shop/prod/"+text+"/"+text, "cloudflare::Worker", text, "created", map[string]any{
			"name": "w", "entrypoint": text, "bindings": map[string]any{text: text}, "compatibilityDate": "2026-01-01",
		})
		file.File = ".alchemy/" + text + ".json"
		s, out := alchemyStack(t, packed(t, file))
		var doc struct{ Resources map[string]any }
		if err := yaml.Unmarshal([]byte(out), &doc); err != nil || len(doc.Resources) != len(s.Resources) || strings.ContainsAny(out, "\x1b\u202e") ||
			strings.Contains(out, "bundle: ../") {
			t.Errorf("%q: %v\n%s", text, err, out)
		}
		for _, command := range s.LetGo {
			if text == "'; rm -rf ~; '" && command != `rm -- '.alchemy/'\''; rm -rf ~; '\''.json'` {
				t.Error(command)
			}
		}
	}
}

// TestHugeAlchemyStates reads 10,000 states.
func TestHugeAlchemyStates(t *testing.T) {
	var all []AlchemyFile
	for n := range 10000 {
		name := fmt.Sprintf("n%d", n)
		all = append(all, alchemyFile(t, "cloudflare::KVNamespace", name, map[string]any{"namespaceId": fmt.Sprintf("%032x", n), "title": name}))
	}
	if s, _ := alchemyStack(t, packed(t, all...)); len(s.Resources) != 10000 {
		t.Error(len(s.Resources))
	}
}
