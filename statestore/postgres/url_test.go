package postgres

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestVerified: a server elsewhere is asked for TLS and verified, in every way of the URL, unless the URL says otherwise.
func TestVerified(t *testing.T) {
	t.Setenv("PGHOST", "")
	t.Setenv("PGSSLMODE", "")
	for url, want := range map[string]string{
		"postgres://u@db.example/d": "verified", "postgres://u@192.0.2.1:5433/d": "verified", "postgres://u@[2001:db8::1]/d": "verified",
		"postgres://u@127.0.0.1,db.example/d": "verified", "postgres://u@/d?host=db.example": "verified", "postgres://u@127.0.0.1.example/d": "verified",
		"postgres://u@127.0.0.1/d": "maybe", "postgres://u@[::1]/d": "maybe", "postgres://u@localhost/d": "maybe", "postgres://u@/d?host=/run/postgresql": "none",
		"postgres://u@db.example/d?sslmode=disable": "none", "postgres://u@db.example/d?sslmode=require": "unverified",
	} {
		a, err := parse(url, false)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		c := a.config.ConnConfig
		have := "none"
		switch plain := slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil }); {
		case c.TLSConfig != nil && plain:
			have = "maybe"
		case c.TLSConfig != nil && c.TLSConfig.InsecureSkipVerify:
			have = "unverified"
		case c.TLSConfig != nil:
			have = "verified"
		}
		if have != want {
			t.Errorf("%s: %s, want %s", url, have, want)
		}
	}
}

// TestUserSays: $PGSSLMODE is the user's word for the stage's own store, and nobody's for another.
func TestUserSays(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable")
	for foreign, verified := range map[bool]bool{false: false, true: true} {
		a, err := parse("postgres://u@db.example/d", foreign)
		if err != nil {
			t.Fatal(err)
		}
		if tls := a.config.ConnConfig.TLSConfig; (tls != nil && !tls.InsecureSkipVerify) != verified {
			t.Errorf("foreign %t: %v", foreign, tls)
		}
	}
}

// TestForeignPassword: the user's own password is for the stage's own store; one that stands in a URL is for that server.
func TestForeignPassword(t *testing.T) {
	t.Setenv("PGPASSWORD", "own")
	for url, want := range map[string]string{
		"postgres://u@127.0.0.1/d": "", "postgres://u:theirs@127.0.0.1/d": "theirs", "postgres://u@127.0.0.1/d?password=theirs": "theirs",
	} {
		a, err := parse(url, true)
		if err != nil {
			t.Fatal(err)
		}
		if have := a.config.ConnConfig.Password; have != want {
			t.Errorf("%s: %q, want %q", url, have, want)
		}
	}
	own, err := parse("postgres://u@127.0.0.1/d", false)
	if err != nil || own.config.ConnConfig.Password != "own" {
		t.Errorf("the stage's own: %v", err)
	}
}

// TestForeignFile: nor is a password from a file. The URL of another store names no file that changes what the URL says.
func TestForeignFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:*:own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const plain = "postgres://u@127.0.0.1/d"
	for _, foreign := range []bool{false, true} {
		a, err := parse(plain+"?passfile="+file, foreign)
		if (err != nil) != foreign || err == nil && a.config.ConnConfig.Password != "own" {
			t.Errorf("a file of passwords in the URL, foreign %t: %v", foreign, err)
		}
	}
	for _, more := range []string{"?service=x", "?servicefile=" + file, "?sslmode=disable&service=x&servicefile=" + file} {
		if _, err := parse(plain+more, true); err == nil || !strings.Contains(err.Error(), "stage's own store") {
			t.Errorf("%s: %v", more, err)
		}
	}
	t.Setenv("PGPASSFILE", file)
	for foreign, want := range map[bool]string{false: "own", true: ""} {
		a, err := parse(plain, foreign)
		if err != nil || a.config.ConnConfig.Password != want {
			t.Errorf("foreign %t: %q, %v", foreign, a.config.ConnConfig.Password, err)
		}
	}
}

// listener is a server that asks for TLS, a certificate and a password, and notes what it is sent.
func listener(t *testing.T, server tls.Certificate) (port string, sent func() (text string, certificates int)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all bytes.Buffer
	certificates := 0
	serve := func(conn net.Conn) {
		defer conn.Close()
		if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil { // TLS is asked for
			return
		}
		_, _ = conn.Write([]byte{'S'})
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12})
		buf := make([]byte, 4096)
		for range 2 { // who it is, and the password
			n, err := secure.Read(buf)
			mu.Lock()
			all.Write(buf[:n])
			certificates += len(secure.ConnectionState().PeerCertificates)
			mu.Unlock()
			if err != nil {
				return
			}
			_, _ = secure.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3})
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, func() (string, int) {
		mu.Lock()
		defer mu.Unlock()
		return all.String(), certificates
	}
}

// certified writes a key and its certificate, and returns both.
func certified(t *testing.T, cert, key string) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
	pair, err := tls.X509KeyPair(public, secret)
	if err := errors.Join(err, os.WriteFile(cert, public, 0o600), os.WriteFile(key, secret, 0o600)); err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestForeignListener: of all that the user's environment and files hold for databases, the server of another store is
// sent nothing, and the stage's own store what there is.
func TestForeignListener(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".postgresql"), 0o700); err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(home, ".postgresql", "postgresql.crt"), filepath.Join(home, ".postgresql", "postgresql.key")
	pair := certified(t, cert, key)
	write := func(name, text string) string {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	passwords, services := write(".pgpass", "*:*:*:*:hunter2-home\n"), write("services", "[mine]\npassword=hunter2-service\noptions=-c hunter2.x=y\n")
	for name, c := range map[string]struct {
		env          []string
		own          string // what the stage's own store is sent
		certificates bool
	}{
		"a password":             {[]string{"PGPASSWORD=hunter2-variable"}, "hunter2-variable", true},
		"a file of passwords":    {[]string{"PGPASSFILE=" + passwords}, "hunter2-home", true},
		"the file of passwords":  {nil, "hunter2-home", true},
		"a service":              {[]string{"PGSERVICE=mine", "PGSERVICEFILE=" + services}, "hunter2-service", true},
		"a key":                  {[]string{"PGSSLCERT=" + cert, "PGSSLKEY=" + key}, "", true},
		"options":                {[]string{"PGOPTIONS=-c hunter2.x=y"}, "hunter2.x", true},
		"no certificate at all":  {[]string{"PGSSLCERTMODE=disable", "PGPASSWORD=hunter2-variable"}, "hunter2-variable", false},
		"a certificate required": {[]string{"PGSSLCERTMODE=require"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", home)
			for _, setting := range c.env {
				variable, value, _ := strings.Cut(setting, "=")
				t.Setenv(variable, value)
			}
			for _, foreign := range []bool{false, true} {
				port, sent := listener(t, pair)
				var options []Option
				if foreign {
					options = append(options, Foreign())
				}
				_, err := opened(t, "postgres://u@127.0.0.1:"+port+"/d?sslmode=require", options...).Load(t.Context(), stage)
				text, certificates := sent()
				switch {
				case err == nil || !strings.Contains(text, "user\x00u\x00"):
					t.Errorf("foreign %t: the server was sent %q, %v", foreign, text, err)
				case foreign && (strings.Contains(text, "hunter2") || certificates > 0):
					t.Errorf("the server of another store was sent %d certificates and %q", certificates, text)
				case !foreign && (!strings.Contains(text, c.own) || (certificates > 0) != c.certificates):
					t.Errorf("the stage's own store was sent %d certificates and %q", certificates, text)
				}
			}
		})
	}
	t.Run("in the URL", func(t *testing.T) {
		t.Setenv("HOME", t.TempDir())
		port, sent := listener(t, pair)
		url := "postgres://u:theirs@127.0.0.1:" + port + "/d?sslmode=require&sslcert=" + cert + "&sslkey=" + key
		_, err := opened(t, url, Foreign()).Load(t.Context(), stage)
		if text, certificates := sent(); err == nil || !strings.Contains(text, "theirs") || certificates == 0 {
			t.Errorf("the server was sent %d certificates and %q", certificates, text)
		}
	})
}
