package zones

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
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

// valueOf reads a setting.
func valueOf(ctx context.Context, cloud reconcile.Cloud, zoneID, setting string) (any, error) {
	var answer struct {
		Value   any
		Enabled any
	}
	if err := call(ctx, cloud, http.MethodGet, settingPath(zoneID, setting), nil, &answer); err != nil {
		return nil, err
	}
	if setting == recommender {
		return answer.Enabled, nil
	}
	return tree.Of(answer.Value)
}

var errNoSetting = errors.New("a setting is found by its zone and its id")

// observeSetting reads a setting. Without a record it is ours when it says what is declared; with one, it is gone when it
// says again what it said before.
func observeSetting(ctx context.Context, site settingSite) (liveSetting, error) {
	zone, live := site.Want.Zone, liveSetting{setting: site.Want.Setting}
	switch {
	case site.Last != nil:
		zone, live.setting, live.before = string(site.Last.ZoneID), site.Last.Setting, site.Last.Before
	case site.ID != "":
		zone, live.setting, _ = strings.Cut(site.ID, "/")
	}
	if zone == "" || live.setting == "" {
		return live, reconcile.WithHint(errNoSetting, "write zone/setting")
	}
	if token.Has(zone) || token.Has(live.setting) {
		return live, fmt.Errorf("%w: which setting it is is known only later", reconcile.ErrAbsent)
	}
	z, err := cloudflare.ZoneOf(ctx, site.Cloud, zone)
	if err != nil {
		return live, err
	}
	live.zoneID, live.zone = z.ID, z.Name
	if live.value, err = valueOf(ctx, site.Cloud, z.ID, live.setting); err != nil {
		return live, cloudflare.Absent(err)
	}
	if site.Want.Value == nil || site.ID != "" && site.Last == nil {
		return live, nil
	}
	have := declared(site.Want.Value, live.value)
	switch {
	case same(have, site.Want.Value):
	case site.Last == nil:
		return live, fmt.Errorf("%w: it has another value", reconcile.ErrAbsent)
	case live.before != "" && string(tree.Canonical(have)) == live.before:
		return live, fmt.Errorf("%w: it is as it was before", reconcile.ErrAbsent)
	}
	return live, nil
}

// createSetting keeps what is there on record before it is changed, so that it can be put back whatever happens in between.
func createSetting(ctx context.Context, site settingSite) (Setting, error) {
	z, err := cloudflare.ZoneOf(ctx, site.Cloud, site.Want.Zone)
	if err != nil {
		return Setting{}, err
	}
	live, err := valueOf(ctx, site.Cloud, z.ID, site.Want.Setting)
	if err != nil {
		return Setting{}, err
	}
	made := Setting{ZoneID: ID(z.ID), Setting: site.Want.Setting, Before: string(tree.Canonical(declared(site.Want.Value, live)))}
	if err := site.Born(ctx, made); err != nil {
		return Setting{}, err
	}
	return made, patchSetting(ctx, site.Cloud, z.ID, site.Want.Setting, over(live, site.Want.Value))
}

func setSetting(want SettingProps) *reconcile.Operation[liveSetting] {
	return &reconcile.Operation[liveSetting]{Name: "PatchSetting", Do: func(ctx context.Context, on reconcile.On[liveSetting]) error {
		return cloudflare.NotYet(patchSetting(ctx, on.Cloud, on.Live.zoneID, on.Live.setting, over(on.Live.value, want.Value)))
	}}
}

func patchSetting(ctx context.Context, cloud reconcile.Cloud, zoneID, setting string, value any) error {
	return call(ctx, cloud, http.MethodPatch, settingPath(zoneID, setting), settingBody(setting, value), nil)
}

// deleteSetting puts back what was there before. Where nobody knows that, nothing is done.
func deleteSetting(ctx context.Context, site settingSite) error {
	if site.Last.Before == "" {
		return nil
	}
	before, err := tree.Decode([]byte(site.Last.Before))
	if err != nil {
		return err
	}
	live, err := valueOf(ctx, site.Cloud, string(site.Last.ZoneID), site.Last.Setting)
	if err != nil {
		return err
	}
	if same(declared(before, live), before) {
		return nil
	}
	return patchSetting(ctx, site.Cloud, string(site.Last.ZoneID), site.Last.Setting, over(live, before))
}
