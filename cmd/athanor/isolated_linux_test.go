package main

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

const (
	// nameServer answers look-ups in such a network, where a test starts one.
	nameServer = "127.0.0.53"
	// publicAddress and metadataAddress are this machine's there: one of somebody's server, and the one at which a machine in
	// a cloud is handed its role's credentials.
	publicAddress, metadataAddress = "203.0.113.7", "169.254.169.254"
)

// isolate begins a namespace with these addresses alone: no packet leaves it, and nothing outside of it is reached.
const isolate = `ip link set lo up
ip address add ` + publicAddress + `/32 dev lo
ip address add ` + metadataAddress + `/32 dev lo
mount --bind "$RESOLV" "$(readlink -f /etc/resolv.conf)"
exec "$@"`

// isolated reports whether a test runs in a network of its own. Where it does not, the test is run there, by a process of
// its own, and its outcome is that of the test: the caller returns. A system that permits none skips the test, or fails
// it when $ATHANOR_NO_SKIP is set.
func isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isolatedVariable) != "" {
		return true
	}
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+nameServer+"\noptions attempts:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	begin := func(args ...string) *exec.Cmd {
		cmd := limited(t, "unshare", append([]string{"-Urmn", "sh", "-eu", "-c", isolate, "sh"}, args...)...)
		cmd.Env = append(os.Environ(), "RESOLV="+resolv)
		return cmd
	}
	for _, program := range []string{"true", "strace"} {
		if out, err := begin(program, "-V").CombinedOutput(); err != nil {
			proctest.Missing(t, "no namespaces, ip or strace to watch connections and files with: %v: %s", err, out)
		}
	}
	args := []string{os.Args[0], "-test.run=^" + t.Name() + "$", "-test.v"}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-test.timeout") || strings.HasPrefix(arg, "-test.parallel") {
			args = append(args, arg)
		}
	}
	athanor := built(t, false) // which may take as long as the compiler does: the time of the process begins after it
	cmd := begin(args...)
	cmd.Env = append(cmd.Env, isolatedVariable+"="+athanor)
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("in a network of its own: %v\n%s", err, withoutProgress(out))
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") || strings.Contains(string(out), "--- SKIP"):
		t.Errorf("in a network of its own it was not run whole:\n%s", withoutProgress(out))
	}
	return false
}

// testProgress is what a test binary says of tests that run and pass.
var testProgress = regexp.MustCompile(`(?m)^(=== (RUN|PAUSE|CONT)|\s*--- PASS:).*\n`)

// withoutProgress leaves what a test binary says of failures: two hundred lines of progress before them hide them wherever
// only the first lines of a failure are kept.
func withoutProgress(out []byte) []byte { return testProgress.ReplaceAll(out, nil) }

// names answers look-ups: the addresses of a name one after the other, the last one again and again.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string
}

// startNames starts the name server of the network that a test has of its own.
func startNames(t *testing.T, answers map[string][]string) *names {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp", nameServer+":53")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers}
	var wait sync.WaitGroup
	wait.Go(func() {
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if answer := n.answer(buf[:max(size, 0)]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		wait.Wait()
	})
	return n
}

func (n *names) looked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.asked...)
}

// answer is the message that answers one with a question (RFC 1035): one address of IPv4, and none of IPv6.
func (n *names) answer(query []byte) []byte {
	const header, address = 12, 1
	at, name := header, ""
	for at < len(query) && query[at] != 0 {
		end := at + 1 + int(query[at])
		if end >= len(query) {
			return nil
		}
		name += string(query[at+1:end]) + "."
		at = end
	}
	if at+5 > len(query) {
		return nil
	}
	kind, question := binary.BigEndian.Uint16(query[at+1:]), query[header:at+5]
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	n.mu.Lock()
	defer n.mu.Unlock()
	all, known := n.answers[strings.ToLower(strings.TrimSuffix(name, "."))]
	if kind == address {
		n.asked = append(n.asked, name)
	}
	switch {
	case !known:
		reply[3] |= 3 // there is no such name
	case kind == address:
		reply[7] = 1
		reply = append(reply, 0xc0, header, 0, address, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, net.ParseIP(all[0]).To4()...)
		if len(all) > 1 {
			n.answers[strings.ToLower(strings.TrimSuffix(name, "."))] = all[1:]
		}
	}
	return reply
}

// TestNamesThatMove: a name that leads to a server of somebody at its first look-up, and to this machine or to where a
// role's credentials are handed out at the next. Nobody asks for a name before it is allowed; afterwards the command
// talks to the first server alone.
func TestNamesThatMove(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	for _, second := range []string{"127.0.0.1", metadataAddress} {
		for provider, stack := range map[string]string{
			"aws":        "providers: {aws: {endpoint: \"http://ENDPOINT\", region: eu-west-1}}\nresources: {q: {kind: aws.sqs.Queue, props: {name: q}}}\n",
			"cloudflare": "providers: {cloudflare: {endpoint: \"https://ENDPOINT\"}}\nresources: {q: {kind: cloudflare.Queue, props: {name: q}}}\n",
		} {
			t.Run(provider+" "+second, func(t *testing.T) {
				x := hostileWorld(t)
				first, port := closing(t, net.JoinHostPort(publicAddress, "0"))
				later, _ := closing(t, net.JoinHostPort(second, port))
				server := startNames(t, map[string][]string{"moves.example": {publicAddress, second}})
				at := net.JoinHostPort("moves.example", port)
				x.write(map[string]string{"athanor.yaml": "stack: shop\n" + strings.ReplaceAll(stack, "ENDPOINT", at)})
				run := x.run(hostile{})
				if run.code != 1 || !strings.Contains(run.out, "nobody has allowed") || len(server.looked()) > 0 {
					t.Errorf("exit code %d, looked for %v: %s", run.code, server.looked(), run.out)
				}
				x.untouched(run, nil)
				scheme, _, _ := strings.Cut(strings.SplitAfter(stack, "endpoint: \"")[1], ":")
				run = x.run(hostile{}, "ATHANOR_ALLOW=endpoint="+scheme+"://"+at)
				if run.code != 1 || !strings.Contains(run.out, "moves.example") || !strings.Contains(run.out, "leads to "+second) {
					t.Errorf("exit code %d: %s", run.code, run.out)
				}
				if len(server.looked()) < 2 || first() == 0 || later() > 0 {
					t.Errorf("looked for %v; the first server had %d connections, the second %d", server.looked(), first(), later())
				}
			})
		}
	}
}

// TestDatabaseNamesThatMove: the name of a database's server is looked up for each way to ask it, and leads to a server of
// somebody at its first look-up and to this machine, or to where a role's credentials are handed out, at the next. Only the
// first server is connected to, be it the stage's own store or one that a stack refers to.
func TestDatabaseNamesThatMove(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	const refers = "stack: shop\nrefs: {x: {stack: other, store: \"URL\"}}\nresources: {v: {kind: local.Value, props: {input: \"${ref.x.y}\"}}}\n"
	for _, second := range []string{"127.0.0.1", metadataAddress} {
		for name, c := range map[string]struct{ stack, env string }{
			"a store that is referred to": {refers, "ATHANOR_ALLOW=store=URL"},
			"the stage's own store":       {"stack: shop\nresources: {v: {kind: local.Value, props: {input: 1}}}\n", "ATHANOR_STORE=URL"},
		} {
			t.Run(name+" "+second, func(t *testing.T) {
				x := hostileWorld(t)
				first, port := closing(t, net.JoinHostPort(publicAddress, "0"))
				later, _ := closing(t, net.JoinHostPort(second, port))
				server := startNames(t, map[string][]string{"moves.example": {publicAddress, second}})
				store := "postgres://u@" + net.JoinHostPort("moves.example", port) + "/db?sslmode=prefer"
				x.write(map[string]string{"athanor.yaml": strings.ReplaceAll(c.stack, "URL", store)})
				run := x.run(hostile{}, strings.ReplaceAll(c.env, "URL", store))
				if run.code != 1 || len(server.looked()) < 2 || first() == 0 || later() > 0 {
					t.Errorf("exit code %d, looked for %v; the first server had %d connections, the second %d: %s",
						run.code, server.looked(), first(), later(), run.out)
				}
			})
		}
	}
}

// closing is a server that closes each connection, so that the request is repeated; it returns how many there were.
func closing(t *testing.T, address string) (count func() int, port string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	n := 0
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			n++
			mu.Unlock()
			_ = conn.Close()
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
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}, port
}
