package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/athanor-dev/athanor/providers/terraform/install"
	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/plugin"
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
	o, other, err := objectIn(data, address, k.Type)
	if err != nil {
		return "", absent, reconcile.WithClass(fmt.Errorf("%s: %w", filepath.Base(file), err), reconcile.Invalid)
	}
	var before seen
	if other == nil {
		before, err = p.upgrade(ctx, k.Type, o)
	} else if before, err = p.move(ctx, k.Type, o, other); err != nil {
		err = fmt.Errorf("%s: %s as %s: %w", filepath.Base(file), address, k.Name, err)
	}
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

// foreign is an object of another type than is declared, which a provider makes one of its own of.
type foreign struct {
	provider, typ string
	identity      []byte // in JSON
}

// move has the provider make an object of one of its types of an object of another type, which the provider had before or another one has.
func (p *program) move(ctx context.Context, t *schema.Type, o *object, from *foreign) (seen, error) {
	request := &tfplugin.MoveResourceState_Request{
		SourceProviderAddress: from.provider, SourceTypeName: from.typ, SourceSchemaVersion: o.Version, TargetTypeName: t.Name,
		SourceState: &tfplugin.RawState{Json: []byte(o.State)}, SourcePrivate: o.Private, SourceIdentitySchemaVersion: o.IdentityVersion,
	}
	if from.identity != nil {
		request.SourceIdentity = &tfplugin.RawState{Json: from.identity}
	}
	var answer tfplugin.MoveResourceState_Response
	if err := p.call(ctx, "MoveResourceState", request, &answer); err != nil {
		return none(t), err
	}
	if err := p.failed("MoveResourceState", t.Name, answer.Diagnostics); err != nil {
		return none(t), err
	}
	return p.answered(t, answer.TargetState, answer.TargetPrivate, answer.TargetIdentity, none(t))
}

// movesFrom reports an object of another type, of this provider or another one, on the same account or server as far as the settings tell. Whether it
// can be moved the provider says.
func (k *kind) movesFrom(from reconcile.Former) bool {
	return strings.HasPrefix(from.Kind, Prefix) && from.Place.Provider == providerName
}

// fromFormer has the provider make an object of this type of what state has of another type.
func (k *kind) fromFormer(ctx context.Context, p *program, former *reconcile.Former) (string, seen, error) {
	absent := none(k.Type)
	have, err := k.packing.keptOf(former.Attrs)
	switch {
	case err != nil:
		return "", absent, err
	case have == nil || have.Object == nil:
		return "", absent, reconcile.ErrNotMoved
	}
	from := &foreign{typ: strings.TrimPrefix(former.Kind, Prefix)}
	if from.identity, err = identityJSON(have.Object.Identity); err != nil {
		return "", absent, err
	}
	source, account, _ := strings.Cut(former.Place.Account, "@")
	if account != p.settings.Account {
		return "", absent, fmt.Errorf("%w: it is at another account", reconcile.ErrNotMoved)
	}
	var before seen
	for _, address := range sourcesOf(source) {
		from.provider = address
		if before, err = p.move(ctx, k.Type, have.Object, from); err == nil {
			break
		}
	}
	var said *DiagnosticsError
	switch {
	case errors.As(err, &said), errors.Is(err, plugin.ErrUnsupported):
		return "", absent, fmt.Errorf("%w: %w", reconcile.ErrNotMoved, err)
	case err != nil:
		return "", absent, err
	case before.state.IsNull():
		return "", absent, reconcile.ErrNotMoved
	}
	now, err := p.read(ctx, k.Type, before)
	return have.Key, now, err
}

// sourcesOf are the addresses of a provider, one of which it may know itself by: most know that of Terraform's registry, which has the same providers as
// OpenTofu's.
func sourcesOf(source string) []string {
	s, err := install.ParseSource(source)
	if err != nil {
		return []string{source}
	}
	all := []string{s.String()}
	if s.Host == install.DefaultHost {
		s.Host = "registry.terraform.io"
		all = slices.Insert(all, 0, s.String())
	}
	return all
}

// identityJSON is an identity as a state file has it, nil for none.
func identityJSON(packed []byte) ([]byte, error) {
	if packed == nil {
		return nil, nil
	}
	ty, err := msgpack.ImpliedType(packed)
	if err != nil {
		return nil, err
	}
	v, err := msgpack.Unmarshal(packed, ty)
	if err != nil {
		return nil, err
	}
	return ctyjson.Marshal(v, ty)
}

// providerIn is the source of a provider as a state file has it, with its module and its alias.
var providerIn = regexp.MustCompile(`provider\["([^"]+)"\]`)

// objectIn is an object in a state file of version 4, and what it is where it is of another type.
func objectIn(data []byte, address string, t *schema.Type) (*object, *foreign, error) {
	var state struct {
		Version   int             `json:"version"`
		Encrypted json.RawMessage `json:"encrypted_data"`
		Resources []struct {
			Module, Mode, Type, Name, Provider string

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
		return nil, nil, errors.New("it is no state file") // the text may hold secrets
	}
	switch {
	case state.Encrypted != nil:
		return nil, nil, errors.New("the state is encrypted: `tofu state pull` writes it in clear")
	case state.Version != 4:
		return nil, nil, fmt.Errorf("the state has format %d, and 4 is read", state.Version)
	}
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			if r.Mode == "data" || i.Deposed != "" || addressOf(r.Module, r.Type, r.Name, i.Key) != address || i.Attributes == nil {
				continue
			}
			o := &object{State: string(i.Attributes), Version: i.Version, Private: i.Private, IdentityVersion: i.IdentityVersion}
			isIdentified := len(i.Identity) > 0 && string(i.Identity) != "null"
			if r.Type != t.Name {
				other := &foreign{typ: r.Type}
				if found := providerIn.FindStringSubmatch(r.Provider); found != nil {
					other.provider = found[1]
				}
				if isIdentified {
					other.identity = i.Identity
				}
				return o, other, nil
			}
			if isIdentified && t.Identity != cty.NilType && i.IdentityVersion == t.IdentityVersion {
				v, err := ctyjson.Unmarshal(i.Identity, t.Identity)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: its identity: %w", address, err)
				}
				if o.Identity, err = msgpack.Marshal(v, t.Identity); err != nil {
					return nil, nil, err
				}
			}
			return o, nil, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: %s", errNoSuchObject, address)
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
