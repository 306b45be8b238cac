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
	// A file of somebody else is listed with its licence, and is an error when it is not the described one, or has none.
	library := filepath.Join(dir, "page")
	if err := os.Mkdir(library, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(library, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("lib.js", "a")
	put("lib.LICENSE", "Permission is hereby granted, free of charge, to any person obtaining a copy")
	put("lib.embedded.json", `{"name": "lib", "version": "1", "purl": "pkg:npm/lib@1", "file": "lib.js", "licence": "lib.LICENSE",
		"sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}`)
	if n, err = run(binary, out, dir); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	if text, err = os.ReadFile(out); err != nil || json.Unmarshal(text, &doc) != nil || doc.Components[0].Name != "lib" || doc.Components[0].Licences[0].Licence.ID != "MIT" {
		t.Errorf("%s, %v", text, err)
	}
	put("lib.js", "b")
	if _, err := run(binary, out, dir); err == nil {
		t.Error("another file than the described one")
	}
	put("lib.js", "a")
	put("lib.LICENSE", "All rights reserved.")
	if _, err := run(binary, out, dir); err == nil {
		t.Error("without a licence of the embedded file")
	}
	put("lib.LICENSE", "Permission is hereby granted, free of charge, to any person obtaining a copy")
	if err := os.Remove(filepath.Join(dir, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, err := run(binary, out, dir); err == nil {
		t.Error("without a licence")
	}
}
