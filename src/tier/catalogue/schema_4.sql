-- The words of pages. In a table of its own, so that lookups read small rows.
CREATE TABLE wwwoffle.texts (
  key bytea NOT NULL,
  variant bytea NOT NULL,
  language regconfig NOT NULL,
  beginning text NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (key, variant),
  FOREIGN KEY (key, variant) REFERENCES wwwoffle.entries ON DELETE CASCADE);
-- The newest entries of a host, with its port.
CREATE INDEX entries_host ON wwwoffle.entries
  (split_part(split_part(url, '://', 2), '/', 1), stored);
CREATE INDEX texts_words ON wwwoffle.texts USING gin (words);
