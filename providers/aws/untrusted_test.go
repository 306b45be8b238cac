package aws

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestStartsNothing: for a stranger's stack no program is started that gives credentials, and no sign-in; keys that the
// environment holds, or a file, are used.
func TestStartsNothing(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for name, c := range map[string]struct {
		config, key string
		profile     *string
		ok          bool
	}{
		"a program":            {config: "[default]\ncredential_process = touch " + ran + "\n"},
		"a program of another": {config: "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = p\n[profile p]\ncredential_process = touch " + ran + "\n"},
		"a sign-in":            {config: "[default]\nsso_start_url = https://x.example\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = r\n"},
		"a named program":      {config: "[profile p]\ncredential_process = touch " + ran + "\n", key: "AKIDEXAMPLE", profile: new("p")},
		"keys":                 {config: "[default]\ncredential_process = touch " + ran + "\n", key: "AKIDEXAMPLE", ok: true},
		"keys of a file":       {config: "[default]\naws_access_key_id = A\naws_secret_access_key = B\n", ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{
				"AWS_CONFIG_FILE": file, "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"), "AWS_PROFILE": "", "AWS_REGION": "eu-west-1",
				"AWS_ACCESS_KEY_ID": c.key, "AWS_SECRET_ACCESS_KEY": c.key, "AWS_EC2_METADATA_DISABLED": "true", "ATHANOR_UNTRUSTED": "1",
			} {
				t.Setenv(name, value)
			}
			cfg, err := newCloud(newLimits(), Settings{Profile: c.profile}, nil).Config()
			if err == nil {
				_, err = cfg.Credentials.Retrieve(t.Context())
			}
			if _, refused := errors.AsType[*CredentialsError](err); (err == nil) != c.ok || !c.ok && !refused {
				t.Errorf("%v, %v", err, reconcile.Hints(err))
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the program was started")
			}
		})
	}
}
