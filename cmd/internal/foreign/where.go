// Package foreign reads what other tools keep of what they have deployed, wherever that lies: files, folders, buckets, databases, servers, and
// deployed stacks of CloudFormation.
//
// It does not know what the states mean, nor what becomes of them.
package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/s3"
)

// Source is what another tool keeps, with what its place says of it.
type Source struct {
	Content []byte
	// Shown is the place without passwords.
	Shown string
	// File is the last part of its path, folder the one before.
	File, folder string
	// Dir is the local folder in which its relative paths start.
	Dir string
	// Workspace is the one of Terraform, or the stack of Pulumi, that it is of; "" for the default.
	Workspace string
	// Stack is what the content says that the stack is called.
	Stack string
}

// Read reads a source of a kind: a folder of Alchemy's states, a stack of CloudFormation by its name where no file has that name,
// else what stands at a place.
func Read(ctx context.Context, kind, where string, largest int64) (Source, error) {
	if isFolderOf(kind, where) {
		return readAlchemyFolder(ctx, where, largest)
	}
	if kind == alchemyKind && strings.HasPrefix(where, "s3://") {
		return readAlchemyBucket(ctx, where, largest)
	}
	if !isStackTool(kind) {
		return readForeign(ctx, where, largest)
	}
	info, err := os.Stat(where)
	if isName := !strings.Contains(where, "/") && (err != nil || info.IsDir()); isName || strings.HasPrefix(where, "arn:") {
		return readDeployedStack(ctx, where, largest)
	}
	return readForeign(ctx, where, largest)
}

// readForeign reads a source: a file, an object in a bucket (s3://BUCKET/KEY), a row in the database of the pg backend
// (postgres://…) or what a server of the http backend answers.
func readForeign(ctx context.Context, where string, largest int64) (Source, error) {
	return ReadNamed(ctx, where, largest, false)
}

// ReadNamed is readForeign. named: a stack names the place, and it is shown no password of the user's.
func ReadNamed(ctx context.Context, where string, largest int64, named bool) (Source, error) {
	scheme, _, _ := strings.Cut(where, "://")
	var f Source
	var err error
	switch scheme {
	case "s3":
		f, err = readObject(ctx, where)
	case "postgres", "postgresql":
		f, err = readRow(ctx, where, named)
	case "http", "https":
		f, err = readAnswer(ctx, where, largest, named)
	default:
		return readForeignFile(ctx, where, largest)
	}
	switch {
	case err != nil:
		return f, fmt.Errorf("%s: %w", cmp.Or(f.Shown, scheme+"://…"), err)
	case int64(len(f.Content)) > largest:
		return f, fmt.Errorf("%s: %w", f.Shown, localfile.ErrTooLarge)
	}
	f.Dir = "."
	return f, nil
}

// readForeignFile reads a file. Terraform keeps the states of workspaces in terraform.tfstate.d/WORKSPACE, two folders below
// that of the configuration, in which their relative paths start.
func readForeignFile(ctx context.Context, where string, largest int64) (Source, error) {
	f := Source{Shown: where, File: filepath.Base(where), Dir: filepath.Dir(where)}
	var err error
	if f.Content, err = localfile.ReadAtMost(ctx, where, largest); err != nil {
		return f, fmt.Errorf("%s: %w", where, files.WithoutPath(err))
	}
	whole := files.Absolute(where)
	if states := filepath.Dir(filepath.Dir(whole)); filepath.Base(states) == "terraform.tfstate.d" {
		f.Workspace = filepath.Base(filepath.Dir(whole))
		f.Dir = filepath.Join(f.Dir, "..", "..")
	}
	f.folder = filepath.Base(files.Absolute(f.Dir))
	return f, nil
}

// readObject reads an object in a bucket. The s3 backend keeps the states of workspaces under env:/WORKSPACE/.
func readObject(ctx context.Context, where string) (Source, error) {
	u, err := url.Parse(where)
	if err != nil {
		return Source{}, errors.New("it is not of the form s3://BUCKET/KEY?region=…&endpoint=…")
	}
	key := strings.TrimPrefix(u.Path, "/")
	f := Source{Shown: "s3://" + u.Host + "/" + key}
	if rest, ok := strings.CutPrefix(key, "env:/"); ok {
		f.Workspace, _, _ = strings.Cut(rest, "/")
	}
	f.File, f.folder = lastParts(key)
	u.Path = ""
	address, err := s3.Parse(u.String())
	switch {
	case err != nil:
		return f, err
	case key == "":
		return f, errors.New("it names no object: s3://BUCKET/KEY")
	}
	object, err := s3.Bucket(address, project.BucketConfig).Get(ctx, key, "")
	f.Content = object.Body
	return f, err
}

// lastParts are the last part of a path and the one before it.
func lastParts(whole string) (file, folder string) {
	file, folder = path.Base(whole), path.Base(path.Dir(whole))
	if strings.Trim(folder, "./") == "" {
		folder = ""
	}
	return file, folder
}

// readRow reads a state in the table of the pg backend:
// https://opentofu.org/docs/language/settings/backends/pg/. Its schema and the workspace are parameters of the URL.
func readRow(ctx context.Context, where string, named bool) (Source, error) {
	u, err := url.Parse(where)
	if err != nil { // what the parser says would quote a password
		return Source{}, errors.New("it is not of the form postgres://USER@HOST/DATABASE?schema_name=…&workspace=…")
	}
	query := u.Query()
	schema := cmp.Or(query.Get("schema_name"), "terraform_remote_state")
	workspace := cmp.Or(query.Get("workspace"), defaultWorkspace)
	query.Del("schema_name")
	query.Del("workspace")
	u.RawQuery = query.Encode()
	f := Source{Shown: postgres.WithoutPassword(u.String()), File: "terraform.tfstate", folder: strings.Trim(u.Path, "/")}
	if workspace != defaultWorkspace {
		f.Workspace = workspace
	}
	conn, err := postgres.Connect(ctx, u.String(), reconcile.NewDialer().LookupHost, named)
	if err != nil {
		return f, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	err = conn.QueryRow(ctx, "select data from "+pgx.Identifier{schema, "states"}.Sanitize()+" where name = $1", workspace).Scan(&f.Content)
	if errors.Is(err, pgx.ErrNoRows) {
		err = cli.Hint(fmt.Errorf("schema %s has no state of workspace %s", schema, workspace), "?schema_name=NAME&workspace=NAME choose another")
	}
	return f, err
}

// defaultWorkspace is the workspace that Terraform calls so.
const defaultWorkspace = "default"

// readAnswer reads what a server of the http backend answers, as the user of $TF_HTTP_USERNAME: it follows no redirect.
func readAnswer(ctx context.Context, where string, largest int64, named bool) (Source, error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return Source{}, errors.New("it is no URL")
	}
	user, password := os.Getenv("TF_HTTP_USERNAME"), os.Getenv("TF_HTTP_PASSWORD")
	if named {
		user, password = "", ""
	}
	if own, ok := u.User.Password(); ok {
		user, password = u.User.Username(), own
	}
	u.User = nil
	f := Source{Shown: u.Scheme + "://" + u.Host + u.Path}
	f.File, f.folder = lastParts(strings.TrimSuffix(u.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return f, errors.New("it is no URL")
	}
	if user != "" {
		if u.Scheme == "http" && !loopbackHost(u.Hostname()) {
			return f, cli.Hint(errors.New("a password would be readable on the way"), "https://, or no user in the URL and in TF_HTTP_USERNAME")
		}
		request.SetBasicAuth(user, password)
	}
	client := http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: reconcile.NewDialer().DialContext, ResponseHeaderTimeout: 30 * time.Second,
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it quotes the URL
			err = wrapped.Err
		}
		return f, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return f, fmt.Errorf("the server answers with status %d", response.StatusCode)
	}
	f.Content, err = io.ReadAll(io.LimitReader(response.Body, largest+1))
	return f, err
}

// loopbackHost reports whether a host is this machine, without asking anybody.
func loopbackHost(name string) bool {
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

// StackName is the name of the stack of a state: that of its file, or of its folder where all states have one name.
func (f Source) StackName() string {
	if f.Stack != "" {
		return f.Stack
	}
	name := f.File
	if stem, _, _ := strings.Cut(name, "."); stem == "terraform" || stem == "state" || stem == "tofu" || stem == "" {
		name = f.folder
	}
	return from.StackName(name)
}

// AsFile is the source as a tool reads it.
func (f Source) AsFile() from.File {
	return from.File{Name: f.File, Content: f.Content, Exists: func(name string) bool {
		_, err := os.Stat(filepath.Join(f.Dir, filepath.FromSlash(name)))
		return err == nil
	}}
}
