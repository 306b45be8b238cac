package cloudflare_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// TestOperations holds the names of operations, and how they are called, against Cloudflare's own description.
func TestOperations(t *testing.T) {
	for _, wrong := range cloudflaretest.Undescribed(t, cloudflare.Operations()) {
		t.Error(wrong)
	}
	if len(cloudflaretest.Undescribed(t, []cloudflare.Operation{{Service: "KV", Name: "MakeNamespace", Method: "POST", Path: "/accounts/*/storage/kv/namespaces"}})) != 1 {
		t.Error("a wrong name is not found")
	}
}

// TestCodes holds the table of error codes against those that the operations declare.
func TestCodes(t *testing.T) {
	for service, codes := range cloudflare.Codes() {
		for _, code := range cloudflaretest.Undeclared(t, service, codes) {
			t.Errorf("no operation of %q declares %d", service, code)
		}
	}
	if len(cloudflaretest.Undeclared(t, "KV", []int64{424242})) != 1 {
		t.Error("a wrong code is not found")
	}
}

func TestOperationOf(t *testing.T) {
	for call, want := range map[string]string{
		"GET /accounts": "Accounts.ListAccounts",
		"GET /accounts/0123/storage/kv/namespaces":           "KV.ListNamespaces",
		"DELETE /accounts/0123/storage/kv/namespaces/4567":   "KV.DeleteNamespace",
		"DELETE /accounts/0123/storage/kv/namespaces/":       "Cloudflare.DELETE /accounts/0123/storage/kv/namespaces/",
		"POST /accounts/0123/storage/kv/namespaces/4567/new": "Cloudflare.POST /accounts/0123/storage/kv/namespaces/4567/new",
	} {
		method, path, _ := strings.Cut(call, " ")
		op := cloudflare.OperationOf(method, path)
		if have := op.Service + "." + op.Name; have != want || op.Reads() != (method == "GET") {
			t.Errorf("%s is %s, reads %v, want %s", call, have, op.Reads(), want)
		}
	}
}

// TestSubPackagesAlone keeps the client's root package out: it links all of its two hundred services.
func TestSubPackagesAlone(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		files++
		for _, i := range file.Imports {
			if i.Path.Value == `"github.com/cloudflare/cloudflare-go/v6"` {
				t.Errorf("%s imports the root package of the client", path)
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files, %v", files, err)
	}
}
