/** The migration for epersons and groups as administrators change them. A migration is never changed once it is released. */
export const peopleTables = `
  -- What an administrator changed, as JSON.
  ALTER TABLE carrel.event ADD COLUMN changes TEXT;
  DROP VIEW carrel.own_events;
  DROP VIEW carrel.events;
  CREATE VIEW carrel.events AS SELECT id, time, event, outcome, eperson, actor,
    (SELECT email FROM carrel.eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason, count,
    CAST(changes AS JSON) AS changes FROM carrel.event;
  CREATE VIEW carrel.own_events AS SELECT id, time, event, outcome, eperson, actor, actor_email,
    CASE WHEN actor = eperson THEN client_ip END AS client_ip, method, object, reason, count,
    CASE WHEN actor = eperson THEN changes END AS changes FROM carrel.events;
  -- What an eperson or an administrator says of the eperson beside the name, as JSON: metadata fields with a text each.
  ALTER TABLE carrel.eperson ADD COLUMN profile TEXT;
  ALTER TABLE carrel.epersongroup ADD COLUMN description TEXT;
  -- Whether a token may have it as a special group (docs/decisions/0039). Of groups of before, nobody knows.
  ALTER TABLE carrel.epersongroup ADD COLUMN special INTEGER NOT NULL DEFAULT 1;
  -- Groups in groups: members of the child are members of the parent.
  CREATE TABLE carrel.subgroup (
    parent TEXT COLLATE "C" NOT NULL REFERENCES carrel.epersongroup ON DELETE CASCADE,
    child TEXT COLLATE "C" NOT NULL REFERENCES carrel.epersongroup ON DELETE CASCADE,
    PRIMARY KEY (parent, child)
  );
  CREATE INDEX subgroup_of_child ON carrel.subgroup (child);
  -- Grows when groups in groups change, so that every node looks again.
  ALTER TABLE carrel.state ADD COLUMN groups BIGINT NOT NULL DEFAULT 0;
  DROP VIEW carrel.epersons;
  DROP VIEW carrel.groups;
  -- Most stores have no groups in groups, and need no recursion for each eperson.
  CREATE VIEW carrel.epersons AS SELECT uuid, email, first_name, last_name, enabled,
    password_hash IS NOT NULL AS has_password,
    CASE WHEN EXISTS (SELECT 1 FROM carrel.subgroup) THEN
      to_json(ARRAY(
        WITH RECURSIVE mine (id) AS (
          SELECT m.epersongroup FROM carrel.membership m WHERE m.eperson = eperson.uuid
          UNION SELECT s.parent FROM carrel.subgroup s JOIN mine ON s.child = mine.id)
        SELECT g.name FROM mine JOIN carrel.epersongroup g ON g.uuid = mine.id ORDER BY g.name))
    ELSE
      to_json(ARRAY(SELECT g.name FROM carrel.membership m JOIN carrel.epersongroup g ON g.uuid = m.epersongroup
        WHERE m.eperson = eperson.uuid ORDER BY g.name))
    END AS groups, created, last_login FROM carrel.eperson;
  CREATE VIEW carrel.groups AS SELECT uuid, name, description,
    (SELECT count(*) FROM carrel.membership m WHERE m.epersongroup = epersongroup.uuid) AS members,
    (SELECT count(*) FROM carrel.subgroup s WHERE s.parent = epersongroup.uuid) AS subgroups, created
    FROM carrel.epersongroup;
  `
