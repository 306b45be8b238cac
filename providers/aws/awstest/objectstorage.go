package awstest

import (
	"net/http"
	"net/url"
	"strings"
)

// objectStorageOperation names a request to S3, which says what it wants by
// method, path, sub-resource and headers. Where the sub-resource leaves a
// choice the SDKs add the name as x-id.
func objectStorageOperation(r *http.Request) string {
	values := r.URL.Query()
	if id := values.Get("x-id"); id != "" {
		return id
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket == "":
		return "ListBuckets"
	case bucket == "WriteGetObjectResponse" && r.Method == http.MethodPost:
		return "WriteGetObjectResponse"
	case key == "":
		return bucketOperation(r.Method, values)
	}
	return objectOperation(r, values)
}

func bucketOperation(method string, values url.Values) string {
	switch {
	case method == http.MethodHead:
		return "HeadBucket"
	case values.Has("uploads"):
		return "ListMultipartUploads"
	case values.Has("versions"):
		return "ListObjectVersions"
	case values.Get("list-type") == "2":
		return "ListObjectsV2"
	case values.Has("session"):
		return "CreateSession"
	case values.Has("delete"):
		return "DeleteObjects"
	}
	if noun, table := bucketPart(values); noun != "" {
		return partVerb(method, table) + noun
	}
	if values.Has("lifecycle") { // the one part whose removal has a name of its own
		if method == http.MethodDelete {
			return "DeleteBucketLifecycle"
		}
		return partVerb(method, false) + "BucketLifecycleConfiguration"
	}
	switch method {
	case http.MethodPut:
		return "CreateBucket"
	case http.MethodDelete:
		return "DeleteBucket"
	}
	return "ListObjects"
}

// partVerb returns what method does to a part of a bucket. The metadata
// tables are created by POST, and PUT changes one.
func partVerb(method string, table bool) string {
	switch method {
	case http.MethodPut:
		if table {
			return "Update"
		}
		return "Put"
	case http.MethodPost:
		return "Create"
	case http.MethodDelete:
		return "Delete"
	}
	return "Get"
}

// bucketPart names the sub-resource of a bucket, and says whether it is a
// metadata table.
func bucketPart(values url.Values) (noun string, table bool) {
	for name := range values {
		if noun := bucketNoun(name); noun != "" {
			return noun, strings.HasPrefix(name, "metadata")
		}
	}
	return "", false
}

func bucketNoun(name string) string {
	switch name {
	case "publicAccessBlock":
		return "PublicAccessBlock"
	case "object-lock":
		return "ObjectLockConfiguration"
	case "abac", "acl", "cors", "encryption", "location", "logging", "ownershipControls", "policy", "policyStatus",
		"replication", "requestPayment", "tagging", "versioning", "website":
		return "Bucket" + strings.ToUpper(name[:1]) + name[1:]
	case "accelerate", "analytics", "inventory", "metrics", "notification", "metadataConfiguration":
		return "Bucket" + strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "Configuration") + "Configuration"
	case "intelligent-tiering":
		return "BucketIntelligentTieringConfiguration"
	case "metadataTable", "metadataAnnotationTable", "metadataInventoryTable", "metadataJournalTable":
		return "BucketMetadata" + strings.TrimPrefix(name, "metadata") + "Configuration"
	}
	return ""
}

func objectOperation(r *http.Request, values url.Values) string {
	for _, part := range []struct{ query, noun string }{
		{"acl", "ObjectAcl"},
		{"tagging", "ObjectTagging"},
		{"retention", "ObjectRetention"},
		{"legal-hold", "ObjectLegalHold"},
		{"attributes", "ObjectAttributes"},
		{"torrent", "ObjectTorrent"},
		{"annotation", "ObjectAnnotation"},
	} {
		if values.Has(part.query) {
			return partVerb(r.Method, false) + part.noun
		}
	}
	switch {
	case values.Has("renameObject"):
		return "RenameObject"
	case values.Has("encryption"):
		return "UpdateObjectEncryption"
	case values.Has("restore"):
		return "RestoreObject"
	case values.Has("select"):
		return "SelectObjectContent"
	case values.Has("uploads"):
		return "CreateMultipartUpload"
	case values.Has("uploadId"):
		return partOperation(r)
	}
	return wholeObjectOperation(r)
}

// partOperation names a request about a multipart upload.
func partOperation(r *http.Request) string {
	switch r.Method {
	case http.MethodPost:
		return "CompleteMultipartUpload"
	case http.MethodDelete:
		return "AbortMultipartUpload"
	case http.MethodGet:
		return "ListParts"
	}
	if r.Header.Get("X-Amz-Copy-Source") != "" {
		return "UploadPartCopy"
	}
	return "UploadPart"
}

func wholeObjectOperation(r *http.Request) string {
	switch r.Method {
	case http.MethodHead:
		return "HeadObject"
	case http.MethodPut:
		if r.Header.Get("X-Amz-Copy-Source") != "" {
			return "CopyObject"
		}
		return "PutObject"
	case http.MethodDelete:
		return "DeleteObject"
	}
	return "GetObject"
}
