package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// statePrefix begins an identity that is an object in a state file of Terraform or OpenTofu: tfstate:shop.tfstate#postgresql_role.app. It is adopted with
// the attributes, the private data and the identity that stand there, which no import tells.
const statePrefix = "tfstate:"

// maxState bounds a state file, in bytes.
const maxState = 256 << 20

var errNoSuchObject = errors.New("the state has no such object")

// inState splits an identity that is an object in a state file.
func inState(id string) (file, address string, ok bool) {
	rest, ok := strings.CutPrefix(id, statePrefix)
	if !ok {
		return "", "", false
	}
	file, address, ok = strings.Cut(rest, "#")
	return file, address, ok && file != "" && address != ""
}

// fromState reads an object of a state file, as it is now. It goes by its id from then on.
func (k *kind) fromState(ctx context.Context, p *program, s site, file, address string) (string, seen, error) {
	absent := none(k.Type)
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.Dir, file)
	}
	data, err := localfile.ReadAtMost(ctx, file, maxState)
	if err != nil {
		return "", absent, err
	}
	o, err := objectIn(data, address, k.Type)
	if err != nil {
		return "", absent, reconcile.WithClass(fmt.Errorf("%s: %w", filepath.Base(file), err), reconcile.Invalid)
	}
	before, err := p.upgrade(ctx, k.Type, o)
	if err != nil || before.state.IsNull() {
		return "", absent, err
	}
	now, err := p.read(ctx, k.Type, before)
	key := keyFor(now, s.Nonce)
	if key == "" {
		key = address
	}
	return key, now, err
}

// objectIn is an object in a state file of version 4.
func objectIn(data []byte, address string, t *schema.Type) (*object, error) {
	var state struct {
		Version   int             `json:"version"`
		Encrypted json.RawMessage `json:"encrypted_data"`
		Resources []struct {
			Module, Mode, Type, Name string

			Instances []struct {
				Key             any             `json:"index_key"`
				Deposed         string          `json:"deposed"`
				Version         int64           `json:"schema_version"`
				Attributes      json.RawMessage `json:"attributes"`
				Private         []byte          `json:"private"`
				Identity        json.RawMessage `json:"identity"`
				IdentityVersion int64           `json:"identity_schema_version"`
			}
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, errors.New("it is no state file") // the text may hold secrets
	}
	switch {
	case state.Encrypted != nil:
		return nil, errors.New("the state is encrypted: `tofu state pull` writes it in clear")
	case state.Version != 4:
		return nil, fmt.Errorf("the state has format %d, and 4 is read", state.Version)
	}
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			if r.Mode == "data" || i.Deposed != "" || addressOf(r.Module, r.Type, r.Name, i.Key) != address || i.Attributes == nil {
				continue
			}
			if r.Type != t.Name {
				return nil, fmt.Errorf("%s is a %s", address, r.Type)
			}
			o := &object{State: string(i.Attributes), Version: i.Version, Private: i.Private, IdentityVersion: i.IdentityVersion}
			if len(i.Identity) > 0 && string(i.Identity) != "null" && t.Identity != cty.NilType && i.IdentityVersion == t.IdentityVersion {
				v, err := ctyjson.Unmarshal(i.Identity, t.Identity)
				if err != nil {
					return nil, fmt.Errorf("%s: its identity: %w", address, err)
				}
				if o.Identity, err = msgpack.Marshal(v, t.Identity); err != nil {
					return nil, err
				}
			}
			return o, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", errNoSuchObject, address)
}

// addressOf is the address of an instance as Terraform writes it.
func addressOf(module, typ, name string, key any) string {
	address := typ + "." + name
	if module != "" {
		address = module + "." + address
	}
	switch key := key.(type) {
	case float64:
		address += "[" + strconv.FormatFloat(key, 'f', -1, 64) + "]"
	case string:
		address += "[" + strconv.Quote(key) + "]"
	}
	return address
}
