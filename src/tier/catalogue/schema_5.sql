-- Which node does a part of the upkeep, and until when. A lock of a session would stay in a pooler.
CREATE TABLE wwwoffle.leases (
  work text PRIMARY KEY,
  node text NOT NULL,
  until timestamptz NOT NULL);

-- Statements that look for these.
CREATE INDEX removed_at ON wwwoffle.removed (at);
CREATE INDEX requests_added ON wwwoffle.requests (added);
CREATE INDEX requests_next ON wwwoffle.requests (lease, added) WHERE answered IS NULL;
DROP INDEX wwwoffle.requests_lease;

-- Objects that neither a row nor unused names: the catalogue may be an older one that was restored.
CREATE TABLE wwwoffle.strays (
  object bytea PRIMARY KEY CHECK (octet_length(object) = 32),
  found timestamptz NOT NULL DEFAULT clock_timestamp());

-- Every node reads what another one wrote. Rows from before are not checked.
ALTER TABLE wwwoffle.entries
  ADD CONSTRAINT lengths CHECK (octet_length(url) <= 65536 AND octet_length(varies) <= 8192
    AND octet_length(media) <= 8192 AND octet_length(title) <= 8192 AND octet_length(node) <= 1024)
  NOT VALID;

-- Keeps the newest variants of a key only: each lookup reads them all.
CREATE FUNCTION wwwoffle.bound_variants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH old AS (
    DELETE FROM wwwoffle.entries WHERE key = NEW.key AND variant IN (
      SELECT e.variant FROM wwwoffle.entries AS e WHERE e.key = NEW.key
      ORDER BY e.stored DESC, e.variant OFFSET 32)
    RETURNING object, key, variant)
  INSERT INTO wwwoffle.unused (object, key, variant)
    SELECT DISTINCT ON (o.object) o.object, o.key, o.variant FROM old AS o
    ON CONFLICT (object) DO UPDATE SET since = clock_timestamp();
  RETURN NULL;
END $$;
CREATE TRIGGER bounds AFTER INSERT ON wwwoffle.entries
  FOR EACH ROW EXECUTE FUNCTION wwwoffle.bound_variants();

-- As before, but two rows of a key may name the same object.
CREATE OR REPLACE FUNCTION wwwoffle.remove_entries(a_key bytea, an_at bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  until bigint := least(an_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  gone bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(a_key, 'hex'), 0));
  INSERT INTO wwwoffle.removed AS r (key, at) VALUES (a_key, until)
    ON CONFLICT (key) DO UPDATE SET at = greatest(r.at, excluded.at);
  WITH old AS (
    DELETE FROM wwwoffle.entries AS e WHERE e.key = a_key AND e.stored <= until
    RETURNING e.object, e.key, e.variant)
  INSERT INTO wwwoffle.unused (object, key, variant)
    SELECT DISTINCT ON (o.object) o.object, o.key, o.variant FROM old AS o
    ON CONFLICT (object) DO UPDATE SET since = clock_timestamp();
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- Whether a reader has found that the bytes of the object are wrong. Its length may be right.
ALTER TABLE wwwoffle.missing ADD COLUMN is_wrong boolean NOT NULL DEFAULT false;
