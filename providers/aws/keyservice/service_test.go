package keyservice_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/keyservice"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// keyOf makes a key in the emulator's account and returns its ARN.
func keyOf(t *testing.T, server *awstest.Server) string {
	t.Helper()
	out, err := kms.NewFromConfig(server.Config(t)).CreateKey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return *out.KeyMetadata.Arn
}

// A stage key is wrapped with a KMS key and opened elsewhere with nothing but credentials.
func TestWrap(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	for _, name := range []string{seal.EnvKeyFile, seal.EnvPassphrase, seal.EnvAgeIdentity} {
		t.Setenv(name, "")
	}
	arn, dir := keyOf(t, server), t.TempDir()
	on := func(machine string) seal.Place {
		return seal.Place{
			Config: filepath.Join(t.TempDir(), machine), Beside: []string{dir}, Stack: "shop", Stage: "prod", Service: keyservice.New(t.Context()),
		}
	}
	born, err := seal.Find(on("home"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := born.Wrap(on("home"), seal.Wrapping{Recipients: []string{"awskms:" + arn}}); err != nil {
		t.Fatal(err)
	}
	opened, err := seal.Find(on("ci"), born.ID())
	if err != nil || opened.ID() != born.ID() {
		t.Fatalf("%v, %v", opened, err)
	}
	next, err := opened.Next()
	if err != nil {
		t.Fatal(err)
	}
	again, err := on("ci").Again()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Wrap(on("ci"), again); err != nil {
		t.Fatal(err)
	}
	if ring, err := seal.Find(on("other"), next.ID()); err != nil || len(ring.Ring()) != 2 {
		t.Errorf("the ring after a rotation: %v, %v", ring, err)
	}
}

// What is bound to another stage, or changed, does not open.
func TestBound(t *testing.T) {
	server := awstest.Start(t)
	server.Setenv(t)
	arn, service := keyOf(t, server), keyservice.New(t.Context())
	sealed, err := service.Wrap(arn, []byte("root"), map[string]string{"stage": "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := service.Unwrap(arn, sealed, map[string]string{"stage": "prod"}); err != nil || string(plain) != "root" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := service.Unwrap(arn, sealed, map[string]string{"stage": "test"}); err == nil {
		t.Error("it opens for another stage")
	}
}

// What KMS refuses is said with what to do about it; the region of the ARN is the one that is asked.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		code, arn, say, hint string
	}{
		"denied": {
			code: "AccessDeniedException", arn: "arn:aws:kms:eu-west-1:123456789012:key/x",
			say: "AccessDeniedException: no", hint: "kms:Decrypt",
		},
		"another region": {
			code: "NotFoundException", arn: "arn:aws:kms:eu-north-1:123456789012:key/x",
			say: "NotFoundException", hint: "names region eu-north-1 and account 123456789012",
		},
		"disabled": {code: "DisabledException", arn: "arn:aws:kms:eu-west-1:123456789012:key/x", say: "DisabledException", hint: "enable the key"},
		"changed":  {code: "InvalidCiphertextException", arn: "arn:aws:kms:eu-west-1:123456789012:alias/x", say: "Invalid", hint: "the file was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			region := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				region = r.Header.Get("Authorization")
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/x-amz-json-1.1")
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]string{"__type": c.code, "message": "no"})
			}))
			defer server.Close()
			environment(t, server.URL)
			_, err := keyservice.New(t.Context()).Unwrap(c.arn, []byte("sealed"), nil)
			if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(strings.Join(reconcile.Hints(err), " "), c.hint) {
				t.Errorf("%v, hints %q", err, reconcile.Hints(err))
			}
			if want := "/" + strings.Split(c.arn, ":")[3] + "/kms/"; !strings.Contains(region, want) {
				t.Errorf("signed for %q, want %s", region, want)
			}
		})
	}
}

func environment(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "ATHANOR_UNTRUSTED": "",
	} {
		t.Setenv(name, value)
	}
}

// No region of a file beside a program becomes another host.
func TestNames(t *testing.T) {
	environment(t, "http://127.0.0.1:1")
	for _, arn := range []string{
		"", "x", "arn:aws:kms:eu.example.com/:123456789012:key/x", "arn:aws:kms:eu-west-1:1:key/x", "arn:aws:s3:::bucket",
		"arn:aws:kms:eu-west-1:123456789012:key/../x", "arn:aws:kms:-:123456789012:key/x",
	} {
		if _, err := keyservice.New(t.Context()).Unwrap(arn, nil, nil); err == nil || !strings.Contains(err.Error(), "is no ARN of a KMS key") {
			t.Errorf("%q: %v", arn, err)
		}
	}
}

// A service that does not answer ends with the command.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then a client that leaves is noticed
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	environment(t, server.URL)
	go func() {
		<-asked
		cancel()
	}()
	_, err := keyservice.New(ctx).Unwrap("arn:aws:kms:eu-west-1:123456789012:key/x", []byte("x"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
