// Package token stands in for values that are known later.
//
// A token is text inside a string, such as ⟦orders.arn⟧. It carries its whole meaning, so that no table
// exists anywhere: it can be joined, formatted, quoted, marshalled and written through templates, and is
// found again by [Scan]. When the values are known, [Resolve] puts them in.
//
// Values are safe from being read as tokens: what a lookup returns is put in as it is and never scanned
// again, so brackets in a value stay brackets. A literal in a program cannot hold the brackets of tokens.
//
// Comparing a token with == cannot be noticed. Measuring, cutting, hashing and encoding one is noticed in two
// ways: Scan knows the traces of an encoded or damaged token, and a program that is evaluated once with each
// [Spelling] must give the same [Canonical] tree.
//
// The package knows how tokens are written and what a tree with values in it must look like. It does not know
// which addresses exist, what their values are, or when they become known.
package token

import "github.com/athanor-dev/athanor/reconcile/tree"

// Op says what a token stands for.
type Op string

const (
	// OpRef is an attribute of another resource.
	OpRef Op = "ref"
	// OpSecret is a secret by name.
	OpSecret Op = "secret"
	// OpJSON is canonical JSON text of a tree that may hold tokens.
	OpJSON Op = "json"
	// OpURL is a URL with its parts escaped.
	OpURL Op = "url"
	// OpStack is an output of another stack.
	OpStack Op = "stack"
	// OpThen is what a function of the program makes of a tree that may hold tokens.
	OpThen Op = "then"
)

// Ref names an attribute.
type Ref struct {
	// Address of the resource: segments [A-Za-z][A-Za-z0-9_-]* joined by "/", the last one maybe with a key
	// [A-Za-z0-9_.-]+ in brackets.
	Address string
	// Path in the attributes; "" is all of them.
	Path tree.Path
	// Spread says that the value is a list whose elements take the place of the token.
	Spread bool
}

// String is the reference as people write it: orders.arn.
func (r Ref) String() string { return refText(r) }

// Stack names one stage of another stack.
type Stack struct {
	// Name of the stack, and its stage.
	Name, Stage string
	// Store is where its record is, as the program writes it; "" is where this stack's own is.
	Store string
}

// String is the stack as people write it: network/prod.
func (s Stack) String() string { return s.Name + "/" + s.Stage }

// Expr is what a token means.
type Expr struct {
	Op Op
	// Ref is set for OpRef. For OpStack its path begins with the name of the output, and it has no address.
	Ref Ref
	// Stack is set for OpStack.
	Stack Stack
	// Name is the name of the secret, or the id of the function.
	Name string
	// Input is the template of OpJSON, or the input of OpThen: a tree whose tokens are spelt Plain.
	Input any
	// Format and Args are those of OpURL; Args are as in a tree.
	Format string
	Args   []any
}

// User is an argument of [Spelling.URL] for the part before the @: name and password, each escaped.
type User struct{ Name, Password string }

// Part is literal text, or a token when Expr is set.
type Part struct {
	Text string
	Expr *Expr
}

// Use is a reference and where it stands. Equal references of what one [Parser] has read are one object, which nobody changes.
type Use struct {
	Ref *Ref
	At  tree.Path
}

// Value is what a lookup knows of an expression.
type Value struct {
	// Any is a tree, put in by reference: neither side may change it afterwards.
	Any any
	// Unknown says that the value is not known yet.
	Unknown bool
	// Secret says that whatever holds the value is secret.
	Secret bool
}

// Lookup finds the value of a reference, a secret, an output of another stack or a function. The Input of an OpThen is resolved; a
// function is not asked while its input is unknown.
type Lookup func(Expr) (Value, error)

// Resolved is a tree with the values in it.
type Resolved struct {
	// Tree shares lists and maps with the values that were looked up, and with the tree that it was made from where that
	// holds no tokens: none of them may be changed.
	// A string of an unknown path keeps its unknown tokens, spelt Plain, between the parts that are known.
	// Such a string is for showing; the next Resolve starts from the first tree again.
	Tree any
	// Unknown and Secret are the paths of strings, lists or maps that are so; nil when there are none.
	Unknown, Secret map[tree.Path]bool
}

// Error says where in a tree something is wrong. It never holds a value.
type Error struct {
	Path tree.Path
	Err  error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return string(e.Path) + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// DamagedError says that a string holds a token, or the trace of one, that was cut, changed or encoded.
type DamagedError struct {
	// At is the offset in bytes.
	At int
	// Why says what was found, without text from the string.
	Why string
}

func (e *DamagedError) Error() string { return "a damaged reference: " + e.Why }
