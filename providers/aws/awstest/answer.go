package awstest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// requestID is that of every answer made here.
const requestID = "00000000-0000-4000-8000-000000000000"

// failure is an error of a service, before it is spelt in a protocol.
type failure struct {
	status  int
	code    string
	legacy  string // its name in the query protocol, for JSON services that keep the old one
	message string
}

// throttled is the service's "too many requests". The query services Answer
// 400, S3 503 and the REST-JSON services 429.
func throttled(c Call) Answer {
	switch {
	case c.Service == "S3":
		return spell(c, failure{status: 503, code: "SlowDown", message: "Please reduce your request rate."})
	case c.Service == "SQS":
		return spell(c, failure{
			status: 403, code: "RequestThrottled", legacy: "RequestThrottled",
			message: "Request is throttled.",
		})
	case c.Service == "Tagging":
		return spell(c, failure{status: 400, code: "ThrottledException", message: "Rate exceeded"})
	case on(c).protocol == query:
		return spell(c, failure{status: 400, code: "Throttling", message: "Rate exceeded"})
	case on(c).protocol == restJSON, on(c).protocol == registryHTTP:
		return spell(c, failure{status: 429, code: "TooManyRequestsException", message: "Rate exceeded"})
	}
	return spell(c, failure{status: 400, code: "ThrottlingException", message: "Rate exceeded"})
}

// broken is the service's internal error.
func broken(c Call) Answer {
	f := failure{status: 500, message: "We encountered an internal error. Please try again."}
	switch {
	case c.Service == "S3" || c.Service == "SNS":
		f.code = "InternalError"
	case c.Service == "SQS":
		f.code, f.legacy = "InternalError", "InternalError"
	case c.Service == "Tagging":
		f.code = "InternalServiceException"
	case on(c).protocol == restJSON:
		f.code = "ServiceException"
	default:
		f.code = "InternalFailure"
	}
	return spell(c, f)
}

// denied is the service's refusal for want of a permission.
func denied(c Call) Answer {
	f := failure{status: 403, message: fmt.Sprintf(
		"User: arn:aws:iam::%s:user/moto is not authorized to perform: %s:%s", c.Account, strings.ToLower(c.Service), c.Operation)}
	switch {
	case c.Service == "S3":
		f.code, f.message = "AccessDenied", "Access Denied"
	case c.Service == "SNS":
		f.code = "AuthorizationError"
	case c.Service == "SQS":
		f.status, f.code, f.legacy = 400, "AccessDeniedException", "AccessDenied"
	case on(c).protocol == query:
		f.code = "AccessDenied"
	case on(c).protocol == jsonRPC:
		f.status, f.code = 400, "AccessDeniedException"
	default:
		f.code = "AccessDeniedException"
	}
	return spell(c, f)
}

// refused is the error that the fault names. SQS says the last word of its old
// codes in JSON, and the whole of them in a header.
func refused(c Call, f Fault) Answer {
	err := failure{status: f.Status, code: f.Code, message: "Refused by the test."}
	if err.status == 0 {
		err.status = 400
	}
	if c.Service == "SQS" {
		err.code, err.legacy = strings.TrimPrefix(f.Code, "AWS.SimpleQueueService."), f.Code
	}
	return spell(c, err)
}

// absent is what the service answers while the requested object does not exist.
func absent(c Call) Answer {
	if lists(c) {
		return emptyList(c)
	}
	f := failure{status: 404}
	_, key, _ := strings.Cut(c.Resource, "/")
	switch {
	case c.Service == "S3" && key != "":
		f.code, f.message = "NoSuchKey", "The specified key does not exist."
	case c.Service == "S3":
		f.code, f.message = "NoSuchBucket", "The specified bucket does not exist"
	case c.Service == "SQS":
		f = failure{
			status: 400, code: "QueueDoesNotExist", legacy: "AWS.SimpleQueueService.NonExistentQueue",
			message: "The specified queue does not exist.",
		}
	case c.Service == "SNS":
		f.code, f.message = "NotFound", notFoundNoun(c)+" does not exist"
	case c.Service == "Route53":
		f.code, f.message = "NoSuchHostedZone", "No hosted zone found."
	case c.Service == "IAM":
		f.code, f.message = "NoSuchEntity", "The entity cannot be found."
	case on(c).protocol == query:
		f.code, f.message = "NotFound", "Not found"
	case on(c).protocol == jsonRPC:
		f.status, f.code, f.message = 400, "ResourceNotFoundException", "Requested resource not found"
	default:
		f.code, f.message = "ResourceNotFoundException", "Requested resource not found"
	}
	return spell(c, f)
}

func notFoundNoun(c Call) string {
	if strings.Contains(c.Operation, "Subscription") {
		return "Subscription"
	}
	return "Topic"
}

// lists reports reads that answer with an empty list where nothing is. A
// list that belongs to one object answers that the object does not exist.
func lists(c Call) bool {
	switch c.Name() {
	case "SQS.ListQueueTags", "SQS.ListDeadLetterSourceQueues", "SQS.ListMessageMoveTasks",
		"SNS.ListTagsForResource", "SNS.ListSubscriptionsByTopic":
		return false
	case "Tagging.GetResources":
		return true
	}
	if c.Service == "S3" {
		return c.Resource == ""
	}
	return on(c).protocol != restJSON && strings.HasPrefix(c.Operation, "List")
}

func emptyList(c Call) Answer {
	switch {
	case c.Service == "S3":
		return xmlAnswer(c, 200, struct {
			XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
			Owner   string   `xml:"Owner>ID"`
			Buckets struct{} `xml:"Buckets"`
		}{Owner: c.Account})
	case on(c).protocol == query:
		body := fmt.Sprintf("<%[1]sResponse xmlns=%[2]q><%[1]sResult></%[1]sResult><ResponseMetadata><RequestId>%[3]s</RequestId></ResponseMetadata></%[1]sResponse>",
			c.Operation, namespace(c), requestID)
		return made(200, "text/xml", []byte(body))
	}
	return made(200, jsonType(c), []byte("{}"))
}

// spell writes a failure in the call's protocol.
func spell(c Call, f failure) Answer {
	switch on(c).protocol {
	case restXML:
		return spellObjectStorage(c, f)
	case query:
		return spellQuery(c, f)
	case registryHTTP:
		return spellRegistry(f)
	}
	return spellJSON(c, f)
}

func spellObjectStorage(c Call, f failure) Answer {
	if c.Method == http.MethodHead {
		return made(f.status, "application/xml", nil)
	}
	bucket, key, _ := strings.Cut(c.Resource, "/")
	return xmlAnswer(c, f.status, struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string
		Message    string
		BucketName string `xml:",omitempty"`
		Key        string `xml:",omitempty"`
		RequestID  string `xml:"RequestId"`
	}{Code: f.code, Message: f.message, BucketName: bucket, Key: key, RequestID: requestID})
}

func spellQuery(c Call, f failure) Answer {
	type detail struct{ Type, Code, Message string }
	side := "Sender"
	if f.status >= 500 {
		side = "Receiver"
	}
	return xmlAnswer(c, f.status, struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Namespace string   `xml:"xmlns,attr"`
		Error     detail
		RequestID string `xml:"RequestId"`
	}{Namespace: namespace(c), Error: detail{side, f.code, f.message}, RequestID: requestID})
}

func spellJSON(c Call, f failure) Answer {
	kind := f.code
	if c.Service == "SQS" {
		kind = "com.amazonaws.sqs#" + f.code
	}
	body, err := json.Marshal(map[string]string{"__type": kind, "message": f.message})
	if err != nil {
		return unreachable(err)
	}
	a := made(f.status, jsonType(c), body)
	a.Header.Set("X-Amzn-Errortype", kind)
	if f.legacy != "" {
		side := "Sender"
		if f.status >= 500 {
			side = "Receiver"
		}
		a.Header.Set("X-Amzn-Query-Error", f.legacy+";"+side)
	}
	return a
}

// namespace is the XML namespace of a query service.
func namespace(c Call) string {
	return "https://" + strings.ToLower(c.Service) + ".amazonaws.com/doc/" + on(c).action.Get("Version") + "/"
}

func jsonType(c Call) string {
	if on(c).protocol == restJSON {
		return "application/json"
	}
	if c.Service == "SQS" || c.Service == "DynamoDB" {
		return "application/x-amz-json-1.0"
	}
	return "application/x-amz-json-1.1"
}

func xmlAnswer(c Call, status int, body any) Answer {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(body); err != nil {
		return unreachable(err)
	}
	kind := "text/xml"
	if on(c).protocol == restXML {
		kind = "application/xml"
	}
	return made(status, kind, out.Bytes())
}

func made(status int, contentType string, body []byte) Answer {
	header := http.Header{}
	header.Set("Content-Type", contentType)
	header.Set("X-Amzn-Requestid", requestID)
	return Answer{Status: status, Header: header, Body: body}
}
