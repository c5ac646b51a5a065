/**
 * The migration that keeps the number of epersons, which is the sum of `n`: counting them takes longer than a page of
 * them (docs/decisions/0021). A migration is never changed.
 */
export const epersonCount = `
  -- A change adds a row, so none waits for another. Now and then one adds up the rows that nobody else has locked.
  CREATE TABLE carrel.eperson_count (n BIGINT NOT NULL);
  INSERT INTO carrel.eperson_count SELECT count(*) FROM carrel.eperson;
  CREATE FUNCTION carrel.count_epersons() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN
      INSERT INTO carrel.eperson_count
        SELECT CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END FROM changed HAVING count(*) > 0;
      IF random() < 0.02 THEN
        WITH added AS (
          DELETE FROM carrel.eperson_count WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM carrel.eperson_count LIMIT 1000 FOR UPDATE SKIP LOCKED)) RETURNING n)
        INSERT INTO carrel.eperson_count SELECT sum(n) FROM added HAVING count(*) > 0;
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER eperson_added AFTER INSERT ON carrel.eperson REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.count_epersons();
  CREATE TRIGGER eperson_deleted AFTER DELETE ON carrel.eperson REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel.count_epersons();
`
