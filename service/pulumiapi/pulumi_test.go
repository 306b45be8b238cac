package pulumiapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/pulumiapi"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// house is a service with the Pulumi Service API in front of a file.
type house struct {
	*testing.T
	path    string
	store   *bolt.Store
	service *service.Service
	url     string
	token   string
	// hold is asked before each request is answered; it may block.
	hold atomic.Pointer[func(*http.Request)]
	// accepted counts the differences that were.
	accepted atomic.Int64
	// later is how far the service's wall clock is ahead.
	later atomic.Int64
}

// status remembers the status of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) { s.code = code; s.ResponseWriter.WriteHeader(code) }

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{T: t, path: filepath.Join(t.TempDir(), "state.db")}
	var err error
	if h.store, err = bolt.Open(h.path); err != nil {
		t.Fatal(err)
	}
	master, err := seal.OpenMasterKey(filepath.Join(t.TempDir(), "master"), true)
	if err != nil {
		t.Fatal(err)
	}
	h.service = service.New(t.Context(), h.store, service.Settings{
		Version: "test", Rate: 1e6, Burst: 1e6,
		Clock: func() time.Time { return time.Now().Add(time.Duration(h.later.Load())) },
		Log:   func(method, path string, err error) { t.Errorf("%s %s: %v", method, path, err) },
	})
	pulumiapi.Mount(h.service, master)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hold := h.hold.Load(); hold != nil {
			(*hold)(r)
		}
		answer := &status{ResponseWriter: w}
		h.service.ServeHTTP(answer, r)
		if answer.code == http.StatusOK && strings.HasSuffix(r.URL.Path, "/checkpointdelta") {
			h.accepted.Add(1)
		}
	}))
	h.url = server.URL
	h.token = h.newToken("admin", "*/*")
	t.Cleanup(func() { h.service.Stop(); server.Close(); h.store.Close() })
	return h
}

func segment(name string) string { return wire.Segment(name) }

func (h *house) newToken(role, on string) string {
	h.Helper()
	grants := []wire.Grant{{Role: role, On: on}}
	token, err := service.NewTokens(h.store, time.Now).Create(h.Context(), wire.Author{Account: "test"}, "ci", grants, 0)
	if err != nil {
		h.Fatal(err)
	}
	return token.Secret
}

// pulumi is one user of the pulumi command, with a program.
type pulumi struct {
	*testing.T
	peers, dir, home, url, token string
}

func newPulumi(t *testing.T, h *house) *pulumi {
	t.Helper()
	peers := os.Getenv("ATHANOR_PEERS")
	if peers == "" {
		t.Skip("$ATHANOR_PEERS names no folder with the pulumi command")
	}
	p := &pulumi{t, peers, t.TempDir(), t.TempDir(), h.url, h.token}
	p.program("a: {type: 'testprovider:index:Random', properties: {length: 8}}")
	p.must("login", h.url)
	p.must("stack", "init", "acme/shop/dev")
	return p
}

// program writes the program; each line is a resource.
func (p *pulumi) program(resources ...string) {
	p.Helper()
	text := "name: shop\nruntime: yaml\n"
	if len(resources) > 0 {
		text += "resources:\n  " + strings.Join(resources, "\n  ") + "\n"
	}
	if err := os.WriteFile(filepath.Join(p.dir, "Pulumi.yaml"), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *pulumi) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), filepath.Join(p.peers, "pulumi"), append(args, "--non-interactive")...)
	cmd.Dir = p.dir
	cmd.Env = []string{
		"PATH=" + p.peers + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.home, "PULUMI_HOME=" + p.home,
		"PULUMI_ACCESS_TOKEN=" + p.token, "PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "GOGC=400",
	}
	return cmd
}

func (p *pulumi) run(args ...string) (string, error) {
	p.Helper()
	out, err := p.command(args...).CombinedOutput()
	p.Logf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	return string(out), err
}

// must runs a command that has to succeed; when it has to say something, text says what.
func (p *pulumi) must(args ...string) string {
	p.Helper()
	out, err := p.run(args...)
	if err != nil {
		p.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// up, destroy and others of a stack.
func (p *pulumi) stack(name string, args ...string) []string {
	return append(append([]string{name}, args...), "--stack", "acme/shop/dev")
}

// urns are the resources of the stack that the program declares, from its export.
func (p *pulumi) urns() []string {
	p.Helper()
	var names []string
	for _, one := range p.export().Deployment.Resources {
		if strings.Contains(one.URN, "::testprovider:") {
			names = append(names, one.URN[strings.LastIndex(one.URN, "::")+2:])
		}
	}
	slices.Sort(names)
	return names
}

type exported struct {
	Version    int
	Deployment struct {
		Resources []struct {
			URN, ID string
			Outputs map[string]any
		}
		PendingOperations []json.RawMessage `json:"pending_operations"`
	}
}

func (p *pulumi) export() (doc exported) {
	p.Helper()
	cmd := p.command(p.stack("stack", "export")...)
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &doc)
	}
	if err != nil {
		p.Fatalf("stack export: %v\n%s", err, out)
	}
	return doc
}

// TestPulumi: the real command keeps a stack in the service.
func TestPulumi(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := newPulumi(t, h)
	if out := p.must("whoami", "--verbose"); !strings.Contains(out, "User: ci") {
		t.Errorf("whoami: %s", out)
	}
	p.must(p.stack("preview")...)
	if got := p.urns(); len(got) != 0 {
		t.Errorf("a preview wrote %v", got)
	}
	p.must(p.stack("config", "set", "--secret", "password", "hunter2-in-clear")...)
	if out := p.must(p.stack("config", "get", "password")...); strings.TrimSpace(out) != "hunter2-in-clear" {
		t.Errorf("config get: %q", out)
	}
	var deltas atomic.Int64
	count := func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/checkpointdelta") {
			deltas.Add(1)
		}
	}
	h.hold.Store(&count)
	resources := []string{"b: {type: 'testprovider:index:Echo', properties: {echo: {'fn::secret': 'hunter2-in-clear'}}}"}
	for i := range 12 { // more than from which on differences are sent
		resources = append(resources, fmt.Sprintf("a%02d: {type: 'testprovider:index:Random', properties: {length: 8}}", i))
	}
	p.program(resources...)
	p.must(p.stack("up", "--yes", "--skip-preview")...)
	if got := p.urns(); len(got) != 13 || got[0] != "a00" || got[12] != "b" {
		t.Errorf("after up: %v", got)
	}
	if accepted := h.accepted.Load(); deltas.Load() < 5 || accepted != deltas.Load() {
		t.Errorf("%d differences were sent, %d accepted", deltas.Load(), accepted)
	}
	p.must(p.stack("up", "--yes", "--skip-preview", "--expect-no-changes")...)
	p.must(p.stack("refresh", "--yes", "--skip-preview")...)

	// What was exported is imported, and another stack's command sees it.
	file := filepath.Join(t.TempDir(), "export.json")
	p.must(p.stack("stack", "export", "--file", file)...)
	p.must(p.stack("stack", "import", "--file", file)...)
	p.must(p.stack("up", "--yes", "--skip-preview", "--expect-no-changes")...)
	before := p.must(p.stack("stack", "history")...)
	for _, kind := range []string{"update", "refresh", "import"} {
		if !strings.Contains(before, kind) {
			t.Errorf("the history has no %s: %s", kind, before)
		}
	}
	if out := p.must("stack", "ls", "--all"); !strings.Contains(out, "acme/dev") {
		t.Errorf("stack ls: %s", out)
	}
	if out, err := p.run(p.stack("stack", "rm", "--yes")...); err == nil || !strings.Contains(out, "still") {
		t.Errorf("a stack with resources was removed: %s", out)
	}
	// An object that exists is taken into the stack, and one that does not is refused and leaves it as it was.
	taken := []string{"--yes", "--skip-preview", "--generate-code=false", "--protect=false"}
	p.must(p.stack("import", append([]string{"testprovider:index:Random", "taken", "an-id"}, taken...)...)...)
	if out, err := p.run(p.stack("import", append([]string{"testprovider:index:Echo", "missing", "an-id"}, taken...)...)...); err == nil || !strings.Contains(out, "does not exist") {
		t.Errorf("an object that is missing was imported: %v, %s", err, out)
	}
	if got := p.urns(); len(got) != 14 || got[13] != "taken" {
		t.Errorf("after import: %v", got)
	}
	for _, one := range p.export().Deployment.Resources {
		if strings.HasSuffix(one.URN, "::taken") && one.ID != "an-id" {
			t.Errorf("it was imported as %q", one.ID)
		}
	}
	p.must(p.stack("destroy", "--yes", "--skip-preview")...)
	if got := p.urns(); len(got) != 0 {
		t.Errorf("after destroy: %v", got)
	}

	runs, err := h.store.Runs(t.Context(), statestore.Stage{Stack: "pulumi:acme:shop", Name: "dev"}, 0)
	if err != nil || len(runs) < 6 || runs[0].Command != "pulumi destroy" || runs[0].State != statestore.Succeeded {
		t.Errorf("runs %+v, %v", runs, err)
	}
	p.must(p.stack("stack", "rm", "--yes")...)
	if out := p.must("stack", "ls", "--all"); strings.Contains(out, "acme/dev") {
		t.Errorf("after stack rm: %s", out)
	}
	file = h.path
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte("hunter2")) || bytes.Contains(data, []byte("resources\":[")) {
		t.Errorf("the store holds state in clear, or cannot be read: %v", err)
	}
}

// held blocks the first checkpoint that a condition holds for, until release is called.
func (h *house) held(when func(body string) bool) (reached chan struct{}, release func()) {
	reached, freed := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	hold := func(r *http.Request) {
		if r.Method == http.MethodPatch && when(r.URL.Path) && once.CompareAndSwap(false, true) {
			close(reached)
			<-freed
		}
	}
	h.hold.Store(&hold)
	return reached, func() { close(freed); h.hold.Store(nil) }
}

// TestPulumiTwoAtOnce: of two updates the second is refused, and the first ends.
func TestPulumiTwoAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := newPulumi(t, h)
	reached, release := h.held(func(string) bool { return true })
	first := p.command(p.stack("up", "--yes", "--skip-preview")...)
	var out bytes.Buffer
	first.Stdout, first.Stderr = &out, &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if said, err := p.run(p.stack("destroy", "--yes", "--skip-preview")...); err == nil || !strings.Contains(said, "409") {
		t.Errorf("a second update: %v, %s", err, said)
	}
	release()
	if err := first.Wait(); err != nil {
		t.Errorf("the first update: %v\n%s", err, out.String())
	}
	if got := fmt.Sprint(p.urns()); got != "[a]" {
		t.Errorf("after both: %s", got)
	}
}

// TestPulumiKilled: a command that was killed holds its stack until it is cancelled; then refresh and up go on, and the
// export is what the program says.
func TestPulumiKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := newPulumi(t, h)
	p.must(p.stack("up", "--yes", "--skip-preview")...)
	p.program("a: {type: 'testprovider:index:Random', properties: {length: 8}}",
		"b: {type: 'testprovider:index:Random', properties: {length: 9}}")
	reached, release := h.held(func(string) bool { return true })
	victim := p.command(p.stack("up", "--yes", "--skip-preview")...)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := victim.Wait(); err == nil {
		t.Error("the command was not killed")
	}
	release()
	if out, err := p.run(p.stack("up", "--yes", "--skip-preview")...); err == nil || !strings.Contains(out, "409") {
		t.Errorf("before it is cancelled: %v, %s", err, out)
	}
	p.must("cancel", "--yes", "acme/shop/dev")
	if left := len(p.export().Deployment.PendingOperations); left > 0 != strings.Contains(h.page(), "pending.") {
		t.Errorf("%d operations are pending, and the page says %s", left, h.page())
	}
	p.must(p.stack("refresh", "--yes", "--skip-preview", "--clear-pending-creates")...)
	p.must(p.stack("up", "--yes", "--skip-preview")...)
	p.must(p.stack("up", "--yes", "--skip-preview", "--expect-no-changes")...)
	doc := p.export()
	if got := fmt.Sprint(p.urns()); got != "[a b]" || len(doc.Deployment.PendingOperations) != 0 {
		t.Errorf("the export has %s and %d pending operations", got, len(doc.Deployment.PendingOperations))
	}
}

// TestPulumiCancelled: an update that is cancelled while it runs writes no more.
func TestPulumiCancelled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := newPulumi(t, h)
	reached, release := h.held(func(string) bool { return true })
	victim := p.command(p.stack("up", "--yes", "--skip-preview")...)
	var out bytes.Buffer
	victim.Stdout, victim.Stderr = &out, &out
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	p.must("cancel", "--yes", "acme/shop/dev")
	release()
	if err := victim.Wait(); err == nil || !strings.Contains(out.String(), "403") {
		t.Errorf("the cancelled update: %v\n%s", err, out.String())
	}
	if got := p.urns(); len(got) != 0 {
		t.Errorf("it wrote %v", got)
	}
	p.must(p.stack("up", "--yes", "--skip-preview")...)
}
