package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

var machinesOf = flag.String("machines", "", "the stores that TestThreeMachines uses: database, bucket, service; empty for none")

// begunMachine makes the rest of a machine in new namespaces: a name, a boot, a temporary folder and a network of its own, in
// which there is nothing but what the relay passes on.
const begunMachine = `hostname "$1"
ip link set lo up
mount -t tmpfs tmpfs "$2"
mount --bind "$3" /proc/sys/kernel/random/boot_id
shift 3
exec "$@"`

// office is where machines are, with the addresses on this machine that they all reach.
type office struct {
	t      *testing.T
	dir    string
	relays []string // FROM=TO of each machine
}

// reaches lets every machine reach an address of this one, by the same address.
func (o *office) reaches(listen, to string) {
	o.t.Helper()
	socket := filepath.Join(o.dir, fmt.Sprint(len(o.relays), ".sock"))
	l, err := net.Listen("unix", socket)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = l.Close() })
	go passOn(l, to)
	o.relays = append(o.relays, listen+"="+socket)
}

// machine starts one, with a home and a checkout of its own.
func (o *office) machine(name, stack string, env ...string) *world {
	t := o.t
	t.Helper()
	w := newWorld(t, stack)
	temp, boot := filepath.Join(o.dir, "tmp"), filepath.Join(o.dir, name+".boot")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	id := strings.ToLower(rand.Text())
	if err := os.WriteFile(boot, []byte(id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("athanor-relay")
	if err != nil {
		t.Fatal(err)
	}
	holder := *w
	holder.within = []string{"unshare", "-Urmnu", "sh", "-eu", "-c", begunMachine, "sh", name, temp, boot}
	if out, err := limited(t, "unshare", "-Urmnu", "sh", "-eu", "-c", begunMachine, "sh", name, temp, boot, "nsenter", "--version").CombinedOutput(); err != nil {
		proctest.Missing(t, "no namespaces, ip or nsenter for machines: %v: %s", err, out)
	}
	p := holder.start(path, o.relays...)
	p.out.until(t, "ready")
	w.binary = built(t, true)
	w.within = []string{"nsenter", "-t", fmt.Sprint(p.Process.Pid), "-U", "-m", "-n", "-u", "--preserve-credentials", "sh", "-c", `cd "$0" && exec "$@"`, w.dir}
	w.env = append(w.env, "TMPDIR="+temp, "USER="+name, "ATHANOR_STAGE=prod")
	w.env = append(w.env, env...)
	return w
}

// shop is version n of the stack that they work on.
func shop(n int) string {
	return fmt.Sprintf(`stack: shop
providers: {aws: {profile: cloud}}
resources:
  orders: {kind: aws.sqs.Queue, props: {tags: {version: "%d"}}}
  jobs: {kind: aws.sqs.Queue, props: {tags: {after: "${orders.name}"}}}
`, n)
}

// TestThreeMachines lets two people and a CI job work on one stage, each on a machine of its own: a name, a boot, a network, a
// temporary folder, a home and a checkout, with nothing between them but the store and the cloud. They hand over the key,
// get into each other's way, cancel, crash, take over, find drift and approve. By hand, or by task machines.
func TestThreeMachines(t *testing.T) {
	for _, sort := range strings.FieldsFunc(*machinesOf, func(r rune) bool { return r == ',' }) {
		t.Run(sort, func(t *testing.T) { threeMachines(t, sort) })
	}
}

func threeMachines(t *testing.T, sort string) {
	dir, err := os.MkdirTemp("", "m") // not the test's own: a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &office{t: t, dir: dir}
	cloud := awstest.Start(t)
	o.reaches(host(t, cloud.URL), host(t, cloud.URL))
	config := filepath.Join(dir, "aws")
	profile := fmt.Sprintf("[profile cloud]\nregion = %s\nendpoint_url = %s\naws_access_key_id = %s\naws_secret_access_key = secret\n",
		cloud.Region, cloud.URL, awstest.AccessKey(cloud.Account))
	if err := os.WriteFile(config, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"AWS_CONFIG_FILE=" + config, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull, "AWS_EC2_METADATA_DISABLED=true"}

	var service *serving
	var people *provider
	robot := []string{"ATHANOR_PASSPHRASE=of the job"}
	switch sort {
	case "database":
		whole, err := url.Parse(pgtest.Start(t).Schema(t))
		if err != nil {
			t.Fatal(err)
		}
		query := whole.Query()
		o.reaches("127.0.0.1:5432", filepath.Join(query.Get("host"), ".s.PGSQL.5432"))
		query.Del("host")
		query.Set("sslmode", "disable")
		whole.Host, whole.RawQuery = "127.0.0.1:5432", query.Encode()
		env = append(env, "ATHANOR_STORE="+whole.String())
	case "bucket":
		server := s3test.Start(t, s3test.Versitygw)
		o.reaches(host(t, server.Origin), host(t, server.Origin))
		env = append(env, "ATHANOR_STORE="+server.URL(t, "infra"))
		env = append(env, server.Environment()...)
	case "service":
		people = newProvider(t)
		rules, _ := json.Marshal(map[string]any{"issuers": []any{map[string]any{
			"issuer": people.URL, "clientId": "athanor", "rules": []any{map[string]any{"claims": map[string]string{"sub": "u-*"}, "role": "admin", "on": "*/*"}},
		}}})
		service = &serving{world: newWorld(t, "stack: none\n"), store: "bolt:state.db", more: []string{"--oidc", "oidc.json"}}
		service.write("oidc.json", string(rules))
		service.begin("127.0.0.1:0")
		o.reaches(host(t, service.url), host(t, service.url))
		env = append(env, "ATHANOR_STORE="+service.url)
		robot = append(robot, "ATHANOR_TOKEN="+service.token("--name", "ci", "--role", "deployer"))
	default:
		t.Fatalf("-machines %s", sort)
	}
	ann, bob := o.machine("ann", shop(1), env...), o.machine("bob", shop(1), env...)
	ci := o.machine("ci", shop(1), append(slices.Clip(env), robot...)...)
	all := []*world{ann, bob, ci}
	version := func(n int, of ...*world) {
		for _, w := range of {
			w.write("athanor.yaml", shop(n))
		}
	}
	if service != nil {
		for who, w := range map[string]*world{"u-ann": ann, "u-bob": bob} {
			outside := *w // a browser is not on the machine of the command
			outside.within = nil
			people.signIn(&outside, service.url, who)
		}
	}

	for _, w := range all {
		w.run(0, "allow", "--yes") // to act as the profile
	}

	// Ann deploys. The others have no key, until she hands it over with the checkout.
	ann.run(2, "plan")
	wantCounts(t, ann.summary(0, "deploy", "--yes"), map[string]float64{"created": 2})
	if _, errs, code := bob.printed("", "plan"); code != 1 || !strings.Contains(errs, "is not at hand") {
		t.Fatalf("bob has no key: %d: %s", code, errs)
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	bob.env = append(bob.env, "ATHANOR_AGE_IDENTITY="+id.String())
	own, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	ann.env = append(ann.env, "ATHANOR_AGE_IDENTITY="+own.String())
	if _, errs, code := ann.printed("of the job\n", "secret", "rewrap", "--recipient", id.Recipient().String(), "--recipient", own.Recipient().String(), "--passphrase"); code != 0 {
		t.Fatalf("rewrap: %d: %s", code, errs)
	}
	for _, w := range all[1:] {
		w.write("shop.prod.key.json", ann.read("shop.prod.key.json"))
		w.run(0, "plan")
	}

	// A run of the CI job is held at its call: Ann is told who has the stage; Bob cancels it.
	version(2, all...)
	hold := cloud.Inject(awstest.Fault{Op: "SQS.TagQueue", Kind: awstest.Hold})
	deploy := ci.start("athanor", "deploy", "--yes")
	awaited(t, hold.Reached(), "the call of the CI job")
	if _, errs, code := ann.printed("", "deploy", "--yes"); code != 3 || lineOf(errs, "host") != "ci" {
		t.Errorf("ann meets the CI job: %d: %s", code, errs)
	}
	bob.run(0, "cancel", "--why", "wrong branch")
	deploy.errs.until(t, "asked to stop")
	hold.Release()
	deploy.end(130)
	hold.Disarm()
	for _, w := range all {
		if got := w.history()[0]; !strings.HasPrefix(got, "cancelled") {
			t.Errorf("the newest run: %s", got)
		}
	}
	ann.run(0, "deploy", "--yes")

	// Bob's machine crashes in mid-run. Nobody can know from elsewhere; a colleague waits until the lease ends, and goes on.
	version(3, all...)
	crash(t, cloud, bob)
	if _, errs, code := ann.printed("", "deploy", "--yes"); code != 3 || lineOf(errs, "host") != "bob" {
		t.Errorf("ann, after the crash of bob: %d: %s", code, errs)
	}
	wantCounts(t, ann.summary(0, "deploy", "--yes", "--wait", "100s"), map[string]float64{"updated": 1, "failed": 0})
	if got := bob.history(); !strings.HasPrefix(got[1], "lost") || !strings.HasPrefix(got[0], "succeeded") {
		t.Errorf("after a takeover: %q", got[:2])
	}
	// The CI job crashes, and Ann takes the stage away from it at once.
	version(4, all...)
	crash(t, cloud, ci)
	ann.run(0, "unlock", "--why", "the runner is gone", "--yes")
	wantCounts(t, ann.summary(0, "deploy", "--yes"), map[string]float64{"updated": 1, "failed": 0})
	if got := ci.history()[1]; !strings.HasPrefix(got, "lost") || !strings.Contains(got, "the runner is gone") {
		t.Errorf("after an unlock: %s", got)
	}

	// Somebody changes the cloud by hand: each of them finds it, and Bob repairs it.
	client := sqs.NewFromConfig(cloud.Config(t))
	queues, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(queues.QueueUrls) != 2 {
		t.Fatalf("%v, %v", queues, err)
	}
	if _, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &queues.QueueUrls[0], Attributes: map[string]string{"DelaySeconds": "7"}}); err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		w.run(2, "drift")
	}
	if service != nil {
		ci.run(2, "drift", "--report")
	}
	bob.run(0, "drift", "--repair", "--yes")
	ann.run(0, "drift")

	// What the CI job plans is what a person reviewed.
	version(5, all...)
	if service == nil {
		ann.run(2, "plan", "--out", "plan.json")
		ci.write("plan.json", ann.read("plan.json"))
		version(6, ci)
		if _, errs, code := ci.printed("", "deploy", "--reviewed", "plan.json", "--yes"); code != 5 {
			t.Errorf("what nobody reviewed: %d: %s", code, errs)
		}
		version(5, ci)
		ci.run(0, "deploy", "--reviewed", "plan.json", "--yes")
	} else {
		bob.run(0, "approve", "--require", "on")
		if _, errs, code := ci.printed("", "deploy", "--yes"); code != 5 {
			t.Errorf("without an approval: %d: %s", code, errs)
		}
		_, errs, code := ci.printed("", "plan", "--submit")
		id := regexp.MustCompile(`submitted: plan ([0-9a-f]{12})`).FindStringSubmatch(errs)
		if code != 2 || id == nil {
			t.Fatalf("plan --submit: %d: %s", code, errs)
		}
		ann.run(0, "approve", id[1], "--yes")
		ci.run(0, "deploy", "--approved", id[1], "--yes")
		bob.run(5, "approve", "--require", "off") // it takes two admins
		ann.run(0, "approve", "--require", "off")
	}
	for _, w := range all {
		wantCounts(t, w.summary(0, "deploy"), map[string]float64{"unchanged": 2, "commits": 0})
	}
	wantCounts(t, bob.summary(0, "destroy", "--yes"), map[string]float64{"deleted": 2})
	if left, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(left.QueueUrls) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	for _, w := range all {
		if w.has(".athanor/state.db") {
			t.Error("there is state on a machine")
		}
	}
}

// crash kills the deploy of a machine in the middle of its first call that changes something.
func crash(t *testing.T, cloud *awstest.Server, w *world) {
	t.Helper()
	hold := cloud.Inject(awstest.Fault{Op: "SQS.TagQueue", Kind: awstest.Hold})
	deploy := w.start("athanor", "deploy", "--yes")
	awaited(t, hold.Reached(), "the call of what is killed")
	deploy.signal(syscall.SIGKILL)
	<-deploy.ended
	hold.Disarm()
	cloud.Quiet(t)
}

// host is HOST:PORT of a URL.
func host(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
