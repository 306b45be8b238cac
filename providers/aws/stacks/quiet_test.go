package stacks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
)

// The SDK logs on standard error by default: a plan without credentials began with a warning about the metadata service.
func TestTheSDKPrintsNothing(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refuses.Close()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": refuses.URL, "AWS_EC2_METADATA_DISABLED": "", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_REGION": "eu-west-1", "AWS_MAX_ATTEMPTS": "1", "ATHANOR_UNTRUSTED": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		t.Setenv(name, value)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	stderr := os.Stderr
	os.Stderr = write
	defer func() { os.Stderr = stderr }()
	cloud, err := aws.Provider().Open(t.Context(), new(aws.Settings))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cloud.(*aws.Cloud).Config()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Credentials.Retrieve(t.Context()); err == nil {
		t.Fatal("there are credentials")
	}
	os.Stderr = stderr
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(read); err != nil || len(said) > 0 {
		t.Errorf("it prints %q (%v)", said, err)
	}
}
