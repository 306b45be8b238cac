package logs

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// LogGroupProps declare a log group. Defaults and limits are those of
// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
type LogGroupProps struct {
	// Name of the group: up to 512 letters, digits and . - _ / #. It does not begin with aws/. Default: none, a name is
	// generated. Services make groups by themselves, such as /aws/lambda/NAME on a function's first run: one that is
	// there without a mark is not ours until it is adopted. Changing it replaces the group.
	Name string
	// Retention is how long events are kept: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827,
	// 2192, 2557, 2922, 3288 or 3653 days. Default: 0s, for ever. A policy of the account that sets the retention of its
	// groups goes before it, and then it is not compared. The class DELIVERY has its own and takes none.
	Retention time.Duration
	// KMSKeyID is the ARN of the key of KMS that encrypts events; its policy must let CloudWatch Logs use it. A change
	// counts for new events. Default: none, a key of the service.
	KMSKeyID aws.ARN
	// Class says what can be done with events, and what they cost:
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CloudWatch_Logs_Log_Classes.html. Default: STANDARD.
	// Changing it replaces the group.
	Class *string `prop:"enum=STANDARD|INFREQUENT_ACCESS|DELIVERY|ESSENTIALS"`
	// DeletionProtection refuses the deletion of the group, to anybody. Deleting or replacing it here needs leave, as for
	// a group with events in it, and takes the protection away first. Default: false.
	DeletionProtection bool
	// BearerTokenAuthentication lets events be sent with a bearer token. Default: false.
	BearerTokenAuthentication bool
	// DataProtectionPolicy finds and masks sensitive data: a document, or JSON text, up to 30,720 characters. Groups of
	// the class STANDARD alone have one. Default: none.
	DataProtectionPolicy any
	// IndexPolicy says which fields of events are indexed: a document such as {"Fields": ["requestId"]}, or JSON text.
	// Groups of the class STANDARD alone have one. Default: none, the account's policy counts.
	IndexPolicy any
	// Policy says which services and accounts may use the group: a document (see aws.Policy), or JSON text. Default: none.
	Policy any
	// Tags of the group, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// LogGroup is what others may refer to of a log group.
type LogGroup struct {
	// ARN of the group.
	ARN aws.ARN
	// StreamsARN stands for everything in the group, as policies need it that allow writing and reading: the ARN
	// with :* after it.
	StreamsARN aws.ARN
	// Name of the group.
	Name string
}
