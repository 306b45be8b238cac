package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// object is a type of a package, with how many methods and fields it has.
type object struct {
	name            string
	methods, fields int
}

// objects returns the types that have methods. Types without any are documents: their fields are data.
func objects(p *packages.Package, files []*ast.File) []object {
	var out []object
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() || !declaredIn(p, files, tn.Pos()) {
			continue
		}
		named, ok := tn.Type().(*types.Named)
		if !ok || named.NumMethods() == 0 {
			continue
		}
		o := object{name: name, methods: named.NumMethods()}
		if s, ok := named.Underlying().(*types.Struct); ok {
			o.fields = s.NumFields()
		}
		out = append(out, o)
	}
	return out
}

func declaredIn(p *packages.Package, files []*ast.File, pos token.Pos) bool {
	name := p.Fset.Position(pos).Filename
	return slices.ContainsFunc(files, func(f *ast.File) bool { return p.Fset.Position(f.Package).Filename == name })
}

// function is a declared function, with how many lines it has.
type function struct {
	where, name string
	lines       int
}

func longFunctions(p *packages.Package, files []*ast.File) []function {
	var out []function
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				from, to := p.Fset.Position(fn.Pos()), p.Fset.Position(fn.End())
				where := fmt.Sprintf("%s/%s:%d", p.Name, filepath.Base(from.Filename), from.Line)
				out = append(out, function{where, fn.Name.Name, to.Line - from.Line + 1})
			}
		}
	}
	return out
}

// arrowsBetween counts the pairs of files of which one uses a declaration of the other, and how many of these arrows run
// backwards in an order of the files that has few such arrows: sources first, then by out-degree less in-degree (the greedy
// order of Eades, Lin and Smyth).
func arrowsBetween(p *packages.Package, files []*ast.File) (all, backwards int) {
	to := map[string]map[string]bool{}
	for _, f := range files {
		to[p.Fset.Position(f.Package).Filename] = map[string]bool{}
	}
	for id, o := range p.TypesInfo.Uses {
		if o.Pkg() != p.Types || !o.Pos().IsValid() || local(p, o) {
			continue
		}
		from, at := p.Fset.Position(id.Pos()).Filename, p.Fset.Position(o.Pos()).Filename
		if from != at && to[from] != nil && to[at] != nil {
			to[from][at] = true
		}
	}
	place := map[string]int{}
	for i, f := range order(to) {
		place[f] = i
	}
	for from, targets := range to {
		for at := range targets {
			all++
			if place[from] > place[at] {
				backwards++
			}
		}
	}
	return all, backwards
}

// local reports that an object is a variable of a function.
func local(p *packages.Package, o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && !v.IsField() && v.Parent() != p.Types.Scope()
}

// order returns the files so that few arrows run backwards.
func order(to map[string]map[string]bool) []string {
	left := map[string]bool{}
	for f := range to {
		left[f] = true
	}
	degree := func(f string) (in, out int) {
		for g := range left {
			if to[f][g] {
				out++
			}
			if to[g][f] {
				in++
			}
		}
		return in, out
	}
	var head, tail []string
	for len(left) > 0 {
		best, bestScore, sink := "", -1<<30, ""
		for _, f := range sorted(left) {
			in, out := degree(f)
			if out == 0 && sink == "" {
				sink = f
			}
			if score := out - in; in == 0 && best == "" || score > bestScore {
				best, bestScore = f, score
			}
		}
		if sink != "" {
			tail = append(tail, sink)
			delete(left, sink)
			continue
		}
		head = append(head, best)
		delete(left, best)
	}
	slices.Reverse(tail)
	return append(head, tail...)
}

func sorted(set map[string]bool) []string {
	var out []string
	for f := range set {
		out = append(out, f)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
