package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func doctorCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check what a stack needs, and name the command that provides what is missing", ArgsUsage: "[TARGET]",
		Description: `Checks the toolchains, the program, its config and permissions, the state store, the stage's key, the secrets, the
credentials with the account that they lead to, and the clock. Changes nothing; reads no resource. Without a stack
it checks the toolchains and the state store.

Exit codes: 0 nothing is missing, maybe with warnings; 1 something is.`,
		UsageText: "doctor                          the stack in this directory\ndoctor shop --stage prod --json one object for each check",
		Flags:     project.StageFlags(), Action: func(c *cli.Context) error { return checkAll(o, c) },
	}
}

// The results of a check.
const (
	checkOK      = render.CheckOK
	checkWarning = render.CheckWarning
	checkMissing = render.CheckMissing
)

// check is one line of doctor.
type check render.Check

// doctorPatience bounds each question to a store, a provider or a clock.
const doctorPatience = 20 * time.Second

// patient is a context in which a question ends.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, doctorPatience)
}

func checkAll(o *session.Opener, c *cli.Context) error {
	missing := 0
	show := func(checks ...check) {
		for _, k := range checks {
			if k.Status == checkMissing {
				missing++
			}
			showCheck(o, k)
		}
	}
	show(check{"athanor", checkOK, o.Release.Text(), nil})
	s, src, err := o.Begin(c, 0)
	if errors.Is(err, loader.ErrNoProgram) {
		show(toolchain("go", false, "version"), toolchain("node", false, "--version"))
		show(check{"program", checkWarning, "there is none here", []string{"athanor init writes a first stack"}})
		show(storeCheck(c.Context, o, files.Folder(c.Args().First()), project.AbsoluteStore(c.String("store")), statestore.Stage{})...)
		return doctorEnd(missing)
	}
	if err != nil {
		return err
	}
	if src.GoMain || src.Self {
		used, err := gomodule.UsedBy(src.Dir)
		if err != nil {
			return err
		}
		show(check{"module", checkOK, used.String(), nil})
	}
	g, checks, err := programCheck(o, c, s, src)
	if err != nil {
		return err
	}
	needsGo := src.GoMain || g != nil && builtWithGo(g)
	show(toolchain("go", needsGo, "version"), toolchain("node", false, "--version"))
	show(checks...)
	show(storeCheck(c.Context, o, src.Dir, s.Store, s.Stage)...)
	if g != nil {
		show(keyCheck(c.Context, o, s, src.Dir)...)
		show(secretChecks(c.Context, s, g)...)
		show(providerChecks(c.Context, o, g)...)
	}
	return doctorEnd(missing)
}

// doctorEnd is how doctor ends.
func doctorEnd(missing int) error {
	if missing > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

// showCheck prints a check.
func showCheck(o *session.Opener, k check) {
	if o.AsJSON {
		k.Text = render.Escaped(k.Text)
		o.JSON(k)
		return
	}
	o.Style(o.Out).Check(o.Out, render.Check(k))
}

// failedCheck is a check that found something missing.
func failedCheck(o *session.Opener, name string, err error) check {
	var texts, fixes []string
	for _, p := range render.Problems(err) {
		texts = append(texts, p.String())
		fixes = append(fixes, reconcile.Hints(p.Err)...)
	}
	if texts == nil {
		texts = []string{o.Masked(err)}
	}
	fixes = append(fixes, render.Hints(err)...)
	slices.Sort(fixes)
	return check{name, checkMissing, strings.Join(texts, "\n"), slices.Compact(fixes)}
}

// toolchain looks for a tool. One that the stack does not need is only named.
func toolchain(name string, needed bool, version string) check {
	k := check{Check: name, Status: checkOK}
	path, err := exec.LookPath(name)
	if err == nil {
		var out []byte
		ctx, stop := patient(context.Background())
		defer stop()
		out, err = exec.CommandContext(ctx, path, version).Output()
		k.Text = strings.TrimSpace(string(out))
	}
	switch {
	case err == nil:
	case needed:
		k.Status, k.Text = checkMissing, "the stack is built with it, and it is not installed"
		k.Fix = []string{"https://go.dev/dl has it; PATH must lead to it"}
	default:
		k.Text = "not installed; not needed here"
	}
	return k
}

// builtWithGo reports whether a stack has code that the go command compiles.
func builtWithGo(g *engine.Graph) bool {
	return slices.ContainsFunc(g.Resources, func(r engine.Resource) bool {
		code, _ := r.Props["code"].(map[string]any)
		return code["go"] != nil
	})
}

// programCheck evaluates the program. What is wrong with it, its config or its permissions is a check, and the graph nil.
func programCheck(o *session.Opener, c *cli.Context, s *session.Session, src *loader.Source) (*engine.Graph, []check, error) {
	if o.Granted != nil {
		o.Granted.Asks = false
	}
	err := s.FillConfig(c.Context, src)
	if err != nil {
		return nil, []check{failedCheck(o, "config", err)}, nil
	}
	g, err := o.Load(c.Context, src, s.Stage.Name, s.Config)
	if _, must := errors.AsType[*loader.CommandError](err); must {
		return nil, nil, o.OrDelegate(c, src, 0, err)
	}
	if err != nil {
		if name, bad := yamlstack.Name(src.Data); src.Data != nil && bad == nil {
			s.Stage.Stack = name
		}
		return nil, []check{failedCheck(o, "program", err)}, nil
	}
	c.Context = o.Granted.Within(c.Context)
	s.Stage.Stack, s.Graph = g.Stack, g
	checks := []check{{"program", checkOK, fmt.Sprintf("stack %s, stage %s, %d resources", g.Stack, g.Stage, len(g.Resources)), nil}}
	for _, name := range slices.Sorted(maps.Keys(g.Config)) {
		checks = append(checks, check{"config", checkOK, fmt.Sprintf("%s = %s, from %s", name, render.Plain(g.Config[name]), s.SourceOf(name)), nil})
	}
	return g, checks, nil
}

// storeCheck reads which stages the state store has.
func storeCheck(ctx context.Context, o *session.Opener, dir, store string, stage statestore.Stage) []check {
	ctx, stop := patient(ctx)
	defer stop()
	p, err := project.Open(dir, store)
	if err != nil {
		return []check{failedCheck(o, "store", err)}
	}
	o.Store = p.Store
	lines, err := stageLines(ctx, p.Store, stage.Stack)
	if err != nil {
		return []check{failedCheck(o, "store", err)}
	}
	checks := []check{{"store", checkOK, fmt.Sprintf("%s, %d stages", p.Name, len(lines)), nil}}
	for _, l := range lines {
		switch {
		case l.Stage != stage.Name:
		case l.Holder != nil:
			checks = append(checks, check{"stage", checkWarning, fmt.Sprintf("%s %s runs on %s", l.Holder.Command, l.Holder.Run, l.Holder.Host), []string{"athanor events --follow shows it; athanor cancel stops it"}})
		case l.Status != "deployed" && l.Status != "empty":
			checks = append(checks, check{"stage", checkWarning, "the last run is " + l.Status, []string{"athanor deploy --stage " + l.Stage + " continues"}})
		}
	}
	return checks
}

// keyCheck looks for the key of the stage, and makes none.
func keyCheck(ctx context.Context, o *session.Opener, s *session.Session, dir string) []check {
	ctx, stop := patient(ctx)
	defer stop()
	p, err := project.Open(dir, s.Store)
	if err != nil {
		return nil // the check of the store said it
	}
	defer func() { _ = p.Store.Close() }() // nothing was written
	snap, err := p.Store.Load(ctx, s.Stage)
	if err != nil {
		return nil
	}
	place := project.KeySources(ctx, s.Stage, dir)
	place.Stored = snap.Meta[keeper.RingFact]
	key, err := seal.Load(place, snap.KeyID)
	switch {
	case err != nil && snap.KeyID == "":
		return []check{{"key", checkOK, "made by the first deploy, or by the first sealed secret", nil}}
	case err != nil:
		return []check{failedCheck(o, "key", err)}
	case key.Origin().Alone && snap.KeyID != "":
		return []check{{
			"key", checkWarning, fmt.Sprintf("key %s is in %s, which only this machine has", key.ID(), key.Origin().Text),
			[]string{"athanor secret rewrap --stage " + s.Stage.Name + " wraps it for others"},
		}}
	}
	return []check{{"key", checkOK, fmt.Sprintf("key %s, %s", key.ID(), key.Origin().Text), nil}}
}

// secretChecks looks whether each secret that the program names has a value. No value is read.
func secretChecks(ctx context.Context, s *session.Session, g *engine.Graph) []check {
	var checks []check
	sealed := map[string]bool{}
	secrets, err := project.KeyPlace(ctx, s.Stage, g.Dir).Secrets()
	if err == nil {
		for _, name := range secrets.Names() {
			sealed[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
		k := check{Check: "secret", Status: checkOK}
		switch from := g.Secrets[name]; {
		case from.Env != "":
			k.Text = name + " is in $" + from.Env
			if value, set := os.LookupEnv(from.Env); !set || value == "" && !from.AllowEmpty {
				k.Status, k.Text, k.Fix = checkMissing, name+": $"+from.Env+" is not set", []string{"export " + from.Env + "=…"}
			}
		case from.File != "":
			path := from.File
			if !filepath.IsAbs(path) {
				path = filepath.Join(g.Dir, path)
			}
			k.Text = name + " is in " + from.File
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				k.Status, k.Text, k.Fix = checkMissing, name+": there is no file "+from.File, []string{"write the secret into " + path}
			}
		case err != nil:
			k.Status, k.Text = checkMissing, name+": "+err.Error()
		default:
			k.Text = name + " is sealed beside the program"
			if !sealed[name] {
				k.Status, k.Text = checkMissing, name+" is not set for stage "+g.Stage
				k.Fix = []string{"athanor secret set " + name + " --stage " + g.Stage}
			}
		}
		checks = append(checks, k)
	}
	return checks
}

// providerChecks asks each provider, with each settings that the stack has, which account its credentials lead to.
func providerChecks(ctx context.Context, o *session.Opener, g *engine.Graph) []check {
	var checks []check
	for _, used := range providersOf(o.Catalog, g) {
		p, settings := used.provider, used.settings
		limited, stop := patient(ctx)
		place, err := reach(limited, p, settings)
		stop()
		if err != nil {
			k := failedCheck(o, "credentials", err)
			k.Text = p.Name + ": " + k.Text
			if len(k.Fix) == 0 {
				k.Fix = []string{credentialsOf(p.Name)}
			}
			checks = append(checks, k)
		} else {
			checks = append(checks, check{"credentials", checkOK, place.String(), nil})
		}
		if url := clockOf(p.Name, settings); url != "" {
			checks = append(checks, clockCheck(ctx, p.Name, url))
		}
	}
	return checks
}

// credentialsOf says how a provider gets credentials.
func credentialsOf(provider string) string {
	switch provider {
	case "aws":
		return "aws configure, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; --profile NAME uses a profile"
	case "cloudflare":
		return "CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID; athanor kinds KIND lists the permissions that a token needs"
	}
	return "athanor kinds lists what provider " + provider + " needs"
}

// clockOf is an address of a provider whose answers say the time, "" for none.
func clockOf(provider string, settings map[string]any) string {
	if endpoint, ok := settings["endpoint"].(string); ok && endpoint != "" {
		return endpoint
	}
	switch provider {
	case "aws":
		if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
			return url
		}
		return "https://sts.amazonaws.com"
	case "cloudflare":
		if url := os.Getenv("CLOUDFLARE_API_BASE_URL"); url != "" {
			return url
		}
		return "https://api.cloudflare.com/client/v4"
	}
	return ""
}

// clockCheck compares this machine's clock with the time that a server answers with. No credentials are sent.
func clockCheck(ctx context.Context, provider, url string) check {
	ctx, stop := patient(ctx)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return check{"clock", checkWarning, "not compared with " + provider + ": " + err.Error(), nil}
	}
	begun := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return check{"clock", checkWarning, "not compared with " + provider + ": " + err.Error(), nil}
	}
	defer res.Body.Close()
	theirs, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return check{"clock", checkWarning, "not compared: the answer of " + provider + " has no date", nil}
	}
	return clockVerdict(provider, theirs, begun, time.Now())
}

// mostSkew is how wrong a clock may be: AWS refuses calls that were signed more than five minutes before or after.
const mostSkew = 5 * time.Minute

// clockVerdict judges the time of an answer to a request that was sent and answered at these times of this machine.
func clockVerdict(provider string, theirs, sent, answered time.Time) check {
	const second = time.Second // a date has no fractions
	var wrong time.Duration
	switch {
	case theirs.Add(second).Before(sent):
		wrong = sent.Sub(theirs)
	case theirs.After(answered):
		wrong = theirs.Sub(answered)
	}
	k := check{"clock", checkOK, "agrees with " + provider, nil}
	if wrong > second {
		k.Text = fmt.Sprintf("differs from that of %s by %s", provider, wrong.Round(second))
	}
	switch {
	case wrong >= mostSkew:
		k.Status, k.Fix = checkMissing, []string{"set the clock of this machine: calls that are signed with it are refused"}
	case wrong >= time.Minute:
		k.Status, k.Fix = checkWarning, []string{"set the clock of this machine"}
	}
	return k
}
