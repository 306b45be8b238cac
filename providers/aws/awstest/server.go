package awstest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

const secretKey = "awstest-secret-key"

// Server is one test's view of the cloud: an account of its own, reached
// through a recording and fault-injecting proxy of its own.
type Server struct {
	*Proxy

	// Account is the twelve-digit AWS account of the test. No other test has
	// it.
	Account string

	// Region is the region that the environment and the configurations name:
	// us-east-1.
	Region string

	// URL is the endpoint, "http://127.0.0.1:PORT".
	URL string

	emulator    *moto
	front       *httptest.Server
	connections *connections
}

// Start gives the test an AWS account behind a proxy. The emulator starts with
// the first test of the run that asks for it, and ends with the run.
//
// moto_server is the one that $ATHANOR_MOTO names, else .venv/bin/moto_server
// beside go.mod, else the one found in PATH. Without any the test is skipped,
// or fails when $ATHANOR_NO_SKIP is set.
func Start(t testing.TB) *Server {
	t.Helper()
	return startAt(t, emulator(t), false)
}

// startAt gives the test an account of an emulator. plain says that the emulator answers as it is.
func startAt(t testing.TB, origin string, plain bool) *Server {
	t.Helper()
	account := NewAccount()
	behind, err := newMoto(origin, account)
	if err != nil {
		t.Fatal(err)
	}
	behind.plain = plain
	proxy := wiretest.New(behind)
	front := httptest.NewUnstartedServer(proxy)
	callers := &connections{open: map[string]bool{}, changed: make(chan struct{})}
	front.Config.ConnState = callers.note
	front.Start()
	t.Cleanup(func() {
		proxy.Close()
		front.Close()
		behind.transport.CloseIdleConnections()
	})
	return &Server{Proxy: proxy, Account: account, Region: "us-east-1", URL: front.URL, emulator: behind, front: front, connections: callers}
}

// Plain returns the endpoint of the emulator as it is: no proxy stands before it, and what it lacks nothing amends. The access key
// of [AccessKey] selects an account. The test is skipped as by [Start].
func Plain(t testing.TB) string {
	t.Helper()
	return emulator(t)
}

// NewAccount returns the number of an AWS account that nobody has used.
func NewAccount() string {
	return fmt.Sprintf("%012d", 100_000_000_000+rand.Int64N(900_000_000_000))
}

// AccessKey returns the access key id that selects an account. Keys of any
// other shape, such as those that AssumeRole hands out, are the emulator's to
// place.
func AccessKey(account string) string { return "AKIA" + account }

// Name returns prefix, a dash, and a word that no other test has: for what is
// named globally, such as buckets.
func (s *Server) Name(prefix string) string { return prefix + "-" + s.Account }

// Env returns the environment that leads any AWS SDK or tool here, and nowhere
// else: every other AWS_ variable of this process is set to empty, which the
// SDK takes as unset, so that no profile, session or service endpoint of the
// developer's gets in. It sets no retry policy.
func (s *Server) Env() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			env[name] = ""
		}
	}
	maps.Copy(env, map[string]string{
		"AWS_ENDPOINT_URL":            s.URL,
		"AWS_ACCESS_KEY_ID":           AccessKey(s.Account),
		"AWS_SECRET_ACCESS_KEY":       secretKey,
		"AWS_REGION":                  s.Region,
		"AWS_CONFIG_FILE":             os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED":   "true",
	})
	return env
}

// Environ returns the environment of this process with that of [Server.Env]
// over it, for exec.Cmd.
func (s *Server) Environ() []string {
	environ := os.Environ()
	for name, value := range s.Env() {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// Names are what differs from one server to the next, by what stands for it in golden files.
func (s *Server) Names() map[string]string {
	return map[string]string{"ACCOUNT": s.Account, "ENDPOINT": s.URL}
}

// Setenv sets the environment of [Server.Env] for the rest of the test. Like
// testing.T.Setenv it cannot be used in parallel tests.
func (s *Server) Setenv(t testing.TB) {
	t.Helper()
	for name, value := range s.Env() {
		t.Setenv(name, value)
	}
}

// Config returns the configuration of an outsider in the test's account, for
// edits that somebody else makes and for looking at the truth: its calls are
// neither recorded nor broken. It reads no environment, never retries, and keeps no connection open.
func (s *Server) Config(t testing.TB) aws.Config {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return s.config(wiretest.Outsider{Next: transport})
}

// ObservedConfig is like [Server.Config], but its calls are recorded and
// broken like those of the code under test.
func (s *Server) ObservedConfig(t testing.TB) aws.Config {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s.config(transport)
}

// config is made by hand: the SDK's loader would read the environment.
func (s *Server) config(transport http.RoundTripper) aws.Config {
	return aws.Config{
		Region:       s.Region,
		BaseEndpoint: new(s.URL),
		Credentials:  credentials.NewStaticCredentialsProvider(AccessKey(s.Account), secretKey, ""),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient:   &http.Client{Transport: transport},
	}
}
