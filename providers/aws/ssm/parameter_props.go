package ssm

import (
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// ParameterProps declare a parameter, with either a value that everybody may see or a secret one. Defaults and limits
// are those of https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
type ParameterProps struct {
	// Name of the parameter, such as /shop/prod/domain: letters, digits and . - _, in up to 15 levels that begin with a
	// slash. It begins neither with aws nor with ssm. Default: none, a name without levels is generated. Changing it
	// replaces the parameter.
	Name string
	// Type is SecureString for a secureValue; a value is a String, or a StringList of texts with commas between them.
	// Default: SecureString with secureValue, String without.
	Type *string `prop:"enum=String|StringList|SecureString"`
	// Value of a String or a StringList, up to 4 KiB, in the tier Advanced 8 KiB. It is shown in plans: a secret is
	// refused here. Default: none, secureValue is set instead.
	Value string
	// SecureValue is the value of a SecureString, which is stored encrypted. It is compared with what is there by
	// decrypting that. Default: none, value is set instead.
	SecureValue token.Secret
	// KeyID is the key of KMS that encrypts a secureValue: its id, ARN or alias, as it is to be shown. Default:
	// alias/aws/ssm with secureValue, the account's own.
	KeyID *string
	// Tier Advanced takes larger values and policies, and costs. Standard becomes Advanced in place; Systems Manager
	// has no way back, so that Standard again makes another parameter. Default: Standard.
	Tier *string `prop:"enum=Standard|Advanced"`
	// Description, up to 1024 characters. It is not for secrets. Default: none.
	Description string
	// AllowedPattern is a regular expression that every value must match. Default: none.
	AllowedPattern string
	// DataType says what a String is to be checked for. Systems Manager does so after the call: an aws:ec2:image that
	// does not exist never becomes the value. Default: text.
	DataType *string `prop:"enum=text|aws:ec2:image|aws:ssm:integration"`
	// Policies expire the parameter, or tell of its age: a list of documents, or JSON text. They need the tier Advanced.
	// A parameter that has expired is made again. Default: none.
	Policies any
	// Tags of the parameter, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Parameter is what others may refer to of a parameter.
type Parameter struct {
	// ARN of the parameter.
	ARN aws.ARN
	// Name of the parameter.
	Name string
	// Version is a number that each change raises.
	Version token.Int
	// Value is that of a String or a StringList, "" for a SecureString.
	Value string
	// SecureValue is that of a SecureString, "" for others.
	SecureValue token.Secret
}
