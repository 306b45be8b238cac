package tree

import "regexp"

// numberLike are decimals with an exponent, and whole numbers in other bases.
var numberLike = regexp.MustCompile(`^[-+]?(0(x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)|(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+)$`)

// NumberLike reports whether text has the form of a number that parsers of YAML read as text when it does not fit: 580e8454. A stack
// that has it as text has it in quotes.
func NumberLike(text string) bool { return numberLike.MatchString(text) }
