package acm

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type list = []any

// Zones that every world has, whatever moto calls them.
const zoneOne, zoneTwo = "ZONEONE00000", "ZONETWO00000"

// likeAWS is what ACM does and moto does not: a certificate is pending until the records that prove its domains are in a zone, and
// issued then. Moto issues it by its own clock. The records are not shown at first, and the key algorithm is the one asked for.
type likeAWS struct {
	front *awstest.Front
	zones map[string]string // moto's ids
	dns   *sdk.Client

	mu     sync.Mutex
	late   int               // how often the next certificates are shown without their records at first
	early  map[string]int    // how often a certificate still is
	keys   map[string]string // key algorithms
	status map[string]string // what a test wants a certificate to be
	// elsewhere: a certificate whose records are in no zone of this account has them in another.
	elsewhere bool
	zoned     map[string]bool
}

// ServeHTTP passes one request on.
func (l *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away
	}
	for name, id := range l.zones {
		r.URL.Path = strings.ReplaceAll(r.URL.Path, name, id)
	}
	status, header, answer, effect := l.front.Exchange(r, body)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	in, out := obj{}, obj{}
	_ = json.Unmarshal(body, &in)
	_ = json.Unmarshal(answer, &out)
	switch {
	case operation == "RequestCertificate" && effect && status/100 == 2:
		l.mu.Lock()
		l.keys[out["CertificateArn"].(string)], _ = in["KeyAlgorithm"].(string)
		l.early[out["CertificateArn"].(string)] = l.late
		l.mu.Unlock()
	case strings.HasSuffix(operation, "TagsToCertificate") && effect && bytes.Contains(body, []byte("athanor:hosted-zone")):
		l.mu.Lock()
		l.zoned[in["CertificateArn"].(string)] = true
		l.mu.Unlock()
	case operation == "RemoveTagsFromCertificate" && effect && bytes.Contains(body, []byte("athanor:hosted-zone")):
		l.mu.Lock()
		l.zoned[in["CertificateArn"].(string)] = false
		l.mu.Unlock()
	case operation == "DescribeCertificate" && status/100 == 2:
		l.show(r.Context(), out["Certificate"].(obj))
		answer, _ = json.Marshal(out)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	for _, name := range slices.Sorted(maps.Keys(l.zones)) {
		answer = bytes.ReplaceAll(answer, []byte(l.zones[name]), []byte(name))
	}
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (l *likeAWS) show(ctx context.Context, c obj) {
	l.mu.Lock()
	defer l.mu.Unlock()
	arn := c["CertificateArn"].(string)
	if key := l.keys[arn]; key != "" {
		c["KeyAlgorithm"] = strings.Replace(key, "RSA_", "RSA-", 1)
	}
	issued := true
	for _, o := range c["DomainValidationOptions"].([]any) {
		if l.early[arn] > 0 {
			delete(o.(obj), "ResourceRecord")
			issued = false
			continue
		}
		record := o.(obj)["ResourceRecord"].(obj)
		_, of, _ := strings.Cut(record["Name"].(string), ".")
		record["Value"] = "_proof." + of + "acm-validations.aws."
		issued = issued && l.has(ctx, record["Name"].(string))
	}
	l.early[arn]--
	if c["Status"] = "PENDING_VALIDATION"; issued || l.elsewhere && !l.zoned[arn] {
		c["Status"] = "ISSUED"
	}
	if status := l.status[arn]; status != "" {
		c["Status"], c["FailureReason"] = status, "CAA_ERROR"
	}
}

func (l *likeAWS) has(ctx context.Context, name string) bool {
	for _, id := range l.zones {
		out, err := l.dns.ListResourceRecordSets(ctx, &sdk.ListResourceRecordSetsInput{HostedZoneId: &id})
		if err != nil {
			continue
		}
		for _, set := range out.ResourceRecordSets {
			if strings.TrimSuffix(*set.Name, ".") == strings.TrimSuffix(name, ".") && set.Type == "CNAME" {
				return true
			}
		}
	}
	return false
}

type world struct {
	awstest.World[aws.Cloud]
	like *likeAWS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	l := &likeAWS{zones: map[string]string{}, early: map[string]int{}, keys: map[string]string{}, status: map[string]string{}, zoned: map[string]bool{}, dns: sdk.NewFromConfig(server.Config(t))}
	for _, name := range []string{zoneOne, zoneTwo} {
		out, err := l.dns.CreateHostedZone(t.Context(), &sdk.CreateHostedZoneInput{Name: new("shop.example"), CallerReference: &name})
		if err != nil {
			t.Fatal(err)
		}
		l.zones[name] = strings.TrimPrefix(*out.HostedZone.Id, "/hostedzone/")
	}
	l.front = awstest.Before(t, server, l)
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, l.front, connect, certificateKind.Erase(), "cert"), l}
	w.Located(t, server.Account)
	return w
}

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in obj) obj {
	t.Helper()
	out := obj{}
	if err := service().Call(context.Background(), w.Others, operation, in, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

func (w *world) tags(t kindtest.T, arn any) map[string]string {
	t.Helper()
	tags := map[string]string{}
	all, _ := w.ask(t, "ListTagsForCertificate", obj{"CertificateArn": arn})["Tags"].([]any)
	for _, x := range all {
		tags[x.(obj)["Key"].(string)] = x.(obj)["Value"].(string)
	}
	return tags
}

// records are those in a zone that prove domains, by their names.
func (w *world) records(t kindtest.T, zone string) []string {
	t.Helper()
	id := w.like.zones[zone]
	out, err := w.like.dns.ListResourceRecordSets(context.Background(), &sdk.ListResourceRecordSetsInput{HostedZoneId: &id})
	if err != nil {
		t.Fatalf("%v", err)
	}
	all := []string{}
	for _, set := range out.ResourceRecordSets {
		if set.Type == "CNAME" {
			all = append(all, *set.Name+" "+*set.ResourceRecords[0].Value)
		}
	}
	slices.Sort(all)
	return all
}

// certificates are all as others see them, with the records that prove them.
func (w *world) certificates(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "ListCertificates", obj{})["CertificateSummaryList"].([]any) {
		arn := item.(obj)["CertificateArn"]
		c := w.ask(t, "DescribeCertificate", obj{"CertificateArn": arn})["Certificate"].(obj)
		names := []string{}
		for _, name := range c["SubjectAlternativeNames"].([]any) {
			names = append(names, name.(string))
		}
		slices.Sort(names)
		all = append(all, obj{
			"domain": c["DomainName"], "names": names, "key": c["KeyAlgorithm"], "status": c["Status"], "one": w.records(t, zoneOne), "two": w.records(t, zoneTwo),
			"tags": awstest.Owned(w.tags(t, arn)),
		})
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalFailure")(class)
}

// hands change what of a certificate can be changed.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	records := func(t kindtest.T, w *world, arn any) []route53.CNAME {
		text, err := json.Marshal(w.ask(t, "DescribeCertificate", obj{"CertificateArn": arn})["Certificate"])
		if err != nil {
			t.Fatalf("%v", err)
		}
		var c shown
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%v", err)
		}
		all, _ := c.records()
		return all
	}
	drop := func(t kindtest.T, w *world, zone string, arn any) {
		for _, r := range records(t, w, arn) {
			if err := route53.DropCNAME(context.Background(), w.Others, zone, r); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			for _, zone := range []string{zoneOne, zoneTwo} {
				drop(t, w, zone, to.Attrs["arn"])
			}
			w.ask(t, "DeleteCertificate", obj{"CertificateArn": to.Attrs["arn"]})
			return nil
		}),
		"hostedZoneId": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn, have := to.Attrs["arn"], w.tags(t, to.Attrs["arn"])["athanor:hosted-zone"]
			zone := kindtest.PropsOf(t, certificateTable, to.Props).HostedZoneID
			if have != "" {
				drop(t, w, have, arn)
				w.ask(t, "RemoveTagsFromCertificate", obj{"CertificateArn": arn, "Tags": list{obj{"Key": "athanor:hosted-zone"}}})
			}
			if zone == "" {
				return nil
			}
			for _, r := range records(t, w, arn) {
				if err := route53.PutCNAME(context.Background(), w.Others, zone, r); err != nil {
					return err
				}
			}
			w.ask(t, "AddTagsToCertificate", obj{"CertificateArn": arn, "Tags": aws.JSONTags[aws.Tag](map[string]string{"athanor:hosted-zone": zone})})
			return nil
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn := to.Attrs["arn"]
			return awstest.Retag(w.tags(t, arn), to, func(keys []string) error {
				var gone list
				for _, key := range keys {
					gone = append(gone, obj{"Key": key})
				}
				w.ask(t, "RemoveTagsFromCertificate", obj{"CertificateArn": arn, "Tags": gone})
				return nil
			}, func(tags map[string]string) error {
				w.ask(t, "AddTagsToCertificate", obj{"CertificateArn": arn, "Tags": aws.JSONTags[aws.Tag](tags)})
				return nil
			})
		}),
	}
}
