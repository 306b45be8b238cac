package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/providers/aws/keyservice"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/service/pulumiapi"
	"github.com/athanor-dev/athanor/service/tfhttp"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// masterOf opens the master key that a flag names. A key file is created with the first start of a service: a store that has
// keys already needs the file that wraps them.
func masterOf(ctx context.Context, text string, store statestore.Folders) (foreign.Master, error) {
	way, name, _ := strings.Cut(text, ":")
	switch {
	case way == "awskms" && name != "":
		return &keyServiceMaster{keyservice.New(ctx), name}, nil
	case way != "file" || name == "":
		return nil, cli.Hint(fmt.Errorf("--master-key %s: it is file:PATH or awskms:ARN", text), "--master-key file:master.key")
	}
	used, err := foreign.HasKeys(ctx, store)
	if err != nil {
		return nil, err
	}
	master, err := seal.OpenMasterKey(name, !used)
	if used && errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Hint(fmt.Errorf("--master-key %s: the file is missing, and the store has keys that it wraps", text),
			"restore the file from its backup, or copy it from another replica")
	}
	if err != nil {
		return nil, fmt.Errorf("--master-key %s: %w", text, err)
	}
	return master, nil
}

// keyServiceMaster wraps under a key of a key service.
type keyServiceMaster struct {
	seal.KeyService

	name string
}

func (m *keyServiceMaster) Wrap(plain []byte, bound map[string]string) ([]byte, error) {
	return m.KeyService.Wrap(m.name, plain, bound)
}

func (m *keyServiceMaster) Unwrap(sealed []byte, bound map[string]string) ([]byte, error) {
	return m.KeyService.Unwrap(m.name, sealed, bound)
}

// mountForeign adds the protocols of other tools to a service.
func mountForeign(s *service.Service, master foreign.Master) {
	pulumiapi.Mount(s, master)
	tfhttp.Mount(s, master)
}
