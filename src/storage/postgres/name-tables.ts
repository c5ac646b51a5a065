/** The migration for searches by name (docs/decisions/0048). A migration is never changed once it is released. */
export const nameTables = `
  -- Addresses, in lower case, of epersons who were added, changed their address or name, or are gone, and the
  -- transaction: its number tells a node whether the snapshot that it has read before had the change. Kept for a day.
  CREATE TABLE carrel.eperson_renamed (
    transaction XID8 NOT NULL DEFAULT pg_current_xact_id(),
    at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    email_key TEXT COLLATE "C" NOT NULL
  );
  CREATE INDEX eperson_renamed_by_transaction ON carrel.eperson_renamed (transaction);
  CREATE INDEX eperson_renamed_by_time ON carrel.eperson_renamed (at);
  CREATE FUNCTION carrel.note_renamed_epersons() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
      INSERT INTO carrel.eperson_renamed (email_key) SELECT email_key FROM changed;
      -- Now and then, and only what nobody else has locked.
      IF random() < 0.02 THEN
        DELETE FROM carrel.eperson_renamed WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM carrel.eperson_renamed WHERE at < now() - INTERVAL '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED));
      END IF;
      RETURN NULL;
    END $$;
  CREATE FUNCTION carrel.note_renamed_eperson() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
      INSERT INTO carrel.eperson_renamed (email_key) VALUES (OLD.email_key);
      IF OLD.email_key <> NEW.email_key THEN
        INSERT INTO carrel.eperson_renamed (email_key) VALUES (NEW.email_key);
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER eperson_renamed_1 AFTER INSERT ON carrel.eperson REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.note_renamed_epersons();
  CREATE TRIGGER eperson_renamed_2 AFTER DELETE ON carrel.eperson REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.note_renamed_epersons();
  CREATE TRIGGER eperson_renamed_3 AFTER UPDATE OF email_key, name_key ON carrel.eperson FOR EACH ROW
    WHEN (OLD.email_key <> NEW.email_key OR OLD.name_key <> NEW.name_key)
    EXECUTE FUNCTION carrel.note_renamed_eperson();
  `
