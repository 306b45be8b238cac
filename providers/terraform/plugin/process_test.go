package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/plugin"
)

func peer(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("ATHANOR_PEERS")
	if dir == "" {
		t.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	return filepath.Join(dir, "terraform-provider-"+name)
}

func starter(t *testing.T) *plugin.Starter {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	return plugin.NewStarter(ctx)
}

// TestProcess starts a real provider, asks it for its types, stops it, and has it killed under a call.
func TestProcess(t *testing.T) {
	t.Parallel()
	var calls []string
	p, err := starter(t).Start(t.Context(), plugin.Options{Path: peer(t, "random"), Before: func(call string) error {
		calls = append(calls, call)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var schemas tfplugin.GetProviderSchema_Response
	if err := p.Call(t.Context(), "GetProviderSchema", &tfplugin.GetProviderSchema_Request{}, &schemas); err != nil {
		t.Fatal(err)
	}
	if p.Protocol != 5 || schemas.ResourceSchemas["random_id"] == nil {
		t.Errorf("protocol %d, types %v", p.Protocol, schemas.ResourceSchemas)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close()
	if err := p.Call(t.Context(), "GetProviderSchema", &tfplugin.GetProviderSchema_Request{}, &schemas); !errors.Is(err, plugin.ErrCrashed) {
		t.Errorf("after its end: %v", err)
	}
	if want := []string{"GetProviderSchema", "StopProvider", "GetProviderSchema"}; strings.Join(calls, " ") != strings.Join(want, " ") {
		t.Errorf("calls %v", calls)
	}
}

// TestNoProvider is about programs that are none: each is told apart with what it printed, and none is waited for.
func TestNoProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"prints":       {"#!/bin/sh\necho hello\n", "hello"},
		"fails":        {"#!/bin/sh\necho no license >&2\nexit 3\n", "no license"},
		"old protocol": {"#!/bin/sh\necho '1|4|unix|/nowhere|grpc|'\nsleep 5\n", "4"},
		"no program":   {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "provider")
			if c.script != "" {
				if err := os.WriteFile(path, []byte(c.script), 0o700); err != nil { //nolint:gosec // it is to be run
					t.Fatal(err)
				}
			}
			_, err := starter(t).Start(t.Context(), plugin.Options{Path: path})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "provider: ") {
				t.Errorf("%v, want it to say %q", err, c.want)
			}
		})
	}
}
