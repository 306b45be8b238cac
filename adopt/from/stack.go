package from

import "github.com/athanor-dev/athanor/reconcile/tree"

// Secret is a value that is kept sealed. It is shown nowhere.
type Secret struct {
	Name  string `json:"name"`
	Value string `json:"-"`
	// Found is where it stood, and why it was taken for one.
	Found []SecretPlace `json:"found"`
}

// SecretPlace is a place where a secret stood in the source.
type SecretPlace struct {
	Source string `json:"source"`
	Path   string `json:"path"`
	Why    string `json:"why"`
}

// Hidden stands for a secret in a report.
const Hidden = "(secret)"

// Entry says what became of one object of the source.
type Entry struct {
	// Source is its address there.
	Source  string  `json:"source"`
	Type    string  `json:"type"`
	ID      string  `json:"id,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Address is the resource that it became, or became a part of.
	Address string `json:"address,omitempty"`
	// Text says why, or what to do.
	Text string `json:"text,omitempty"`
}

// Each is the value of an entry of a resource's For. "": its key.
type Each struct{ Name string }

// Config is a value that is a config.
type Config struct{ Name string }

// SecretRef is a value that is a secret.
type SecretRef struct{ Name string }

// Text is text of parts: literal text, and values that stand for text.
type Text struct{ Parts []any }

// Drift is a value of an object that differs from what the source's tool last knew.
type Drift struct {
	Address string `json:"address"`
	Path    string `json:"path"`
	// Source is what the tool knew, Cloud what there is. Nil where it is a secret or not there.
	Source any `json:"source"`
	Cloud  any `json:"cloud"`
}

// Draft is what was read of a source, before it is known how the objects are in the cloud.
type Draft interface {
	// Resources are all that are read before they are declared, with literal values.
	Resources() []Resource
	// Providers are the settings that these name.
	Providers() map[string]map[string]any
	// Stack declares them. Observed are objects by address, as the cloud has them, nil where none were read.
	Stack(observed map[string]Observed) Stack
}

// Archive is the code of a function that lies in a bucket.
type Archive struct {
	Address     string
	Bucket, Key string
	// Name is that of a file for it.
	Name string
}

// Archived is a draft with functions whose code lies in buckets. The cloud does not tell where it came from, so that a stack which names
// the bucket would write it again; a copy next to the stack is compared with what runs.
type Archived interface {
	Archives() []Archive
	// Copied says that there is a copy of an archive next to the stack.
	Copied(a Archive)
}

// Observed is an object as it was read.
type Observed struct {
	Props map[string]any
	// Missing are paths that reading does not tell.
	Missing []tree.Path
	// Differs are paths at which the object is not what the source says, as the kind compares them.
	Differs []tree.Path
}

// Options say what is read of a source.
type Options struct {
	// Name of the stack, and the stage that is adopted.
	Name  string
	Stage string
	// Chosen reports whether an object is read, by its address in the source. Nil: all are.
	Chosen func(source string) bool
	// Env gives a variable of the user's environment, in which the passphrase of an encrypted source stands. Nil: there are none.
	Env func(name string) string
	// Offer makes the kinds of a provider of Terraform known, by its source, for what has no other kind. Nil: nothing is declared so.
	Offer func(source string) error
	// State is the path of the source as the stack reads it, "" where it is not on this machine.
	State string
}

// PassphraseVariable holds the passphrase of a source that is encrypted.
const PassphraseVariable = "ATHANOR_SOURCE_PASSPHRASE"

// Passphrase is the value of the first of these variables that is set, after [PassphraseVariable].
func (o Options) Passphrase(names ...string) string {
	if o.Env == nil {
		return ""
	}
	for _, name := range append([]string{PassphraseVariable}, names...) {
		if v := o.Env(name); v != "" {
			return v
		}
	}
	return ""
}

// Drafter is a source whose objects can be read from the cloud before they are declared.
type Drafter interface {
	Source
	Draft(f File, o Options) (Draft, error)
}
