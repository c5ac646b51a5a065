/** The migration for searches by name (docs/decisions/0048). A migration is never changed once it is released. */
export const nameTables = `
  -- Addresses, in lower case, of epersons who were added, changed their address or name, or are gone: the latest 10,000.
  CREATE TABLE eperson_renamed (id INTEGER PRIMARY KEY AUTOINCREMENT, email_key TEXT NOT NULL) STRICT;
  CREATE TRIGGER eperson_renamed_1 AFTER INSERT ON eperson BEGIN
    INSERT INTO eperson_renamed (email_key) VALUES (NEW.email_key); END;
  CREATE TRIGGER eperson_renamed_2 AFTER DELETE ON eperson BEGIN
    INSERT INTO eperson_renamed (email_key) VALUES (OLD.email_key); END;
  CREATE TRIGGER eperson_renamed_3 AFTER UPDATE OF email_key, name_key ON eperson
    WHEN OLD.email_key <> NEW.email_key OR OLD.name_key <> NEW.name_key BEGIN
    INSERT INTO eperson_renamed (email_key) VALUES (OLD.email_key);
    INSERT INTO eperson_renamed (email_key) SELECT NEW.email_key WHERE OLD.email_key <> NEW.email_key; END;
  CREATE TRIGGER eperson_renamed_limited AFTER INSERT ON eperson_renamed BEGIN
    DELETE FROM eperson_renamed WHERE id <= NEW.id - 10000; END;
  `
