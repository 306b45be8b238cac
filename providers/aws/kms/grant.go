package kms

import "github.com/athanor-dev/athanor/providers/aws"

// Access is a way to use a key: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed. They count where the key's policy lets the account's IAM policies decide, as that of the service
// does.
const (
	// Encrypt data, and have data keys made, as who writes what is encrypted needs it.
	Encrypt Access = "kms:DescribeKey kms:Encrypt kms:GenerateDataKey kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo"
	// Decrypt data, as who reads what is encrypted needs it.
	Decrypt Access = "kms:Decrypt kms:DescribeKey"
	// Sign messages, and verify them.
	Sign Access = "kms:DescribeKey kms:GetPublicKey kms:Sign kms:Verify"
	// MAC makes and verifies codes of messages.
	MAC Access = "kms:DescribeKey kms:GenerateMac kms:VerifyMac"
)

// Grant allows a role, or what runs as one, to use the key.
//
//	key.Grant(fn, kms.Encrypt, kms.Decrypt)
func (k Key) Grant(to aws.Grantee, access ...Access) {
	aws.Grant(to, aws.Actions(access...), k.ARN)
}
