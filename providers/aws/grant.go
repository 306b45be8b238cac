package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Grantee is a role that a stack declares, or something that runs as one: a function, whatever comes later.
// What is not declared by the stack cannot be granted anything.
type Grantee interface {
	// Granted is the stack that declares the grantee, nil for one that no constructor made, and the role that it runs as.
	Granted() (s *athanor.Stack, role ARN)
}

var errNothing = errors.New("a grant of nothing: name what is allowed, and on what")

// Grant allows actions on resources to a grantee: one more statement among the bindings of its role. Packages of services
// have methods over it, which know the actions and what else they need:
//
//	orders.Grant(fn, sqs.Send)
//
// The statement is named by the first resource and the actions; the same grant given twice is one. Whatever is wrong with
// a grant is told when the program has been evaluated, like other mistakes in it.
func Grant(to Grantee, actions []string, resources ...ARN) {
	s, role := to.Granted()
	switch {
	case s == nil:
		return // misuse that was reported when the grantee was declared, or a value that no constructor made
	case len(actions) == 0, len(resources) == 0:
		s.Fail(errNothing)
		return
	case !token.Has(string(role)):
		s.Fail(notOurs(role))
		return
	}
	statement := Statement{Sid: sidOf(actions, resources), Actions: actions}
	for _, r := range resources {
		statement.Resources = append(statement.Resources, string(r))
	}
	s.Bind(role, statement.Sid, statement)
}

// KeyUse says which actions of KMS the actions on an encrypted resource take, each a text with one or several.
type KeyUse map[string]string

// Grant allows the use of the key that encrypts a resource, for actions on it that are granted. The key is given as props give
// it: by its ARN, its id or an alias. Nothing is granted for none, and for those of AWS, whose policies allow it to everybody
// in the account.
func (u KeyUse) Grant(to Grantee, key string, actions []string) {
	var uses []string
	for _, action := range actions {
		uses = append(uses, u[action])
	}
	uses = Actions(uses...)
	s, role := to.Granted()
	if s == nil || len(uses) == 0 || key == "" || !token.Has(string(role)) {
		return // where something is wrong with the role, the grant on the resource said so
	}
	statement := Statement{Sid: sidOf(uses, []ARN{ARN(key)}), Actions: uses}
	resource, alias := keyOf(key)
	switch {
	case strings.HasPrefix(alias, "alias/aws/"):
		return
	case alias != "":
		// Policies name no alias as a resource: https://docs.aws.amazon.com/kms/latest/developerguide/alias-authorization.html
		statement.Resources = []string{"arn:*:kms:*:*:key/*"}
		statement.Conditions = map[string]map[string][]string{"ForAnyValue:StringEquals": {"kms:ResourceAliases": {alias}}}
	default:
		statement.Resources = []string{resource}
	}
	s.Bind(role, statement.Sid, statement)
}

// keyOf is how a policy names a key: by its resource, or by an alias. A reference to an ARN is one, any other is to an id.
func keyOf(key string) (resource, alias string) {
	if uses, err := token.Refs(key); err == nil && len(uses) == 1 && token.Show(key) == token.Show(token.Plain.Ref(*uses[0].Ref)) {
		if strings.HasSuffix(strings.ToLower(string(uses[0].Ref.Path)), "arn") {
			return key, ""
		}
		return "arn:*:kms:*:*:key/" + key, ""
	}
	name := key
	if strings.HasPrefix(key, "arn:") {
		if name = key[strings.LastIndexByte(key, ':')+1:]; !strings.HasPrefix(name, "alias/") {
			return key, ""
		}
	}
	if strings.HasPrefix(name, "alias/") {
		return "", name
	}
	return "arn:*:kms:*:*:key/" + key, ""
}

// notOurs refuses a grant to a role that is only known by its ARN: what it may do is written elsewhere.
func notOurs(role ARN) error {
	if role == "" {
		return reconcile.WithHint(errors.New("a grant to something without a role"), "give it a role that this stack declares: iam.NewRole")
	}
	return reconcile.WithHint(fmt.Errorf("a grant to %s, which this stack does not declare", role),
		"declare the role here with iam.NewRole, and use its ARN; or grant where the role is declared")
}

// Actions are those that ways of access stand for, each a text with one or several of them, sorted and each once.
func Actions[A ~string](access ...A) []string {
	var all []string
	for _, a := range access {
		all = append(all, strings.Fields(string(a))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sidOf is a name for a statement, of letters and digits alone, as IAM wants it: readable, and told apart from
// others by a hash. Tokens of one reference may be spelt in several ways, so that it is made of what they show.
func sidOf(actions []string, resources []ARN) string {
	h := sha256.New()
	var words []string
	for i, r := range resources {
		shown := token.Show(string(r))
		h.Write([]byte(shown + "\x00"))
		if i == 0 {
			words = append(words, shown)
		}
	}
	for i, a := range actions {
		h.Write([]byte(a + "\x00"))
		if i == 0 {
			words = append(words, a)
		}
	}
	var name strings.Builder
	for _, word := range words {
		up := true
		for _, r := range word {
			switch {
			case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
				up = true
			case up:
				name.WriteRune(unicode.ToUpper(r))
				up = false
			default:
				name.WriteRune(r)
			}
		}
	}
	readable := name.String()
	return readable[:min(len(readable), 40)] + hex.EncodeToString(h.Sum(nil)[:4])
}
