package serving

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/service"
)

// serveConfig is what `serve --config FILE` says: what is too long for flags. A flag that says the same wins.
type serveConfig struct {
	Audience string            `json:"audience"`
	OIDC     []service.Issuer  `json:"oidc"`
	Webhooks []service.Webhook `json:"webhooks"`
	Limits   serveLimits       `json:"limits"`
}

// serveLimits bound what one token may do. Zero is the default of the service.
type serveLimits struct {
	Rate    float64 `json:"rate"`    // requests a second on average
	Burst   float64 `json:"burst"`   // requests at once
	Streams int     `json:"streams"` // event streams at once
}

// readServeConfig reads the file; an empty path is an empty file. A field that is not known is refused: it may have been meant to
// restrict something.
func readServeConfig(path string) (*serveConfig, error) {
	config := new(serveConfig)
	if path == "" {
		return config, nil
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = config.parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	return config, nil
}

func (s *serveConfig) parse(text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Content) == 0 {
		return nil
	}
	value, err := yamlValue(doc.Content[0], "")
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return err
	}
	l := s.Limits
	if l.Rate < 0 || l.Burst < 0 || l.Streams < 0 || l.Rate == 0 && l.Burst > 0 || l.Burst == 0 && l.Rate > 0 {
		return errors.New("limits: rate and burst are given together, and none is negative")
	}
	return nil
}

// claimsKey is the key below which each value is text: an id that looks like a number is the text of a claim.
const claimsKey = "claims"

// yamlValue is a node as a value for JSON.
func yamlValue(n *yaml.Node, below string) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: an alias has no place here", n.Line)
	case yaml.SequenceNode:
		all := []any{}
		for _, element := range n.Content {
			value, err := yamlValue(element, below)
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	case yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, name)
			}
			key := below
			if below != claimsKey {
				key = name
			}
			value, err := yamlValue(n.Content[i+1], key)
			if err != nil {
				return nil, err
			}
			all[name] = value
		}
		return all, nil
	}
	if below == claimsKey && n.Tag != "!!null" {
		return n.Value, nil
	}
	var value any
	err := n.Decode(&value)
	return value, err
}

// issuers are those of the flag's file, else those of this one; nil for none.
func (s *serveConfig) issuers(flag, path string) (*service.OIDC, error) {
	if flag != "" {
		return issuersOf(flag)
	}
	if len(s.OIDC) == 0 {
		return nil, nil //nolint:nilnil // nobody's ID tokens are taken
	}
	issuers := &service.OIDC{Audience: s.Audience, Issuers: s.OIDC}
	if err := issuers.Check(); err != nil {
		return nil, fmt.Errorf("--config %s: oidc: %w", path, err)
	}
	return issuers, nil
}
