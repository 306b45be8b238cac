package seal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// vaults is a key service with one key; what it wraps is bound.
type vaults struct {
	name    string
	refuses error
	calls   int
	last    map[string]string
}

func (v *vaults) Wrap(name string, plain []byte, bound map[string]string) ([]byte, error) {
	if v.refuses != nil || name != v.name {
		return nil, errors.Join(v.refuses, fmt.Errorf("no key %s", name))
	}
	return append([]byte(fmt.Sprint(bound)), plain...), nil
}

func (v *vaults) Unwrap(name string, sealed []byte, bound map[string]string) ([]byte, error) {
	v.calls++
	v.last = maps.Clone(bound)
	plain, ok := strings.CutPrefix(string(sealed), fmt.Sprint(bound))
	if v.refuses != nil || name != v.name || !ok {
		return nil, errors.Join(v.refuses, errors.New("not for you"))
	}
	return []byte(plain), nil
}

// A key that a service wraps opens with that service; other ways are tried first, and make up for one that refuses.
func TestWrapForAService(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	service := &vaults{name: "arn:x"}
	home.Service = service
	born, ada := m.find(home, ""), identity(t)
	m.wrap(born, home, Wrapping{Recipients: []string{"awskms:arn:x", ada.Recipient().String()}})
	ci := m.on("ci")
	ci.Service = service
	k := m.find(ci, born.ID())
	same(t, "the service", born, k)
	if k.Origin().Alone || !strings.Contains(k.Origin().Text, "awskms:arn:x") || service.last["stage"] != "prod" || service.last["key"] != born.ID() {
		t.Errorf("opened from %+v, bound to %v", k.Origin(), service.last)
	}
	who, err := ci.Recipients()
	if err != nil || len(who) != 2 || who[0].By != "awskms" || who[0].To != "arn:x" {
		t.Errorf("recipients %v, %v", who, err)
	}
	again, err := ci.Again()
	if err != nil || len(again.Recipients) != 2 || again.Recipients[0] != "awskms:arn:x" {
		t.Errorf("wrapped again for %v, %v", again, err)
	}

	service.refuses = errors.New("AccessDeniedException")
	_, err = Find(ci, born.ID())
	missing, ok := errors.AsType[*KeyError](err)
	if !ok || missing.Want != born.ID() || !strings.Contains(err.Error(), "awskms:arn:x: AccessDeniedException") || len(missing.Ways) != 2 {
		t.Errorf("refused: %v", err)
	}
	same(t, "born with", born, m.find(home, born.ID()))
	service.calls = 0
	t.Setenv(EnvAgeIdentity, ada.String())
	same(t, "age first", born, m.find(m.on("ada"), born.ID()))
	if service.calls != 0 {
		t.Errorf("the service was asked %d times for what an identity opens", service.calls)
	}
	t.Setenv(EnvAgeIdentity, "")
	service.refuses = context.Canceled
	if _, err := Find(ci, born.ID()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrKey) {
		t.Errorf("an interrupt is no other way: %v", err)
	}
	ci.Service = nil
	if _, err := Find(ci, born.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("without a service: %v", err)
	}
	if _, err := born.Wrap(ci, Wrapping{Recipients: []string{"awskms:arn:x"}}); !errors.Is(err, ErrWrapping) {
		t.Errorf("wrapped without a service: %v", err)
	}
}
