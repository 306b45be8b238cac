package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// defaultSchema holds the store when the URL names no schema.
const defaultSchema = "athanor"

// maxSchema is what PostgreSQL keeps of a name, in bytes; it would cut a longer one.
const maxSchema = 63

var errURL = errors.New("it is not of the form postgres://USER@HOST:PORT/DATABASE?PARAMETERS")

// address is what a URL says.
type address struct {
	config *pgxpool.Config
	schema string
	place  string
}

// parse reads a URL. Its errors name neither the URL nor a password in it. A foreign one is of a server that the user's own
// passwords, certificates and options are not for: only those in the URL count.
func parse(text string, foreign bool) (*address, error) {
	u, err := split(text)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	schema := cmp.Or(query.Get("schema"), defaultSchema)
	if len(schema) > maxSchema || strings.HasPrefix(schema, "pg_") || strings.ContainsRune(schema, 0) {
		return nil, fmt.Errorf("schema %q: a schema has at most %d bytes and does not begin with pg_", schema, maxSchema)
	}
	query.Del("schema")
	if foreign {
		if err := withoutUser(query); err != nil {
			return nil, err
		}
	}
	u.RawQuery = query.Encode()
	config, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, parseError(u)
	}
	if !query.Has("sslmode") && (foreign || os.Getenv("PGSSLMODE") == "") && !local(config.ConnConfig) {
		query.Set("sslmode", "verify-full")
		u.RawQuery = query.Encode()
		if config, err = pgxpool.ParseConfig(u.String()); err != nil {
			return nil, parseError(u)
		}
	}
	if _, own := u.User.Password(); foreign && !own && !query.Has("password") {
		config.ConnConfig.Password = ""
	}
	if foreign && !query.Has("options") {
		delete(config.ConnConfig.RuntimeParams, "options")
	}
	// Every statement goes by itself, unnamed, in one round trip: a pooler may run each on another connection.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	if !query.Has("pool_max_conns") {
		config.MaxConns = 4
	}
	if !query.Has("pool_max_conn_idle_time") {
		config.MaxConnIdleTime = time.Minute
	}
	// A connection that broke while nobody used it is found out by using it; see patience.
	config.ShouldPing = neverPing
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "athanor"
	}
	return &address{config: config, schema: schema, place: placeOf(config.ConnConfig, schema)}, nil
}

// withoutUser changes the parameters of a server that is not the user's own so that it is shown no certificate of the
// user. It refuses parameters that name a file which may change what the URL says.
func withoutUser(query url.Values) error {
	for _, name := range []string{"service", "servicefile", "passfile"} {
		if query.Has(name) {
			return fmt.Errorf("the parameter %s is for the stage's own store", name)
		}
	}
	if !query.Has("sslcert") {
		query.Set("sslcertmode", "disable")
	}
	return nil
}

// split reads the parts of a URL. An @ without a user before it comes from a password with characters that a URL needs
// escaped, and what was cut out of it then stands where a host or a database is meant.
func split(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" || u.User == nil && strings.Contains(text, "@") {
		return nil, errURL // what the parser says would quote the URL
	}
	return u, nil
}

// local reports whether every server of a configuration is on this machine: behind a socket, or on the loopback.
func local(c *pgx.ConnConfig) bool {
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	return !slices.ContainsFunc(hosts, func(host string) bool {
		ip := net.ParseIP(host)
		return !strings.HasPrefix(host, "/") && host != "localhost" && (ip == nil || !ip.IsLoopback())
	})
}

func neverPing(_ context.Context, _ pgxpool.ShouldPingParams) bool { return false }

// placeOf names a store for people: where it is, and nothing of who asks.
func placeOf(c *pgx.ConnConfig, schema string) string {
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), Path: "/" + c.Database}
	query := url.Values{}
	if strings.HasPrefix(c.Host, "/") { // a folder with a socket
		u.Host = ""
		query.Set("host", c.Host)
	}
	if schema != defaultSchema {
		query.Set("schema", schema)
	}
	text, err := url.QueryUnescape(query.Encode())
	if err == nil {
		u.RawQuery = text
	}
	return u.String()
}

// parseError is what the driver says of a URL without its passwords, whose text cannot have them.
func parseError(u *url.URL) error {
	_, err := pgxpool.ParseConfig(WithoutPassword(u.String()))
	if inner := errors.Unwrap(err); inner != nil { // the outer one quotes the URL
		return fmt.Errorf("its parameters: %w", inner)
	}
	return errURL
}

var secretParameters = []string{"password", "sslpassword"}

// WithoutPassword is the URL of a store without the passwords in it, for files and messages; empty when it is none.
// Who uses it needs the password from elsewhere: $PGPASSWORD or ~/.pgpass.
func WithoutPassword(text string) string {
	u, err := split(text)
	if err != nil {
		return ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for _, name := range secretParameters {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Connect connects to the database of a URL as a store does, and makes nothing in it. The URL has the parameters of a store.
// A foreign one is shown nothing of the user's, as by [Foreign].
func Connect(ctx context.Context, url string, lookup func(ctx context.Context, host string) ([]string, error), foreign bool) (*pgx.Conn, error) {
	address, err := parse(url, foreign)
	if err != nil {
		return nil, err
	}
	config := address.config.ConnConfig
	config.LookupFunc = lookup
	return pgx.ConnectConfig(ctx, config)
}
