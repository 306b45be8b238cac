package dns

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// automatic is how Cloudflare writes that it chooses the TTL.
const automatic = int64(1)

// compareRecord states every aspect. All that differ are set by one call. What means the same counts as what is declared.
func compareRecord(d *kind.Diff[liveRecord], want RecordProps, live liveRecord) {
	have := live.have
	have.Zone, have.Name, have.Content = live.zone.As(want.Zone), live.name, canonical(have.Type, have.Content)
	if fullName(want.Name, live.zone.Name) == folded(live.name) {
		have.Name = want.Name
	}
	if have.Content == canonical(have.Type, want.Content) {
		have.Content = want.Content
	}
	set := kind.Set("PatchRecord", func(ctx context.Context, u kind.Update[liveRecord]) error {
		doc, err := patch(want, u)
		if err != nil {
			return err
		}
		err = cloudflare.Send(ctx, u.Cloud, http.MethodPatch, pathOf(live.zone.ID, live.id), doc, nil)
		return cloudflare.Taken(cloudflare.NotYet(err))
	})
	kind.Compare(d, recordTable, want, have, set)
	if d.Mark() != live.owner && withoutStore(d.Mark()) != live.owner {
		reconcile.Value(d, "mark", adopt.Line(d.Mark()), live.line, set)
	}
}

// patch is what differs, with name, type and TTL, which Cloudflare wants in each patch.
func patch(want RecordProps, u kind.Update[liveRecord]) (kind.Document, error) {
	live := u.Live
	doc := kind.Document{"name": live.name, "type": live.have.Type, "ttl": live.ttl}
	comment := slices.Contains(u.Changed, "comment")
	if !comment {
		want.Comment = live.have.Comment
	}
	if comment || slices.Contains(u.Changed, "mark") {
		doc["comment"] = tagged(want.Comment, u.Owner)
	}
	err := recordTable.Changed(want, live.have, u.Changed, doc)
	return cleared(doc), err
}

// body is a whole record, as Cloudflare writes it.
func body(want RecordProps, name string, owner kind.OwnerTag) (kind.Document, error) {
	doc := kind.Document{"name": name, "comment": tagged(want.Comment, owner), "ttl": nil, "tags": nil}
	err := recordTable.Created(want, doc)
	return cleared(doc), err
}

// cleared is a document with Cloudflare's words for what is cleared, and without what its type of record has not.
func cleared(doc kind.Document) kind.Document {
	for name, none := range map[string]any{"ttl": automatic, "tags": []any{}} {
		if v, ok := doc[name]; ok && v == nil {
			doc[name] = none
		}
	}
	switch doc["type"] {
	case "A", "AAAA":
		if settings, ok := doc["settings"].(map[string]any); ok {
			delete(settings, "flatten_cname")
		}
	case "CNAME":
		delete(doc, "private_routing")
	default:
		delete(doc, "settings")
		delete(doc, "private_routing")
	}
	return doc
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
