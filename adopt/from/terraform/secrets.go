package terraform

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// shortest is the length from which a secret is looked for inside other text, and in other objects. A shorter one
// could be any word.
const shortest = 8

// secrets are the values that are kept sealed.
type secrets struct {
	byValue map[string]*from.Secret
	inside  []string // those that are looked for inside text, the longest first
	names   map[string]bool
}

// add keeps a value. It has one name, whatever number of places it stood in.
func (s *secrets) add(value, name string, place from.SecretPlace) {
	if known := s.byValue[value]; known != nil {
		if !slices.Contains(known.Found, place) && len(known.Found) < 20 {
			known.Found = append(known.Found, place)
		}
		return
	}
	if len(value) >= shortest {
		at, _ := slices.BinarySearchFunc(s.inside, value, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		s.inside = slices.Insert(s.inside, at, value)
	}
	s.byValue[value] = &from.Secret{Name: unique(s.names, name), Value: value, Found: []from.SecretPlace{place}}
}

// unique makes a name of a config or secret that nothing has.
func unique(taken map[string]bool, name string) string {
	name = camel(name)
	for n := 1; ; n++ {
		text := name
		if n > 1 {
			text += strconv.Itoa(n)
		}
		if !taken[text] {
			taken[text] = true
			return text
		}
	}
}

// camel makes lowerCamelCase of any text.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		switch {
		case !letter && (r < '0' || r > '9'):
			upper = b.Len() > 0
		case b.Len() == 0 && !letter:
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
			upper = false
		case b.Len() == 0:
			b.WriteString(strings.ToLower(string(r)))
		default:
			b.WriteRune(r)
		}
		if b.Len() == 48 {
			break
		}
	}
	if b.Len() == 0 {
		return "value"
	}
	return b.String()
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(password|passwd|passphrase|secret|token|private_?key|api_?key|access_?key|credential|connection_?string|auth_?key|signing_?key|client_?secret|webhook_?url|dsn$|database_?url|redis_?url|mongo(db)?_?ur[il])`)
	})
	// plainName are names that hold a word of a secret and are none.
	plainName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(arn|_?id|name|public_?key|url_?path|ttl|validity|length|expir\w*|version|enabled|required|rotation\w*|region|type|policy|mode|endpoint|host|algorithm|access_?key_?id|token_?url|_path|file)$`)
	})
	// secretShape are texts that are secrets whatever their name is.
	secretShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(AKIA|ASIA)[0-9A-Z]{16}$|^gh[pousr]_[A-Za-z0-9]{30,}$|^github_pat_\w{40,}$|^glpat-[\w-]{20,}$|^xox[abprs]-[\w-]{10,}$|^[sr]k_(live|test)_\w{10,}$|^sk-[\w-]{20,}$|^AIza[\w-]{35}$|^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*$|^SG\.[\w-]{16,}\.[\w-]{16,}$|-----BEGIN [A-Z ]*PRIVATE KEY-----|^[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s:@]+@`)
	})
	someID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(arn:|[a-z]+-[0-9a-f]{8,17}$|https?://[^@]*$|[0-9a-f-]{36}$|[0-9]+$|\$\{|/)`)
	})
)

// hasSecretShape reports whether text has the form of a key, a token or a URL with a password. Most text is told by its beginning.
func hasSecretShape(text string) bool {
	may := strings.Contains(text, "PRIVATE KEY-----") || strings.Contains(text, "://") && strings.Contains(text, "@") ||
		slices.ContainsFunc(secretBeginnings[:], func(beginning string) bool { return strings.HasPrefix(text, beginning) })
	return may && secretShape().MatchString(text)
}

// secretBeginnings begin what secretShape takes for a secret by its beginning.
var secretBeginnings = [...]string{"AKIA", "ASIA", "gh", "glpat-", "xox", "sk", "rk_", "AIza", "eyJ", "SG."}

// whySecret says why a value at a prop is taken for a secret, "" where it is not.
func whySecret(name, value string) string {
	switch {
	case value == "" || len(value) > 1<<16:
		return ""
	case hasSecretShape(value):
		return "its form is that of a key, a token or a URL with a password"
	case secretName().MatchString(name) && !strings.ContainsAny(name, ".:/ ") && !plainName().MatchString(name) && len(value) >= 4 && !someID().MatchString(value) &&
		document(value) == nil && value != "true" && value != "false" && value != "null" && value != "none":
		return "the name " + strconv.Quote(name)
	case random(value) && !someID().MatchString(value):
		return "its entropy"
	}
	return ""
}

// random reports text that looks like it was made by chance: 24 letters and digits and more, of both cases, with
// more than four bits of entropy for each.
func random(text string) bool {
	if len(text) < 24 || len(text) > 512 {
		return false
	}
	var lower, upper, digits int
	var counts [128]int
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= '0' && c <= '9':
			digits++
		case c != '+' && c != '/' && c != '=' && c != '_' && c != '-' && c != '!' && c != '#' && c != '$' && c != '%' && c != '^' && c != '&' && c != '*':
			return false
		}
		counts[c&127]++
	}
	if lower < 3 || upper < 3 || digits < 3 {
		return false
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits > 4
}

// sensitiveValues are the texts that the state says are sensitive, with the attributes that they are of. What is no
// text and sensitive, such as a number, is given as text too, so that nothing shows it.
func (i *instance) sensitiveValues(found func(attr, value string)) {
	for _, path := range i.sensitive {
		var v any = i.attrs
		if path != "" {
			v = valueAt(i.attrs, path)
		}
		each(v, shownPath(path), found)
	}
}

// each visits the texts and numbers in a value.
func each(v any, at string, visit func(at, text string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			each(x, strings.TrimPrefix(at+"."+name, "."), visit)
		}
	case []any:
		for _, x := range v {
			each(x, at, visit)
		}
	case nil, bool:
	default:
		if text := textOf(v); text != "" {
			visit(at, text)
		}
	}
}

// secretsOf finds what is secret in what will be declared.
func (d *draft) secretsOf() *secrets {
	s := &secrets{byValue: map[string]*from.Secret{}, names: map[string]bool{}}
	used := map[string]bool{}
	var texts []string
	for _, o := range d.objects {
		tree.Walk(literal(o.props), func(_ tree.Path, v any) bool {
			if text, ok := v.(string); ok && !used[text] {
				used[text] = true
				texts = append(texts, text)
			}
			return true
		})
	}
	isUsed := func(value string) bool {
		return used[value] || len(value) >= shortest && slices.ContainsFunc(texts, func(t string) bool { return len(t) > len(value) && strings.Contains(t, value) })
	}
	for _, g := range d.values {
		if g.secret && len(g.value) >= 4 && isUsed(g.value) {
			s.add(g.value, g.inst.name+"-"+g.path, from.SecretPlace{Source: g.inst.address(), Path: g.path, Why: "the provider made it as a secret"})
		}
	}
	for _, i := range d.state.instances {
		i.sensitiveValues(func(attr, value string) {
			if isUsed(value) {
				s.add(value, i.name+"-"+attr[strings.LastIndexByte(attr, '.')+1:], from.SecretPlace{Source: i.address(), Path: attr, Why: "sensitive at its provider"})
			}
		})
	}
	for _, o := range d.objects {
		d.secretProps(s, o)
	}
	return s
}

// secretProps finds the secrets in the props of one object.
func (d *draft) secretProps(s *secrets, o *object) {
	secret := d.factsOf(o.kind).kind.Spec().SecretProps
	tree.Walk(o.props, func(p tree.Path, v any) bool {
		text, ok := v.(string)
		if !ok || s.byValue[text] != nil || d.state.given[text] || isAwaited(text) {
			return true
		}
		steps := p.Steps()
		name := ""
		if len(steps) > 0 {
			name = steps[len(steps)-1].Key
		}
		why := ""
		if slices.ContainsFunc(secret, p.Within) {
			why = "the prop is secret"
		} else if (o.kind != "AWS::EC2::KeyPair" || name != "PublicKeyMaterial") && name != "key" {
			why = whySecret(named(o.props, steps), text)
		}
		if why != "" {
			s.add(text, o.address[strings.LastIndexByte(o.address, '/')+1:]+"-"+named(o.props, steps), from.SecretPlace{Source: o.inst.address(), Path: string(p), Why: why})
		}
		return true
	})
}

// named is the name that a value has: the last key, or, of a list of names and values, the name beside it.
func named(root any, steps []tree.Step) string {
	if len(steps) == 0 {
		return ""
	}
	last := steps[len(steps)-1].Key
	if norm(last) != "value" {
		return last
	}
	at := root
	for _, s := range steps[:len(steps)-1] {
		switch v := at.(type) {
		case map[string]any:
			at = v[s.Key]
		case []any:
			if s.Index < 0 || s.Index >= len(v) {
				return last
			}
			at = v[s.Index]
		}
	}
	if m, ok := at.(map[string]any); ok {
		for _, name := range []string{"Name", "name", "Key", "key"} {
			if text, ok := m[name].(string); ok {
				return text
			}
		}
	}
	if len(steps) > 1 && steps[len(steps)-2].Key != "" { // TOKEN: {value: …}
		return steps[len(steps)-2].Key
	}
	return last
}

// hidden is text without the secrets in it, for reports.
func (s *secrets) hidden(text string) string {
	if s.byValue[text] != nil || hasSecretShape(text) {
		return from.Hidden
	}
	for _, value := range s.inside {
		if strings.Contains(text, value) {
			text = strings.ReplaceAll(text, value, from.Hidden)
		}
	}
	return text
}

// sealed is text with its secrets as references, and whether there are any.
func (s *secrets) sealed(text string) (any, bool) {
	if known := s.byValue[text]; known != nil {
		return from.SecretRef{Name: known.Name}, true
	}
	parts, found := []any{text}, false
	for _, value := range s.inside {
		parts, found = replaced(parts, value, from.SecretRef{Name: s.byValue[value].Name}, false, found)
		if of := s.byValue[value]; slices.ContainsFunc(parts, func(part any) bool { rest, ok := part.(string); return ok && strings.Contains(rest, value) }) {
			s.add(text, of.Name+"-text", of.Found[0]) // a reference cannot stand behind a $
			return from.SecretRef{Name: s.byValue[text].Name}, true
		}
	}
	if !found {
		return text, false
	}
	return from.Text{Parts: parts}, true
}

// replaced puts a value in the place of text in the literal parts. bounded: only where it stands by itself.
func replaced(parts []any, text string, by any, bounded, found bool) ([]any, bool) {
	if text == "" {
		return parts, found
	}
	var all []any
	for _, part := range parts {
		rest, ok := part.(string)
		if !ok {
			all = append(all, part)
			continue
		}
		done := ""
		for {
			at := strings.Index(rest, text)
			if at < 0 {
				break
			}
			end := at + len(text)
			before := done + rest[:at]
			if strings.HasSuffix(before, "$") || bounded && (wordAt(before, len(before)-1) || wordAt(rest, end)) {
				done, rest = before+text, rest[end:]
				continue
			}
			if before != "" {
				all = append(all, before)
			}
			all, rest, done, found = append(all, by), rest[end:], "", true
		}
		if rest = done + rest; rest != "" {
			all = append(all, rest)
		}
	}
	return all, found
}

// wordAt reports whether a letter, digit, - or _ stands at a place.
func wordAt(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
