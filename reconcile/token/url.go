package token

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// slot is the part of a URL in which an argument stands.
type slot int

const (
	slotNone slot = iota
	slotBase
	slotUser
	slotPassword
	slotHost
	slotPort
	slotText // path, query or fragment: percent-encoded
)

// userKey and passwordKey are how a User looks in a tree.
const userKey, passwordKey = "user", "password"

// urlArgs are the arguments as a tree, checked against the format.
func urlArgs(e Expr) ([]any, error) {
	_, slots, err := urlSlots(e.Format)
	if err != nil {
		return nil, err
	}
	if len(slots) != len(e.Args) {
		return nil, fmt.Errorf("a URL with %d %%s and %d arguments", len(slots), len(e.Args))
	}
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		if u, ok := a.(User); ok {
			a = map[string]any{userKey: u.Name, passwordKey: u.Password}
		}
		if args[i], err = tree.Of(a); err != nil {
			return nil, err
		}
		switch x := args[i].(type) {
		case string, int64, float64, bool:
		case map[string]any:
			if slots[i] != slotUser || !isUser(x) {
				return nil, fmt.Errorf("argument %d: a user and password stand before the @ of a URL", i+1)
			}
		default:
			return nil, fmt.Errorf("argument %d: want text, a number or a truth, have %s", i+1, kindOf(x))
		}
	}
	return args, nil
}

func isUser(m map[string]any) bool {
	_, name := m[userKey].(string)
	_, password := m[passwordKey].(string)
	return name && password && len(m) == 2
}

// urlSlots splits a format at its %s verbs and finds the part of the URL in which each stands.
func urlSlots(format string) (texts []string, slots []slot, err error) {
	if texts, err = splitFormat(format); err != nil {
		return nil, nil, err
	}
	if Has(format) {
		return nil, nil, errors.New("references are arguments of a URL, not part of its format")
	}
	marks := stands(texts, len(texts)-1)
	if len(texts) > 1 && texts[0] == "" {
		marks[0] = "base://host"
	}
	u, err := url.Parse(join(texts, marks))
	if err != nil || u.Scheme == "" || !strings.Contains(join(texts, marks), "://") {
		return nil, nil, errors.New("want the format of an absolute URL")
	}
	slots = make([]slot, len(marks))
	for i, mark := range marks {
		password, _ := u.User.Password()
		switch {
		case i == 0 && texts[0] == "":
			slots[i] = slotBase
		case strings.Contains(u.User.Username(), mark):
			slots[i] = slotUser
		case strings.Contains(password, mark):
			slots[i] = slotPassword
		case u.Port() != "" && strings.Contains(u.Port(), mark):
			slots[i] = slotPort
		case strings.Contains(u.Host, mark):
			slots[i] = slotHost
		case strings.Contains(u.Path+"?"+u.RawQuery+"#"+u.Fragment, mark):
			slots[i] = slotText
		default:
			return nil, nil, errors.New("a %s stands where no part of a URL is")
		}
	}
	return texts, slots, nil
}

// splitFormat cuts a format at its %s verbs. %% is a percent sign and %2F an escape of the URL itself.
func splitFormat(format string) ([]string, error) {
	texts := []string{""}
	for i := 0; i < len(format); i++ {
		last := &texts[len(texts)-1]
		rest := format[i+1:]
		switch {
		case format[i] != '%':
			*last += format[i : i+1]
		case strings.HasPrefix(rest, "s"):
			texts = append(texts, "")
			i++
		case strings.HasPrefix(rest, "%"):
			*last += "%25"
			i++
		case len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1]):
			*last += "%"
		default:
			return nil, errors.New("want only %s in the format of a URL")
		}
	}
	return texts, nil
}

// stands are n numbers that can stand for tokens in a URL, ports included, and occur nowhere in texts.
func stands(texts []string, n int) []string {
	all := strings.Join(texts, " ")
	marks := make([]string, 0, n)
	for next := 700001; len(marks) < n; next++ {
		if mark := strconv.Itoa(next); !strings.Contains(all, mark) {
			marks = append(marks, mark)
		}
	}
	return marks
}

func join(texts, between []string) string {
	var b strings.Builder
	for i, t := range texts {
		b.WriteString(t)
		if i < len(between) {
			b.WriteString(between[i])
		}
	}
	return b.String()
}

// fit escapes a known value for its slot.
func (s slot) fit(text string) (string, error) {
	switch s {
	case slotBase:
		u, err := url.Parse(text)
		if err != nil || u.Scheme == "" || u.Host == "" {
			return "", errors.New("want an absolute URL at the beginning")
		}
	case slotHost:
		if strings.IndexFunc(text, notHost) >= 0 {
			return "", errors.New("want a host, maybe with a port, and nothing else")
		}
	case slotPort:
		if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
			return "", errors.New("want a port from 1 to 65535")
		}
	default:
		return percent(text), nil
	}
	return text, nil
}

func notHost(r rune) bool {
	return r > 0x7f || !isKeyByte(byte(r)) && r != ':' && r != '[' && r != ']'
}

// percent escapes everything but the characters that no part of a URL gives a meaning.
func percent(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if isKeyByte(c) || c == '~' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// showURL is the URL with names where values will be.
func (e *Expr) showURL() string {
	texts, err := splitFormat(e.Format)
	if err != nil {
		return e.Format
	}
	values := make([]string, len(e.Args))
	for i, a := range e.Args {
		if m, ok := a.(map[string]any); ok {
			name, _ := m[userKey].(string)
			password, _ := m[passwordKey].(string)
			values[i] = showArg(name) + ":" + showArg(password)
			continue
		}
		values[i], _ = textOf(a)
		values[i] = showArg(values[i])
	}
	return join(texts, values)
}

func showArg(s string) string {
	parts, err := Scan(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Expr != nil {
			b.WriteString(p.Expr.show())
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
