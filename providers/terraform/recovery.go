package terraform

import (
	"context"
	"crypto/md5"  //nolint:gosec // attributes of files are these hashes
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// foundBy says for people how an object of a type is found that state does not have.
func foundBy(name string) string {
	w, ok := ways()[name]
	switch {
	case isFile(name):
		return "An object that is not in state is found by its path and content."
	case keepsNothingOutside(name):
		return "Objects are in state alone: what is lost is created again."
	case ok && w.documented:
		return "An object that is not in state is looked for by the import id of the documentation, " + shownID(w.id) + ", which no test proves: what is found is " +
			"taken for it, and what is not found may exist. With `options: {adopt: ID}` it is taken."
	case ok && w.content:
		return "An object that is not in state is found by its props; one that equals them is ours."
	case ok && w.seeded:
		return "An object that is not in state is found by its props."
	case ok && w.list != nil:
		return "An object that is not in state is found in the list of `tf.data." + w.list.source + "`, by " + strings.Join(w.list.match, " and ") + "."
	case ok:
		return "An object that is not in state is found by its import id, " + shownID(w.id) + "."
	}
	return "An object that is not in state is not found: athanor creates another one, and says so. With `options: {adopt: ID}` it is taken."
}

// isSearchable reports types whose objects are found without state, or are nowhere else.
func isSearchable(name string) bool {
	w, ok := ways()[name]
	return ok && !w.documented || isFile(name) || keepsNothingOutside(name)
}

// createsUnseen notes a resource that is created though nobody could look whether it exists: its type cannot be searched, and state has
// nothing of it. Where state was lost, the creation would make a second one, which must not be silent.
func (k *kind) createsUnseen(p *program, s site) {
	if s.Want != nil && s.ID == "" && s.Last == nil && !isSearchable(k.Name) {
		p.set.unseen(p.settings.Terraform, k.Name, s.Address)
	}
}

// keepsNothingOutside reports types whose objects are nowhere but in state: a creation that was not answered left nothing.
func keepsNothingOutside(name string) bool {
	provider, _, _ := strings.Cut(name, "_")
	return slices.Contains([]string{"random", "tls", "null", "time", "terraform"}, provider)
}

// isOnlyInState reports types of which a read tells what state has, whatever the time is. They are a part of those that keep nothing outside: a
// certificate is read to be renewed.
func isOnlyInState(name string) bool {
	provider, _, _ := strings.Cut(name, "_")
	return provider == "random" || provider == "null"
}

// isFile reports types whose objects are files with a declared content. They have no importer, and are found by being read.
func isFile(name string) bool { return name == "local_file" || name == "local_sensitive_file" }

// isWhole reports props without references.
func isWhole(want attributes) bool {
	whole := true
	tree.Walk(want, func(_ tree.Path, v any) bool {
		text, ok := v.(string)
		whole = whole && !(ok && token.Has(text))
		return whole
	})
	return whole
}

// owner says that a file with the content that is declared is ours, whatever wrote it, as is a grant of the privileges
// that are declared. For all other types state alone says it.
func (k *kind) owner() contract.Ownership[attributes, *live] {
	if isFile(k.Name) || ways()[k.Name].content {
		return contract.OwnedByContent[attributes, *live]{}
	}
	return nil
}

// fileOf reads the file that is declared, as if it had been written. The provider says absent of one that has another content.
func (k *kind) fileOf(ctx context.Context, p *program, s site) (found seen, id string, err error) {
	absent := none(k.Type)
	config, err := k.config(s.Want, known)
	if err != nil {
		return absent, "", err
	}
	plan, err := p.creation(ctx, k.Type, s.Address, config)
	if err != nil || plan.state.IsNull() {
		return absent, "", err
	}
	members := plan.state.AsValueMap()
	content, ok := contentIn(members)
	if !ok {
		return absent, "", nil // it is copied from another file: writing it again is the same
	}
	hashes := hashesOf(content)
	for name, sum := range hashes {
		if _, has := members[name]; has {
			members[name] = cty.StringVal(sum)
		}
	}
	read, err := p.read(ctx, k.Type, seen{state: cty.UnknownAsNull(cty.ObjectVal(members)), private: plan.private})
	return read, hashes["id"], err
}

// contentIn is the content that the attributes of a file declare.
func contentIn(members map[string]cty.Value) ([]byte, bool) {
	for _, name := range []string{"content", "sensitive_content", "content_base64"} {
		v, has := members[name]
		if !has || v.IsNull() || !v.IsKnown() {
			continue
		}
		if name != "content_base64" {
			return []byte(v.AsString()), true
		}
		data, err := base64.StdEncoding.DecodeString(v.AsString())
		return data, err == nil
	}
	return nil, false
}

// hashesOf are the attributes of a file that its content decides.
func hashesOf(content []byte) map[string]string {
	one, two, three, old := sha1.Sum(content), sha256.Sum256(content), sha512.Sum512(content), md5.Sum(content) //nolint:gosec // as above
	return map[string]string{
		"id": hex.EncodeToString(one[:]), "content_sha1": hex.EncodeToString(one[:]), "content_md5": hex.EncodeToString(old[:]),
		"content_sha256": hex.EncodeToString(two[:]), "content_base64sha256": base64.StdEncoding.EncodeToString(two[:]),
		"content_sha512": hex.EncodeToString(three[:]), "content_base64sha512": base64.StdEncoding.EncodeToString(three[:]),
	}
}
