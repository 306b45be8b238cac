package dns

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	sdk "github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// automatic is how Cloudflare writes that it chooses the TTL.
const automatic = 1

// compareRecord states every aspect. All that differ are set by one call.
func compareRecord(d *recordDiff, want RecordProps, live liveRecord) {
	have := live.zone.Name
	if cloudflare.IsID(want.Zone) {
		have = live.zone.ID
	}
	reconcile.Fixed(d, "zone", folded(want.Zone), have)
	reconcile.Fixed(d, "name", fullName(want.Name, live.zone.Name), folded(live.Name))
	reconcile.Fixed(d, "type", want.Type, live.Type)
	set := setRecord(want)
	if slices.Contains(texts, live.Type) {
		reconcile.Value(d, "content", canonical(live.Type, want.Content), canonical(live.Type, live.Content), set)
	} else {
		reconcile.Value(d, "data", orNone(want.Data), orNone(live.Data), set)
	}
	reconcile.Value(d, "priority", want.Priority, live.Priority, set)
	reconcile.Value(d, "ttl", want.TTL, live.ttl(), set)
	reconcile.Value(d, "proxied", want.Proxied, live.Proxied, set)
	reconcile.Value(d, "flattenCname", want.FlattenCNAME, live.Settings.FlattenCNAME, set)
	reconcile.Value(d, "ipv4Only", want.IPv4Only, live.Settings.IPv4Only, set)
	reconcile.Value(d, "ipv6Only", want.IPv6Only, live.Settings.IPv6Only, set)
	reconcile.Value(d, "privateRouting", want.PrivateRouting, live.PrivateRouting, set)
	reconcile.Value(d, "comment", want.Comment, live.comment, set)
	if d.Mark() != live.mark && withoutStore(d.Mark()) != live.mark {
		reconcile.Value(d, "mark", adopt.Line(d.Mark()), live.line, set)
	}
	reconcile.List(d, "tags", slices.Sorted(slices.Values(want.Tags)), slices.Sorted(slices.Values(live.Tags)), set)
}

// setRecord patches what differs. Cloudflare wants name, type and TTL in each patch.
func setRecord(want RecordProps) *reconcile.Operation[liveRecord] {
	return &reconcile.Operation[liveRecord]{Name: "PatchRecord", Do: func(ctx context.Context, on reconcile.On[liveRecord]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		text, err := json.Marshal(patch(want, on))
		if err != nil {
			return err
		}
		p := sdk.RecordEditParams{Body: sdk.RecordEditParamsBody{}}
		p.ZoneID.Value = on.Live.zone.ID
		_, err = client.Edit(ctx, on.Live.ID, p, option.WithRequestBody("application/json", text))
		return cloudflare.Taken(cloudflare.NotYet(err))
	}}
}

// patch is what differs. What is ignored, or left for later, keeps its live value.
func patch(want RecordProps, on reconcile.On[liveRecord]) map[string]any {
	changes := func(paths ...tree.Path) bool {
		return slices.ContainsFunc(paths, func(p tree.Path) bool { return slices.Contains(on.Changed, p) })
	}
	live := on.Live
	if !changes("comment") {
		want.Comment = live.comment
	}
	if !changes("ttl") {
		want.TTL = live.ttl()
	}
	for path, settle := range map[tree.Path]func(){
		"flattenCname": func() { want.FlattenCNAME = live.Settings.FlattenCNAME },
		"ipv4Only":     func() { want.IPv4Only = live.Settings.IPv4Only },
		"ipv6Only":     func() { want.IPv6Only = live.Settings.IPv6Only },
	} {
		if !changes(path) {
			settle()
		}
	}
	all := body(want, live.Name, on.Mark)
	for key, paths := range map[string][]tree.Path{
		"content": {"content"}, "data": {"data"}, "priority": {"priority"}, "proxied": {"proxied"}, "tags": {"tags"},
		"settings": {"flattenCname", "ipv4Only", "ipv6Only"}, "private_routing": {"privateRouting"}, "comment": {"comment", "mark"},
	} {
		if !changes(paths...) {
			delete(all, key)
		}
	}
	return all
}

// body is a whole record, as Cloudflare writes it.
func body(want RecordProps, name string, mark reconcile.Mark) map[string]any {
	all := map[string]any{
		"name": name, "type": want.Type, "ttl": automatic, "proxied": want.Proxied, "tags": orEmpty(want.Tags),
		"comment": marked(want.Comment, mark),
	}
	if want.TTL != nil {
		all["ttl"] = int64(*want.TTL / time.Second)
	}
	if slices.Contains(texts, want.Type) {
		all["content"] = want.Content
	} else {
		all["data"] = want.Data
	}
	if want.Priority != nil {
		all["priority"] = *want.Priority
	}
	switch want.Type {
	case "CNAME":
		all["settings"] = map[string]any{"flatten_cname": want.FlattenCNAME, "ipv4_only": want.IPv4Only, "ipv6_only": want.IPv6Only}
	case "A", "AAAA":
		all["settings"] = map[string]any{"ipv4_only": want.IPv4Only, "ipv6_only": want.IPv6Only}
		all["private_routing"] = want.PrivateRouting
	}
	return all
}

func orEmpty(tags []string) []string {
	if tags == nil {
		return []string{}
	}
	return tags
}

func orNone(data map[string]any) map[string]any {
	data = maps.Clone(data)
	maps.DeleteFunc(data, func(_ string, v any) bool { return v == nil })
	if len(data) == 0 {
		return nil
	}
	return data
}

// folded is a name of the domain system as it compares.
func folded(name string) string {
	if token.Has(name) {
		return name
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// fullName is the whole name of a record of a zone.
func fullName(name, zone string) string {
	name, zone = folded(name), folded(zone)
	switch {
	case name == "@" || name == zone:
		return zone
	case strings.HasSuffix(name, "."+zone):
		return name
	}
	return name + "." + zone
}

// canonical is content in the form in which it compares: Cloudflare may quote text, and shortens addresses.
func canonical(kind, content string) string {
	if token.Has(content) {
		return content
	}
	switch kind {
	case "A", "AAAA":
		if ip, err := netip.ParseAddr(content); err == nil {
			return ip.String()
		}
	case "CNAME", "MX", "NS", "PTR":
		return folded(content)
	case "TXT":
		return unquoted(content)
	}
	return content
}

// unquoted is the text of quoted strings one after another, as zone files have them; what is not of that form stays.
func unquoted(text string) string {
	var out strings.Builder
	rest := text
	for rest != "" {
		if rest[0] != '"' {
			return text
		}
		end := closing(rest)
		if end < 0 {
			return text
		}
		out.WriteString(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(rest[1:end]))
		rest = strings.TrimLeft(rest[end+1:], " ")
	}
	return out.String()
}

// closing is where a quoted string that begins a text ends, -1 when it does not.
func closing(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
