package main

import (
	"maps"
	"os"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// plain is an emulator that nothing stands before.
type plain struct{ url string }

// Env leads to the emulator alone.
func (p plain) Env() map[string]string {
	env := map[string]string{}
	maps.Copy(env, map[string]string{
		"AWS_ENDPOINT_URL": p.url, "AWS_ACCESS_KEY_ID": awstest.AccessKey(awstest.NewAccount()), "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_REGION": "us-east-1", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	})
	return env
}

// Names has none.
func (plain) Names() map[string]string { return nil }

// TestPlain deploys the service on emulators as they are, finds it unchanged, and destroys it. For each push it is the one that TestAPI does
// not use, and every night both.
func TestPlain(t *testing.T) {
	t.Parallel()
	for n, emulator := range []struct {
		name  string
		start func(*testing.T) string
	}{
		{"ministack", func(t *testing.T) string { return s3test.Start(t, s3test.Ministack).Origin }},
		{"moto", func(t *testing.T) string { return awstest.Plain(t) }},
	} {
		if !proctest.Played(n, 2) {
			continue
		}
		t.Run(emulator.name, func(t *testing.T) {
			p := programtest.Build(t, plain{emulator.start(t)}, ".")
			first := p.Do("deploy")
			if first.Created == 0 {
				t.Errorf("first deploy: %s", first)
			}
			if again := p.Do("deploy"); again.Calls.Mutations != 0 || again.Commits != 0 {
				t.Errorf("second deploy: %s", again)
			}
			if gone := p.Do("destroy", "--allow-delete", "**"); gone.Deleted != first.Created {
				t.Errorf("destroy: %s, created %d", gone, first.Created)
			}
		})
	}
}
