package cmd

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/cmd/internal/serving"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore/bolt"
)

// TestDeployedFlags: the files that run the service elsewhere call it with flags that it has.
func TestDeployedFlags(t *testing.T) {
	flags := map[string]bool{}
	for _, flag := range serving.Serve(new(terminal.Terminal), nil).Flags {
		for _, name := range flag.Names() {
			flags["--"+name] = true
		}
	}
	for _, name := range []string{"compose.yaml", "kubernetes.yaml"} {
		file, err := os.Open(filepath.Join("..", "service", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		used := 0
		for d := yaml.NewDecoder(file); ; {
			var document any
			if err := d.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, args := range serveArguments(document) {
				for _, argument := range args {
					flag, _, _ := strings.Cut(argument, "=")
					if used++; !flags[flag] {
						t.Errorf("%s: serve has no %s", name, flag)
					}
				}
			}
		}
		if used < 5 {
			t.Errorf("%s calls serve with %d flags", name, used)
		}
	}
}

// deployedPart is what the test asks of a container and of what leads to it.
type deployedPart struct {
	Kind string
	Spec struct {
		Ports []struct {
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args  []string
					Ports []struct {
						Name string
						Port string `yaml:"containerPort"`
					}
					Liveness  deployedProbe   `yaml:"livenessProbe"`
					Readiness deployedProbe   `yaml:"readinessProbe"`
					Mounts    []deployedMount `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

type deployedMount struct {
	Name string
	Path string `yaml:"mountPath"`
}

type deployedProbe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// TestDeployedParts: what leads to the service in the manifest of Kubernetes leads to where it listens, its probes are answered by a real
// service, and it has more time to end than it takes.
func TestDeployedParts(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "service", "deploy", "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := service.New(t.Context(), store, service.Settings{})
	t.Cleanup(s.Stop)
	listens := map[string]bool{} // names of ports on which the service listens
	targets := 0
	for d := yaml.NewDecoder(file); ; {
		var part deployedPart
		if err := d.Decode(&part); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, port := range part.Spec.Ports {
			if targets++; !listens[port.TargetPort] {
				t.Errorf("%s leads to %q, where nothing listens", part.Kind, port.TargetPort)
			}
		}
		pod := &part.Spec.Template.Spec
		for _, c := range pod.Containers {
			if grace := time.Duration(pod.Grace) * time.Second; grace <= serving.Drain {
				t.Errorf("it has %v to end, and takes %v", grace, serving.Drain)
			}
			for _, port := range c.Ports {
				if !slices.Contains(c.Args, "--listen=:"+port.Port) && !slices.Contains(c.Args, "--metrics=:"+port.Port) {
					t.Errorf("port %s: no flag lets the service listen at %s", port.Name, port.Port)
				}
				listens[port.Name] = true
			}
			for _, probe := range []deployedProbe{c.Liveness, c.Readiness} {
				answer := httptest.NewRecorder()
				s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, probe.Get.Path, http.NoBody))
				if answer.Code != http.StatusOK || !listens[probe.Get.Port] {
					t.Errorf("probe %+v: %d", probe.Get, answer.Code)
				}
			}
			for _, argument := range c.Args {
				_, path, isFile := strings.Cut(argument, "=file:")
				if !isFile {
					_, path, _ = strings.Cut(argument, "=")
				}
				mounted := slices.ContainsFunc(c.Mounts, func(m deployedMount) bool {
					within := path == m.Path || strings.HasPrefix(path, m.Path+"/")
					return within && slices.ContainsFunc(pod.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name })
				})
				if strings.HasPrefix(path, "/") && !mounted {
					t.Errorf("%s: nothing is mounted there", argument)
				}
			}
		}
	}
	if len(listens) < 2 || targets == 0 {
		t.Errorf("ports %v, %d ways to them", listens, targets)
	}
}

// serveArguments are what follows serve in the lists of a document.
func serveArguments(node any) [][]string {
	var all [][]string
	switch node := node.(type) {
	case map[string]any:
		for _, value := range node {
			all = append(all, serveArguments(value)...)
		}
	case []any:
		var texts []string
		for _, value := range node {
			all = append(all, serveArguments(value)...)
			if text, ok := value.(string); ok {
				texts = append(texts, text)
			}
		}
		if len(texts) > 0 && texts[0] == "serve" {
			all = append(all, texts[1:])
		}
	}
	return all
}
