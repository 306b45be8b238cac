package zones

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// recommender is the one setting that Cloudflare writes as a truth beside its id.
const recommender = "ssl_recommender"

func settingPath(zoneID, setting string) string { return zonePath(zoneID) + "/settings/" + setting }

func settingBody(setting string, value any) map[string]any {
	if setting == recommender {
		return map[string]any{"enabled": value}
	}
	return map[string]any{"value": value}
}

// valueOf reads a setting, and whether the plan of the zone offers to change it.
func valueOf(ctx context.Context, cloud kind.Cloud, zoneID, setting string) (value any, offered bool, err error) {
	var answer struct {
		Value    any
		Enabled  any
		Editable *bool
	}
	if err := cloudflare.Send(ctx, cloud, http.MethodGet, settingPath(zoneID, setting), nil, &answer); err != nil {
		return nil, false, err
	}
	offered = answer.Editable == nil || *answer.Editable
	if setting == recommender {
		return answer.Enabled, offered, nil
	}
	value, err = tree.Of(answer.Value)
	return value, offered, err
}

var (
	errNoSetting  = errors.New("a setting is found by its zone and its id")
	errNotOffered = errors.New("the plan of the zone does not offer the setting, which cannot be changed")
)

// observeSetting reads a setting. Without state it is ours when it says what is declared; with state it is missing when it
// says again what it said before.
func observeSetting(ctx context.Context, s settingSite) (liveSetting, error) {
	zone, live := s.Want.Zone, liveSetting{setting: s.Want.Setting}
	switch {
	case s.Last != nil:
		zone, live.setting, live.before = string(s.Last.ZoneID), s.Last.Setting, s.Last.Before
	case s.ID != "":
		zone, live.setting, _ = strings.Cut(s.ID, "/")
	}
	if zone == "" || live.setting == "" {
		return live, reconcile.WithHint(errNoSetting, "write zone/setting")
	}
	if token.Has(zone) || token.Has(live.setting) {
		return live, fmt.Errorf("%w: which setting it is is known only later", reconcile.ErrAbsent)
	}
	z, err := cloudflare.ZoneOf(ctx, s.Cloud, zone)
	if err != nil {
		return live, err
	}
	live.zone = z
	value, offered, err := valueOf(ctx, s.Cloud, z.ID, live.setting)
	live.value = value
	if err != nil {
		return live, cloudflare.Absent(err)
	}
	if s.Want.Value == nil || s.ID != "" && s.Last == nil {
		return live, nil
	}
	have := declared(s.Want.Value, live.value)
	switch {
	case tree.Equal(have, s.Want.Value):
	case !offered:
		return live, reconcile.WithHint(fmt.Errorf("%w: %s of %s", errNotOffered, live.setting, z.Name), "take the declaration away, or change the plan of the zone")
	case s.Last == nil:
		return live, fmt.Errorf("%w: it has another value", reconcile.ErrAbsent)
	case live.before != "" && string(tree.Canonical(have)) == live.before:
		return live, fmt.Errorf("%w: it is as it was before", reconcile.ErrAbsent)
	}
	return live, nil
}

// createSetting keeps what is there in state before it is changed, so that it can be put back whatever happens in between.
func createSetting(ctx context.Context, s settingSite) (Setting, error) {
	z, err := cloudflare.ZoneOf(ctx, s.Cloud, s.Want.Zone)
	if err != nil {
		return Setting{}, err
	}
	live, _, err := valueOf(ctx, s.Cloud, z.ID, s.Want.Setting)
	if err != nil {
		return Setting{}, err
	}
	made := Setting{ZoneID: ID(z.ID), Setting: s.Want.Setting, Before: string(tree.Canonical(declared(s.Want.Value, live)))}
	if err := s.New.Store(ctx, made); err != nil {
		return Setting{}, err
	}
	return made, patchSetting(ctx, s.Cloud, z.ID, s.Want.Setting, over(live, s.Want.Value))
}

func patchSetting(ctx context.Context, cloud kind.Cloud, zoneID, setting string, value any) error {
	return cloudflare.Send(ctx, cloud, http.MethodPatch, settingPath(zoneID, setting), settingBody(setting, value), nil)
}

// deleteSetting puts back what was there before. Where nobody knows that, nothing is done.
func deleteSetting(ctx context.Context, s settingSite) error {
	if s.Last.Before == "" {
		return nil
	}
	before, err := tree.Decode([]byte(s.Last.Before))
	if err != nil {
		return err
	}
	live, _, err := valueOf(ctx, s.Cloud, string(s.Last.ZoneID), s.Last.Setting)
	if err != nil {
		return err
	}
	if tree.Equal(declared(before, live), before) {
		return nil
	}
	return patchSetting(ctx, s.Cloud, string(s.Last.ZoneID), s.Last.Setting, over(live, before))
}
