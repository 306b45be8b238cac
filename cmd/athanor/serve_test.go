//go:build unix

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// serving is a service that runs as a process of its own, in a folder and home of its own.
type serving struct {
	*world
	process *process
	url     string
	store   string
	more    []string
}

// newServing starts a service in front of a store. More are flags.
func newServing(t *testing.T, store string, more ...string) *serving {
	t.Helper()
	s := &serving{world: newWorld(t, "stack: none\n"), store: store, more: more}
	s.begin("127.0.0.1:0")
	return s
}

// begin starts a process of the service and waits until it listens.
func (s *serving) begin(address string) {
	s.t.Helper()
	s.process = s.start("athanor", append([]string{"serve", "--json", "--store", s.store, "--listen", address}, s.more...)...)
	s.process.out.until(s.t, "\n")
	var line struct{ URL string }
	if err := json.Unmarshal([]byte(s.process.out.String()), &line); err != nil || line.URL == "" {
		s.t.Fatalf("%s%s: %v", s.process.out.String(), s.process.errs.String(), err)
	}
	s.url = line.URL
}

// again kills the service and starts another process at the same address.
func (s *serving) again() {
	s.t.Helper()
	s.process.signal(syscall.SIGKILL)
	<-s.process.ended
	_, address, _ := strings.Cut(s.url, "://")
	s.begin(address)
}

// token creates one where the service runs.
func (s *serving) token(flags ...string) string {
	s.t.Helper()
	return strings.TrimSpace(s.run(0, append([]string{"token", "create", "--store", s.store}, flags...)...))
}

// joins logs a world in to the service and keeps its state there.
func (w *world) joins(s *serving, token string) {
	w.t.Helper()
	if _, errs, code := w.printed(token+"\n", "login", s.url); code != 0 {
		w.t.Fatalf("login: %d: %s", code, errs)
	}
	w.env = append(w.env, "ATHANOR_STORE="+s.url)
}

// TestThroughAService takes a stack through its life with its state behind a service: a second deploy is refused with the
// holder, a killed one is taken over at once, and one whose service is killed in the middle goes on with the next one.
func TestThroughAService(t *testing.T) {
	s := newServing(t, "bolt:state.db")
	s.process.errs.until(t, "next:  athanor token create --name NAME --role admin --store bolt:state.db\n")
	w := newGated(t)
	token := s.token("--name", "ann", "--role", "deployer", "--on", "*/dev-*")
	w.joins(s, token)
	if list := s.run(0, "token", "list", "--store", s.store); !strings.Contains(list, "deployer on */dev-*") || strings.Contains(list, token) {
		t.Errorf("token list: %s", list)
	}
	info, err := os.Stat(filepath.Join(w.home(), "athanor", "services.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	deploy := w.command("deploy", "--yes")
	deploy.SysProcAttr.Setpgid = true
	if err := deploy.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("started")
	if _, errs, code := w.printed("", "deploy", "--yes"); code != 3 || lineOf(errs, "pid") != fmt.Sprint(deploy.Process.Pid) {
		t.Errorf("a second deploy: %d: %s", code, errs)
	}
	if err := deploy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := deploy.Wait(); err == nil {
		t.Error("the deploy was not killed")
	}
	w.openNext()
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"created": 2, "failed": 0})
	w.tookOverTheDead()
	if runs := w.lines("history"); runs[0]["user"] != "tester" || runs[0]["identity"] != "token ann" {
		t.Errorf("history: %v", runs[0])
	}
	wantCounts(t, w.summary(0, "deploy"), map[string]float64{"unchanged": 3, "commits": 0})
	if events := w.lines("events"); len(events) < 3 {
		t.Errorf("%d events", len(events))
	}
	if w.has(".athanor/state.db") {
		t.Error("there is state on the client's disk too")
	}

	wantCounts(t, w.summary(0, "destroy", "--yes"), map[string]float64{"deleted": 3})
	if err := os.Remove(filepath.Join(w.dir, "started")); err != nil {
		t.Fatal(err)
	}
	cut := w.start("athanor", "deploy", "--yes", "--json")
	w.await("started")
	s.again()
	if said := s.process.errs.String(); strings.Contains(said, "token") {
		t.Errorf("with a token that is good it says %s", said)
	}
	w.open()
	cut.end(0)

	if _, errs, code := w.printed("", "plan", "--stage", "prod"); code != 1 || !strings.Contains(errs, "needs the role reader") {
		t.Errorf("a stage that the token does not cover: %d: %s", code, errs)
	}
	id := strings.Fields(s.run(0, "token", "list", "--store", s.store))[0]
	s.run(0, "token", "revoke", id, "--store", s.store)
	s.again() // a replica that knew the token may trust it for some seconds
	if _, errs, code := w.printed("", "plan"); code != 1 || !strings.Contains(errs, "athanor login "+s.url) && !strings.Contains(errs, "athanor login URL") {
		t.Errorf("a revoked token: %d: %s", code, errs)
	}
	w.run(0, "logout", s.url)
	if _, errs, code := w.printed("", "plan"); code != 1 || !strings.Contains(errs, "athanor login "+s.url) {
		t.Errorf("without a token: %d: %s", code, errs)
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "state.db"))
	if err != nil || bytes.Contains(file, []byte(token)) {
		t.Errorf("the service keeps the token: %v", err)
	}
	s.process.signal(syscall.SIGTERM)
	s.process.end(0)
}

// TestServeWithTLS: a service with a certificate, two replicas on one database, a token from the environment that is sent
// to the service of the environment alone, and tokens that an admin creates from far away.
func TestServeWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	store := pgtest.Start(t).Schema(t)
	first := newServing(t, store, "--tls-cert", cert, "--tls-key", key)
	second := newServing(t, store, "--tls-cert", cert, "--tls-key", key)
	admin := first.token("--name", "boss", "--role", "admin")
	w := newWorld(t, "stack: shop\nresources: {a: {kind: local.File, props: {path: a.txt, content: x}}}\n")
	w.env = append(w.env, "ATHANOR_STORE="+first.url, "ATHANOR_TOKEN="+admin)
	if _, errs, code := w.printed("", "plan"); code != 1 || !strings.Contains(errs, "certificate") {
		t.Errorf("a certificate that is not known: %d: %s", code, errs)
	}
	w.env = append(w.env, "SSL_CERT_FILE="+cert)
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"created": 1})
	if _, errs, code := w.printed("", "plan", "--store", second.url); code != 1 || !strings.Contains(errs, "$ATHANOR_TOKEN is sent to the service in $ATHANOR_STORE alone") {
		t.Errorf("another origin: %d: %s", code, errs)
	}
	ci := strings.TrimSpace(w.run(0, "token", "create", "--name", "ci", "--role", "deployer", "--on", "shop/*"))
	other := newWorld(t, "stack: shop\nresources: {a: {kind: local.File, props: {path: a.txt, content: x}}}\n")
	other.env = append(other.env, "SSL_CERT_FILE="+cert, "ATHANOR_STORE="+second.url+"/", "ATHANOR_TOKEN="+ci)
	if runs := other.lines("history", "--stack", "shop"); len(runs) != 1 || runs[0]["identity"] != "token boss" {
		t.Errorf("by the other replica: %v", runs)
	}
	other.run(1, "token", "list")
	other.run(1, "audit", "shop")
	log := w.lines("audit", "shop")
	if len(log) != 2 || log[0]["action"] != "run.start" || log[0]["account"] != "token boss" || log[0]["from"] != "127.0.0.1" || log[1]["action"] != "run.complete" {
		t.Errorf("audit: %v", log)
	}
	w.run(0, "audit", "shop", "--expect", fmt.Sprintf("1:%s", log[0]["hash"]))
	if _, errs, code := w.printed("", "audit", "shop", "--expect", fmt.Sprintf("2:%s", log[0]["hash"])); code != 1 || !strings.Contains(errs, "is not in it") {
		t.Errorf("an entry that is not there: %d: %s", code, errs)
	}
	if log := w.lines("audit"); len(log) != 2 || log[0]["action"] != "token.create" || log[0]["account"] != "tester" || log[1]["account"] != "token boss" {
		t.Errorf("audit of tokens: %v", log)
	}
	if _, errs, code := other.printed("", "state", "migrate", second.url+"/", "bolt:moved.db", "--yes"); code != 1 || !strings.Contains(errs, "token ci is not admin of all stages") {
		t.Errorf("a deployer moves all stages: %d: %s", code, errs)
	}
	w.run(0, "state", "migrate", first.url, "bolt:moved.db", "--yes")
	if _, errs, code := w.printed("", "state", "rm", "a", "--yes"); code != 3 || !strings.Contains(errs, "moved to bolt:") {
		t.Errorf("who still uses the service: %d: %s", code, errs)
	}
	wantCounts(t, w.summary(0, "deploy", "--store", "bolt:moved.db"), map[string]float64{"unchanged": 1, "commits": 0})
	for _, s := range []*serving{first, second} {
		s.process.signal(os.Interrupt)
		s.process.end(0)
	}
}

// TestServeRefuses: what would show tokens to others, and what is no store for a service.
func TestServeRefuses(t *testing.T) {
	w := newWorld(t, "stack: none\n")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"without TLS", []string{"--listen", "0.0.0.0:0"}},
		{"it is no network", []string{"--behind-proxy", "10.0.0.1"}},
		{"--tls-cert", []string{"--tls-cert", "nothing.pem"}},
		{"a service needs a store in PostgreSQL or in a file", []string{"--store", "s3://bucket/x?region=eu-west-1"}},
		{"a service needs a store in PostgreSQL or in a file", []string{"--store", "https://athanor.example"}},
		{"--approval-ttl 5s: at least 1m\n", []string{"--approval-ttl", "5s"}},
		{"--approval-ttl 60d: at most 30d\n", []string{"--approval-ttl", "60d"}},
		{"--audit-keep 90m: at least 30d\n", []string{"--audit-keep", "90m"}},
		{"missing.yaml", []string{"--config", "missing.yaml"}},
	} {
		if _, errs, code := w.printed("", append([]string{"serve", "--store", "bolt:s.db"}, c.args...)...); code != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("%v: %d: %s", c.args, code, errs)
		}
	}
	for _, url := range []string{"http://athanor.example", "https://user@athanor.example", "athanor.example", "bolt:x"} {
		if _, errs, code := w.printed("t\n", "login", url); code != 1 || !strings.Contains(errs, "error") {
			t.Errorf("login %s: %d: %s", url, code, errs)
		}
	}
	if err := os.MkdirAll(filepath.Join(w.home(), "athanor"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.home(), "athanor", "services.json")
	if err := os.WriteFile(file, []byte(`{"http://127.0.0.1:1":{"token":"ath_x"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := w.printed("", "plan", "--store", "http://127.0.0.1:1"); code != 1 || !strings.Contains(errs, "others can read the tokens") {
		t.Errorf("a file that others can read: %d: %s", code, errs)
	}
}

// selfSigned writes a certificate for the loopback, and its key.
func selfSigned(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "athanor"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestMasterKey: the protocols of other tools are served with a master key alone, whose file is created once and is not
// replaced when it is lost.
func TestMasterKey(t *testing.T) {
	status := func(s *serving, token, path string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.SetBasicAuth("ci", token); strings.HasPrefix(path, "/api/") {
			req.Header.Set("Authorization", "token "+token)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	without := newServing(t, "bolt:state.db")
	token := without.token("--name", "ann", "--role", "admin")
	if got := []int{status(without, token, "/api/user"), status(without, token, "/tf/shop/prod")}; fmt.Sprint(got) != "[404 404]" {
		t.Errorf("without a master key: %v", got)
	}
	with := newServing(t, "bolt:state.db", "--master-key", "file:master.key")
	token = with.token("--name", "ann", "--role", "admin")
	if got := []int{status(with, token, "/api/user"), status(with, token, "/tf/shop/prod")}; fmt.Sprint(got) != "[200 204]" {
		t.Errorf("with a master key: %v", got)
	}
	key := filepath.Join(with.dir, "master.key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	res, err := http.Post(with.url+"/tf/shop/prod", "application/json", strings.NewReader("{}")) //nolint:noctx // it is refused
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, with.url+"/tf/shop/prod", strings.NewReader("{}"))
	req.SetBasicAuth("ci", token)
	if res, err = http.DefaultTransport.RoundTrip(req); err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	with.process.signal(syscall.SIGKILL)
	<-with.process.ended
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	_, errs, code := with.printed("", "serve", "--store", "bolt:state.db", "--listen", "127.0.0.1:0", "--master-key", "file:master.key")
	if code != 1 || !strings.Contains(errs, "the store has keys that it wraps") {
		t.Errorf("without its key file: %d: %s", code, errs)
	}
}
