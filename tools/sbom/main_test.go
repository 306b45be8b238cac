package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestIdentify(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004": "Apache-2.0", "GNU GENERAL PUBLIC LICENSE": "", "": "", "All rights reserved.": "",
		"Permission is hereby granted, free of charge, to any person\nobtaining a copy": "MIT", "Mozilla Public License Version 2.0": "MPL-2.0",
		"Redistribution and use in source and binary forms … Neither the name of": "BSD-3-Clause", "Redistribution and use in source and binary forms": "BSD-2-Clause",
		"Permission to use, copy, modify, and distribute this software for any purpose": "ISC",
	} {
		if have := identify(text); have != want {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
}

// TestRun lists what this test is made of.
func TestRun(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "bom.json")
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n", "LICENSE": "Apache License Version 2.0"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := run(binary, out, dir)
	if err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	text, err := os.ReadFile(out)
	var doc document
	if err != nil || json.Unmarshal(text, &doc) != nil || doc.BOMFormat != "CycloneDX" || doc.Components[0].Name != "std" || len(doc.Metadata.Component.Hashes) != 1 {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.Remove(filepath.Join(dir, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, err := run(binary, out, dir); err == nil {
		t.Error("without a licence")
	}
}
