package simtest

import (
	"context"
	"errors"

	"github.com/athanor-dev/athanor/reconcile"
)

// errNoCode is the error of an upload without what was built.
var errNoCode = errors.New("the code is not known yet")

// codeAsset names what is built for an object of a kind that is made from files.
const codeAsset = "code"

// build stands for a build: its result goes by the source alone. Builds counts how often that was done.
func (c *Cloud) build(_ context.Context, _ reconcile.Workspace, want Props) (map[string]reconcile.Asset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builds++
	return map[string]reconcile.Asset{codeAsset: {Digest: "built of " + want.Code}}, nil
}

// Builds returns how often something was built.
func (c *Cloud) Builds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.builds
}

// compareCode states the code of an object that is made from files. Only an upload changes it.
func (c *Cloud) compareCode(d *reconcile.Diff[Object], want Props, live Object) {
	wanted := "source " + want.Code // it differs as long as nothing was built
	if code, ok := d.Asset(codeAsset); ok {
		wanted = code.Digest
	}
	upload := c.set("code", live.Fields["code"], wanted)
	set := upload.Do
	upload.Do = func(ctx context.Context, on reconcile.Update[Object]) error {
		if on.Assets[codeAsset].Digest == "" {
			return errNoCode
		}
		return set(ctx, on)
	}
	reconcile.Value(d, "code", wanted, live.Fields["code"], upload)
}
