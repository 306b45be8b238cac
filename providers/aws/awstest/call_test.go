package awstest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// TestEveryOperation calls every operation that the SDK's clients have and
// compares what is read from the wire with the name of the method.
func TestEveryOperation(t *testing.T) {
	for _, tt := range []struct {
		service string
		client  func(aws.Config) any
		skip    []string
		least   int
	}{
		// The first is sent only with a live stream, the second to a host of its own, and the third is of
		// directory buckets, which have their own sign-in.
		{
			"S3", func(c aws.Config) any { return s3.NewFromConfig(c) },
			[]string{"SelectObjectContent", "WriteGetObjectResponse", "ListDirectoryBuckets"},
			100,
		},
		{"SQS", func(c aws.Config) any { return sqs.NewFromConfig(c) }, nil, 20},
		{"SNS", func(c aws.Config) any { return sns.NewFromConfig(c) }, nil, 40},
		{"STS", func(c aws.Config) any { return sts.NewFromConfig(c) }, nil, 8},
		// The answers of the first two are live streams, and the third takes one of several shapes.
		{
			"Logs", func(c aws.Config) any { return cloudwatchlogs.NewFromConfig(c) },
			[]string{"StartLiveTail", "GetLogObject", "PutIntegration"},
			90,
		},
		{"SecretsManager", func(c aws.Config) any { return secretsmanager.NewFromConfig(c) }, nil, 20},
		{"Tagging", func(c aws.Config) any { return resourcegroupstaggingapi.NewFromConfig(c) }, nil, 8},
	} {
		t.Run(tt.service, func(t *testing.T) {
			seen := &wire{}
			front := httptest.NewServer(seen)
			defer front.Close()
			client := reflect.ValueOf(tt.client(aws.Config{
				Region: "us-east-1", BaseEndpoint: new(front.URL),
				Credentials: credentials.NewStaticCredentialsProvider(AccessKey("111122223333"), "secret", ""),
				Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
			}))
			names := 0
			for method := range client.Type().Methods() {
				if method.Type.NumOut() != 2 || slices.Contains(tt.skip, method.Name) {
					continue
				}
				names++
				checkOperation(t, client, method, seen, tt.service)
			}
			if names < tt.least {
				t.Errorf("%d operations found, want at least %d", names, tt.least)
			}
		})
	}
}

func checkOperation(t *testing.T, client reflect.Value, method reflect.Method, seen *wire, service string) {
	t.Helper()
	in := reflect.New(method.Type.In(2).Elem())
	fill(in.Elem(), 0)
	method.Func.Call([]reflect.Value{client, reflect.ValueOf(context.Background()), in})
	c, ok := seen.take()
	if !ok {
		out := method.Func.Call([]reflect.Value{client, reflect.ValueOf(context.Background()), in})
		t.Errorf("%s: nothing was sent: %v", method.Name, out[1])
		return
	}
	if want := service + "." + method.Name; c.Name() != want {
		t.Errorf("%s is read as %s (%s %s)", want, c.Name(), c.Method, c.URI)
	}
	if want := changes(service, method.Name); c.Mutating != want {
		t.Errorf("%s: mutating %t, want %t", c.Name(), c.Mutating, want)
	}
	if signed := !strings.HasPrefix(method.Name, "AssumeRoleWith"); signed && (c.Account != "111122223333" || c.Region != "us-east-1") {
		t.Errorf("%s: account %q, region %q", c.Name(), c.Account, c.Region)
	}
}

// changes is the expectation, by the names of the operations alone.
func changes(service, operation string) bool {
	if service == "STS" {
		return false
	}
	for _, verb := range []string{"Get", "List", "Head", "Describe", "CheckIfPhoneNumberIsOptedOut", "Filter", "Validate", "BatchGet"} {
		if strings.HasPrefix(operation, verb) {
			return false
		}
	}
	return true
}

// wire keeps the last call that came in and answers nothing of use.
type wire struct {
	mu   sync.Mutex
	last *Call
}

func (s *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c := classify(r, body, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &c
	w.WriteHeader(http.StatusTeapot)
}

func (s *wire) take() (Call, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return Call{}, false
	}
	c := *s.last
	s.last = nil
	return c, true
}

// fill gives every field of an input a value, so that the client's own check
// of required fields passes.
func fill(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() && field.Name != "ExpectedBucketOwner" {
				fill(value, depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), element)
	case reflect.String:
		v.SetString("word")
		if v.Type() == reflect.TypeFor[s3types.ChecksumAlgorithm]() {
			v.SetString("SHA256")
		}
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Interface:
		if reflect.TypeFor[*strings.Reader]().Implements(v.Type()) {
			v.Set(reflect.ValueOf(strings.NewReader("w")))
		}
		if v.Type() == reflect.TypeFor[s3types.ObjectEncryption]() {
			v.Set(reflect.ValueOf(&s3types.ObjectEncryptionMemberSSEKMS{Value: s3types.SSEKMSEncryption{KMSKeyArn: new("word")}}))
		}
	}
}
