// Package ssm offers parameters of the Parameter Store of AWS Systems Manager.
//
// It knows a parameter's value, type, tier and policies. It does not know the rest of Systems Manager, nor older versions
// of a parameter and their labels; how calls are made and judged is the business of package aws.
package ssm

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed parameter.go
var source embed.FS

const (
	parameterType = "aws.ssm.Parameter"

	standard, advanced = "Standard", "Advanced"
	plainText, secure  = "String", "SecureString"

	// ownKey is the key of KMS that every account has for parameters.
	ownKey = "alias/aws/ssm"

	// noPolicies is how Systems Manager is told to drop all of them.
	// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-policies.html
	noPolicies = "[{}]"

	// longestName is that of a name with its ARN.
	// https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-parameter-name-constraints.html
	longestName = 1011
)

var (
	errNoMeta = errors.New("the parameter is not listed yet")
	errShown  = errors.New("a secret is given as a value that everybody may see")
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{parameterKind.Erase()},
		Constructs: map[string]athanor.Construct{
			parameterType: aws.Usable(Parameter.declaredWith, Parameter.Grant, map[string]Access{"read": Read, "write": Write}),
		},
		Filters:  []string{"ssm:parameter"},
		Registry: map[string]string{"AWS::SSM::Parameter": parameterType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			rest, ok := strings.CutPrefix(p.Resource, "parameter/")
			return parameterType, string(arn), generated(nameIn(rest)), ok && p.Service == "ssm"
		},
	}
}

// NewParameter declares a parameter.
func NewParameter(s *athanor.Stack, name string, p ParameterProps, opts ...athanor.Option) Parameter {
	return athanor.Declare(s, parameterKind, name, p, opts...).declaredWith(p)
}

// ReadParameter uses a parameter that the stack does not own: by its name or ARN, or by ParameterProps that name it.
func ReadParameter(s *athanor.Stack, name string, by any) Parameter {
	return athanor.Read(s, parameterKind, name, by)
}

// ParameterProps declare a parameter, with either a value that everybody may see or a secret one. Defaults and limits
// are those of https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
type ParameterProps struct {
	// Name of the parameter, such as /shop/prod/domain: letters, digits and . - _, in up to 15 levels that begin with a
	// slash. It begins neither with aws nor with ssm. Default: none, a name without levels is generated. Changing it
	// replaces the parameter.
	Name string
	// Type is SecureString for a secureValue; a value is a String, or a StringList of texts with commas between them.
	// Default: SecureString with secureValue, String without.
	Type *string `prop:"enum=String|StringList|SecureString" wire:"Type"`
	// Value of a String or a StringList, up to 4 KiB, in the tier Advanced 8 KiB. It is shown in plans: a secret is
	// refused here. Default: none, secureValue is set instead.
	Value string `wire:"-"`
	// SecureValue is the value of a SecureString, which is stored encrypted. It is compared with what is there by
	// decrypting that. Default: none, value is set instead.
	SecureValue token.Secret `wire:"-"`
	// KeyID is the key of KMS that encrypts a secureValue: its id, ARN or alias, as it is to be shown. Default:
	// alias/aws/ssm with secureValue, the account's own.
	KeyID *string `prop:"maxlen=256" wire:"KeyId"`
	// Tier Advanced takes larger values and policies, and costs. Standard becomes Advanced in place; Systems Manager
	// has no way back, so that Standard again makes another parameter.
	Tier *string `prop:"enum=Standard|Advanced,default=Standard" wire:"Tier"`
	// Description, up to 1024 characters. It is not for secrets. Default: none.
	Description string `prop:"maxlen=1024" wire:"Description"`
	// AllowedPattern is a regular expression that every value must match. Default: none.
	AllowedPattern string `prop:"maxlen=1024" wire:"AllowedPattern"`
	// DataType says what a String is to be checked for. Systems Manager does so after the call: an aws:ec2:image that
	// does not exist never becomes the value.
	DataType *string `prop:"enum=text|aws:ec2:image|aws:ssm:integration,default=text" wire:"DataType"`
	// Policies expire the parameter, or tell of its age: a list of documents, or JSON text. They need the tier Advanced.
	// A parameter that has expired is made again. Default: none.
	Policies any `wire:"Policies,policies"`
	// Tags of the parameter, beside the owner tags. Default: none.
	Tags map[string]string
}

// Parameter is what others may refer to of a parameter.
type Parameter struct {
	// ARN of the parameter.
	ARN aws.ARN `attr:"early"`
	// Name of the parameter.
	Name string `attr:"early"`
	// Version is a number that each change raises.
	Version token.Int `attr:"mutable"`
	// Value is that of a String or a StringList, "" for a SecureString.
	Value string `attr:"mutable"`
	// SecureValue is that of a SecureString, "" for others.
	SecureValue token.Secret `attr:"mutable"`

	key string // that encrypts it, as declared: grants allow its use
}

// declaredWith is the parameter with what grants need of its props.
func (p Parameter) declaredWith(props ParameterProps) Parameter {
	if props.KeyID != nil {
		p.key = *props.KeyID
	}
	return p
}

// liveParameter is an observed parameter, with its value in clear.
type liveParameter struct {
	attrs Parameter
	have  ParameterProps
	tags  map[string]string
}

type site = kind.Site[ParameterProps, Parameter]

var parameterTable = kind.TableOf[ParameterProps](kind.Codec{
	Name:  "policies",
	Write: func(document any) (any, error) { return aws.DocumentText(document) },
	Form:  policiesOf,
}).For(kind.Both(putInput{}))

var parameterKind = &kind.Kind[ParameterProps, liveParameter, Parameter]{
	Type: parameterType,
	Doc: "A parameter of the Parameter Store: a text, a list of texts or a secret, with its tier, policies and tags. " +
		"Older versions, their labels and the sharing with other accounts are not managed.",

	Observe:    aws.Together(parameterType, observeParameter, observeParameters),
	Create:     createParameter,
	Compare:    compareParameter,
	Attributes: func(live liveParameter) Parameter { return live.attrs },
	Delete: func(ctx context.Context, s site) error {
		return service().Call(ctx, s.Cloud, "DeleteParameter", kind.Document{"Name": s.Last.Name}, nil)
	},
	Identity: func(p Parameter) string { return string(p.ARN) },

	Props:   parameterTable,
	Default: parameterDefaults,
	Check:   checkParameter,
	Named: &kind.Named[ParameterProps, liveParameter]{
		Given: func(want ParameterProps) string { return want.Name },
		Rule:  func(ParameterProps) kind.NameRule { return kind.NameRule{Max: longestName, Marks: ".-_", Any: true} },
		In: func(rule kind.NameRule, location kind.Location) kind.NameRule {
			rule.Max -= len(arnOf(location, "p-"))
			return rule
		},
	},
	Owner: aws.Tagged(
		func(want ParameterProps) map[string]string { return want.Tags },
		func(live liveParameter) map[string]string { return live.tags }, "AddTagsToResource", putTags, dropTags),
	List: listParameters,
	Bulk: aws.InBulk(observeParameter, observeParameters),

	// The name of a deleted parameter is free again after 30 seconds:
	// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DeleteParameter.html
	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("SSM", "ssm", source, kind.Permissions{
		Observe: []string{"GetParameter", "GetParameters", "DescribeParameters", "ListTagsForResource", "tag:GetResources"},
		List:    []string{"DescribeParameters"},
		Create:  []string{"PutParameter", "AddTagsToResource"},
		Update:  []string{"PutParameter", "AddTagsToResource", "RemoveTagsFromResource"},
		Delete:  []string{"DeleteParameter"},
		Resource: func(location kind.Location, name string) []string {
			return []string{string(arnOf(location, name))}
		},
		Anywhere: []string{"DescribeParameters"},
		Depends: []kind.Dependence{
			// https://docs.aws.amazon.com/systems-manager/latest/userguide/secure-string-parameter-kms-encryption.html
			aws.UseKey(0, []string{"PutParameter"}, []string{"kms:Encrypt", "kms:GenerateDataKey"}, "keyId"),
			aws.UseKey(reconcile.Observing, nil, []string{"kms:Decrypt"}, "keyId"),
		},
	}),
}

// arnOf is how Systems Manager names a parameter: a name of one level has no slash of its own.
func arnOf(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "ssm", "parameter/"+strings.TrimPrefix(name, "/"))
}

// nameIn is the name in what follows parameter/ in an ARN.
func nameIn(rest string) string {
	if strings.Contains(rest, "/") {
		return "/" + rest
	}
	return rest
}

// plain is a name in one form: a slash before a name of one level says nothing.
func plain(name string) string { return nameIn(strings.TrimPrefix(name, "/")) }

// reserved reports names that Systems Manager keeps for itself.
func reserved(name string) bool {
	low := strings.ToLower(strings.TrimPrefix(name, "/"))
	return strings.HasPrefix(low, "aws") || strings.HasPrefix(low, "ssm")
}

// physical is the name that a parameter gets: a generated one that would be reserved gets a prefix.
func physical(name string, given bool) string {
	if !given && reserved(name) {
		return "p-" + name
	}
	return name
}

// generated is the generated name that a physical one was made of, if it was.
func generated(name string) string {
	if rest, ok := strings.CutPrefix(name, "p-"); ok && reserved(rest) {
		return rest
	}
	return name
}

func parameterDefaults(want ParameterProps) ParameterProps {
	if want.SecureValue != "" {
		aws.OrDefault(&want.Type, secure)
		aws.OrDefault(&want.KeyID, ownKey)
	}
	aws.OrDefault(&want.Type, plainText)
	return want
}

// policiesOf are policies by their meaning, nil for none: their order does not count.
func policiesOf(document any) any {
	list, ok := aws.Document(document).([]any)
	if !ok {
		return aws.Document(document)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(p any) bool { m, is := p.(map[string]any); return is && len(m) == 0 })
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
	return list
}

// checkParameter finds what Systems Manager would refuse, beyond what the table says.
func checkParameter(want ParameterProps) error {
	var problems props.Errors
	checkName(want.Name, problems.Wrong)
	checkValue(want, problems.Wrong)
	if want.Policies != nil && isStandard(want.Tier) {
		problems.Wrong("policies", "they need the tier Advanced")
	}
	return problems.OrNil()
}

func isStandard(tier *string) bool {
	return tier == nil || *tier == standard
}

func checkName(name string, wrong func(tree.Path, string)) {
	if name == "" || token.Has(name) {
		return
	}
	levels := strings.Split(strings.TrimPrefix(name, "/"), "/")
	switch {
	case len(levels) > 1 && name[0] != '/':
		wrong("name", "a name with levels begins with a slash")
	case len(levels) > 15:
		wrong("name", "want up to 15 levels")
	case reserved(name):
		wrong("name", "names that begin with aws or ssm are reserved")
	}
	refused := func(r rune) bool { return !kind.NameRule{Marks: ".-_"}.Allowed(r) }
	if slices.ContainsFunc(levels, func(level string) bool { return level == "" || strings.ContainsFunc(level, refused) }) {
		wrong("name", "want letters, digits and . - _ in each level")
	}
}

func checkValue(want ParameterProps, wrong func(tree.Path, string)) {
	secureType := want.Type != nil && *want.Type == secure
	isSecure := want.SecureValue != "" || secureType
	switch {
	case want.SecureValue != "" && want.Value != "":
		wrong("value", "there is a secureValue already")
	case secureType && want.SecureValue == "":
		wrong("secureValue", "a SecureString has one, and no value")
	case !isSecure && want.Value == "":
		wrong("value", "want a value, or a secureValue")
	case want.Type != nil && !token.Has(*want.Type) && isSecure && !secureType:
		wrong("type", "a secureValue makes a SecureString")
	}
	path, value := tree.Path("value"), want.Value
	if isSecure {
		path, value = "secureValue", string(want.SecureValue)
	} else if want.KeyID != nil {
		wrong("keyId", "it encrypts a secureValue, and there is none")
	}
	switch {
	case token.Has(value):
	case len(value) > 8<<10:
		wrong(path, "want up to 8 KiB")
	case len(value) > 4<<10 && isStandard(want.Tier):
		wrong(path, "more than 4 KiB need the tier Advanced")
	}
}

func observeParameter(ctx context.Context, s site) (live liveParameter, err error) {
	s.Name = physical(s.Name, s.NameGiven)
	name, err := aws.NameOf(s, aws.Names[Parameter]{
		Of:  func(p Parameter) string { return p.Name },
		In:  func(resource string) string { return nameIn(strings.TrimPrefix(resource, "parameter/")) },
		ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	var p parameter
	meta, tags := metadata{}, map[string]string(nil)
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		if p, err = get(ctx, s.Cloud, name); s.Last == nil {
			name = p.Name // as it is spelled
		}
		return err
	}, func(ctx context.Context) (err error) {
		meta, err = metaOf(ctx, s.Cloud, name)
		return err
	}, func(ctx context.Context) (err error) {
		tags, err = tagsOf(ctx, s.Cloud, name)
		return err
	})
	if err != nil {
		return live, err
	}
	return shownBy(p, meta, tags)
}

// How many parameters one call answers for:
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_ParameterStringFilter.html
const (
	mostValues = 10
	mostMetas  = 50
)

// observeParameters reads values, what they come with, and tags, each of many parameters by one call.
func observeParameters(ctx context.Context, all []site) ([]*aws.Answer[liveParameter], error) {
	var tags []map[string]string
	values, metas := make([]*parameter, len(all)), make([]*metadata, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		tags, err = aws.TagsTogether(ctx, all,
			func(p Parameter) aws.ARN { return p.ARN }, func(want ParameterProps) map[string]string { return want.Tags })
		return err
	})
	cloud, at, names := all[0].Cloud, map[string]int{}, make([]string, len(all))
	for i, s := range all {
		at[s.Last.Name], names[i] = i, s.Last.Name
	}
	for some := range slices.Chunk(names, mostValues) {
		group.Go(func() error {
			found, err := getSome(ctx, cloud, some)
			for _, p := range found {
				if i, ok := at[p.Name]; ok {
					values[i] = &p
				}
			}
			return err
		})
	}
	for some := range slices.Chunk(names, mostMetas) {
		group.Go(func() error {
			in := describeInput{MaxResults: mostMetas, ParameterFilters: named("Equals", some...)}
			for meta, err := range described(ctx, cloud, in) {
				if err != nil {
					return err
				}
				if i, ok := at[meta.Name]; ok {
					metas[i] = &meta
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	shown := make([]*aws.Answer[liveParameter], len(all))
	for i := range all {
		if values[i] == nil || metas[i] == nil || tags[i] == nil {
			continue
		}
		if live, err := shownBy(*values[i], *metas[i], tags[i]); err == nil {
			shown[i] = &aws.Answer[liveParameter]{Value: live}
		}
	}
	return shown, nil
}

// shownBy is a parameter as answers show it.
func shownBy(p parameter, meta metadata, tags map[string]string) (live liveParameter, err error) {
	live.tags = tags
	live.attrs = Parameter{ARN: aws.ARN(p.ARN), Name: p.Name, Version: token.Num(p.Version)}
	shown := &putInput{
		Type: p.Type, DataType: p.DataType, Tier: meta.Tier, Description: meta.Description, AllowedPattern: meta.AllowedPattern,
		Policies: meta.policies(),
	}
	if p.Type == secure {
		shown.KeyId, live.attrs.SecureValue = meta.KeyID, token.Secret(p.Value)
	} else { // what is secret in the cloud is never shown beside what is not
		live.attrs.Value = p.Value
	}
	live.have, err = parameterTable.Read(kind.Struct(shown))
	live.have.Value, live.have.SecureValue = live.attrs.Value, live.attrs.SecureValue
	return live, err
}

// policies are policies as they are put: an answer has the text of each.
func (m metadata) policies() *string {
	var all []any
	for _, p := range m.Policies {
		all = append(all, aws.Document(p.PolicyText))
	}
	return new(string(tree.Canonical(all)))
}

// metaOf is what a value comes with.
func metaOf(ctx context.Context, cloud kind.Cloud, name string) (metadata, error) {
	for meta, err := range described(ctx, cloud, describeInput{ParameterFilters: named("Equals", name)}) {
		if err != nil || meta.Name == name {
			return meta, err
		}
	}
	return metadata{}, aws.Busy(errNoMeta)
}

func named(option string, names ...string) []filter {
	return []filter{{Key: "Name", Option: option, Values: names}}
}

func listParameters(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	in := describeInput{MaxResults: mostMetas}
	if scope.Prefix != "" {
		in.ParameterFilters = named("BeginsWith", physical(scope.Prefix, false))
	}
	for meta, err := range described(ctx, scope.Cloud, in) {
		if err != nil {
			return nil, err
		}
		all = append(all, kind.Found{
			Kind: parameterType, Place: scope.Place, Identity: string(arnOf(scope.Place, meta.Name)), Name: generated(meta.Name),
		})
	}
	return all, nil
}

// put is the call that writes a whole parameter. It returns the version that it made.
func put(ctx context.Context, s kind.Facts, in *putInput) (version int64, err error) {
	var out struct{ Version int64 }
	err = service().Call(ctx, s.Cloud, "PutParameter", in, &out)
	if aws.HasCode(err, "HierarchyTypeMismatchException") {
		err = reconcile.WithHint(err, "replaceOn: [type] makes another parameter in its place")
	}
	return out.Version, err
}

// inputOf is the body of that call.
func inputOf(p ParameterProps, name string) (*putInput, error) {
	in := &putInput{Name: name, Value: cmp.Or(string(p.SecureValue), p.Value)}
	return in, parameterTable.Created(p, kind.Struct(in))
}

// checkHidden refuses a value which plans and others show, and which is a secret.
func checkHidden(s kind.Facts) error {
	for path, is := range s.Secret {
		if is && path.Within("value") {
			return reconcile.WithHint(errShown, "use secureValue")
		}
	}
	return nil
}

// createParameter fails where there is one of that name; the observation that follows tells whose it is.
func createParameter(ctx context.Context, s site) (Parameter, error) {
	if err := checkHidden(s.Facts); err != nil {
		return Parameter{}, err
	}
	name := physical(s.Name, s.NameGiven)
	in, err := inputOf(s.Want, name)
	if err != nil {
		return Parameter{}, err
	}
	in.Overwrite, in.Tags = new(false), aws.JSONTags[aws.Tag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner))
	version, err := put(ctx, s.Facts, in)
	if err != nil {
		return Parameter{}, err
	}
	return Parameter{
		ARN: arnOf(s.Location, name), Name: name, Version: token.Num(version), Value: s.Want.Value, SecureValue: s.Want.SecureValue,
	}, nil
}

// compareParameter states every aspect. One call writes a whole new version: what is not to be changed, since it is ignored
// or left for later, keeps its live value.
func compareParameter(d *kind.Diff[liveParameter], want ParameterProps, live liveParameter) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", plain(name), plain(live.attrs.Name))
	}
	settable := want
	if tier := live.have.Tier; *tier == advanced && *want.Tier != advanced {
		reconcile.Fixed(d, "tier", *want.Tier, *tier)
		settable.Tier = tier
	}
	kind.Compare(d, parameterTable, settable, live.have, kind.Set("PutParameter", func(ctx context.Context, u kind.Update[liveParameter]) error {
		if slices.Contains(u.Changed, "value") {
			if err := checkHidden(u.Facts); err != nil {
				return err
			}
		}
		in, err := inputOf(parameterTable.Merged(settable, u.Live.have, u.Changed), u.Live.attrs.Name)
		if err != nil {
			return err
		}
		in.Overwrite = new(true)
		aws.OrDefault(&in.Description, "")
		aws.OrDefault(&in.AllowedPattern, "")
		if aws.OrDefault(&in.Policies, noPolicies); !slices.Contains(u.Changed, "policies") {
			in.Policies = nil // they stay
		}
		_, err = put(ctx, u.Facts, in)
		return aws.NotYet(err)
	}))
}

func putTags(ctx context.Context, u kind.Update[liveParameter], tags map[string]string) error {
	in := ofParameter(u.Live.attrs.Name)
	in["Tags"] = aws.JSONTags[aws.Tag](tags)
	return service().Call(ctx, u.Cloud, "AddTagsToResource", in, nil)
}

func dropTags(ctx context.Context, u kind.Update[liveParameter], keys []string) error {
	in := ofParameter(u.Live.attrs.Name)
	in["TagKeys"] = keys
	return service().Call(ctx, u.Cloud, "RemoveTagsFromResource", in, nil)
}
