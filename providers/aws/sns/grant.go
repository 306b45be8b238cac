package sns

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a topic: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Publish messages, one or many at a time.
	Publish Access = "sns:Publish"
	// Subscribe endpoints to the topic, and list them.
	Subscribe Access = "sns:Subscribe sns:ListSubscriptionsByTopic"
)

// keyUse is what the actions take of the key of an encrypted topic:
// https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
func keyUse() aws.KeyUse { return aws.KeyUse{"sns:Publish": "kms:Decrypt kms:GenerateDataKey"} }

// Grant allows a role, or what runs as one, to use the topic, and the key that its declaration names.
//
//	events.Grant(fn, sns.Publish)
func (t Topic) Grant(to aws.Grantee, access ...Access) {
	actions := aws.Actions(access...)
	aws.Grant(to, actions, t.ARN)
	keyUse().Grant(to, t.key, actions)
}
