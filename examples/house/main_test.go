package main

import (
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor"
)

// TestConstructorsAreNoPlaces: a lamp is where the program declares it, and not in the constructor that every lamp goes through.
func TestConstructorsAreNoPlaces(t *testing.T) {
	g, err := athanor.Evaluate(House, athanor.Input{Stack: "house", Stage: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	if at, want := g.Resources[0].Source, "main.go:18"; filepath.Base(at) != want {
		t.Errorf("the lamp is at %s, want %s", at, want)
	}
}
