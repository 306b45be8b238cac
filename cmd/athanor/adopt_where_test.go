//go:build unix

package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// tofuState is a state of the real tofu.
func tofuState(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../adopt/from/terraform/testdata/tofu/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAdoptFromWorkspace reads the state of a workspace: it is a stage, and its files are where the configuration is.
func TestAdoptFromWorkspace(t *testing.T) {
	w := newWorld(t, "stack: outer\nresources: {}\n")
	folder := filepath.Join(w.dir, "shop")
	if err := os.MkdirAll(filepath.Join(folder, "terraform.tfstate.d", "Blue"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("shop/terraform.tfstate.d/Blue/terraform.tfstate", tofuState(t, "modules.tfstate"))
	out, said, code := w.printed("", "adopt", "--from", "shop/terraform.tfstate.d/Blue/terraform.tfstate", "--no-observe")
	if code != 0 || !strings.Contains(out, "stack: shop\n") || !strings.Contains(out, "path: shop/out/") || strings.Contains(out, "tfstate.d") ||
		!strings.Contains(said, "deploy --adopt --stage blue") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
	if _, said, _ = w.printed("", "adopt", "--from", "shop/terraform.tfstate.d/Blue/terraform.tfstate", "--no-observe", "--stage", "prod"); !strings.Contains(said, "--stage prod") {
		t.Error(said)
	}
}

// fromBackend adopts from a place of a backend, and says that no password of it is shown.
func fromBackend(t *testing.T, w *world, where, stack, stage string) {
	t.Helper()
	out, said, code := w.printed("", "adopt", "--from", where, "--no-observe", "--json")
	if code != 0 || !strings.Contains(out, `"stack":"`+stack+`"`) || !strings.Contains(out, `"stage":"`+stage+`"`) || !strings.Contains(out, "m-1/deep/deep") {
		t.Errorf("%s: exit code %d\n%.600s\n%s", where, code, out, said)
	}
	if strings.Contains(out+said, "hunter2") {
		t.Errorf("a password is shown: %s%s", out, said)
	}
}

func TestAdoptFromBucket(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, s3test.Versitygw)
	w := newWorld(t, "stack: outer\nresources: {}\n")
	w.env = append(w.env, server.Environment()...)
	u, err := url.Parse(server.URL(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := server.Config("")
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &server.Origin, true })
	for key, stage := range map[string]string{"net/terraform.tfstate": "dev-tester", "env:/blue/net/terraform.tfstate": "blue"} {
		in := &s3.PutObjectInput{Bucket: &u.Host, Key: aws.String(key), Body: strings.NewReader(tofuState(t, "modules.tfstate"))}
		if _, err := client.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + key
		fromBackend(t, w, u.String(), "net", stage)
	}
	u.Path = "/none"
	if _, said, code := w.printed("", "adopt", "--from", u.String()); code != 1 || !strings.Contains(said, "no such object") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestAdoptAlchemyBucket reads the states of Alchemy that S3StateStore keeps, and refuses those in a database with the way out.
func TestAdoptAlchemyBucket(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, s3test.Versitygw)
	w := newWorld(t, "stack: outer\nresources: {}\n")
	w.env = append(w.env, server.Environment()...)
	w.env = append(w.env, "ALCHEMY_PASSWORD=hunter2hunter2")
	u, err := url.Parse(server.URL(t, "x"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := server.Config("")
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &server.Origin, true })
	for _, id := range []string{"jobs", "sessions", "uploads"} {
		state, err := os.ReadFile("../../adopt/from/terraform/testdata/alchemy/shop/prod/" + id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		in := &s3.PutObjectInput{Bucket: &u.Host, Key: aws.String("alchemy/shop/prod/" + id), Body: strings.NewReader(string(state))}
		if _, err := client.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	u.Path = "/alchemy/shop/prod"
	out, said, code := w.printed("", "adopt", "--from", "alchemy:"+u.String(), "--no-observe")
	for _, want := range []string{"stack: shop\n", "kind: cloudflare.KVNamespace", "kind: cloudflare.Queue", "kind: cloudflare.R2Bucket"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, and there is no %q in\n%s%s", code, want, out, said)
		}
	}
	if !strings.Contains(said, "aws s3 rm 's3://"+u.Host+"/alchemy/shop/prod/jobs'\n") || !strings.Contains(said, "--stage prod") {
		t.Error(said)
	}
	u.Path = "/alchemy/none/prod"
	if _, said, code := w.printed("", "adopt", "--from", "alchemy:"+u.String()); code != 1 || !strings.Contains(said, "there are no states") {
		t.Errorf("exit code %d: %s", code, said)
	}
	w.write("state.sqlite", "SQLite format 3\x00rest")
	for _, where := range []string{"state.sqlite", "alchemy:state.sqlite"} {
		if _, said, code := w.printed("", "adopt", "--from", where); code != 1 || !strings.Contains(said, "a database of SQLite") || !strings.Contains(said, "alchemy deploy --adopt") {
			t.Errorf("exit code %d: %s", code, said)
		}
	}
}

func TestAdoptFromDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	database := server.Database(t)
	// The table is the one that tofu's pg backend makes; the schema's name is not safe in a statement.
	quoted := strings.ReplaceAll(tofuState(t, "modules.tfstate"), "'", "''")
	pgtest.Exec(t, database, `create schema "tofu; state"`, `create table "tofu; state".states (id bigint primary key, name text unique, data text)`,
		`insert into "tofu; state".states values (1, 'default', '`+quoted+`'), (2, 'blue', '`+quoted+`')`)
	name := nameOf(t, database)
	w := newWorld(t, "stack: outer\nresources: {}\n")
	w.env = append(w.env, "PGPASSWORD=hunter2")
	fromBackend(t, w, withQuery(t, database, "schema_name", "tofu; state"), name, "dev-tester")
	fromBackend(t, w, withQuery(t, withQuery(t, database, "schema_name", "tofu; state"), "workspace", "blue"), name, "blue")
	if _, said, code := w.printed("", "adopt", "--from", withQuery(t, withQuery(t, database, "schema_name", "tofu; state"), "workspace", "red")); code != 1 || !strings.Contains(said, "no state of workspace red") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// withQuery is a URL with one more parameter.
func withQuery(t *testing.T, text, name, value string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// nameOf is the name of a stack that is called like a database.
func nameOf(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ToLower(strings.Trim(u.Path, "/")), "_", "-")
}

func TestAdoptFromServer(t *testing.T) {
	t.Parallel()
	state := tofuState(t, "modules.tfstate")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(rw, r, elsewhere.URL, http.StatusFound)
		case r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("app:hunter2")):
			rw.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = rw.Write([]byte(state))
		}
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, "stack: outer\nresources: {}\n")
	with := strings.Replace(server.URL, "http://", "http://app:hunter2@", 1)
	fromBackend(t, w, "terraform:"+with+"/states/net?token=hunter2", "net", "dev-tester")
	w.env = append(w.env, "TF_HTTP_USERNAME=app", "TF_HTTP_PASSWORD=hunter2")
	fromBackend(t, w, server.URL+"/states/net", "net", "dev-tester")
	for where, says := range map[string]string{server.URL + "/moved": "status 302", "http://example.com/state": "readable on the way"} {
		if _, said, code := w.printed("", "adopt", "--from", where); code != 1 || !strings.Contains(said, says) {
			t.Errorf("exit code %d: %s", code, said)
		}
	}
}

// TestAdoptCloudflareState reads a state of the real provider of Cloudflare, version 5: what it calls sensitive only because a secret
// could stand there is none, and what two resources are in is in neither.
func TestAdoptCloudflareState(t *testing.T) {
	w := newWorld(t, "stack: outer\nresources: {}\n")
	w.write("shop.tfstate", tofuState(t, "cloudflare.tfstate"))
	out := w.run(0, "adopt", "--from", "shop.tfstate", "--no-observe")
	for _, want := range []string{"LEVEL: debug\n", "kv: ${cache.id}\n", "script: ${workers_script-api.name}\n", "zone: ${config.zone}\n", "domains:\n        - api.example.com\n", "d1: ${db.id}\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "tok-very-secret-3") || strings.Contains(out, "zoneId") || strings.Contains(out, "cloudflare.WorkerDomain") {
		t.Error(out)
	}
}

// TestAdoptConfiguration reads the configuration next to a state, in the folder of its project: what lies outside is not read, by no
// path and by no link.
func TestAdoptConfiguration(t *testing.T) {
	w := newWorld(t, "stack: outer\nresources: {}\n")
	for _, folder := range []string{".git", "shop/terraform.tfstate.d/blue", "shop/linked", "modules/m"} {
		if err := os.MkdirAll(filepath.Join(w.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("shop/terraform.tfstate.d/blue/terraform.tfstate", tofuState(t, "modules.tfstate"))
	w.write("shop/main.tf", `variable "greeting" { default = "good day" }
# The first file.
resource "local_file" "hello" {
  content = "${var.greeting} ${random_pet.name.id}\n"
}
resource "random_pet" "name" {}
module "m" { source = "../modules/m" }
module "out" { source = "../../outside" }
module "linked" { source = "./linked" }
`)
	w.write("shop/terraform.tfvars", "greeting = \"hello\"\n")
	w.write("modules/m/main.tf", "# A part.\nresource \"local_file\" \"part\" {}\n")
	outside := filepath.Join(t.TempDir(), "outside.tf")
	if err := os.WriteFile(outside, []byte("resource \"local_file\" \"each\" {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.dir, "shop", "linked", "main.tf")); err != nil {
		t.Fatal(err)
	}
	out, said, code := w.printed("", "adopt", "--from", "shop/terraform.tfstate.d/blue/terraform.tfstate", "--no-observe")
	for _, want := range []string{
		"greeting:\n    default: good day\n    stages:\n      blue: hello\n", "  # The first file.\n  hello:\n", "${config.greeting} ${config.name}\n", "  # A part.\n  m-0/part:\n",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, and there is no %q in\n%s%s", code, want, out, said)
		}
	}
	for _, want := range []string{"the configuration next to it was read: 3 files, with 4 of the 16 resources", "not read: ../../outside: it lies outside "} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q in\n%s", want, said)
		}
	}
	w.write("athanor.yaml", out)
	w.run(0, "graph", "--json", "--stage", "blue")
	w.run(0, "adopt", "--from", "shop/terraform.tfstate.d/blue/terraform.tfstate", "--no-observe", "--out", "taken", "--stage", "green")
	if text := w.read("taken/athanor.yaml"); !strings.Contains(text, "green: hello\n") {
		t.Error(text)
	}
	if out := w.run(0, "adopt", "--from", "shop/terraform.tfstate.d/blue/terraform.tfstate", "--no-observe", "--go"); !strings.Contains(out, `athanor.ForStage("blue", "hello")`) || !strings.Contains(out, "// The first file.\n") {
		t.Error(out)
	}
}
