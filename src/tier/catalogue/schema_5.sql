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

-- As before, but a variant is not added that would be removed at once.
CREATE OR REPLACE FUNCTION wwwoffle.add_entry(
  a_key bytea, a_variant bytea, a_url text, a_varies text, a_stored bigint, a_status smallint,
  a_media text, a_title text, a_size bigint, an_object bytea, an_object_size bigint, a_node text,
  a_host text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  old record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(a_key, 'hex'), 0));
  IF a_stored > extract(epoch FROM clock_timestamp()) * 1000000 + 60000000 THEN
    RETURN 'future';
  END IF;
  IF EXISTS (SELECT FROM wwwoffle.removed AS r WHERE r.key = a_key AND r.at >= a_stored) THEN
    RETURN 'removed';
  END IF;
  SELECT e.object, e.stored INTO old FROM wwwoffle.entries AS e
    WHERE e.key = a_key AND e.variant = a_variant;
  IF old.object = an_object THEN
    DELETE FROM wwwoffle.unused AS u WHERE u.object = an_object;
    RETURN 'known';
  END IF;
  IF old.stored >= a_stored THEN
    RETURN 'older';
  END IF;
  IF old.object IS NULL AND (
    SELECT count(*) FROM wwwoffle.entries AS e WHERE e.key = a_key AND e.stored >= a_stored) >= 32
  THEN
    RETURN 'older';
  END IF;
  INSERT INTO wwwoffle.hosts (host) VALUES (a_host) ON CONFLICT (host) DO NOTHING;
  INSERT INTO wwwoffle.entries
    (key, variant, url, varies, stored, status, media, title, size, object, object_size, node)
    VALUES (a_key, a_variant, a_url, a_varies, a_stored, a_status, a_media, a_title, a_size,
      an_object, an_object_size, a_node)
    ON CONFLICT (key, variant) DO UPDATE SET url = excluded.url, varies = excluded.varies,
      stored = excluded.stored, status = excluded.status, media = excluded.media,
      title = excluded.title, size = excluded.size, object = excluded.object,
      object_size = excluded.object_size, node = excluded.node;
  DELETE FROM wwwoffle.unused AS u WHERE u.object = an_object;
  IF old.object IS NOT NULL THEN
    INSERT INTO wwwoffle.unused (object, key, variant) VALUES (old.object, a_key, a_variant)
      ON CONFLICT (object) DO UPDATE SET since = clock_timestamp();
  END IF;
  RETURN 'added';
END $$;

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
