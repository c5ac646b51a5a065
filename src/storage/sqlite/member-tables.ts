/** The migration for searches in groups (docs/decisions/0048). A migration is never changed once it is released. */
export const memberTables = `
  -- Epersons who join or leave a group are noted as those are who change their name. Who is deleted is noted already.
  CREATE TRIGGER eperson_joined AFTER INSERT ON membership BEGIN
    INSERT INTO eperson_renamed (email_key) SELECT email_key FROM eperson WHERE uuid = NEW.eperson; END;
  CREATE TRIGGER eperson_left AFTER DELETE ON membership BEGIN
    INSERT INTO eperson_renamed (email_key) SELECT email_key FROM eperson WHERE uuid = OLD.eperson; END;
  `
