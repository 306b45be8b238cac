ALTER TABLE links ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX links_followed ON links (followed);
