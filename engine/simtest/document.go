package simtest

import (
	"encoding/json"

	"github.com/athanor-dev/athanor/engine"
)

// throughDocument is a plan as a file holds it: written as JSON and read back.
func throughDocument(p *engine.Plan) (*engine.Plan, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return engine.ReadPlan(data)
}
