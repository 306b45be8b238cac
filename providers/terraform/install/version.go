package install

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

// Constraint says which versions of a provider may run, as Terraform writes it: "~> 3.1", ">= 2, < 4", "!= 3.0.1". The zero value
// lets all versions be that are no preview.
type Constraint []condition

// condition is one comparison. Its version is written as semver has it, v3.1.0.
type condition struct {
	operator, version, below string
	exact                    bool // it names a preview
}

var errConstraint = errors.New(`want versions such as "~> 3.1", ">= 2, < 4" or "3.1.2"`)

// ParseConstraint reads a constraint. "" is none.
func ParseConstraint(text string) (Constraint, error) {
	var c Constraint
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		one, err := parseCondition(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", text, err)
		}
		c = append(c, one)
	}
	return c, nil
}

func parseCondition(text string) (condition, error) {
	number := strings.TrimLeft(text, "=!<>~")
	c := condition{operator: text[:len(text)-len(number)]}
	number = strings.TrimSpace(number)
	if c.operator == "" {
		c.operator = "="
	}
	switch c.operator {
	case "=", "!=", ">", ">=", "<", "<=", "~>":
	default:
		return c, errConstraint
	}
	given := strings.Split(strings.SplitN(number, "-", 2)[0], ".")
	c.version = semver.Canonical("v" + number) // it fills up what is missing, and takes no leading zeros
	if c.version == "" || len(given) > 3 {
		return c, errConstraint
	}
	c.exact = semver.Prerelease(c.version) != ""
	if c.operator != "~>" || len(given) == 1 {
		if c.operator == "~>" {
			c.operator = ">="
		}
		return c, nil
	}
	// The last number that is given may grow: the one before it is the first that may not.
	fixed := given[:len(given)-1]
	last, err := strconv.ParseUint(fixed[len(fixed)-1], 10, 31)
	if err != nil {
		return c, errConstraint
	}
	c.below = semver.Canonical("v" + strings.Join(append(append([]string(nil), fixed[:len(fixed)-1]...), strconv.FormatUint(last+1, 10)), "."))
	return c, nil
}

// Allows reports whether a version may run. A preview must be named exactly.
func (c Constraint) Allows(version string) bool {
	v := "v" + version
	if !isVersion(version) {
		return false
	}
	named := semver.Prerelease(v) == ""
	for _, one := range c {
		if !one.allows(v) {
			return false
		}
		named = named || one.exact && one.operator == "=" && semver.Compare(v, one.version) == 0
	}
	return named
}

func (c condition) allows(v string) bool {
	order := semver.Compare(v, c.version)
	switch c.operator {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	}
	return order >= 0 && semver.Compare(v, c.below) < 0
}

// isVersion reports whether a text is a whole version, such as 3.1.2: it becomes part of file names.
func isVersion(text string) bool {
	v := "v" + text
	return semver.IsValid(v) && semver.Canonical(v)+semver.Build(v) == v
}

// newer compares two versions.
func newer(a, b string) int { return semver.Compare("v"+a, "v"+b) }
