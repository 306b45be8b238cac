package reconcile

import (
	"errors"
	"net/url"
	"strings"
)

// commonError is an error that no resource is at fault for.
type commonError struct {
	error
	why string
}

func (e *commonError) Unwrap() error { return e.error }

// WithCommon says that no resource is at fault for an error: whatever is called with the same credentials, or at the same
// location, fails for the reason that why gives in a few words. Errors with one reason are reported once, with all
// addresses that they concern, whatever was called.
func WithCommon(err error, why string) error { return &commonError{err, why} }

// Common returns why every call of a location fails, and what can be done about it, both "" for an error that may be the
// resource's own. Of a call without an answer it is the server, and what became of the connection.
func Common(err error) (why, hint string) {
	if common, ok := errors.AsType[*commonError](err); ok {
		return common.why, strings.Join(Hints(common.error), "; ")
	}
	call, ok := errors.AsType[*url.Error](err)
	if !ok {
		return "", ""
	}
	server := ""
	if u, err := url.Parse(call.URL); err == nil {
		server = u.Host + ": "
	}
	return server + call.Err.Error(), ""
}
