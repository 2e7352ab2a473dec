CREATE TABLE wwwoffle.meta (version integer NOT NULL, id uuid NOT NULL);
INSERT INTO wwwoffle.meta VALUES (0, gen_random_uuid());

CREATE TABLE wwwoffle.entries (
  key bytea NOT NULL CHECK (octet_length(key) = 32),
  variant bytea NOT NULL CHECK (octet_length(variant) = 32),
  url text NOT NULL,
  varies text NOT NULL,
  stored bigint NOT NULL,
  status smallint NOT NULL,
  media text NOT NULL,
  title text,
  size bigint NOT NULL,
  object bytea NOT NULL CHECK (octet_length(object) = 32),
  object_size bigint NOT NULL,
  node text NOT NULL,
  PRIMARY KEY (key, variant));

CREATE TABLE wwwoffle.removed (key bytea PRIMARY KEY CHECK (octet_length(key) = 32), at bigint NOT NULL);

CREATE TABLE wwwoffle.hosts (
  host text PRIMARY KEY,
  added timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX hosts_added ON wwwoffle.hosts (added);

CREATE TABLE wwwoffle.unused (
  object bytea PRIMARY KEY CHECK (octet_length(object) = 32),
  key bytea NOT NULL,
  variant bytea NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX unused_since ON wwwoffle.unused (since);

-- Adds an entry whose object was announced in unused. Returns what became of it: an entry never
-- replaces a newer one, and none comes back that was removed after it was stored.
CREATE FUNCTION wwwoffle.add_entry(
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

-- Removes the entries of a key that were stored until then, and keeps older ones out.
CREATE FUNCTION wwwoffle.remove_entries(a_key bytea, an_at bigint) RETURNS bigint
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
  INSERT INTO wwwoffle.unused (object, key, variant) SELECT o.object, o.key, o.variant FROM old AS o
    ON CONFLICT (object) DO UPDATE SET since = clock_timestamp();
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;
