package eventbridge

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// likeAWS stands before the emulator and does what EventBridge is documented to do with buses where moto does not:
//
//   - UpdateEventBus, which moto does not have: it takes away what it does not name, but for the description:
//     https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_UpdateEventBus.html
//
//   - LogConfig is kept and shown; moto drops it.
//
//   - PutPermission with a policy sets the policy; moto adds its statements to those that are there.
//
//   - The default bus is left out of listings, which every account has and no test makes.
//
// It changes nothing else, and every call reaches the emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	outside *sdk.Client

	mu    sync.Mutex
	buses map[string]obj // by name: what was set last
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{outside: sdk.NewFromConfig(cloud.Config(t)), buses: map[string]obj{}}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

// settings are what UpdateEventBus sets and DescribeEventBus shows.
var settings = [...]string{"Description", "KmsKeyIdentifier", "DeadLetterConfig", "LogConfig"}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has closed the connection
	}
	in := obj{}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation != "" {
		if err := json.Unmarshal(body, &in); err != nil {
			panic(err)
		}
	}
	name, _ := in["Name"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case operation == "PutPermission" && in["Policy"] != nil:
		bus := in["EventBusName"].(string)
		if _, err := s.outside.RemovePermission(r.Context(), &sdk.RemovePermissionInput{EventBusName: &bus, RemoveAllPermissions: true}); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	res, err := s.Send(r, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	status := res.StatusCode
	switch {
	case operation == "CreateEventBus" && status == http.StatusOK:
		s.buses[name] = in
	case operation == "UpdateEventBus" && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"):
		s.buses[name], status, got = in, http.StatusOK, []byte("{}")
	case operation == "DescribeEventBus" && status == http.StatusOK && s.buses[name] != nil:
		got = s.shown(name, got)
	case operation == "ListEventBuses" && status == http.StatusOK:
		got = withoutDefault(got)
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("Content-Length", strconv.Itoa(len(got)))
	w.WriteHeader(status)
	_, _ = w.Write(got)
}

func (s *likeAWS) shown(name string, body []byte) []byte {
	out := obj{}
	if err := json.Unmarshal(body, &out); err != nil {
		panic(err)
	}
	for _, key := range settings {
		delete(out, key)
		if v := s.buses[name][key]; v != nil && v != "" {
			out[key] = v
		}
	}
	return encoded(out)
}

func withoutDefault(body []byte) []byte {
	out := obj{}
	if err := json.Unmarshal(body, &out); err != nil {
		panic(err)
	}
	var buses list
	all, _ := out["EventBuses"].(list)
	for _, bus := range all {
		if bus.(obj)["Name"] != defaultBus {
			buses = append(buses, bus)
		}
	}
	out["EventBuses"] = buses
	return encoded(out)
}

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
