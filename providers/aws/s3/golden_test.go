package s3

import (
	"cmp"
	"encoding/xml"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// TestGolden has the bodies that set up the bucket of site, in the request syntax of the pages
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html, API_PutBucketCors.html and so on, one for each call.
func TestGolden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	props := site()
	props["objectLockEnabled"], props["objectLockRetention"] = true, obj{"mode": "COMPLIANCE", "years": int64(2)}
	w.Settled(t, props, nil)
	have := map[string]element{}
	for _, c := range w.Server.Mutations() {
		if c.Operation != "CreateBucket" && c.Operation != "PutBucketPolicy" {
			have[c.Operation] = parsed(t, strings.ReplaceAll(string(c.Body), w.like.scope, ""))
		}
	}
	for operation, body := range map[string]string{
		"PutPublicAccessBlock": `<PublicAccessBlockConfiguration>
			<BlockPublicAcls>false</BlockPublicAcls><IgnorePublicAcls>false</IgnorePublicAcls>
			<BlockPublicPolicy>false</BlockPublicPolicy><RestrictPublicBuckets>false</RestrictPublicBuckets>
		</PublicAccessBlockConfiguration>`,
		"PutBucketEncryption": `<ServerSideEncryptionConfiguration><Rule>
			<ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms</SSEAlgorithm>
				<KMSMasterKeyID>arn:aws:kms:us-east-1:123456789012:key/0d990263-018e-4065-a703-eff731de951e</KMSMasterKeyID>
			</ApplyServerSideEncryptionByDefault>
			<BucketKeyEnabled>true</BucketKeyEnabled>
		</Rule></ServerSideEncryptionConfiguration>`,
		"PutBucketCors": `<CORSConfiguration>
			<CORSRule><ID>app</ID><AllowedMethod>PUT</AllowedMethod><AllowedMethod>GET</AllowedMethod>
				<AllowedOrigin>https://example.com</AllowedOrigin><AllowedOrigin>https://a.example</AllowedOrigin>
				<AllowedHeader>x-b</AllowedHeader><AllowedHeader>x-a</AllowedHeader>
				<ExposeHeader>ETag</ExposeHeader><ExposeHeader>Date</ExposeHeader><MaxAgeSeconds>300</MaxAgeSeconds></CORSRule>
			<CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>
		</CORSConfiguration>`,
		"PutBucketLifecycleConfiguration": `<LifecycleConfiguration>
			<Rule><ID>all</ID><Filter><Prefix></Prefix></Filter><Status>Enabled</Status>
				<Transition><Days>90</Days><StorageClass>GLACIER</StorageClass></Transition>
				<Transition><Days>30</Days><StorageClass>STANDARD_IA</StorageClass></Transition>
				<Expiration><Days>400</Days></Expiration>
				<NoncurrentVersionTransition><NoncurrentDays>50</NoncurrentDays><StorageClass>DEEP_ARCHIVE</StorageClass>
					<NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionTransition>
				<NoncurrentVersionTransition><NoncurrentDays>30</NoncurrentDays><StorageClass>GLACIER_IR</StorageClass>
					<NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionTransition>
				<NoncurrentVersionExpiration><NoncurrentDays>60</NoncurrentDays>
					<NewerNoncurrentVersions>3</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>
			<Rule><Filter><Prefix>tmp/</Prefix></Filter><Status>Enabled</Status>
				<AbortIncompleteMultipartUpload><DaysAfterInitiation>2</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>
			<Rule><Filter><And><Prefix>big/</Prefix><Tag><Key>kind</Key><Value>raw</Value></Tag><Tag><Key>team</Key><Value>data</Value></Tag>
					<ObjectSizeGreaterThan>1048576</ObjectSizeGreaterThan><ObjectSizeLessThan>5368709120</ObjectSizeLessThan></And></Filter>
				<Status>Disabled</Status>
				<Transition><Date>2034-12-31T00:00:00Z</Date><StorageClass>DEEP_ARCHIVE</StorageClass></Transition>
				<Expiration><Date>2035-12-31T00:00:00Z</Date></Expiration></Rule>
			<Rule><ID>markers</ID><Filter><Tag><Key>kind</Key><Value>old</Value></Tag></Filter><Status>Enabled</Status>
				<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule>
		</LifecycleConfiguration>`,
		"PutBucketLogging": `<BucketLoggingStatus><LoggingEnabled><TargetBucket>the-logs</TargetBucket><TargetPrefix>site/</TargetPrefix>
			<TargetObjectKeyFormat><PartitionedPrefix><PartitionDateSource>EventTime</PartitionDateSource></PartitionedPrefix></TargetObjectKeyFormat>
		</LoggingEnabled></BucketLoggingStatus>`,
		"PutBucketAccelerateConfiguration": `<AccelerateConfiguration><Status>Enabled</Status></AccelerateConfiguration>`,
		"PutBucketRequestPayment":          `<RequestPaymentConfiguration><Payer>Requester</Payer></RequestPaymentConfiguration>`,
		"PutBucketWebsite": `<WebsiteConfiguration>
			<IndexDocument><Suffix>index.html</Suffix></IndexDocument><ErrorDocument><Key>404.html</Key></ErrorDocument>
			<RoutingRules>
				<RoutingRule><Condition><KeyPrefixEquals>docs/</KeyPrefixEquals></Condition>
					<Redirect><ReplaceKeyPrefixWith></ReplaceKeyPrefixWith></Redirect></RoutingRule>
				<RoutingRule><Condition><HttpErrorCodeReturnedEquals>404</HttpErrorCodeReturnedEquals></Condition>
					<Redirect><Protocol>https</Protocol><HostName>example.com</HostName><ReplaceKeyWith>gone.html</ReplaceKeyWith>
						<HttpRedirectCode>302</HttpRedirectCode></Redirect></RoutingRule>
			</RoutingRules>
		</WebsiteConfiguration>`,
		"PutBucketNotificationConfiguration": `<NotificationConfiguration>
			<TopicConfiguration><Id>gone</Id><Topic>arn:aws:sns:us-east-1:123456789012:gone</Topic><Event>s3:ObjectRemoved:*</Event>
				<Filter><S3Key><FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter></TopicConfiguration>
			<QueueConfiguration><Id>pictures</Id><Queue>arn:aws:sqs:us-east-1:123456789012:pictures</Queue>
				<Event>s3:ObjectCreated:Copy</Event><Event>s3:ObjectCreated:Put</Event>
				<Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value></FilterRule>
					<FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter></QueueConfiguration>
			<CloudFunctionConfiguration><Id>other</Id><CloudFunction>arn:aws:lambda:us-east-1:123456789012:function:other</CloudFunction>
				<Event>s3:ObjectCreated:*</Event>
				<Filter><S3Key><FilterRule><Name>prefix</Name><Value>other/</Value></FilterRule></S3Key></Filter></CloudFunctionConfiguration>
			<EventBridgeConfiguration></EventBridgeConfiguration>
		</NotificationConfiguration>`,
		"PutObjectLockConfiguration": `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>
			<Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Years>2</Years></DefaultRetention></Rule>
		</ObjectLockConfiguration>`,
	} {
		awstest.ConformXML(t, "s3", operation, body)
		if want := parsed(t, body); !reflect.DeepEqual(have[operation], want) {
			t.Errorf("%s sends\n%v\nand the documentation says\n%v", operation, have[operation], want)
		}
		delete(have, operation)
	}
	if len(have) > 0 {
		t.Errorf("there are further bodies: %v", have)
	}
}

// element is a body whose order counts among elements of one name alone.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Within  []element `xml:",any"`
}

func parsed(t *testing.T, body string) (e element) {
	t.Helper()
	if err := xml.Unmarshal([]byte(body), &e); err != nil {
		t.Fatal(err)
	}
	return e.sorted()
}

func (e element) sorted() element {
	e.XMLName.Space, e.Text = "", strings.TrimSpace(e.Text)
	for i, inner := range e.Within {
		e.Within[i] = inner.sorted()
	}
	slices.SortStableFunc(e.Within, func(a, b element) int { return cmp.Compare(a.XMLName.Local, b.XMLName.Local) })
	return e
}

// TestGoldenObject has what an upload sends with the content, by the names of
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
func TestGoldenObject(t *testing.T) {
	t.Parallel()
	awstest.GoldenStruct(t, objectTable, obj{
		"bucket": "b", "key": "k", "content": "x", "contentType": "text/plain", "cacheControl": "max-age=60", "contentDisposition": "inline",
		"contentEncoding": "identity", "contentLanguage": "de", "websiteRedirect": "/elsewhere", "metadata": obj{"origin": "test"},
		"storageClass": "STANDARD_IA", "encryption": obj{"algorithm": "aws:kms", "kmsKey": "arn:aws:kms:us-east-1:123456789012:key/one"},
	}, &sdk.PutObjectInput{
		ContentType: new("text/plain"), CacheControl: new("max-age=60"), ContentDisposition: new("inline"), ContentEncoding: new("identity"),
		ContentLanguage: new("de"), WebsiteRedirectLocation: new("/elsewhere"), Metadata: map[string]string{"origin": "test"},
		StorageClass: types.StorageClassStandardIa, ServerSideEncryption: types.ServerSideEncryptionAwsKms,
		SSEKMSKeyId: new("arn:aws:kms:us-east-1:123456789012:key/one"),
	})
}
