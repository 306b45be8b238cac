package service_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
)

// metrics are the samples of the service, by name and labels. Every line has the form that Prometheus reads.
func (s *served) metrics() map[string]float64 {
	s.Helper()
	var text strings.Builder
	if err := s.service.Metrics(&text); err != nil {
		s.Fatal(err)
	}
	line := regexp.MustCompile(`^([a-z_]+(?:\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})?) (\S+)$`)
	samples, typed := map[string]float64{}, map[string]bool{}
	for one := range strings.Lines(text.String()) {
		one = strings.TrimSuffix(one, "\n")
		if rest, ok := strings.CutPrefix(one, "# TYPE "); ok {
			typed[strings.Fields(rest)[0]] = true
		}
		if strings.HasPrefix(one, "#") {
			continue
		}
		match := line.FindStringSubmatch(one)
		if match == nil {
			s.Fatalf("no sample: %q", one)
		}
		value, err := strconv.ParseFloat(match[2], 64)
		name, _, _ := strings.Cut(match[1], "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if _, twice := samples[match[1]]; err != nil || twice || !typed[name] {
			s.Errorf("%q: %v, twice %v, typed %v", one, err, twice, typed[name])
		}
		samples[match[1]] = value
	}
	return samples
}

// TestMetrics: requests are counted by route and status, and no name of a stack or token is among the labels.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := serve(t)
	client := s.client()
	if _, err := client.Acquire(t.Context(), statestore.Stage{Stack: "very-secret-name", Name: "prod"}, statestore.Claim{Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	s.send("GET", "/v1/stages", "ath_wrong", "")
	s.send("GET", "/nothing/here", "", "")
	s.send("BREW", "/v1/stages", "", "")
	have := s.metrics()
	const start = "/v1/stacks/{stack}/stages/{stage}/runs/{run}/start"
	for sample, want := range map[string]float64{
		`athanor_requests_total{method="POST",route="` + start + `",status="200"}`: 1,
		`athanor_requests_total{method="GET",route="/v1/stages",status="401"}`:     1,
		`athanor_requests_total{method="GET",route="other",status="404"}`:          1,
		`athanor_requests_total{method="other",route="other",status="405"}`:        1,
		`athanor_request_seconds_count{route="` + start + `"}`:                     1,
		`athanor_request_seconds_bucket{route="` + start + `",le="+Inf"}`:          1,
		`athanor_streams`:                    0,
		`athanor_orphaned_runs_total`:        0,
		`athanor_build_info{version="test"}`: 1,
	} {
		if got, ok := have[sample]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", sample, got, ok, want)
		}
	}
	for sample := range have {
		if strings.Contains(sample, "secret") || strings.Contains(sample, "ath_") || strings.Contains(sample, "BREW") {
			t.Errorf("a label says %s", sample)
		}
	}
}
