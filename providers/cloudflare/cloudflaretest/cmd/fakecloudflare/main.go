// Command fakecloudflare is the Cloudflare of the tests as a program: an account in memory with the REST API, for trying
// athanor, wrangler or Terraform without an account at Cloudflare.
//
//	go run ./providers/cloudflare/cloudflaretest/cmd/fakecloudflare --listen 127.0.0.1:8787 --zone shop.example
//
// It prints the environment that leads clients to it, and on standard error each call that it refuses because Cloudflare's
// own descriptions do not allow it, or because it lacks the operation. Uploads are started in workerd. All is lost when it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the program has no caller
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fakecloudflare:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("fakecloudflare", flag.ContinueOnError)
	flags.SetOutput(problems)
	listen := flags.String("listen", "127.0.0.1:8787", "`ADDRESS` to listen at; the API has no transport security: keep it on this machine")
	var zones []string
	flags.Func("zone", "add a zone of this `NAME`; may be repeated", func(name string) error {
		zones = append(zones, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	s, closeServer, err := cloudflaretest.Serve(listener, reporter{problems})
	if err != nil {
		return err
	}
	defer closeServer()
	s.LimitRate(time.Now)
	s.Sparse() // other clients than athanor take each value of the server's own for a difference
	for _, name := range zones {
		s.AddZone(s.Account, name)
	}
	fmt.Fprintf(out, "export CLOUDFLARE_API_BASE_URL=%s\nexport CLOUDFLARE_API_TOKEN=%s\nexport CLOUDFLARE_ACCOUNT_ID=%s\n", s.URL, s.Token, s.Account)
	<-ctx.Done()
	return nil
}

// reporter writes what the server reports as lines.
type reporter struct{ to io.Writer }

func (r reporter) Errorf(format string, args ...any) { fmt.Fprintf(r.to, format+"\n", args...) }
func (r reporter) Log(args ...any)                   { fmt.Fprintln(r.to, args...) }
