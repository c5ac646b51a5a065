/** The migration for searches in groups (docs/decisions/0048). A migration is never changed once it is released. */
export const memberTables = `
  -- Epersons who join or leave a group are noted as those are who change their name. Who is deleted is noted already.
  CREATE FUNCTION carrel.note_members() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
      INSERT INTO carrel.eperson_renamed (email_key)
        SELECT e.email_key FROM changed JOIN carrel.eperson e ON e.uuid = changed.eperson;
      RETURN NULL;
    END $$;
  CREATE TRIGGER eperson_joined AFTER INSERT ON carrel.membership REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.note_members();
  CREATE TRIGGER eperson_left AFTER DELETE ON carrel.membership REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.note_members();
  `
