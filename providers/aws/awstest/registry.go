package awstest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// newRegistry is a registry in the process that keeps layers, and refuses those that are not what their digests say. It is that of
// go-containerregistry. moto, which keeps the images, has none.
func newRegistry() http.Handler { return registry.New(registry.Logger(log.New(io.Discard, "", 0))) }

// checkVersion is the operation by which a client asks whether there is a registry, which needs no permission.
const checkVersion = "CheckVersion"

// isRegistry reports a request to a registry, which signs in otherwise than one to a service:
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md
func isRegistry(r *http.Request) bool {
	_, isSigned := readScope(r)
	return strings.HasPrefix(r.URL.Path, "/v2/") && !isSigned
}

// registryOperation is what of ECR a registry's request is, and the repository that it is about. ECR checks the same permissions:
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-push-iam.html
func registryOperation(r *http.Request) (operation, repository string) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	repository, rest, _ := strings.Cut(path, "/blobs/")
	isUpload := strings.HasPrefix(rest, "uploads/")
	switch {
	case path == "":
		return checkVersion, ""
	case rest == "" && r.Method == http.MethodPut:
		operation = "PutImage"
	case rest == "":
		operation = "BatchGetImage"
	case r.Method == http.MethodHead:
		operation = "BatchCheckLayerAvailability"
	case !isUpload:
		operation = "GetDownloadUrlForLayer"
	default:
		operation = map[string]string{
			http.MethodPost: "InitiateLayerUpload", http.MethodPatch: "UploadLayerPart", http.MethodPut: "CompleteLayerUpload",
		}[r.Method]
	}
	if rest == "" {
		repository, _, _ = strings.Cut(path, "/manifests/")
	}
	return operation, repository
}

// registry answers a request of a client that has signed in with what GetAuthorizationToken gives.
func (m *moto) registry(ctx context.Context, r *http.Request, c Call) Answer {
	if user, password, ok := r.BasicAuth(); !ok || user != "AWS" || password != c.Account+"-auth-token" {
		a := spell(c, failure{status: http.StatusUnauthorized, code: "UNAUTHORIZED", message: "Not Authorized"})
		a.Header.Set("WWW-Authenticate", `Basic realm="https://registry",service="ecr.amazonaws.com"`)
		return a
	}
	w := httptest.NewRecorder()
	in := r.Clone(ctx)
	in.Body = io.NopCloser(bytes.NewReader(c.Body))
	m.layers.ServeHTTP(w, in)
	return Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}

// ownRegistry makes an answer lead to the registry here: moto's leads to AWS.
func ownRegistry(r *http.Request, a Answer) Answer {
	var out struct {
		AuthorizationData []map[string]any `json:"authorizationData"`
	}
	if a.Status/100 != 2 || json.Unmarshal(a.Body, &out) != nil {
		return a
	}
	for _, data := range out.AuthorizationData {
		data["proxyEndpoint"] = "http://" + r.Host
	}
	body, err := json.Marshal(out)
	if err != nil {
		return unreachable(err)
	}
	a.Body = body
	a.Header.Del("Content-Length")
	return a
}

// spellRegistry writes a failure as registries do:
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes
func spellRegistry(f failure) Answer {
	body, err := json.Marshal(map[string]any{"errors": []map[string]string{{"code": f.code, "message": f.message}}})
	if err != nil {
		return unreachable(err)
	}
	return made(f.status, "application/json", body)
}
