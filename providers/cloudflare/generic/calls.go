package generic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// calls makes the API's calls about objects of one type.
type calls struct{ *schema.Type }

// address is where an object, or a collection, is: the parts of its path by the names of attributes.
type address struct {
	account string
	parts   object
}

// path is that of the object, or of the collection where it has no id.
func (c calls) path(at address) string {
	parts := strings.Split(c.Path, "/")
	for i, part := range parts {
		name, variable := strings.CutPrefix(part, "{")
		switch name = strings.TrimSuffix(name, "}"); {
		case !variable:
		case name == "account_id":
			parts[i] = at.account
		case name == "scope":
			if zone := textAt(at.parts, schema.ZoneID); zone != "" {
				parts[i] = "zones/" + url.PathEscape(zone)
			} else {
				parts[i] = "accounts/" + at.account
			}
		default:
			parts[i] = url.PathEscape(textAt(at.parts, name))
		}
	}
	path := strings.Join(parts, "/")
	if id := textAt(at.parts, c.ID); c.ID != "" && id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// all are the operations that objects of the type are handled by.
func (c calls) all() []*schema.Operation {
	var all []*schema.Operation
	for _, op := range []*schema.Operation{c.Create, c.Read, c.Update, c.Patch, c.Delete, c.List, c.Token} {
		if op != nil {
			all = append(all, op)
		}
	}
	return all
}

func (c calls) names() []string {
	var all []string
	for _, op := range c.all() {
		all = append(all, op.Name)
	}
	if slices.Contains(c.Parents(), schema.Zone) {
		all = append(all, "Zones.ListZones", "Zones.GetZone")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// send makes a call and gives the whole answer.
func send(ctx context.Context, cloud contract.Cloud, op *schema.Operation, path string, body any) (any, error) {
	service, name, _ := strings.Cut(op.Name, ".")
	var answer json.RawMessage
	err := cloudflare.Call(ctx, cloud, cloudflare.Request{
		Method: op.Method, Path: path, Body: body, Whole: true,
		As: cloudflare.Operation{Service: service, Name: name, Method: op.Method, Path: path},
	}, &answer)
	if err != nil {
		return nil, err
	}
	return tree.Decode(answer)
}

var errForm = errors.New("the answer is not of the form that Cloudflare describes")

// inside is what an answer holds where an operation has it.
func inside(op *schema.Operation, answer any) any {
	if op.Inside == "" {
		return answer
	}
	for key := range strings.SplitSeq(op.Inside, ".") {
		if all, isList := answer.([]any); isList { // of objects with lists
			var joined []any
			for _, e := range all {
				m, _ := e.(object)
				inner, _ := m[key].([]any)
				joined = append(joined, inner...)
			}
			answer = joined
			continue
		}
		m, _ := answer.(object)
		answer = m[key]
	}
	return answer
}

// one is the object of an answer, nil when there is none.
func one(op *schema.Operation, answer any) (object, error) {
	switch v := inside(op, answer).(type) {
	case object:
		return v, nil
	case []any:
		if op.Method == http.MethodGet && !op.List && !slices.Contains(op.Takes, schema.Items) {
			return object{schema.Items: v}, nil
		}
		if len(v) == 1 {
			if m, ok := v[0].(object); ok {
				return m, nil
			}
		}
	case nil:
		return nil, nil
	case string:
		if v == "" { // as nothing is answered where an object or a text is described
			return nil, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", op.Name, errForm)
}

// get reads one object. ErrAbsent when the API answers that there is none, or shows one that was deleted.
func (c calls) get(ctx context.Context, cloud contract.Cloud, at address) (object, error) {
	answer, err := send(ctx, cloud, c.Read, c.path(at), nil)
	if err != nil {
		return nil, absent(err)
	}
	have, err := one(c.Read, answer)
	switch {
	case err != nil:
		return nil, err
	case have == nil, c.isGone(have):
		return nil, fmt.Errorf("%w: %s is deleted", reconcile.ErrAbsent, c.Name)
	case c.Token == nil:
		return c.within(at, have), nil
	}
	answer, err = send(ctx, cloud, c.Token, c.path(at)+"/"+schema.TokenAttr, nil)
	switch {
	case err == nil:
		have[schema.TokenAttr] = inside(c.Token, answer)
	case cloud.Classify(err) != reconcile.Denied: // it takes the permission to write, which a plan need not have
		return nil, absent(err)
	}
	return c.within(at, have), nil
}

// isGone reports that an answer is about no object: the API shows some of them after their deletion, and says of some settings that they
// are off.
func (c calls) isGone(have object) bool {
	if textAt(have, "deleted_at") != "" || textAt(have, "revoked_at") != "" {
		return true
	}
	word := textAt(have, "status")
	if status := c.Answer.Properties["status"]; status != nil && (word == "deleted" || word == "revoked") && slices.Contains(status.Enum, word) {
		return true
	}
	for name, off := range c.Off {
		if is := have[name]; is != off && !(off == nil && is == "") {
			return false
		}
	}
	return len(c.Off) > 0
}

// isMissing reports that the API has no object at a path. The codes for that differ from product to product, and few are
// published; 7003 says that no such path exists.
func isMissing(err error) bool {
	if cloudflare.IsAbsent(err) {
		return true
	}
	refused, ok := errors.AsType[*cloudflare.Error](err)
	return ok && refused.Status == http.StatusNotFound && !refused.Has(7000) && !refused.Has(7003)
}

// within are the properties of an object with the parts of its path, which the API need not repeat.
func (c calls) within(at address, have object) object {
	for _, name := range c.PathAttrs() {
		if part := textAt(at.parts, name); part != "" && (name != c.ID || textAt(have, name) == "") {
			have[name] = part
		}
	}
	if list, alone := have[schema.Items]; alone && len(c.Root.Properties) == 1 { // the list in the only property that is given
		for name := range c.Root.Properties {
			delete(have, schema.Items)
			have[name] = list
		}
	}
	for name, n := range c.Root.Properties { // some are described as text and shown so, and given as true and false
		if text := have[name]; n.Types == "b" && (text == "true" || text == "false") {
			have[name] = text == "true"
		}
	}
	return have
}

// perPage is what listings are asked for; they may give fewer.
const perPage = 50

// list are the objects of a collection, as far as its listing shows them.
func (c calls) list(ctx context.Context, cloud contract.Cloud, at address) iter.Seq2[object, error] {
	at.parts = maps.Clone(at.parts)
	delete(at.parts, c.ID)
	return func(yield func(object, error) bool) {
		var cycle cloudflare.Cycle
		cursor := ""
		for page := 1; ; page++ {
			query := url.Values{}
			switch {
			case c.List.Pages == "page":
				query = url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(perPage)}}
			case cursor != "":
				query.Set("cursor", cursor)
			}
			path := c.path(at)
			if len(query) > 0 {
				path += "?" + query.Encode()
			}
			answer, err := send(ctx, cloud, c.List, path, nil)
			found, _ := inside(c.List, answer).([]any)
			if err == nil && len(found) > 0 && page > 1 {
				err = cycle.Check(found)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range found {
				if have, ok := e.(object); ok && !c.isGone(have) && !yield(c.within(at, have), nil) {
					return
				}
			}
			more, next := further(answer, len(found))
			if c.List.Pages == "page" && !more || c.List.Pages != "page" && (next == "" || c.List.Pages == "") {
				return
			}
			cursor = next
		}
	}
}

// further reads from an answer whether its listing goes on, and from where.
func further(answer any, found int) (more bool, cursor string) {
	whole, _ := answer.(object)
	info, _ := whole["result_info"].(object)
	number := func(name string) int {
		n, _ := strconv.Atoi(textAt(info, name))
		return n
	}
	each, total := number("per_page"), number("total_count")
	more = found > 0 && each > 0 && found >= each && (total == 0 || number("page")*each < total)
	cursors, _ := info["cursors"].(object)
	for _, at := range []string{textAt(info, "cursor"), textAt(cursors, "after"), textAt(whole, "cursor"), textAt(whole, "next")} {
		if at != "" {
			return more, at
		}
	}
	return more, ""
}

// absent turns the API's word that there is none, and nothing else, into ErrAbsent.
func absent(err error) error {
	if isMissing(err) {
		return fmt.Errorf("%w: %w", reconcile.ErrAbsent, err)
	}
	return err
}
