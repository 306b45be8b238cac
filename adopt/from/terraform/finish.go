package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// mostRefused bounds how many props of an object a kind may refuse.
const mostRefused = 40

// finish checks what is declared with the kind. What it refuses is not declared, and noted.
func (d *draft) finish(o *object) {
	if closing, ok := closings[o.line.hook]; ok {
		if closing(d, o); o.failed != "" {
			return // it became a part of another object
		}
	}
	facts := d.factsOf(o.kind)
	for range mostRefused {
		declared, _ := literal(o.props).(map[string]any)
		err := facts.kind.Decode(&reconcile.Job{Address: "a", Props: declared})
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[props.Errors](err)
		if !ok || len(wrong) == 0 {
			o.failed = "the kind refuses what the state says: " + err.Error()
			break
		}
		if !o.drop(wrong) {
			o.failed = fmt.Sprintf("%s: %s", wrong[0].Path, wrong[0].Problem)
			break
		}
	}
	if o.failed != "" {
		d.entry(o.inst, from.Unmapped, o.failed)
	}
}

// drop takes away what the kind refuses. False: there was nothing to take away.
func (o *object) drop(wrong props.Errors) bool {
	dropped := false
	for _, e := range wrong {
		if _, there := tree.Get(o.props, e.Path); !there || e.Path == "" {
			continue
		}
		rest, ok := tree.Without(o.props, e.Path).(map[string]any)
		if !ok {
			continue
		}
		o.props, dropped = rest, true
		if o.look == "" {
			o.look = fmt.Sprintf("its %s is not declared, since the kind refuses it: %s", e.Path, e.Problem)
		}
		o.notes = append(o.notes, from.Note{
			Field: o.inst.address() + ": " + string(e.Path), Outcome: from.Unsupported, Text: "the kind refuses it: " + e.Problem,
		})
	}
	return dropped
}

// literal is a value with paths as text.
func literal(v any) any {
	return tree.Map(v, func(leaf any) any {
		if path, ok := leaf.(from.Path); ok {
			return string(path)
		}
		return leaf
	})
}

// learn notes the values that the attributes of an object have.
func (d *draft) learn(o *object) {
	last := norm(o.kind[strings.LastIndexAny(o.kind, ".:")+1:])
	facts := d.factsOf(o.kind)
	for _, attr := range facts.attrs {
		if template, ok := o.line.known[attr]; ok {
			if v := filled(template, o.inst); v != "" {
				o.known[attr] = v
			}
			continue
		}
		name := norm(attr)
		if _, input := facts.inputs[attr]; input && name != "name" && !strings.HasSuffix(name, last+"name") && name != last+"identifier" {
			continue // it says what the object refers to, and not what it is
		}
		if of := strings.TrimSuffix(strings.TrimSuffix(name, "id"), "arn"); of != name && !strings.HasPrefix(name, last) && facts.hasInput(of) {
			continue // as zoneId does beside the prop zone
		}
		if text, ok := o.props[attr].(string); ok && text != "" {
			o.known[attr] = text
		}
		if o.suffix != "" || o.known[attr] != "" {
			continue
		}
		short := strings.TrimPrefix(name, last)
		for field, v := range o.inst.attrs {
			text, ok := v.(string)
			if !ok || text == "" || !isNorm(field, name) && (short == name || !isNorm(field, short)) {
				continue
			}
			o.known[attr] = text
			if isNorm(field, name) {
				break
			}
		}
		id := o.inst.text("id")
		switch {
		case o.known[attr] != "":
		case (short == "arn" || name == "arn") && strings.HasPrefix(id, "arn:"), name == "id":
			o.known[attr] = id
		}
	}
	for attr, v := range o.known {
		if len(v) > 2048 || strings.TrimSpace(v) == "" {
			delete(o.known, attr)
		}
	}
}

// shortType is a type without its provider: lambda-function of aws_lambda_function, Queue of AWS::SQS::Queue.
func shortType(typ string) string {
	if at := strings.LastIndex(typ, "::"); at >= 0 {
		return segment(typ[at+2:], "resource")
	}
	_, rest, ok := strings.Cut(typ, "_")
	if !ok {
		rest = typ
	}
	return segment(rest, "resource")
}

// segment makes a part of an address of a name: letters, digits, - and _, a letter first, at most 40.
func segment(name, fallback string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	text := strings.Trim(b.String(), "-_")
	if text == "" {
		return fallback
	}
	if c := text[0] | 0x20; c < 'a' || c > 'z' {
		return fallback + "-" + text
	}
	return text
}

// deepestScope bounds how many modules stand in an address; deeper ones share a scope with a number.
const deepestScope = 3

// scopeOf is the scope of a module: a/b-x for module.a.module.b["x"].
func scopeOf(module string) string {
	var parts []string
	for _, step := range moduleSteps(module) {
		parts = append(parts, segment(step, "module"))
	}
	if len(parts) > deepestScope {
		parts = append(parts[:deepestScope-1], parts[len(parts)-1])
	}
	return strings.Join(parts, "/")
}

// moduleSteps are the names in a module's path, with their keys. Dots and brackets in keys are in quotes.
func moduleSteps(module string) []string {
	var steps []string
	for module != "" {
		module = strings.TrimPrefix(strings.TrimPrefix(module, "."), "module.")
		end, quoted := len(module), false
		for i := 0; i < len(module); i++ {
			if module[i] == '\\' && quoted {
				i++
				continue
			}
			if module[i] == '"' {
				quoted = !quoted
			}
			if module[i] == '.' && !quoted {
				end = i
				break
			}
		}
		steps = append(steps, module[:end])
		module = module[end:]
	}
	return steps
}

// keyText is the key of an instance as a key of an address, "" where it has none.
func keyText(key any) string {
	text := textOf(key)
	if n, ok := key.(json.Number); ok {
		text = n.String()
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	if b.Len() == 0 && key != nil {
		return "key"
	}
	return b.String()
}

// name4all gives every object its address: the resource's name, with the type where several of a scope have it.
func (d *draft) name4all() {
	types := map[string][]string{}
	all := append(slices.Clone(d.objects), d.reads...)
	for _, o := range all {
		at := scopeOf(o.inst.module) + "\x00" + segment(o.inst.name, "resource")
		kind := o.inst.module + "\x00" + o.inst.typ + o.suffix + fmt.Sprint(o.inst.data)
		if o.suffix == "" && !slices.Contains(types[at], kind) {
			types[at] = append(types[at], kind)
		}
	}
	counts := map[string]int{}
	for _, o := range all {
		counts[o.inst.resource()+o.suffix]++
	}
	reserved := []string{"stage", "stack", "config", "secret", "ref", "each"}
	bases := map[string]string{}
	for _, o := range all {
		scope, name := scopeOf(o.inst.module), segment(o.inst.name, "resource")
		of := o.inst.resource() + o.suffix
		base, ok := bases[of]
		if !ok {
			base = name
			if len(types[scope+"\x00"+name]) > 1 || slices.Contains(reserved, name) {
				base = shortType(o.inst.typ) + "-" + name
			}
			if o.suffix != "" {
				base += "-" + o.suffix
			}
			base = d.free(strings.TrimPrefix(scope+"/"+base, "/"), "")
			bases[of] = base
		}
		if o.inst.key == nil || counts[of] == 1 && isNumber(o.inst.key) {
			o.address = d.freeOnce(base, bases, of)
			continue
		}
		o.address = d.free(base, keyText(o.inst.key))
	}
}

func isNumber(key any) bool { _, ok := key.(json.Number); return ok }

// freeOnce is a base as the address of the one object that it was made for.
func (d *draft) freeOnce(base string, bases map[string]string, of string) string {
	if bases[of+"\x00used"] == "" {
		bases[of+"\x00used"] = base
		return base
	}
	return d.free(base, "") // a state that names one object twice
}

// free is an address that nothing has, with a key where there is one.
func (d *draft) free(base, key string) string {
	with := func(n int) string {
		b, k := base, key
		if n > 1 && key == "" {
			b = fmt.Sprintf("%s-%d", base, n)
		}
		if n > 1 && key != "" {
			k = fmt.Sprintf("%s-%d", key, n)
		}
		if k != "" {
			return b + "[" + k + "]"
		}
		return b
	}
	for n := d.tried[with(1)] + 1; ; n++ {
		if address := with(n); !d.addresses[address] {
			d.addresses[address], d.tried[with(1)] = true, n
			return address
		}
	}
}
