package zones

import (
	"context"
	"maps"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveSetting is an observed setting.
type liveSetting struct {
	zone    cloudflare.Zone
	setting string
	value   any
	before  string
}

type settingSite = kind.Site[SettingProps, Setting]

var settingTable = kind.TableOf[SettingProps]()

// One kind is one setting: each has its own value from before, its own place in a plan, and plans of Cloudflare refuse them
// one by one; two stacks can each have some of a zone's.
var settingKind = &kind.Kind[SettingProps, liveSetting, Setting]{
	Type: settingType,
	Doc: "A setting of a zone. A zone always has all of its settings: to declare one is to change it, and to delete it puts " +
		"back what was there before, which is kept in state. One that somebody puts back counts as missing.",

	Observe: observeSetting,
	Create:  createSetting,
	Compare: compareSetting,
	Attributes: func(live liveSetting) Setting {
		return Setting{ZoneID: ID(live.zone.ID), Setting: live.setting, Before: live.before}
	},
	Delete:   deleteSetting,
	Identity: func(s Setting) string { return string(s.ZoneID) + "/" + s.Setting },

	Props: settingTable,
	Check: checkSetting,
	// A setting carries no owner tag, and a value that is the declared one leaves nothing to be done.
	Owner: kind.OwnedByContent[SettingProps, liveSetting]{},
	Unique: func(want SettingProps) []string {
		return []string{"setting " + want.Setting + " of zone " + want.Zone}
	},
	// A zone has the setting afterwards too.
	Deletion: kind.AtOnce[liveSetting]{},

	API: kind.API{
		Source: source,
		Calls:  []string{"Zones.GetSetting", "Zones.PatchSetting", "Zones.ListZones", "Zones.GetZone"},
		Permissions: kind.Permissions{
			Observe: []string{"Zone Read", "Zone Settings Read"},
			Create:  []string{"Zone Settings Write"},
			Update:  []string{"Zone Settings Write"},
			Delete:  []string{"Zone Settings Write"},
		},
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

func compareSetting(d *kind.Diff[liveSetting], want SettingProps, live liveSetting) {
	have := SettingProps{Zone: live.zone.As(want.Zone), Setting: live.setting, Value: declared(want.Value, live.value)}
	kind.Compare(d, settingTable, want, have, kind.Set("PatchSetting", func(ctx context.Context, u kind.Update[liveSetting]) error {
		return cloudflare.NotYet(patchSetting(ctx, u.Cloud, live.zone.ID, live.setting, over(live.value, want.Value)))
	}))
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
