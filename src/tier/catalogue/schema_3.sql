-- For expiry, and for the check of the objects without a row.
CREATE INDEX entries_stored ON wwwoffle.entries (stored);
CREATE INDEX entries_object ON wwwoffle.entries USING hash (object);

-- How far the check of each direction is.
CREATE TABLE wwwoffle.checks (
  direction text PRIMARY KEY,
  position text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp());

-- The objects of rows that the store lacks, or has with another length.
CREATE TABLE wwwoffle.missing (
  object bytea PRIMARY KEY CHECK (octet_length(object) = 32),
  url text NOT NULL,
  found timestamptz NOT NULL DEFAULT clock_timestamp());
