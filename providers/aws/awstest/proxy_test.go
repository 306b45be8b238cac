package awstest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// eachThing runs a test once per protocol, each in an account of its own.
func eachThing(t *testing.T, test func(*testing.T, *awstest.Server, thing)) {
	for _, service := range []string{"S3", "SQS", "SNS"} {
		t.Run(service, func(t *testing.T) {
			cloud := awstest.Start(t)
			test(t, cloud, things(cloud)[service])
		})
	}
}

// exists asks the cloud itself.
func exists(t *testing.T, cloud *awstest.Server, th thing) bool {
	t.Helper()
	err := th.look(t.Context(), cloud.Config(t))
	if err != nil && code(err) != th.absent {
		t.Fatal(err)
	}
	return err == nil
}

func only(t *testing.T, calls []awstest.Call) awstest.Call {
	t.Helper()
	if len(calls) != 1 {
		t.Fatalf("%d calls, want 1: %v", len(calls), calls)
	}
	return calls[0]
}

func TestRefusals(t *testing.T) {
	eachThing(t, func(t *testing.T, cloud *awstest.Server, th thing) {
		cfg := cloud.ObservedConfig(t)
		for _, tt := range []struct {
			kind   awstest.Kind
			code   string
			status int
			retry  aws.Ternary
		}{
			{awstest.Throttle, th.throttled, th.throttledStatus, aws.TrueTernary},
			{awstest.ServerError, th.broken, 500, aws.TrueTernary},
			{awstest.Deny, th.denied, 0, aws.FalseTernary},
			{awstest.Refuse, "OperationAborted", 409, aws.FalseTernary},
		} {
			cloud.Reset()
			armed := cloud.Inject(awstest.Fault{Op: th.create, Kind: tt.kind, Code: tt.code, Status: tt.status})
			err := th.make(t.Context(), cfg)
			if code(err) != tt.code {
				t.Errorf("%s: %v, want %s", tt.kind, err, tt.code)
			}
			retryable := retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err)
			if (retryable == aws.TrueTernary) != (tt.retry == aws.TrueTernary) {
				t.Errorf("%s: the SDK's retryable is %v, want %v", tt.kind, retryable, tt.retry)
			}
			c := only(t, cloud.Calls())
			if c.Fault != tt.kind || c.Forwarded || tt.status != 0 && c.Status != tt.status || armed.Fired() != 1 {
				t.Errorf("%s: call %v, status %d, forwarded %t, fired %d", tt.kind, c.Name(), c.Status, c.Forwarded, armed.Fired())
			}
			if exists(t, cloud, th) {
				t.Fatalf("%s had an effect", tt.kind)
			}
		}
		if err := th.make(t.Context(), cfg); err != nil || !exists(t, cloud, th) {
			t.Errorf("after the faults: %v", err)
		}
	})
}

func TestCuts(t *testing.T) {
	eachThing(t, func(t *testing.T, cloud *awstest.Server, th thing) {
		cfg := cloud.ObservedConfig(t)
		for _, tt := range []struct {
			kind   awstest.Kind
			effect bool
		}{{awstest.CutBefore, false}, {awstest.DropAnswer, true}} {
			cloud.Reset()
			cloud.Inject(awstest.Fault{Op: th.create, Kind: tt.kind})
			err := th.make(t.Context(), cfg)
			if err == nil || code(err) != "" {
				t.Fatalf("%s: %v, want a broken connection", tt.kind, err)
			}
			if retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) != aws.TrueTernary {
				t.Errorf("%s: the SDK would not retry %v", tt.kind, err)
			}
			if c := only(t, cloud.Mutations()); c.Forwarded != tt.effect || (c.Status == 200) != tt.effect {
				t.Errorf("%s: forwarded %t, status %d", tt.kind, c.Forwarded, c.Status)
			}
			if got := exists(t, cloud, th); got != tt.effect {
				t.Errorf("%s: exists %t, want %t", tt.kind, got, tt.effect)
			}
		}
	})
}

// TestCutRead cuts a GET on a connection that was used before, which Go's own
// client would repeat in silence if the connection just ended.
func TestCutRead(t *testing.T) {
	eachThing(t, func(t *testing.T, cloud *awstest.Server, th thing) {
		cfg := cloud.ObservedConfig(t)
		if err := th.make(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []awstest.Kind{awstest.CutBefore, awstest.DropAnswer} {
			if err := th.look(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			cloud.Reset()
			cloud.Inject(awstest.Fault{Op: th.read, Kind: kind})
			if err := th.look(t.Context(), cfg); err == nil || code(err) != "" {
				t.Errorf("%s: %v, want a broken connection", kind, err)
			}
			only(t, cloud.Calls())
		}
	})
}

func TestHolds(t *testing.T) {
	eachThing(t, func(t *testing.T, cloud *awstest.Server, th thing) {
		cfg := cloud.ObservedConfig(t)
		ctx, giveUp := context.WithCancel(t.Context())
		held := cloud.Inject(awstest.Fault{Op: th.create, Kind: awstest.Hold})
		done := make(chan error, 1)
		go func() { done <- th.make(ctx, cfg) }()
		<-held.Reached()
		if c := only(t, cloud.Calls()); c.Status != 0 || c.Forwarded || exists(t, cloud, th) {
			t.Errorf("held before: status %d, forwarded %t", c.Status, c.Forwarded)
		}
		giveUp()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		if exists(t, cloud, th) {
			t.Error("a call that was given up had an effect")
		}

		after := cloud.Inject(awstest.Fault{Op: th.create, Kind: awstest.HoldAnswer})
		before := cloud.Inject(awstest.Fault{Op: th.read, Kind: awstest.Hold})
		go func() { done <- th.make(t.Context(), cfg) }()
		<-after.Reached()
		go func() { after.Release(); after.Release() }()
		if err := <-done; err != nil || !exists(t, cloud, th) {
			t.Errorf("answer held: %v", err)
		}
		go func() { done <- th.look(t.Context(), cfg) }()
		<-before.Reached()
		before.Release()
		if err := <-done; err != nil {
			t.Errorf("held and released: %v", err)
		}
	})
}

// TestHoldEndsWithTheTest leaves a call held: the end of the test must break
// its connection, or Start's cleanup would hang.
func TestHoldEndsWithTheTest(t *testing.T) {
	done := make(chan error, 1)
	begun := false
	t.Run("held", func(t *testing.T) {
		cloud := awstest.Start(t)
		cfg := cloud.ObservedConfig(t)
		held := cloud.Inject(awstest.Fault{Kind: awstest.HoldAnswer})
		begun = true
		go func() { done <- queue().make(context.WithoutCancel(t.Context()), cfg) }()
		<-held.Reached()
	})
	if !begun {
		return // there is no emulator
	}
	if err := <-done; err == nil {
		t.Error("a held call succeeded after its test")
	}
	if left := lingering(); left != "" {
		t.Errorf("goroutines of the proxy outlive the test:\n%s", left)
	}
}

// lingering returns the goroutines that are in a proxy, once there has been
// time for a last one to return.
func lingering() string {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.After(2 * time.Minute); ; {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !bytes.Contains(stacks, []byte("wiretest.(*Proxy)")) {
			return ""
		}
		select {
		case <-tick.C:
		case <-limit:
			return string(stacks)
		}
	}
}

func TestStale(t *testing.T) {
	eachThing(t, func(t *testing.T, cloud *awstest.Server, th thing) {
		cfg := cloud.ObservedConfig(t)
		if err := th.make(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		// Never asked before: as if nothing existed.
		cloud.Inject(awstest.Fault{Op: th.read, Times: 2, Kind: awstest.Stale})
		for range 2 {
			if err := th.look(t.Context(), cfg); !th.isAbsent(err) || code(err) != th.absent {
				t.Errorf("stale read: %v, want %s", err, th.absent)
			}
		}
		if err := th.look(t.Context(), cfg); err != nil {
			t.Errorf("read after the stale ones: %v", err)
		}
		cloud.Inject(awstest.Fault{Op: th.listOp, Kind: awstest.Stale})
		for i, want := range []int{0, 1} {
			if n, err := th.list(t.Context(), cfg); err != nil || n != want {
				t.Errorf("list %d: %d, %v, want %d", i, n, err, want)
			}
		}
		// A change is never stale.
		armed := cloud.Inject(awstest.Fault{Op: th.create, Kind: awstest.Stale})
		if err := th.make(t.Context(), cfg); err != nil && code(err) != "BucketAlreadyOwnedByYou" || armed.Fired() != 0 {
			t.Errorf("stale change: %v, fired %d", err, armed.Fired())
		}
	})
}

// TestStaleValue reads an old value after a change.
func TestStaleValue(t *testing.T) {
	cloud := awstest.Start(t)
	client := sqs.NewFromConfig(cloud.ObservedConfig(t))
	q, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: new("orders"), Attributes: map[string]string{"VisibilityTimeout": "30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	visibility := func() string {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: q.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"VisibilityTimeout"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes["VisibilityTimeout"]
	}
	got := []string{visibility()}
	if _, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: q.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": "60"},
	}); err != nil {
		t.Fatal(err)
	}
	cloud.Inject(awstest.Fault{Op: "SQS.GetQueueAttributes", Times: 2, Kind: awstest.Stale})
	got = append(got, visibility(), visibility(), visibility())
	if want := []string{"30", "30", "30", "60"}; !slices.Equal(got, want) {
		t.Errorf("visibility %v, want %v", got, want)
	}
}

// TestSelection: patterns, functions, counting, turns, and taking a fault away.
func TestSelection(t *testing.T) {
	cloud := awstest.Start(t)
	cfg := cloud.ObservedConfig(t)
	look := func() string { return code(queue().look(t.Context(), cfg)) }
	absent := queue().absent

	cloud.Inject(awstest.Fault{Op: "SQS.*", Nth: 2, Times: 2, Kind: awstest.Throttle})
	cloud.Inject(awstest.Fault{Op: "SQS.GetQueueUrl", Nth: 2, Kind: awstest.ServerError})
	var got []string
	for range 5 {
		got = append(got, look())
	}
	if want := []string{absent, "RequestThrottled", "RequestThrottled", "InternalError", absent}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}

	forever := cloud.Inject(awstest.Fault{When: awstest.Mutating, Times: -1, Kind: awstest.Deny})
	for range 3 {
		if err := queue().make(t.Context(), cfg); code(err) != "AccessDenied" {
			t.Errorf("change: %v", err)
		}
	}
	if got := look(); got != absent {
		t.Errorf("read during denied changes: %q", got)
	}
	forever.Disarm()
	if err := queue().make(t.Context(), cfg); err != nil {
		t.Errorf("after disarming: %v", err)
	}
	if got, want := len(cloud.Mutations()), 4; got != want {
		t.Errorf("%d mutations, want %d", got, want)
	}
	cloud.Reset()
	if n := len(cloud.Calls()); n != 0 {
		t.Errorf("%d calls after reset", n)
	}
}

// TestDeletedRecently spells one of SQS's old codes in both of its places.
func TestDeletedRecently(t *testing.T) {
	cloud := awstest.Start(t)
	cloud.Inject(awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.Refuse, Code: "AWS.SimpleQueueService.QueueDeletedRecently"})
	err := queue().make(t.Context(), cloud.ObservedConfig(t))
	if _, ok := errors.AsType[*sqstypes.QueueDeletedRecently](err); !ok || code(err) != "AWS.SimpleQueueService.QueueDeletedRecently" {
		t.Errorf("%v", err)
	}
}

// TestTags goes through the tagging service, which hits the same faults in
// JSON 1.1.
func TestTags(t *testing.T) {
	cloud := awstest.Start(t)
	client := resourcegroupstaggingapi.NewFromConfig(cloud.ObservedConfig(t))
	if _, err := sqs.NewFromConfig(cloud.Config(t)).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: new("orders"), Tags: map[string]string{"athanor:stack": "shop"},
	}); err != nil {
		t.Fatal(err)
	}
	cloud.Inject(awstest.Fault{Op: "Tagging.GetResources", Kind: awstest.Throttle})
	cloud.Inject(awstest.Fault{Op: "Tagging.GetResources", Kind: awstest.Stale})
	if _, err := client.GetResources(t.Context(), nil); code(err) != "ThrottledException" {
		t.Errorf("throttled: %v", err)
	}
	for i, want := range []int{0, 1} {
		out, err := client.GetResources(t.Context(), nil)
		if err != nil || len(out.ResourceTagMappingList) != want {
			t.Errorf("reading %d: %v, %v, want %d", i, out, err, want)
		}
	}
}

// TestBodies sends what is neither short nor of known length, many at a time,
// over kept connections.
func TestBodies(t *testing.T) {
	cloud := awstest.Start(t)
	client := s3.NewFromConfig(cloud.ObservedConfig(t))
	name := cloud.Name("shop")
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	var all sync.WaitGroup
	for _, key := range []string{"a", "b c", "d/e+f"} {
		all.Go(func() {
			if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{
				Bucket: &name, Key: &key, Body: strings.NewReader(want), ChecksumAlgorithm: s3types.ChecksumAlgorithmSha256,
			}); err != nil {
				t.Error(err)
				return
			}
			out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &name, Key: &key})
			if err != nil {
				t.Error(err)
				return
			}
			defer out.Body.Close()
			if got, err := io.ReadAll(out.Body); err != nil || string(got) != want {
				t.Errorf("%s: %d bytes, %v", key, len(got), err)
			}
		})
	}
	all.Wait()

	head, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &name, Key: new("a")})
	if err != nil || aws.ToInt64(head.ContentLength) != int64(len(want)) {
		t.Errorf("head: %v, %v", head, err)
	}
	cloud.Inject(awstest.Fault{Op: "S3.HeadObject", Kind: awstest.Throttle})
	cloud.Inject(awstest.Fault{Op: "S3.HeadBucket", Kind: awstest.Stale})
	if _, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &name, Key: new("a")}); status(err) != 503 {
		t.Errorf("throttled head: %v", err)
	}
	if _, err := client.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &name}); status(err) != 404 {
		t.Errorf("stale head: %v", err)
	}

	// A body of unknown length is chunked on the wire.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, cloud.URL+"/"+name+"/chunked", io.MultiReader(strings.NewReader(want)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	calls := cloud.Calls()
	if c := calls[len(calls)-1]; res.StatusCode != 200 || c.Name() != "S3.PutObject" || string(c.Body) != want {
		t.Errorf("chunked: status %d, %s, %d bytes", res.StatusCode, c.Name(), len(c.Body))
	}
}

// status returns the HTTP status of an error's answer, 0 for none.
func status(err error) int {
	if res, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return res.HTTPStatusCode()
	}
	return 0
}

// TestUnusableFaults: a fault that can never happen is refused at once.
func TestUnusableFaults(t *testing.T) {
	cloud := awstest.Start(t)
	for _, f := range []awstest.Fault{{}, {Kind: "no such"}, {Op: "[", Kind: awstest.Hold}, {Kind: awstest.Refuse}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is accepted", f)
				}
			}()
			cloud.Inject(f)
		}()
	}
}
