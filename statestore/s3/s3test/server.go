package s3test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Kind is a sort of server.
type Kind string

// The sorts.
const (
	Versitygw Kind = "versitygw" // keeps files; atomic
	Ministack Kind = "ministack" // in memory; atomic
	Moto      Kind = "moto"      // conditional writes are not atomic
	S3rver    Kind = "s3rver"    // ignores conditions
)

const startLimit = 90 * time.Second

const region = "us-east-1"

// Server is a running server.
type Server struct {
	Origin string
	kind   Kind
	dir    string
	port   string
	ended  <-chan struct{}
	kill   context.CancelFunc
}

// Start starts a server for a test.
func Start(t testing.TB, kind Kind) *Server {
	t.Helper()
	root := moduleRoot(t)
	s := &Server{kind: kind, dir: t.TempDir()}
	program := map[Kind]string{
		Versitygw: ".cache/s3/versitygw", Ministack: ".cache/s3/python/bin/ministack",
		Moto: ".venv/bin/moto_server", S3rver: ".cache/s3/node_modules/.bin/s3rver",
	}[kind]
	path := filepath.Join(root, filepath.FromSlash(program))
	if _, err := exec.LookPath(path); err != nil {
		how := "sh tools/s3.sh"
		if kind == Moto {
			how = "task moto"
		}
		proctest.Missing(t, "%s is not installed: run `%s`", kind, how)
	}
	t.Cleanup(func() { s.Kill() })
	var err error
	if s.port, err = proctest.Port(); err != nil {
		t.Fatal(err)
	}
	if err := s.start(t, path); err != nil {
		t.Fatal(err)
	}
	return s
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	root, ok := proctest.ModuleRoot()
	if !ok {
		t.Fatal("no go.mod above the working folder")
	}
	return root
}

// key is who asks every server: s3rver knows no other.
const key = "S3RVER"

func (s *Server) start(t testing.TB, path string) error {
	life, kill := context.WithCancel(context.Background())
	var cmd *exec.Cmd
	env := append(os.Environ(), "AWS_PROFILE=", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	switch s.kind {
	case Versitygw:
		cmd = exec.CommandContext(life, path, "--port", "127.0.0.1:"+s.port, "--region", region, "--quiet", "posix", s.dir)
		env = append(env, "ROOT_ACCESS_KEY="+key, "ROOT_SECRET_KEY="+key)
	case Ministack:
		cmd = exec.CommandContext(life, path)
		env = append(env, "TMPDIR="+s.dir, "BIND_HOST=127.0.0.1", "GATEWAY_PORT="+s.port, "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+key)
	case Moto:
		cmd = exec.CommandContext(life, path, "-H", "127.0.0.1", "-p", s.port)
	case S3rver:
		cmd = exec.CommandContext(life, path, "-d", s.dir, "-a", "127.0.0.1", "-p", s.port, "--no-vhost-buckets", "-s")
	}
	cmd.Env, cmd.Dir = env, s.dir
	said := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = said, said
	ended, err := proctest.StartBound(cmd)
	if err != nil {
		kill()
		return err
	}
	s.Origin, s.ended, s.kill = "http://127.0.0.1:"+s.port, ended, kill
	limit := time.Now().Add(startLimit)
	for time.Now().Before(limit) {
		select {
		case <-ended:
			kill()
			return fmt.Errorf("%s ended at once\n%s", s.kind, said)
		case <-time.After(20 * time.Millisecond):
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Origin, nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			return nil
		}
	}
	s.Kill()
	return fmt.Errorf("%s did not answer within %s\n%s", s.kind, startLimit, said)
}

// Kill ends the server at once. What it keeps in files stays.
func (s *Server) Kill() {
	if s.kill != nil {
		s.kill()
		<-s.ended
	}
}

// Restart starts a server that was killed, at the same address, with what it kept.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	path := filepath.Join(moduleRoot(t), ".cache", "s3", "versitygw")
	if err := s.start(t, path); err != nil {
		t.Fatal(err)
	}
}

// Dir is where the server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Environment is who asks, for another process.
func (s *Server) Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + key, "AWS_SECRET_ACCESS_KEY=" + key, "AWS_REGION=" + region}
}

// Config is who asks.
func (s *Server) Config(string) (aws.Config, error) {
	return aws.Config{
		Region: region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: key}, nil
		}),
	}, nil
}

// URL makes a bucket and returns the URL of a store in it.
func (s *Server) URL(t testing.TB, prefix string) string {
	t.Helper()
	bucket := "state-" + strings.ToLower(rand.Text())
	cfg, err := s.Config("")
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &s.Origin, true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return "s3://" + bucket + "/" + prefix + "?region=" + region + "&endpoint=" + s.Origin
}
