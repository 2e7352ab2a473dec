-- What nodes without a connection want. A node with one takes it for the time of a lease.
CREATE TABLE wwwoffle.requests (
  key bytea PRIMARY KEY CHECK (octet_length(key) = 32),
  url text NOT NULL CHECK (octet_length(url) <= 8192),
  fields text NOT NULL CHECK (octet_length(fields) <= 4096),
  class text CHECK (octet_length(class) <= 64),
  queued bigint NOT NULL,
  added timestamptz NOT NULL DEFAULT clock_timestamp(),
  node text,
  lease timestamptz NOT NULL DEFAULT '-infinity',
  attempts integer NOT NULL DEFAULT 0,
  error text CHECK (octet_length(error) <= 1024),
  answered bigint);
CREATE INDEX requests_lease ON wwwoffle.requests (lease) WHERE answered IS NULL;

-- The nodes that wait for a response.
CREATE TABLE wwwoffle.waiting (
  key bytea NOT NULL,
  node text NOT NULL,
  PRIMARY KEY (key, node));
CREATE INDEX waiting_node ON wwwoffle.waiting (node);

-- An entry answers the request for its key, whichever node has added it, and why.
CREATE FUNCTION wwwoffle.answer_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE wwwoffle.requests AS r SET answered = NEW.stored, error = NULL
    WHERE r.key = NEW.key AND r.queued <= NEW.stored AND r.answered IS NULL;
  IF FOUND THEN
    NOTIFY wwwoffle_requests;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER answers AFTER INSERT OR UPDATE ON wwwoffle.entries
  FOR EACH ROW EXECUTE FUNCTION wwwoffle.answer_request();
