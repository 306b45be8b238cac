// Package serving has the commands that listen: serve, which keeps the state of a team, and ui, which shows a state store on this machine.
//
// What is served is package service's. This package reads the settings, and ends when its user says so.
package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/account"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/providers/aws/keyservice"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/service/pulumiapi"
	"github.com/athanor-dev/athanor/service/tfhttp"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Serve is the command serve of a release.
func Serve(t *terminal.Terminal, version func() string) *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "serve the state of many stages to a team by HTTP",
		Description: `The service stands in front of a store: PostgreSQL for any number of replicas, a file for one. All state is in the
store; replicas are equal and may be killed at any time. What it stores is sealed with keys that it never has.

It needs a certificate, unless it listens on the loopback or a proxy in front of it has one (--behind-proxy). The first
token: ` + "`athanor token create --name NAME --role admin --store STORE`" + `.`,
		UsageText: `serve --store postgres://… --listen :443 --tls-cert cert.pem --tls-key key.pem
serve --store postgres://… --listen :8080 --behind-proxy 10.0.0.0/8
serve --config serve.yaml --store postgres://…  issuers, webhooks and limits from a file
serve --store bolt:state.db                    on the loopback, to try it`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "store", EnvVars: []string{cli.StoreVariable}, Usage: "keep state in `STORE`, bolt:PATH or postgres://…"},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8484", Usage: "listen on `ADDR`"},
			&cli.StringFlag{Name: "tls-cert", Usage: "the certificate chain in `FILE`"},
			&cli.StringFlag{Name: "tls-key", Usage: "its private key in `FILE`"},
			&cli.StringSliceFlag{Name: "behind-proxy", Usage: "a proxy in the network `CIDR` terminates TLS; only its X-Forwarded-For is believed (may be repeated)"},
			&cli.StringFlag{
				Name: "master-key", Usage: "also serve the Pulumi Service API and Terraform's http backend; `KEY` (file:PATH or awskms:ARN) wraps the keys of their states",
			},
			&cli.StringFlag{Name: "config", Usage: "read audience, oidc, webhooks and limits from `FILE` (YAML); --oidc and --webhooks win"},
			&cli.StringFlag{Name: "oidc", Usage: "exchange ID tokens of the issuers in `FILE` for API tokens, by its rules"},
			&cli.StringFlag{Name: "webhooks", Usage: "tell the webhooks in `FILE` what the audit log gets, signed with $ATHANOR_WEBHOOK_SECRET"},
			&cli.StringSliceFlag{Name: "audit-key", Usage: "sign the audit log with the Ed25519 key in `FILE` (PEM); further ones are keys of before (may be repeated)"},
			&cli.GenericFlag{Name: "audit-keep", Value: &cli.Duration{Least: service.LeastAuditKept}, Usage: "drop entries of the audit log that are older than `DURATION` (365d), 30d at least; default: keep all"},
			&cli.GenericFlag{Name: "approval-ttl", Value: &cli.Duration{Value: service.ApprovalLife, Least: time.Minute, Most: service.MostApprovalLife}, Usage: "an approval of a plan is good for `DURATION`, 30d at most; default 1d"},
			&cli.StringFlag{Name: "metrics", Usage: "answer Prometheus at http://`ADDR`/metrics, which needs no token"},
			&cli.GenericFlag{Name: "connections", Value: &cli.Count{Value: 16, Least: 1, Most: 1000}, Usage: "keep at most `N` connections to the database"},
			cli.JSONFlag(),
		},
		Action: func(c *cli.Context) error { return serve(t, c, version()) },
	}
}

func serve(t *terminal.Terminal, c *cli.Context, version string) (err error) {
	proxies, err := networks(c.StringSlice("behind-proxy"))
	if err != nil {
		return err
	}
	certificate, err := certificateOf(c)
	if err != nil {
		return err
	}
	p, err := project.Open(".", c.String("store"), postgres.WithConnections(int32(c.Int("connections"))))
	if err != nil {
		return err
	}
	defer p.Close(&err)
	store, ok := p.Store.(statestore.Folders)
	if !ok {
		return cli.Hint(fmt.Errorf("store %s: %w", project.Redacted(c.String("store")), project.ErrNoService), "serve --store postgres://… or bolt:PATH")
	}
	config, err := readServeConfig(c.String("config"))
	if err != nil {
		return err
	}
	issuers, err := config.issuers(c.String("oidc"), c.String("config"))
	if err != nil {
		return err
	}
	hooks, err := config.webhooks(c.String("webhooks"), c.String("config"), os.Getenv(webhookSecret))
	if err != nil {
		return err
	}
	keys, err := account.AuditKeys(c.StringSlice("audit-key"))
	if err != nil {
		return err
	}
	mount := func(*service.Service) {}
	if text := c.String("master-key"); text != "" {
		master, err := masterOf(c.Context, text, store)
		if err != nil {
			return err
		}
		mount = func(s *service.Service) { mountForeign(s, master) }
	}
	listener, err := listen(c)
	if err != nil {
		return err
	}
	if certificate == nil && len(proxies) == 0 && !onLoopback(listener.Addr()) {
		_ = listener.Close() // nobody has connected yet
		return cli.Hint(fmt.Errorf("--listen %s: without TLS everybody on the way could read tokens", c.String("listen")),
			"--tls-cert and --tls-key, or --behind-proxy CIDR where a proxy terminates TLS")
	}
	if mount, err = withMetrics(c, mount); err != nil {
		_ = listener.Close() // nobody has connected yet
		return err
	}
	t.Interrupts.Lasting()
	firstToken(t, c, service.NewTokens(store, time.Now), issuers)
	return serveOn(c.Context, t, listener, certificate, store, service.Settings{
		Version: version, Rate: config.Limits.Rate, Burst: config.Limits.Burst, Streams: config.Limits.Streams, Proxies: proxies, OIDC: issuers, Webhooks: hooks, AuditKeys: keys, AuditKeep: c.Duration("audit-keep"), ApprovalLife: c.Duration("approval-ttl"),
		Log: func(method, path string, err error) { t.Warn("%s %s: %v", method, path, err) }, Plainly: render.Plainly,
	}, mount)
}

// firstToken says how somebody gets in where nobody has a token that is good, and nobody can sign in. It prints no token: what a
// service prints is kept in logs.
func firstToken(t *terminal.Terminal, c *cli.Context, tokens *service.Tokens, issuers *service.OIDC) {
	if issuers != nil && slices.ContainsFunc(issuers.Issuers, func(i service.Issuer) bool { return i.ClientID != "" }) {
		return
	}
	ctx, stop := context.WithTimeout(c.Context, 20*time.Second)
	defer stop()
	all, err := tokens.List(ctx)
	if err != nil || slices.ContainsFunc(all, func(t wire.Token) bool { return t.Revoked.IsZero() && time.Now().Before(t.Expires) }) {
		return // what is wrong with the store is said when it is asked
	}
	where := ""
	if store := c.String("store"); os.Getenv(cli.StoreVariable) != store {
		where = " --store " + render.ShellWord(project.Redacted(store))
	}
	fmt.Fprintln(t.Err, "no token of this service is good. One is created on this machine, in another terminal:")
	fmt.Fprintln(t.Err, "next:  athanor token create --name NAME --role admin"+where)
}

// listen listens where --listen says.
func listen(c *cli.Context) (net.Listener, error) {
	address := c.String("listen")
	listener, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	return listener, notListening(address, err)
}

// notListening says why nobody listens where --listen says, and what can be done; nil where somebody does.
func notListening(address string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return cli.Hint(fmt.Errorf("--listen %s: another program listens there", address), "--listen with another port; port 0 takes a free one")
	case errors.Is(err, syscall.EACCES):
		return cli.Hint(fmt.Errorf("--listen %s: permission denied", address), "a port above 1023 needs no rights")
	}
	return cli.Hint(fmt.Errorf("--listen %s: %w", address, err), "--listen HOST:PORT, with an address of this machine; 127.0.0.1:8484 is the loopback, :8484 is every address")
}

// withMetrics answers Prometheus at an address of its own, where that is asked for: what it says is not for everybody who
// reaches the service.
func withMetrics(c *cli.Context, mount func(*service.Service)) (func(*service.Service), error) {
	address := c.String("metrics")
	if address == "" {
		return mount, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	return func(s *service.Service) {
		mount(s)
		mux := http.NewServeMux()
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = s.Metrics(w) // a client that went away asks again
		})
		server := service.HTTPServer(mux)
		context.AfterFunc(c.Context, func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }() // it ends with the command
	}, nil
}

// readSettings reads a file of JSON. A field that is not known is refused: it may have been meant to restrict something.
func readSettings(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// webhookSecret is the variable whose value signs deliveries to webhooks.
const webhookSecret = "ATHANOR_WEBHOOK_SECRET"

// webhooks are those of the file that --webhooks names, else those of the one of --config.
func (s *serveConfig) webhooks(path, config, secret string) ([]service.Webhook, error) {
	from, all := "--webhooks "+path, s.Webhooks
	if path != "" {
		var file struct {
			Webhooks []service.Webhook `json:"webhooks"`
		}
		if err := readSettings(path, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		all = file.Webhooks
	} else {
		from = "--config " + config
	}
	if len(all) > 0 && secret == "" {
		return nil, cli.Hint(fmt.Errorf("%s: $%s is empty: nobody could tell a delivery from a forged one", from, webhookSecret),
			"set it to random text that receivers know too")
	}
	for i := range all {
		all[i].Secret = secret
		if err := all[i].Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return all, nil
}

// issuersOf reads the file of issuers; nil when none is named.
func issuersOf(path string) (*service.OIDC, error) {
	if path == "" {
		return nil, nil
	}
	issuers := new(service.OIDC)
	err := readSettings(path, issuers)
	if err == nil {
		err = issuers.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("--oidc %s: %w", path, err)
	}
	return issuers, nil
}

// Drain is how long requests that are on their way have to end when the service stops.
const Drain = 30 * time.Second

// serveOn serves until the context ends, and then lets the requests that are on their way end.
func serveOn(ctx context.Context, t *terminal.Terminal, listener net.Listener, certificate *tls.Config, store statestore.Folders, settings service.Settings,
	mount func(*service.Service),
) error {
	lasting := context.WithoutCancel(ctx)
	s := service.New(lasting, store, settings)
	mount(s)
	server := service.HTTPServer(s)
	server.TLSConfig = certificate
	ended := make(chan error, 1)
	scheme := "http"
	if certificate != nil {
		scheme = "https"
		go func() { ended <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { ended <- server.Serve(listener) }()
	}
	url := scheme + "://" + listener.Addr().String()
	if t.AsJSON {
		t.JSON(map[string]any{"type": "serving", "url": url})
	} else {
		fmt.Fprintln(t.Out, "serving "+url)
	}
	if len(settings.AuditKeys) > 0 {
		fmt.Fprintln(t.Err, "the audit log is signed with "+account.PublicText(settings.AuditKeys[0]))
	}
	go s.Warm(ctx)
	go regularly(ctx, t, time.Minute, "ending orphaned runs: ", "ended %d orphaned runs\n", s.Collect)
	if settings.AuditKeep > 0 {
		go regularly(ctx, t, time.Hour, "dropping old entries of the audit log: ", "dropped %d old entries of the audit log\n", s.Retain)
	}
	if len(settings.Webhooks) > 0 {
		go regularly(ctx, t, tellEvery, "", "", func(ctx context.Context) (int, error) { return 0, s.Deliver(ctx) })
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Stop()
	stopping, stop := context.WithTimeout(lasting, Drain)
	defer stop()
	if err := server.Shutdown(stopping); err != nil {
		return errors.Join(fmt.Errorf("requests were still on their way after %v", Drain), server.Close())
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// tellEvery is how long after its entry in the audit log a webhook is told at most, when it answers.
const tellEvery = 2 * time.Second

// regularly does something at the start and again and again, until the context ends. What went wrong is said and tried again; done says how
// many were done, and is empty where nobody wants to know.
func regularly(ctx context.Context, t *terminal.Terminal, every time.Duration, what, done string, do func(context.Context) (int, error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if n, err := do(ctx); err != nil && ctx.Err() == nil {
			t.Warn("%s%v", what, err)
		} else if n > 0 {
			fmt.Fprintf(t.Err, done, n)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func networks(texts []string) ([]*net.IPNet, error) {
	var all []*net.IPNet
	for _, text := range texts {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			return nil, cli.Hint(fmt.Errorf("--behind-proxy %s: it is no network", text), "--behind-proxy 10.0.0.0/8")
		}
		all = append(all, network)
	}
	return all, nil
}

// certificateOf reads the certificate; nil when none is given.
func certificateOf(c *cli.Context) (*tls.Config, error) {
	chain, key := c.String("tls-cert"), c.String("tls-key")
	if chain == "" && key == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", chain, key, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

func onLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// masterOf opens the master key that a flag names. A key file is created with the first start of a service: a store that has
// keys already needs the file that wraps them.
func masterOf(ctx context.Context, text string, store statestore.Folders) (foreign.Master, error) {
	way, name, _ := strings.Cut(text, ":")
	switch {
	case way == "awskms" && name != "":
		return &keyServiceMaster{keyservice.New(ctx), name}, nil
	case way != "file" || name == "":
		return nil, cli.Hint(fmt.Errorf("--master-key %s: it is file:PATH or awskms:ARN", text), "--master-key file:master.key")
	}
	used, err := foreign.HasKeys(ctx, store)
	if err != nil {
		return nil, err
	}
	master, err := seal.OpenMasterKey(name, !used)
	if used && errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Hint(fmt.Errorf("--master-key %s: the file is missing, and the store has keys that it wraps", text),
			"restore the file from its backup, or copy it from another replica")
	}
	if err != nil {
		return nil, fmt.Errorf("--master-key %s: %w", text, err)
	}
	return master, nil
}

// keyServiceMaster wraps under a key of a key service.
type keyServiceMaster struct {
	seal.KeyService

	name string
}

func (m *keyServiceMaster) Wrap(plain []byte, bound map[string]string) ([]byte, error) {
	return m.KeyService.Wrap(m.name, plain, bound)
}

func (m *keyServiceMaster) Unwrap(sealed []byte, bound map[string]string) ([]byte, error) {
	return m.KeyService.Unwrap(m.name, sealed, bound)
}

// mountForeign adds the protocols of other tools to a service.
func mountForeign(s *service.Service, master foreign.Master) {
	pulumiapi.Mount(s, master)
	tfhttp.Mount(s, master)
}
