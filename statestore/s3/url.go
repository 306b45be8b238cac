package s3

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// errForm says what a URL looks like.
var errForm = errors.New("it is not of the form s3://BUCKET/PREFIX?region=…&endpoint=…")

var bucketForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`) })

// Address is what the URL of a store says.
type Address struct {
	// Bucket and Prefix say where its objects are. The prefix has no slash at its ends.
	Bucket, Prefix string
	// Region is the bucket's; empty is that of the credentials.
	Region string
	// Endpoint is the URL of a server that is not AWS's own; its buckets are named in the path.
	Endpoint string
	// Keep is how many versions of a stage are kept before the newest one; 0 is the default.
	Keep int
	// SealedNames hides addresses, kinds and identities from who can read the bucket.
	SealedNames bool
}

// Parse reads the URL of a store: s3://BUCKET/PREFIX?PARAMETERS.
func Parse(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.User != nil || u.Fragment != "" || u.Port() != "" {
		return Address{}, errForm
	}
	a := Address{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if !bucketForm().MatchString(a.Bucket) {
		return Address{}, fmt.Errorf("%q is no name of a bucket", a.Bucket)
	}
	if len(a.Prefix) > 256 || slices.ContainsFunc(strings.Split(a.Prefix, "/"), badFolder) && a.Prefix != "" {
		return Address{}, fmt.Errorf("prefix %q: folders of letters, digits, dots, dashes and underscores, 256 bytes at most", a.Prefix)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errForm
	}
	for name, values := range query {
		if err := a.set(name, values); err != nil {
			return Address{}, err
		}
	}
	return a, nil
}

var folderForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func badFolder(name string) bool {
	return !folderForm.MatchString(name) || strings.Trim(name, ".") == ""
}

var regionForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// set takes one parameter.
func (a *Address) set(name string, values []string) error {
	if len(values) != 1 || values[0] == "" {
		return fmt.Errorf("parameter %s: one value", name)
	}
	value := values[0]
	switch name {
	case "region":
		if !regionForm.MatchString(value) { // it becomes part of a host's name
			return fmt.Errorf("region %q is none", value)
		}
		a.Region = value
	case "endpoint":
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("parameter endpoint: a URL such as https://ACCOUNT.r2.cloudflarestorage.com")
		}
		a.Endpoint = strings.TrimRight(value, "/")
	case "keep":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1000 {
			return errors.New("parameter keep: 1 to 1000")
		}
		a.Keep = n
	case "names":
		if value != "sealed" {
			return errors.New("parameter names: sealed")
		}
		a.SealedNames = true
	default:
		return fmt.Errorf("parameter %q: there are region, endpoint, keep and names", name)
	}
	return nil
}

// String is the URL in one form: two names of one store are equal. What does not say where the store is, is left out.
func (a Address) String() string {
	u := url.URL{Scheme: "s3", Host: a.Bucket, Path: "/" + a.Prefix}
	if a.Prefix == "" {
		u.Path = ""
	}
	if a.Endpoint == "" {
		return u.String()
	}
	return u.String() + "?endpoint=" + a.Endpoint
}
