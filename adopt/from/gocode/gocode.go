// Package gocode writes the stack that adopts what another tool has deployed as a Go program.
//
// It knows how a value of a tree looks as an expression of the Go type that a prop has, and in which order resources can be
// declared. The types come from the kinds; a resource that has no types, or whose values do not fit them, is declared by its
// kind's name. Names and texts of the source become string literals and nothing else. It makes no calls, and does not know the
// tools that stacks come from.
package gocode

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ErrCycle is matched by errors about resources that refer to each other: a program declares one after the other.
var ErrCycle = errors.New("they refer to each other, and a Go program declares one before the other")

// module is athanor's own module.
func module() string { return path.Dir(reflect.TypeFor[reconcile.Spec]().PkgPath()) }

// Go is the program that declares a stack, formatted, in a folder from which that of the source is at base. find gives the kind
// of a name.
func Go(s from.Stack, base string, find func(kind string) (reconcile.Any, error)) ([]byte, error) {
	var packages map[string]string
	for {
		w := &writer{stack: s, base: base, find: find, packages: map[string]string{}, reserved: packages}
		text, err := w.program()
		if err != nil {
			return nil, err
		}
		if maps.Equal(packages, w.packages) { // no variable has the name of a package
			return text, nil
		}
		packages = w.packages
	}
}

// writer writes one program.
type writer struct {
	stack from.Stack
	base  string
	find  func(string) (reconcile.Any, error)
	// packages are the imports, by path: the name of each. reserved are those that an earlier attempt needed.
	packages, reserved map[string]string
	taken              map[string]bool
	// entries are what is declared, by address; a resource with a For stands there once.
	entries map[string]*entry
	// variables are those of configs and secrets, by "config NAME" and "secret NAME", and of settings, by "provider NAME".
	variables map[string]string
	// used are the variables that something refers to.
	used map[string]bool
	// referred are those of the declaration at hand, until it is written.
	referred []string
	body     bytes.Buffer
}

// entry is a resource, or one that is read, as the program declares it.
type entry struct {
	from.Resource
	read bool
	// props and attrs are the Go types of its kind, nil where it is declared by the kind's name.
	props, attrs reflect.Type
	variable     string
	// each are the types of the values of a For, by name, as the props want them.
	each map[string]reflect.Type
}

// program is the whole file.
func (w *writer) program() ([]byte, error) {
	w.taken = map[string]bool{"s": true, "key": true, "each": true, "declare": true, "main": true, "init": true}
	for _, name := range w.reserved {
		w.taken[name] = true
	}
	w.entries, w.variables, w.used = map[string]*entry{}, map[string]string{}, map[string]bool{}
	order, err := w.ordered()
	if err != nil {
		return nil, err
	}
	var declared bytes.Buffer
	for _, e := range order {
		if err := w.declare(e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Address, err)
		}
	}
	if err := w.outputs(); err != nil {
		return nil, err
	}
	declared.Write(w.body.Bytes())
	w.body.Reset()
	if err := w.settings(); err != nil {
		return nil, err
	}
	head := w.body.String()
	var b bytes.Buffer
	b.WriteString("// This program declares what another tool has deployed. athanor adopt wrote it.\npackage main\n\nimport (\n")
	w.root()
	w.packages[module()+"/cmd"] = w.nameOfPackage(module() + "/cmd")
	paths := slices.Sorted(maps.Keys(w.packages))
	slices.SortStableFunc(paths, func(a, b string) int { return compareBool(strings.Contains(a, "."), strings.Contains(b, ".")) })
	for n, p := range paths {
		if n > 0 && strings.Contains(p, ".") && !strings.Contains(paths[n-1], ".") {
			b.WriteString("\n")
		}
		if name := w.packages[p]; name != path.Base(p) {
			b.WriteString(name + " ")
		}
		b.WriteString(strconv.Quote(p) + "\n")
	}
	fmt.Fprintf(&b, ")\n\nfunc main() { %s.Main(declare, %s.Stack(%q)) }\n\nfunc declare(s *athanor.Stack) error {\n",
		w.packages[module()+"/cmd"], w.packages[module()+"/cmd"], w.stack.Name)
	b.WriteString(head)
	for line := range strings.Lines(declared.String()) { // a variable that nothing refers to is none
		if name, rest, ok := strings.Cut(line, " := "); ok && w.isVariable(name) && !w.used[name] {
			line = rest
		}
		b.WriteString(line)
	}
	b.WriteString("return nil\n}\n")
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the program is none: %w", err)
	}
	return text, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// isVariable reports whether a line begins with the variable of a resource.
func (w *writer) isVariable(name string) bool {
	return name != "" && w.taken[name] && strings.TrimSpace(name) == name
}

// ordered are all entries, each after those that it refers to.
func (w *writer) ordered() ([]*entry, error) {
	var all []*entry
	for _, r := range w.stack.Reads {
		all = append(all, &entry{Resource: r, read: true})
	}
	for _, r := range w.stack.Resources {
		e := &entry{Resource: r}
		if err := w.typed(e); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Address, err)
		}
		all = append(all, e)
	}
	for _, e := range all {
		w.entries[e.Address] = e
		e.variable = w.unique(camel(e.Address))
	}
	var order []*entry
	state := map[*entry]int{} // 1: on the way, 2: done
	type step struct {
		e    *entry
		on   []*entry
		next int
	}
	for _, root := range all {
		if state[root] != 0 {
			continue
		}
		state[root] = 1
		way := []*step{{e: root, on: w.needs(root)}}
		for len(way) > 0 {
			at := way[len(way)-1]
			if at.next == len(at.on) {
				state[at.e] = 2
				order, way = append(order, at.e), way[:len(way)-1]
				continue
			}
			to := at.on[at.next]
			at.next++
			switch state[to] {
			case 0:
				state[to] = 1
				way = append(way, &step{e: to, on: w.needs(to)})
			case 1:
				return nil, fmt.Errorf("%s and %s: %w", at.e.Address, to.Address, ErrCycle)
			}
		}
	}
	return order, nil
}

// needs are the entries that one refers to, in the order of their addresses.
func (w *writer) needs(e *entry) []*entry {
	addresses := from.Referred(e.Props)
	for _, values := range e.For {
		addresses = append(addresses, from.Referred(values)...)
	}
	slices.Sort(addresses)
	var all []*entry
	for _, a := range slices.Compact(addresses) {
		if to, _ := w.entryOf(a); to != nil {
			all = append(all, to)
		}
	}
	return all
}

// entryOf is what stands at an address, and the key where that is one of several.
func (w *writer) entryOf(address string) (e *entry, key string) {
	if e = w.entries[address]; e != nil {
		return e, ""
	}
	base, key, _ := strings.Cut(address, "[")
	return w.entries[base], strings.TrimSuffix(key, "]")
}

// typed finds the Go types of a resource's kind. A kind of a schema has none.
func (w *writer) typed(e *entry) error {
	k, err := w.find(e.Kind)
	if err != nil {
		return err
	}
	spec := k.Spec()
	if spec.NewProps == nil || spec.NewAttrs == nil {
		return nil
	}
	p, a := reflect.TypeOf(spec.NewProps()).Elem(), reflect.TypeOf(spec.NewAttrs()).Elem()
	if p.Kind() == reflect.Struct && a.Kind() == reflect.Struct && strings.HasSuffix(p.Name(), "Props") && strings.HasPrefix(p.PkgPath(), module()+"/providers/") {
		e.props, e.attrs = p, a
	}
	return nil
}

// settings are those of providers, the configs and the secrets.
func (w *writer) settings() error {
	for _, name := range slices.Sorted(maps.Keys(w.stack.Providers)) {
		settings := maps.Clone(w.stack.Providers[name])
		if settings["use"] != nil || settings["terraform"] != nil {
			continue
		}
		text, err := w.expression(settings, reflect.TypeFor[map[string]any]())
		if err != nil {
			return fmt.Errorf("providers: %s: %w", name, err)
		}
		fmt.Fprintf(&w.body, "s = s.With(%q, %s)\n", name, text)
	}
	for _, name := range slices.Sorted(maps.Keys(w.stack.Providers)) {
		settings := maps.Clone(w.stack.Providers[name])
		of, ok := settings["use"].(string)
		if settings["terraform"] != nil {
			of, ok = "tf", true // the settings of a Terraform provider: kinds take those of the first word of their names
		}
		variable := w.variables["provider "+name]
		if !ok || variable == "" {
			continue
		}
		delete(settings, "use")
		text, err := w.expression(settings, reflect.TypeFor[map[string]any]())
		if err != nil {
			return fmt.Errorf("providers: %s: %w", name, err)
		}
		fmt.Fprintf(&w.body, "%s := s.With(%q, %s)\n", variable, of, text)
	}
	for _, name := range slices.Sorted(maps.Keys(w.stack.Config)) {
		text, err := w.expression(w.stack.Config[name], configType(w.stack.Config[name]))
		if err != nil {
			return fmt.Errorf("config %s: %w", name, err)
		}
		more := w.stack.Configured[name]
		for _, stage := range slices.Sorted(maps.Keys(more.Stages)) {
			value, err := w.expression(more.Stages[stage], configType(more.Stages[stage]))
			if err != nil {
				return fmt.Errorf("config %s: %w", name, err)
			}
			text += fmt.Sprintf("), athanor.ForStage(%q, %s", stage, value)
		}
		call := fmt.Sprintf("athanor.Config(s, %q, athanor.Default(%s))\n", name, text)
		w.comment(more.Description)
		if variable := w.variables["config "+name]; variable != "" {
			call = variable + " := " + call
		}
		w.body.WriteString(call)
	}
	for _, secret := range w.stack.Secrets {
		call := fmt.Sprintf("s.Secret(%q)\n", secret.Name)
		if variable := w.variables["secret "+secret.Name]; variable != "" {
			call = variable + " := " + call
		}
		w.body.WriteString(call)
	}
	if w.body.Len() > 0 {
		w.body.WriteString("\n")
	}
	return nil
}

// configType is the Go type that a config of a value has.
func configType(v any) reflect.Type {
	switch v.(type) {
	case string:
		return reflect.TypeFor[string]()
	case []any, []string:
		return reflect.TypeFor[[]string]()
	}
	return nil
}

// declare writes one declaration.
func (w *writer) declare(e *entry) error {
	if e.read {
		fmt.Fprintf(&w.body, "%s := %s.Read(%q, %q, %q)\n", e.variable, w.scope(e), e.Kind, e.Address, e.Adopt)
		return nil
	}
	packages, variables := maps.Clone(w.packages), maps.Clone(w.variables)
	call, err := w.call(e)
	if errors.Is(err, errUnfit) && e.props != nil {
		e.props, e.attrs, e.each, w.referred = nil, nil, nil, nil
		w.packages, w.variables = packages, variables
		call, err = w.call(e)
	}
	if err != nil {
		return err
	}
	defer w.refer()
	w.comment(e.Comment)
	if len(e.For) == 0 {
		fmt.Fprintf(&w.body, "%s := %s\n", e.variable, call)
		return nil
	}
	entries, typ, err := w.each(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.body, "%s := map[string]%s{}\n", e.variable, w.handleType(e))
	if typ == "" {
		fmt.Fprintf(&w.body, "for _, key := range %s {\n", entries)
	} else {
		fmt.Fprintf(&w.body, "for key, each := range map[string]%s%s {\n", typ, entries)
	}
	w.used[e.variable] = true
	fmt.Fprintf(&w.body, "%s[key] = %s\n}\n", e.variable, call)
	return nil
}

// comment writes a comment. What is not shown as it is has no place in one.
func (w *writer) comment(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line))
		if line != "" {
			w.body.WriteString("// " + line + "\n")
		}
	}
}

// refer notes what the declaration that was written refers to.
func (w *writer) refer() {
	for _, name := range w.referred {
		w.used[name] = true
	}
	w.referred = nil
}

// handleType is the type of what a constructor returns.
func (w *writer) handleType(e *entry) string {
	if e.props == nil {
		return w.root() + ".Resource"
	}
	return w.typeName(e.attrs)
}

// scope is the handle under which a resource is declared.
func (w *writer) scope(e *entry) string {
	if of := w.stack.Providers[e.Provider]; e.Provider == "" || of["use"] == nil && of["terraform"] == nil {
		return "s"
	}
	key := "provider " + e.Provider
	if w.variables[key] == "" {
		w.variables[key] = w.unique(camel(e.Provider))
	}
	return w.variables[key]
}

// constructors are those of kinds that share their props with another kind, after which these are named.
var constructors = map[string]string{"cloudflare.UserToken": "NewUserToken"}

// call is the call of the constructor.
func (w *writer) call(e *entry) (string, error) {
	address := strconv.Quote(e.Address)
	if len(e.For) > 0 {
		e.each = map[string]reflect.Type{}
		address = strconv.Quote(e.Address+"[") + " + key + \"]\""
	}
	options := w.options(e)
	x := &expressing{writer: w, each: e.each}
	if e.props == nil {
		text, err := x.value(orEmpty(e.Props), reflect.TypeFor[map[string]any](), false)
		if err != nil {
			return "", err
		}
		return call(w.scope(e)+".Resource", append([]string{strconv.Quote(e.Kind), address, text}, options...)), nil
	}
	text, err := x.value(orEmpty(e.Props), e.props, false)
	if err != nil {
		return "", err
	}
	constructor := cmp.Or(constructors[e.Kind], "New"+strings.TrimSuffix(e.props.Name(), "Props"))
	return call(w.qualified(e.props.PkgPath(), constructor), append([]string{w.scope(e), address, text}, options...)), nil
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// call writes a call, with the arguments after the struct of the props on its last line.
func call(of string, arguments []string) string {
	return of + "(" + strings.Join(arguments, ", ") + ")"
}

// options are those of a resource, as calls.
func (w *writer) options(e *entry) []string {
	var all []string
	ns := w.root()
	switch {
	case len(e.For) > 0 && slices.ContainsFunc(slices.Collect(maps.Values(e.For)), func(v map[string]any) bool { return v["adopt"] != nil }):
		e.each["adopt"] = reflect.TypeFor[string]()
		all = append(all, ns+".Adopt(each.adopt)")
	case len(e.For) == 0 && e.Adopt != "":
		all = append(all, fmt.Sprintf("%s.Adopt(%q)", ns, e.Adopt))
	}
	var others []string
	for _, address := range e.DependsOn {
		to, key := w.entryOf(address)
		if to == nil || key != "" || len(to.For) == 0 {
			others = append(others, strconv.Quote(address))
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(to.For)) {
			others = append(others, strconv.Quote(address+"["+key+"]"))
		}
	}
	if len(others) > 0 {
		all = append(all, call(ns+".DependsOn", others))
	}
	if len(e.IgnoreChanges) > 0 {
		var paths []string
		for _, path := range e.IgnoreChanges {
			paths = append(paths, strconv.Quote(path))
		}
		all = append(all, call(ns+".IgnoreChanges", paths))
	}
	return all
}

// each are the entries of a For and the type of their values, "" where they are keys alone.
func (w *writer) each(e *entry) (entries, typ string, err error) {
	keys := slices.Sorted(maps.Keys(e.For))
	names := slices.Sorted(maps.Keys(e.each))
	var lines, fields []string
	if len(names) == 0 {
		for _, key := range keys {
			lines = append(lines, strconv.Quote(key))
		}
		return composite("[]string", lines), "", nil
	}
	for _, name := range names {
		fields = append(fields, camel(name)+" "+w.typeName(e.each[name]))
	}
	for _, key := range keys {
		var values []string
		for _, name := range names {
			v, ok := e.For[key][name]
			if !ok || v == nil {
				continue
			}
			text, err := w.expression(v, e.each[name])
			if err != nil {
				return "", "", fmt.Errorf("for: %s: %s: %w", key, name, err)
			}
			values = append(values, camel(name)+": "+text)
		}
		lines = append(lines, strconv.Quote(key)+": "+composite("", values))
	}
	return "{\n" + strings.Join(lines, ",\n") + ",\n}", "struct{" + strings.Join(fields, "; ") + "}", nil
}

func (w *writer) outputs() error {
	for _, name := range slices.Sorted(maps.Keys(w.stack.Outputs)) {
		text, err := w.expression(w.stack.Outputs[name], nil)
		if err != nil {
			return fmt.Errorf("output %s: %w", name, err)
		}
		w.refer()
		fmt.Fprintf(&w.body, "s.Output(%q, %s)\n", name, text)
	}
	return nil
}

// qualified is a name of a package.
func (w *writer) qualified(pkg, name string) string { return w.nameOfPackage(pkg) + "." + name }

// root imports athanor's root package, and gives its name.
func (w *writer) root() string {
	w.packages[module()] = "athanor"
	return "athanor"
}

// nameOfPackage imports a package and gives the name that it has in the program.
func (w *writer) nameOfPackage(pkg string) string {
	if name := w.packages[pkg]; name != "" {
		return name
	}
	name := path.Base(pkg)
	for slices.Contains(slices.Collect(maps.Values(w.packages)), name) || name == "athanor" && pkg != module() {
		name = path.Base(path.Dir(pkg)) + name
	}
	w.packages[pkg] = name
	return name
}

// typeName is a type as the program writes it.
func (w *writer) typeName(t reflect.Type) string {
	switch {
	case t == nil || t.Kind() == reflect.Interface && t.Name() == "":
		return "any"
	case t.PkgPath() == reflect.TypeFor[token.Int]().PkgPath() || t == reflect.TypeFor[props.Size](): // the root names them too
		return w.root() + "." + t.Name()
	case t.PkgPath() != "":
		return w.qualified(t.PkgPath(), t.Name())
	case t.Name() != "":
		return t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + w.typeName(t.Elem())
	case reflect.Slice:
		return "[]" + w.typeName(t.Elem())
	case reflect.Map:
		return "map[" + w.typeName(t.Key()) + "]" + w.typeName(t.Elem())
	}
	return t.String()
}

// unique makes a variable that nothing else has the name of.
func (w *writer) unique(name string) string {
	one := name
	for n := 2; w.taken[one] || isReserved(one); n++ {
		one = name + strconv.Itoa(n)
	}
	w.taken[one] = true
	return one
}

// camel makes an identifier of any text: subnetA of net/subnet-a.
func camel(text string) string {
	text = text[strings.LastIndexByte(text, '/')+1:]
	var b strings.Builder
	upper := false
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' && b.Len() > 0:
			letter := string(r)
			if upper {
				letter = strings.ToUpper(letter)
			}
			if b.Len() == 0 {
				letter = strings.ToLower(letter)
			}
			b.WriteString(letter)
			upper = false
		default:
			upper = b.Len() > 0
		}
	}
	if b.Len() == 0 {
		return "value"
	}
	return b.String()
}
