package s3

import "github.com/athanor-dev/athanor/providers/aws"

// ObjectProps declare an object and all of its content.
type ObjectProps struct {
	// Bucket is the name of the bucket. Changing it replaces the object.
	Bucket BucketName `prop:"required"`
	// Key is the object's name in the bucket, at most 1,024 bytes. Changing it replaces the object.
	Key string `prop:"required"`
	// Content is the object's content as text; it may be empty. It excludes source.
	Content *string
	// Source is a file, relative to the stack's directory, of at most 5 GiB, which is what S3 takes in one
	// upload. It excludes content.
	Source string
	// ContentType is the media type. Left out, it goes by the ending of the key, and is application/octet-stream
	// where that says nothing.
	ContentType *string
	// CacheControl is the header Cache-Control of answers, such as "max-age=3600".
	CacheControl string
	// ContentDisposition is the header Content-Disposition of answers.
	ContentDisposition string
	// ContentEncoding says how the content is encoded, such as gzip. It does not make it so.
	ContentEncoding string
	// ContentLanguage is the language of the content, such as en-GB.
	ContentLanguage string
	// WebsiteRedirect is where requests of the object are sent by the bucket's site: a URL, or a key with "/" before it.
	WebsiteRedirect string
	// Metadata are headers of one's own, at most 2 KiB together. Keys are lower case.
	Metadata map[string]string
	// StorageClass of the object. A lifecycle rule that moves the object makes it differ, and the next deploy puts
	// it back; declare the class that the rule moves to, or ignore changes of this prop. Default: STANDARD.
	StorageClass *string `prop:"enum=STANDARD|REDUCED_REDUNDANCY|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|GLACIER|DEEP_ARCHIVE|GLACIER_IR"`
	// Encryption of the object. Left out, it is that of the bucket, and an object of another one is uploaded again;
	// one that S3 stored before it encrypted everything (January 2023) is left as it is.
	Encryption *ObjectEncryption
	// Tags of the object, at most 5 beside those that mark it: S3 takes 10 in all. Keys that begin with
	// "athanor:" or "aws:" are not for authors.
	Tags map[string]string
}

// ObjectEncryption is how one object is encrypted.
type ObjectEncryption struct {
	// Algorithm is AES256 with keys of S3, or aws:kms or aws:kms:dsse with keys of KMS.
	Algorithm string `prop:"required,enum=AES256|aws:kms|aws:kms:dsse"`
	// KMSKey is the ARN of a key, for the algorithms of KMS. Left out, they use the account's key aws/s3.
	KMSKey string
}

// Object is what others may refer to of an object.
type Object struct {
	// Bucket that the object is in.
	Bucket BucketName
	// Key of the object.
	Key string
	// ARN of the object.
	ARN aws.ARN
	// ETag changes with the content and with the encryption.
	ETag string
	// VersionID is that of the current version; "" in a bucket that never had versioning.
	VersionID string
	// URL is where the object is served to whoever may read it.
	URL string
}
