package render

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports what a terminal could obey or what changes how others are read: control characters, direction and
// other format characters, line separators. The joiners of scripts and emoji are not.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\u200c', r == '\u200d', r == '\u00ad':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// workflow finds what the log of a CI system is read for: GitHub trims a line before it looks for ::, and takes ##[
// anywhere in one; Azure and TeamCity have their own words behind ##.
var workflow = regexp.MustCompile(`(?m)^[\s\p{Z}]*::[A-Za-z]|##(?:vso|teamcity)?\[`)

// Drawing finds what this package itself says to a terminal.
var Drawing = regexp.MustCompile(`\x1b\[(?:[0-9;]*m|[0-9]+A|K|J|\?7[hl])|\r`)

// clean is a text from outside as it may stand in any line: without what a terminal obeys, and without what a CI system
// takes for a command. Lines that begin with one stand behind a bar, since spaces alone are trimmed.
func clean(text string) string {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
		var b strings.Builder
		for _, r := range text {
			if hidden(r) {
				r = utf8.RuneError
			}
			b.WriteRune(r)
		}
		text = b.String()
	}
	if !strings.Contains(text, "::") && !strings.Contains(text, "##") || !workflow.MatchString(text) {
		return text
	}
	return workflow.ReplaceAllStringFunc(text, func(command string) string {
		if strings.HasPrefix(command, "##") {
			return "## " + command[2:]
		}
		at := strings.LastIndex(command, "::")
		return command[:at] + "| " + command[at:]
	})
}

// Escaped is a text in which what a terminal or a CI system obeys is written as an escape (\u202e).
func Escaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case hidden(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return workflow.ReplaceAllStringFunc(b.String(), func(command string) string {
		if strings.HasPrefix(command, "##") {
			return `#\x23` + command[2:]
		}
		at := strings.LastIndex(command, "::")
		return command[:at] + `\x3a` + command[at+1:]
	})
}

// SafeJSON is JSON in which hidden characters are escaped. It has the same values: outside of strings there are none.
func SafeJSON(data []byte) []byte {
	if allPlain(data) {
		return data
	}
	isHidden := func(r rune) bool { return r != '\r' && hidden(r) }
	if !bytes.ContainsFunc(data, isHidden) && !bytes.Contains(data, []byte("##")) {
		return data
	}
	var b bytes.Buffer
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '#' && i > 0 && data[i-1] == '#':
			b.WriteString(`\u0023`)
		case !hidden(r) || r < ' ':
			b.Write(data[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.Bytes()
}

// allPlain reports whether a text has nothing that is escaped or cleaned, as nearly all have. It may miss one that has nothing.
func allPlain[T string | []byte](text T) bool {
	var last byte
	for i := range len(text) {
		c := text[i]
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f || c == last && (c == '#' || c == ':') {
			return false
		}
		last = c
	}
	return true
}

// cleaned is a document whose own texts are clean. Values of props and outputs, which can be anything, are shown by
// [Style.Value] and stay.
func cleaned[T any](document T) T {
	v := reflect.ValueOf(&document).Elem()
	if !dirty(v) {
		return document
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(cleanValue(v))
	return copied.Interface().(T) //nolint:forcetypeassert // it was made of that type
}

// dirty reports whether cleaning would change a value.
func dirty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		return !allPlain(text) && clean(text) != text
	case reflect.Pointer:
		return !v.IsNil() && dirty(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if dirty(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() { //nolint:modernize // the iterator allocates for each struct
			if field := v.Field(i); field.CanInterface() && dirty(field) { // else it is not exported
				return true
			}
		}
	case reflect.Map:
		if v.Len() == 0 {
			return false
		}
		for it := v.MapRange(); it.Next(); {
			if dirty(it.Key()) || dirty(it.Value()) {
				return true
			}
		}
	default:
	}
	return false
}

func cleanValue(v reflect.Value) reflect.Value {
	if !dirty(v) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(clean(v.String()))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(cleanValue(v.Elem()))
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(cleanValue(v.Index(i)))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleanValue(v.Field(i)))
			}
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(cleanValue(it.Key()), cleanValue(it.Value()))
		}
	default:
		out.Set(v)
	}
	return out
}
