// Package zones offers zones of Cloudflare and their settings.
//
// It knows a zone's type, what is to be told to the registrar, and how a setting is put back as it was. It does not know
// what is in a zone, nor what a setting does; how calls are made and judged is the business of package cloudflare.
package zones

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed zone.go zone_props.go setting.go setting_props.go
var source embed.FS

const (
	zoneType    = "cloudflare.Zone"
	settingType = "cloudflare.ZoneSetting"
)

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{zoneKind.Erase(), settingKind.Erase()}}
}

// NewZone declares a zone.
func NewZone(s *athanor.Stack, name string, p ZoneProps, opts ...athanor.Option) Zone {
	return athanor.Declare(s, zoneKind, name, p, opts...)
}

// ReadZone uses a zone that the stack does not own: by its id, or by ZoneProps that name it.
func ReadZone(s *athanor.Stack, name string, by any) Zone {
	return athanor.Read(s, zoneKind, name, by)
}

// NewSetting declares what a setting of a zone is to be.
func NewSetting(s *athanor.Stack, name string, p SettingProps, opts ...athanor.Option) Setting {
	return athanor.Declare(s, settingKind, name, p, opts...)
}
