package terminal

import "testing"

// TestDrawn lets pass to a terminal what athanor draws with, and nothing else that a terminal obeys.
func TestDrawn(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31;1mred\x1b[0m plain\n":                        "\x1b[31;1mred\x1b[0m plain\n",
		"\x1b[3A\r\x1b[Jline\x1b[K\n":                         "\x1b[3A\r\x1b[Jline\x1b[K\n",
		"\x1b[?7l\x1b[?7h":                                    "\x1b[?7l\x1b[?7h",
		"\x1b[2J\x1b[H\x1b[?1049h":                            `\x1b[2J\x1b[H\x1b[?1049h`,
		"\x1b]8;;http://x/\x07click\x1b]8;;\x1b\\":            `\x1b]8;;http://x/\aclick\x1b]8;;\x1b` + "\\",
		"\x1b]52;c;YQ==\x07":                                  `\x1b]52;c;YQ==\a`,
		"user\u202etxt.exe \u009b2J \xff ünicode 日本 👩\u200d🚀": `user\u202etxt.exe \u009b2J \xff ünicode 日本 👩` + "\u200d🚀",
	} {
		if have := drawn(text); have != want {
			t.Errorf("%q becomes %q, want %q", text, have, want)
		}
	}
}
