// Command s3 is the S3 server versitygw on a folder. It takes the arguments of versitygw that the tests give, and has its defaults.
// Versitygw itself has other places for objects, too, and clients and tests of its own: compiling those takes as long as the rest.
//
//	s3 --port 127.0.0.1:7070 --region eu-west-1 --quiet posix FOLDER
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	port := flag.String("port", "127.0.0.1:7070", "address to listen at")
	region := flag.String("region", "us-east-1", "region that clients are told")
	quiet := flag.Bool("quiet", false, "say nothing of requests")
	flag.Parse()
	if flag.NArg() != 2 || flag.Arg(0) != "posix" {
		return errors.New("usage: s3 [flags] posix FOLDER")
	}
	folder := flag.Arg(1)
	if err := (meta.XattrMeta{}).Test(folder); err != nil {
		return fmt.Errorf("extended attributes: %w", err)
	}
	options := posix.PosixOpts{Concurrency: 5000, IOBufferSize: 1 << 20, CopyObjectThreshold: 5 << 30}
	options.SetNewDirPerm(0o755)
	options.SetNewFilePerm(0o644)
	files, err := posix.New(folder, meta.XattrMeta{}, options)
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY"), RootUserSecret: os.Getenv("ROOT_SECRET_KEY"), Region: *region, Ports: []string{*port}, Quiet: *quiet,
		MaxConnections: 250_000, MaxRequests: 100_000, AdminMaxConnections: 250_000, AdminMaxRequests: 100_000, MultipartMaxParts: 10_000,
	})
}
