package wiretest

import (
	"maps"
	"net/http"
)

// Answer is a whole HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a Answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // refused for HEAD, whose answers have none
}

// outsiderHeader tells the proxy that a call is not the tested code's.
const outsiderHeader = "X-Wiretest-Outsider"

// FromOutside reports whether a request carries the header of somebody else's calls. It is for what stands before the
// proxy.
func FromOutside(r *http.Request) bool { return r.Header.Get(outsiderHeader) != "" }

// Outsider sends calls as somebody else's, which are neither recorded nor broken. It stands below the client, hence
// after signing.
type Outsider struct{ Next http.RoundTripper }

// RoundTrip sends a copy of the request with the header of somebody else's calls.
func (o Outsider) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(outsiderHeader, "true")
	return o.Next.RoundTrip(r)
}
