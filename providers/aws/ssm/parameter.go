package ssm

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveParameter is a parameter as it was seen.
type liveParameter struct {
	parameter types.Parameter // with its value in clear
	meta      types.ParameterMetadata
	tags      map[string]string
}

type (
	parameterSite = reconcile.Site[ParameterProps, Parameter]
	parameterDiff = reconcile.Diff[liveParameter]
)

var parameterKind = &reconcile.Kind[ParameterProps, liveParameter, Parameter]{
	Type: parameterType,
	Doc: "A parameter of the Parameter Store: a text, a list of texts or a secret, with its tier, policies and tags. " +
		"Older versions, their labels and the sharing with other accounts are not managed.",

	Observe:  observeParameter,
	Create:   createParameter,
	Compare:  compareParameter,
	Attrs:    parameterAttrs,
	Delete:   deleteParameter,
	Identity: func(p Parameter) string { return string(p.ARN) },

	Naming:   parameterNaming,
	Given:    func(want ParameterProps) string { return want.Name },
	Defaults: parameterDefaults,
	Check:    checkParameter,
	Moves:    []string{"version", "value", "secureValue"},
	AtBirth:  []string{"arn", "name"},

	Owner: func(live liveParameter) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listParameters,

	// The name of a deleted parameter is free again after 30 seconds:
	// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DeleteParameter.html
	Visibility: 30 * time.Second,

	Source: source,
	Calls: []string{
		"SSM.GetParameter", "SSM.DescribeParameters", "SSM.ListTagsForResource", "SSM.PutParameter", "SSM.DeleteParameter",
		"SSM.AddTagsToResource", "SSM.RemoveTagsFromResource",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"ssm:GetParameter", "ssm:DescribeParameters", "ssm:ListTagsForResource"},
		List:    []string{"ssm:DescribeParameters"},
		Create:  []string{"ssm:PutParameter", "ssm:AddTagsToResource"},
		Update:  []string{"ssm:PutParameter", "ssm:AddTagsToResource", "ssm:RemoveTagsFromResource"},
		Delete:  []string{"ssm:DeleteParameter"},
		Resource: func(place reconcile.Place, name string) []string {
			return []string{string(arnOf(place, name))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssystemsmanager.html
		Anywhere: []string{"ssm:DescribeParameters"},
	},
}

// arnOf is how Systems Manager names a parameter: a name of one level has no slash of its own.
func arnOf(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "ssm", "parameter/"+strings.TrimPrefix(name, "/"))
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

// physical is the name that a parameter gets: a generated one that would be reserved is set off.
func physical(name string, named bool) string {
	if !named && reserved(name) {
		return "p-" + name
	}
	return name
}

// born is the generated name that a physical one was made of, if it was.
func born(name string) string {
	if rest, ok := strings.CutPrefix(name, "p-"); ok && reserved(rest) {
		return rest
	}
	return name
}

func parameterAttrs(live liveParameter) Parameter {
	p := Parameter{ARN: aws.ARN(text(live.parameter.ARN)), Name: text(live.parameter.Name), Version: token.Num(live.parameter.Version)}
	if live.secure() {
		p.SecureValue = token.Secret(live.value())
	} else {
		p.Value = live.value()
	}
	return p
}

func (l liveParameter) secure() bool  { return l.parameter.Type == types.ParameterTypeSecureString }
func (l liveParameter) value() string { return text(l.parameter.Value) }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func nameRune(r rune) bool {
	return strings.ContainsRune(".-_", r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// longestName is that of a name with its ARN.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-parameter-name-constraints.html
const longestName = 1011

func parameterNaming(_ ParameterProps, place reconcile.Place) reconcile.Naming {
	return reconcile.Naming{Max: longestName - len(arnOf(place, "p-")), Allowed: nameRune}
}

func parameterDefaults(want ParameterProps) ParameterProps {
	if want.SecureValue != "" {
		aws.OrDefault(&want.Type, string(types.ParameterTypeSecureString))
		aws.OrDefault(&want.KeyID, ownKey)
	}
	aws.OrDefault(&want.Type, string(types.ParameterTypeString))
	aws.OrDefault(&want.Tier, string(types.ParameterTierStandard))
	aws.OrDefault(&want.DataType, "text")
	return want
}

// ownKey is the key of KMS that every account has for parameters.
const ownKey = "alias/aws/ssm"

// checkParameter finds what Systems Manager would refuse.
func checkParameter(want ParameterProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	checkName(want.Name, wrong)
	checkValue(want, wrong)
	if want.Policies != nil && (want.Tier == nil || *want.Tier == string(types.ParameterTierStandard)) {
		wrong("policies", "they need the tier Advanced")
	}
	if !token.Has(want.Description) && len([]rune(want.Description)) > 1024 {
		wrong("description", "want up to 1024 characters")
	}
	return problems.OrNil()
}

func checkName(name string, wrong func(tree.Path, string)) {
	if name == "" || token.Has(name) {
		return
	}
	levels := strings.Split(strings.TrimPrefix(name, "/"), "/")
	foreign := func(r rune) bool { return !nameRune(r) }
	switch {
	case len(levels) > 1 && name[0] != '/':
		wrong("name", "a name with levels begins with a slash")
	case len(levels) > 15:
		wrong("name", "want up to 15 levels")
	case reserved(name):
		wrong("name", "names that begin with aws or ssm are reserved")
	case len(name) > longestName:
		wrong("name", "want up to 1011 characters, with the ARN")
	}
	for _, level := range levels {
		if level == "" || strings.ContainsFunc(level, foreign) {
			wrong("name", "want letters, digits and . - _ in each level")
			return
		}
	}
}

func checkValue(want ParameterProps, wrong func(tree.Path, string)) {
	secureType := want.Type != nil && *want.Type == string(types.ParameterTypeSecureString)
	secure := want.SecureValue != "" || secureType
	switch {
	case want.SecureValue != "" && want.Value != "":
		wrong("value", "there is a secureValue already")
	case secureType && want.SecureValue == "":
		wrong("secureValue", "a SecureString has one, and no value")
	case !secure && want.Value == "":
		wrong("value", "want a value, or a secureValue")
	case want.Type != nil && !token.Has(*want.Type) && secure && !secureType:
		wrong("type", "a secureValue makes a SecureString")
	}
	if want.KeyID != nil && !secure {
		wrong("keyId", "it encrypts a secureValue, and there is none")
	}
	path, value := tree.Path("value"), want.Value
	if secure {
		path, value = "secureValue", string(want.SecureValue)
	}
	advanced := want.Tier != nil && *want.Tier != string(types.ParameterTierStandard)
	switch {
	case token.Has(value):
	case len(value) > 8<<10:
		wrong(path, "want up to 8 KiB")
	case len(value) > 4<<10 && !advanced:
		wrong(path, "more than 4 KiB need the tier Advanced")
	}
}
