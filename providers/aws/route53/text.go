package route53

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// hostOf is a domain name in one form: in lower case, without a dot at the end, and with * as itself.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DomainNameFormat.html
func hostOf(name string) string {
	if token.Has(name) {
		return name
	}
	return strings.ToLower(strings.TrimSuffix(unescaped(name), "."))
}

// unescaped reads \052 as what it stands for, the characters of three octal digits.
func unescaped(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := octal(s[i:]); ok {
			out.WriteByte(c)
			i += 3
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// octal is the character that s begins with when it is written as \ and three digits.
func octal(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int(c-'0')
	}
	return byte(n), n < 256
}

// valuesOf are values in one form: as Route 53 takes them, and sorted.
func valuesOf(kind string, values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = valueOf(kind, v)
	}
	slices.Sort(out)
	return out
}

// valueOf is one value as Route 53 takes it. Host names in it are folded: they are the same in any case, with or without
// a dot at the end.
func valueOf(kind, value string) string {
	if token.Has(value) {
		return value
	}
	switch kind {
	case "TXT", "SPF":
		return quoted(value)
	case "CNAME", "NS", "PTR":
		return hostOf(value)
	case "AAAA":
		if addr, err := netip.ParseAddr(value); err == nil {
			return addr.String()
		}
	case "MX", "SRV":
		fields := strings.Fields(value)
		if n := len(fields); n > 0 {
			fields[n-1] = hostOf(fields[n-1])
		}
		return strings.Join(fields, " ")
	}
	return strings.TrimSpace(value)
}

// longestText is what one text of a record holds; longer ones are split.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/ResourceRecordTypes.html
const longestText = 255

// quoted are the texts of a value in one form. What begins with a quote is read, anything else is one text.
func quoted(value string) string {
	var texts []string
	if strings.HasPrefix(value, `"`) {
		texts = textsIn(value)
	} else {
		for rest := value; rest != "" || texts == nil; {
			n := min(longestText, len(rest))
			texts, rest = append(texts, rest[:n]), rest[n:]
		}
	}
	for i, text := range texts {
		texts[i] = escaped(text)
	}
	return strings.Join(texts, " ")
}

// textsIn reads quoted texts with space between them.
func textsIn(value string) []string {
	var texts []string
	var text strings.Builder
	inside := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		code, isOctal := octal(value[i:])
		switch {
		case isOctal:
			text.WriteByte(code)
			i += 3
		case c == '\\' && i+1 < len(value):
			i++
			text.WriteByte(value[i])
		case c == '"' && inside:
			texts = append(texts, text.String())
			text.Reset()
			inside = false
		case c == '"':
			inside = true
		case inside:
			text.WriteByte(c)
		}
	}
	if inside { // a quote is missing, and the service will say so
		texts = append(texts, text.String())
	}
	return texts
}

// escaped is a text between quotes, with what is not plain as three octal digits.
func escaped(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c > '~':
			out.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
