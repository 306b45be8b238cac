CREATE TABLE links (
  name   TEXT PRIMARY KEY,
  target TEXT NOT NULL,
  made   INTEGER NOT NULL DEFAULT (unixepoch())
);
