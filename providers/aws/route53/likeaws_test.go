package route53

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// likeAWS does what Route 53 is documented to do where moto does not:
//
//   - Records: moto takes a second record of one name, forgets geoproximity and CIDR, shows names as they were given,
//     deletes what was not said exactly, and starts no listing at a set identifier. Records are kept here, whole.
//
//   - A change is pending as often as slow says, before it is in sync. Moto knows no changes.
//
//   - A caller reference is used once, and a zone is not deleted while there are records in it.
//
// Everything else of zones is moto's. Every call reaches the emulator through the proxy that counts and breaks it; those
// about records are sent to a zone that it does not have.
type likeAWS struct {
	*awstest.Front

	mu      sync.Mutex
	records map[string][]recordXML // by zone
	gone    map[string]bool        // zones
	used    map[string]bool        // caller references
	slow    int                    // how often a change is pending
	asked   map[string]int         // how often a change was asked about
	page    int                    // of a listing
	batches int
}

type recordXML struct {
	XMLName                         xml.Name `xml:"ResourceRecordSet"`
	Name, Type                      string
	SetIdentifier, Region, Failover string `xml:",omitempty"`
	HealthCheckID                   string `xml:"HealthCheckId,omitempty"`
	Weight                          *int64
	TTL                             *int64
	MultiValueAnswer                *bool
	GeoLocation                     *struct {
		ContinentCode, CountryCode, SubdivisionCode string `xml:",omitempty"`
	}
	ResourceRecords *struct{ ResourceRecord []struct{ Value string } }
	AliasTarget     *struct {
		HostedZoneID         string `xml:"HostedZoneId"`
		DNSName              string
		EvaluateTargetHealth bool
	}
	CidrRoutingConfig *struct {
		CollectionID string `xml:"CollectionId"`
		LocationName string
	}
	GeoProximityLocation *struct {
		AWSRegion, LocalZoneGroup string `xml:",omitempty"`
		Bias                      *int32
		Coordinates               *struct{ Latitude, Longitude string }
	}
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{records: map[string][]recordXML{}, gone: map[string]bool{}, used: map[string]bool{}, asked: map[string]int{}, page: 300}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

var zoneIn = regexp.MustCompile(`/hostedzone/([^/]+)`)

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	zone, own := "", (func() (int, string))(nil)
	if m := zoneIn.FindStringSubmatch(r.URL.Path); m != nil {
		zone = m[1]
	}
	query := r.URL.Query()
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case strings.HasSuffix(path, "/rrset") && r.Method == http.MethodPost:
		own = func() (int, string) { return s.change(zone, body) }
	case strings.HasSuffix(path, "/rrset"):
		own = func() (int, string) { return s.list(zone, query) }
	case strings.Contains(path, "/change/"):
		own = func() (int, string) { return s.ask(path[strings.LastIndexByte(path, '/')+1:]) }
	case strings.HasSuffix(path, "/hostedzone") && r.Method == http.MethodPost:
		if code := s.refused(body); code != "" {
			reply(w, http.StatusConflict, failure(code))
			return
		}
	case r.Method == http.MethodDelete && s.full(zone):
		reply(w, http.StatusBadRequest, failure("HostedZoneNotEmpty"))
		return
	}
	if own != nil && zone != "" {
		r = r.Clone(r.Context())
		r.URL = &url.URL{Path: strings.Replace(r.URL.Path, zone, "NOWHERE"+zone, 1), RawQuery: r.URL.RawQuery}
	}
	status, header, answer, effect := s.Exchange(r, body)
	s.mu.Lock()
	if effect && own != nil {
		madeStatus, made := own()
		if status != 0 {
			status, answer, header = madeStatus, []byte(made), http.Header{}
		}
	}
	if effect && r.Method == http.MethodDelete {
		s.gone[zone] = true
	}
	answer = s.counted(zone, answer)
	s.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	reply(w, status, string(answer))
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func failure(code string) string {
	return "<ErrorResponse><Error><Type>Sender</Type><Code>" + code + "</Code><Message>refused as Route 53 does</Message></Error></ErrorResponse>"
}

// refused notes a caller reference, which counts whether or not the answer arrives.
func (s *likeAWS) refused(body []byte) string {
	var in struct{ CallerReference string }
	if err := xml.Unmarshal(body, &in); err != nil {
		return "InvalidInput"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[in.CallerReference] {
		return "HostedZoneAlreadyExists"
	}
	return ""
}

func (s *likeAWS) full(zone string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records[zone]) > 0
}

var (
	countIn     = regexp.MustCompile(`<ResourceRecordSetCount>2</ResourceRecordSetCount>`)
	referenceIn = regexp.MustCompile(`<CallerReference>([^<]+)</CallerReference>`)
)

// counted puts the right number of records into what moto says of a zone, and notes the references that it shows.
func (s *likeAWS) counted(zone string, answer []byte) []byte {
	for _, m := range referenceIn.FindAllSubmatch(answer, -1) {
		s.used[string(m[1])] = true
	}
	n := fmt.Sprintf("<ResourceRecordSetCount>%d</ResourceRecordSetCount>", 2+len(s.records[zone]))
	return countIn.ReplaceAll(answer, []byte(n))
}

func wireName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(name, ".")), "*", `\052`) + "."
}

func (r recordXML) same(o recordXML) bool {
	return r.Name == o.Name && r.Type == o.Type && r.SetIdentifier == o.SetIdentifier
}

// conflicts: a CNAME stands alone, and records of one name and type all have a routing policy, or there is one.
func (r recordXML) conflicts(o recordXML) bool {
	if r.same(o) || r.Name != o.Name {
		return false
	}
	return r.Type != o.Type && (r.Type == "CNAME" || o.Type == "CNAME") || r.Type == o.Type && (r.SetIdentifier == "") != (o.SetIdentifier == "")
}

func (s *likeAWS) change(zone string, body []byte) (int, string) {
	var in struct {
		Changes []struct {
			Action            string
			ResourceRecordSet recordXML
		} `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.Unmarshal(body, &in); err != nil || len(in.Changes) == 0 {
		return http.StatusBadRequest, failure("InvalidInput")
	}
	if s.gone[zone] {
		return http.StatusNotFound, failure("NoSuchHostedZone")
	}
	next := slices.Clone(s.records[zone])
	for _, c := range in.Changes {
		set := c.ResourceRecordSet
		set.Name = wireName(set.Name)
		if set.AliasTarget != nil {
			set.AliasTarget.DNSName = wireName(set.AliasTarget.DNSName)
		}
		at := slices.IndexFunc(next, set.same)
		switch {
		case c.Action == "CREATE" && at >= 0, c.Action != "DELETE" && slices.ContainsFunc(next, set.conflicts), !set.valid(),
			c.Action == "DELETE" && (at < 0 || !reflect.DeepEqual(next[at], set)):
			return http.StatusBadRequest, failure("InvalidChangeBatch")
		case c.Action == "DELETE":
			next = slices.Delete(next, at, at+1)
		case at >= 0:
			next[at] = set
		default:
			next = append(next, set)
		}
	}
	s.records[zone] = next
	s.batches++
	return http.StatusOK, s.info(fmt.Sprintf("C%d", s.batches), "ChangeResourceRecordSetsResponse")
}

// valid: texts are quoted and not too long.
func (r recordXML) valid() bool {
	if r.ResourceRecords == nil {
		return r.AliasTarget != nil
	}
	for _, v := range r.ResourceRecords.ResourceRecord {
		if r.Type != "TXT" {
			continue
		}
		for text := range strings.SplitSeq(v.Value, `" "`) {
			if !strings.HasPrefix(v.Value, `"`) || !strings.HasSuffix(v.Value, `"`) || len(strings.Trim(text, `"`)) > 255 {
				return false
			}
		}
	}
	return r.TTL != nil
}

func (s *likeAWS) info(id, element string) string {
	status := "INSYNC"
	if s.asked[id] < s.slow {
		status = "PENDING"
	}
	return fmt.Sprintf("<%[1]s><ChangeInfo><Id>/change/%[2]s</Id><Status>%[3]s</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></%[1]s>", element, id, status)
}

func (s *likeAWS) ask(id string) (int, string) {
	s.asked[id]++
	return http.StatusOK, s.info(id, "GetChangeResponse")
}

// order is that of listings: by the labels from the right, then type, then set identifier.
func order(r recordXML) string {
	labels := strings.Split(strings.TrimSuffix(r.Name, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, "\x01") + "\x00" + r.Type + "\x00" + r.SetIdentifier
}

func (s *likeAWS) list(zone string, q url.Values) (int, string) {
	if s.gone[zone] {
		return http.StatusNotFound, failure("NoSuchHostedZone")
	}
	all := slices.SortedFunc(slices.Values(s.records[zone]), func(a, b recordXML) int { return cmp.Compare(order(a), order(b)) })
	if name := q.Get("name"); name != "" {
		from := order(recordXML{Name: wireName(name), Type: q.Get("type"), SetIdentifier: q.Get("identifier")})
		all = slices.DeleteFunc(all, func(r recordXML) bool { return order(r) < from })
	}
	most := s.page
	if n, err := strconv.Atoi(q.Get("maxitems")); err == nil {
		most = n
	}
	var out bytes.Buffer
	out.WriteString("<ListResourceRecordSetsResponse><ResourceRecordSets>")
	for _, r := range all[:min(most, len(all))] {
		if err := xml.NewEncoder(&out).Encode(r); err != nil {
			panic(err)
		}
	}
	out.WriteString("</ResourceRecordSets>")
	if len(all) > most {
		next := all[most]
		fmt.Fprintf(&out, "<NextRecordName>%s</NextRecordName><NextRecordType>%s</NextRecordType>", next.Name, next.Type)
		if next.SetIdentifier != "" {
			fmt.Fprintf(&out, "<NextRecordIdentifier>%s</NextRecordIdentifier>", next.SetIdentifier)
		}
	}
	fmt.Fprintf(&out, "<IsTruncated>%v</IsTruncated><MaxItems>%d</MaxItems></ListResourceRecordSetsResponse>", len(all) > most, most)
	return http.StatusOK, out.String()
}
