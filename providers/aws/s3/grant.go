package s3

import (
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
)

// Access is a way to use a bucket: the actions that it takes, apart by spaces. An action by its name is one as well.
type Access string

// What a grantee can be allowed.
const (
	// Read objects. Who may not list is told that a missing object is forbidden.
	Read Access = "s3:GetObject"
	// List the keys of the bucket.
	List Access = "s3:ListBucket"
	// Write objects, whole or in parts.
	Write Access = "s3:PutObject s3:AbortMultipartUpload"
	// Delete objects. Where versions are kept, the latest is hidden.
	Delete Access = "s3:DeleteObject"
)

// keyUse is what the actions take of the key of encrypted objects; parts of an upload are read again:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
func keyUse() aws.KeyUse {
	return aws.KeyUse{"s3:GetObject": "kms:Decrypt", "s3:PutObject": "kms:Decrypt kms:GenerateDataKey"}
}

// Grant allows a role, or what runs as one, to use the bucket: objects, or the bucket itself, as each action wants; and the key
// that the bucket's declaration names for its encryption.
//
//	assets.Grant(fn, s3.Read, s3.List)
func (b Bucket) Grant(to aws.Grantee, access ...Access) {
	var objects, bucket []string
	for _, action := range aws.Actions(access...) {
		if aboutBucket(action) {
			bucket = append(bucket, action)
		} else {
			objects = append(objects, action)
		}
	}
	if len(bucket) > 0 {
		aws.Grant(to, bucket, b.ARN)
	}
	if len(objects) > 0 || len(bucket) == 0 {
		aws.Grant(to, objects, b.ARN+"/*")
		keyUse().Grant(to, b.key, objects)
	}
}

// aboutBucket tells actions on a bucket from those on objects, which their names do.
func aboutBucket(action string) bool { return strings.Contains(action, "Bucket") }
