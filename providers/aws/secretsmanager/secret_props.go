package secretsmanager

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// SecretProps declare a secret, with one of value, generate and external. Defaults and limits are those of
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
type SecretProps struct {
	// Name of the secret: up to 512 letters, digits and / _ + = . @ -. Default: none, a name is generated. Changing it
	// replaces the secret.
	Name string
	// Value of the secret: text, often JSON, up to 64 KiB. Another value that is there is seen and put right, unless
	// there is a rotation, which makes its own: then it is the first value only. Default: none.
	Value token.Secret
	// Generate has Secrets Manager make up a value when the secret is made, or when it has none. It is never made up
	// again, whatever else changes or is lost, and never read. Default: none.
	Generate *Generate
	// External leaves the value to somebody else: the secret is made without one. Default: false.
	External bool
	// Description, up to 2048 characters. It is not for secrets. Default: none.
	Description string
	// KMSKeyID is the key of KMS that encrypts the value: its id, ARN or alias. Default: none, aws/secretsmanager.
	KMSKeyID string
	// Rotation has a function make new values on a schedule. Default: none.
	Rotation *Rotation
	// Replicas are copies of the secret in other regions. Default: none.
	Replicas []Replica
	// Policy says who may use the secret: a document (see aws.Policy), or JSON text. Default: none, the account alone.
	Policy any
	// BlockPublicPolicy refuses a policy that is open to many. It is write-only: it counts when the policy is put.
	// Default: false.
	BlockPublicPolicy bool
	// RecoveryWindow is how long a deleted secret can be restored, in days from 7 to 30; declaring it again does that. It
	// is kept as a tag. Default: 30d.
	RecoveryWindow *time.Duration `prop:"min=7d,max=30d"`
	// ForceDelete deletes the secret for good, with nothing left to restore. It is the leave to delete. Default: false.
	ForceDelete bool
	// Tags of the secret, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Generate says how a value is made up. It counts when that is done: changing it later changes no value.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetRandomPassword.html
type Generate struct {
	// Length of the password in characters, from 4 to 4096. Default: 32.
	Length *int `prop:"min=4,max=4096"`
	// ExcludeCharacters are not in the password. Default: none.
	ExcludeCharacters string
	// ExcludeLowercase leaves out lower case letters. Default: false.
	ExcludeLowercase bool
	// ExcludeUppercase leaves out upper case letters. Default: false.
	ExcludeUppercase bool
	// ExcludeNumbers leaves out digits. Default: false.
	ExcludeNumbers bool
	// ExcludePunctuation leaves out ! " # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \ ] ^ _ ` { | } ~. Default: false.
	ExcludePunctuation bool
	// IncludeSpace lets the password have spaces. Default: false.
	IncludeSpace bool
	// RequireEachIncludedType has at least one character of each type. Default: true.
	RequireEachIncludedType *bool
	// Template is an object that gets the password under key, such as {"username": "app"}: a document, or JSON text.
	// Default: none, the password alone is the value.
	Template any
	// Key is where the password stands in template. Default: none.
	Key string
}

// Rotation says who makes new values, and when.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_RotateSecret.html
type Rotation struct {
	// LambdaARN is the function that makes and sets a new value; Secrets Manager must be allowed to call it.
	LambdaARN aws.ARN `prop:"required"`
	// ScheduleExpression says when: rate(30 days), rate(4 hours) at the most often, or cron(…) in UTC.
	ScheduleExpression string `prop:"required"`
	// Duration is how long after the scheduled time the rotation may begin, in hours such as 3h. Default: none, one hour
	// for schedules in hours, the rest of the day for others.
	Duration string
	// RotateImmediately makes a new value as soon as the rotation is set or changed. It is write-only. Default: true.
	RotateImmediately *bool
}

// Replica is a copy of a secret in another region.
type Replica struct {
	// Region of the copy.
	Region string `prop:"required"`
	// KMSKeyID is the key there that encrypts it. Default: none, aws/secretsmanager of that region.
	KMSKeyID string
}

// Secret is what others may refer to of a secret.
type Secret struct {
	// ARN of the secret, with the six characters that Secrets Manager adds to the name.
	ARN aws.ARN
	// Name of the secret.
	Name string
	// VersionID names the current value, "" while there is none.
	VersionID string
}
