package zones

import (
	"maps"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveSetting is a setting as it was seen.
type liveSetting struct {
	zoneID, zone string
	setting      string
	value        any
	before       string
}

type (
	settingSite = reconcile.Site[SettingProps, Setting]
	settingDiff = reconcile.Diff[liveSetting]
)

// One kind is one setting: each has its own value from before, its own place in a plan, and plans of Cloudflare refuse them
// one by one; two stacks can each have some of a zone's.
var settingKind = &reconcile.Kind[SettingProps, liveSetting, Setting]{
	Type: settingType,
	Doc: "A setting of a zone. A zone always has all of its settings: to declare one is to change it, and to delete it puts " +
		"back what was there before, which is kept on record. One that somebody puts back counts as gone.",

	Observe: observeSetting,
	Create:  createSetting,
	Compare: compareSetting,
	Attrs: func(live liveSetting) Setting {
		return Setting{ZoneID: ID(live.zoneID), Setting: live.setting, Before: live.before}
	},
	Delete:   deleteSetting,
	Identity: func(s Setting) string { return string(s.ZoneID) + "/" + s.Setting },

	Check:   checkSetting,
	AtBirth: []string{"zoneId", "setting"},
	// A setting carries no mark, and a value that is the declared one leaves nothing to be done.
	Same: true,

	Source: source,
	Calls:  []string{"Zones.GetSetting", "Zones.PatchSetting", "Zones.ListZones", "Zones.GetZone"},
	Permissions: reconcile.Permissions{
		Observe: []string{"Zone Read", "Zone Settings Read"},
		Create:  []string{"Zone Settings Write"},
		Update:  []string{"Zone Settings Write"},
		Delete:  []string{"Zone Settings Write"},
	},
}

func checkSetting(want SettingProps) error {
	var problems props.Errors
	if want.Value == nil {
		problems.Wrong("value", "want one")
	}
	if _, truth := want.Value.(bool); truth && want.Setting != recommender && !token.Has(want.Setting) {
		problems.Wrong("value", `want "on" or "off"`)
	}
	if text, ok := want.Value.(string); ok && want.Setting == recommender && !token.Has(text) {
		problems.Wrong("value", "want true or false")
	}
	return problems.OrNil()
}

func compareSetting(d *settingDiff, want SettingProps, live liveSetting) {
	have := live.zone
	if want.Zone == live.zoneID {
		have = live.zoneID
	}
	reconcile.Fixed(d, "zone", strings.ToLower(want.Zone), have)
	reconcile.Fixed(d, "setting", want.Setting, live.setting)
	reconcile.Value(d, "value", want.Value, declared(want.Value, live.value), setSetting(want))
}

// declared is the part of a live value that a declaration speaks of: of an object, the fields that it names.
func declared(want, live any) any {
	fields, ok := want.(map[string]any)
	all, object := live.(map[string]any)
	if !ok || !object {
		return live
	}
	part := map[string]any{}
	for key, v := range fields {
		if have, there := all[key]; there {
			part[key] = declared(v, have)
		}
	}
	return part
}

// over is a live value with what a declaration says in its place.
func over(live, want any) any {
	fields, ok := want.(map[string]any)
	all, object := live.(map[string]any)
	if !ok || !object {
		return want
	}
	whole := maps.Clone(all)
	for key, v := range fields {
		whole[key] = over(all[key], v)
	}
	return whole
}

func same(a, b any) bool { return tree.Equal(a, b) }
