package athanor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ErrNoConfig is matched by the error about a config that has no value.
var ErrNoConfig = errors.New("it has no value: none is given, and there is no default for the stage")

// ErrUnknownConfig is matched by the error about a value for a config that the program does not have.
var ErrUnknownConfig = errors.New("a value is given, but the program has no such config")

// ConfigType are the types that a config may have. On the command line a list is written a,b,c.
type ConfigType interface {
	string | int | bool | time.Duration | []string
}

// ConfigValue is a value that a config has when none is given. See [Default] and [ForStage].
type ConfigValue[T ConfigType] struct {
	stage string
	value T
}

// Default is the value in every stage that has none of its own.
func Default[T ConfigType](v T) ConfigValue[T] { return ConfigValue[T]{value: v} }

// ForStage is the value in one stage.
func ForStage[T ConfigType](stage string, v T) ConfigValue[T] { return ConfigValue[T]{stage, v} }

// configEntry is a config that the program asked for.
type configEntry struct {
	typ    reflect.Type
	source string
}

// Config is what the user sets with --config name=value; else the value for the stage, else the default. A
// config with none of them is an error.
//
//	domain := athanor.Config(s, "domain", athanor.Default("example.com"), athanor.ForStage("prod", "shop.example"))
func Config[T ConfigType](s *Stack, name string, values ...ConfigValue[T]) T {
	v, err := configured(s, name, values)
	e := configEntry{typ: reflect.TypeFor[T](), source: s.files.caller()}
	s.mu.Lock()
	other, twice := s.config[name]
	s.config[name] = e
	s.mu.Unlock()
	switch {
	case err != nil:
	case CheckName(name) != nil:
		err = CheckName(name)
	case twice && other.typ != e.typ:
		err = fmt.Errorf("asked for as %s and as %s: %s and %s", other.typ, e.typ, other.source, e.source)
	}
	t, bad := treeOf(v)
	if _, found := tokenIn(t); found {
		err = errLiteral
	}
	if err = cmp.Or(err, bad); err != nil {
		s.failAt("config "+name, e.source, err)
		return v
	}
	s.mu.Lock()
	s.graph.Config[name] = t
	s.mu.Unlock()
	return v
}

func configured[T ConfigType](s *Stack, name string, values []ConfigValue[T]) (T, error) {
	var zero T
	if text, given := GivenConfig(s.in.Config, name); given {
		v, err := ParseConfig(text, configWord(zero))
		if err != nil {
			return zero, err
		}
		return fromConfig[T](v), nil
	}
	best := -1
	for i, v := range values {
		if v.stage == s.in.Stage || v.stage == "" && best < 0 {
			best = i
		}
	}
	if best < 0 {
		return zero, reconcile.WithHint(ErrNoConfig, "--config %s=…", name)
	}
	return values[best].value, nil
}

// fromConfig turns what ParseConfig made into the Go value of the same type.
func fromConfig[T ConfigType](v any) T {
	var out T
	switch p := any(&out).(type) {
	case *string:
		*p, _ = v.(string)
	case *int:
		n, _ := v.(int64)
		*p = int(n)
	case *bool:
		*p, _ = v.(bool)
	case *time.Duration:
		text, _ := v.(string)
		*p, _ = token.ParseDuration(text) // ParseConfig has just written it
	case *[]string:
		list, _ := v.([]any)
		*p = make([]string, len(list))
		for i, x := range list {
			(*p)[i], _ = x.(string)
		}
	}
	return out
}

// configWord is how YAML names the type of a config.
func configWord(v any) string {
	switch v.(type) {
	case int:
		return "int"
	case bool:
		return "bool"
	case time.Duration:
		return "duration"
	case []string:
		return "list"
	}
	return "string"
}

// ParseConfig reads the value of a config as the command line gives it. The type is string, int, bool,
// duration or list, and the result is a tree: int64, bool, text (durations in their one form) or a list of
// text, which is written a,b,c.
func ParseConfig(text, typ string) (any, error) {
	if token.Has(text) {
		return nil, errLiteral
	}
	switch typ {
	case "string":
		return text, nil
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("want a whole number, have %q", text)
		}
		return n, nil
	case "bool":
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("want true or false, have %q", text)
		}
		return text == "true", nil
	case "duration":
		d, err := token.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%w, have %q", err, text)
		}
		return token.FormatDuration(d), nil
	case "list":
		list := []any{}
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("%q is no type of a config", typ)
}

// ConfigPrefix begins the variables that give values of configs.
const ConfigPrefix = "ATHANOR_CONFIG_"

// ConfigVariable is the variable that gives the value of a config: dbSize is ATHANOR_CONFIG_DB_SIZE.
func ConfigVariable(name string) string {
	var b strings.Builder
	letters := []rune(name)
	upper := func(i int) bool { return i < len(letters) && unicode.IsUpper(letters[i]) }
	for i, r := range letters {
		lowerNext := i+1 < len(letters) && unicode.IsLower(letters[i+1])
		switch {
		case r == '-':
			r = '_'
		case i > 0 && upper(i) && letters[i-1] != '-' && letters[i-1] != '_' && (!upper(i-1) || lowerNext):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return ConfigPrefix + b.String()
}

// GivenConfig finds the value that is given for a config: under its name, else under its variable.
func GivenConfig(given map[string]string, name string) (text string, ok bool) {
	if text, ok = given[name]; !ok {
		text, ok = given[ConfigVariable(name)]
	}
	return text, ok
}

// CheckConfig finds values that were given for configs which a program does not have; known are those that it
// has. Each error matches [ErrUnknownConfig]. A variable may be meant for another program.
func CheckConfig(given map[string]string, known []string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) || strings.HasPrefix(name, ConfigPrefix) {
			continue
		}
		err := fmt.Errorf("config %s: %w", name, ErrUnknownConfig)
		if near, ok := props.Nearest(name, known); ok {
			err = reconcile.WithHint(err, "did you mean %s?", near)
		} else if len(known) > 0 {
			err = reconcile.WithHint(err, "there is %s", strings.Join(known, ", "))
		} else {
			err = reconcile.WithHint(err, "leave the value out, or declare the config in the program")
		}
		errs = append(errs, err)
	}
	return errs
}
