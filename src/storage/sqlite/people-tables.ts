/** The migration for epersons and groups as administrators change them. A migration is never changed once it is released. */
export const peopleTables = `
  -- What an administrator changed, as JSON.
  ALTER TABLE event ADD COLUMN changes TEXT;
  DROP VIEW own_events;
  DROP VIEW events;
  CREATE VIEW events AS SELECT id, time, event, outcome, eperson, actor,
    (SELECT email FROM eperson WHERE uuid = actor) AS actor_email, client_ip, method, object, reason, count, changes
    FROM event;
  CREATE VIEW own_events AS SELECT id, time, event, outcome, eperson, actor, actor_email,
    iif(actor IS eperson, client_ip, NULL) AS client_ip, method, object, reason, count,
    iif(actor IS eperson, changes, NULL) AS changes FROM events;
  -- What an eperson or an administrator says of the eperson beside the name, as JSON: metadata fields with a text each.
  ALTER TABLE eperson ADD COLUMN profile TEXT;
  ALTER TABLE epersongroup ADD COLUMN description TEXT;
  -- Whether a token may have it as a special group (docs/decisions/0039). Of groups of before, nobody knows.
  ALTER TABLE epersongroup ADD COLUMN special INTEGER NOT NULL DEFAULT 1;
  -- Groups in groups: members of the child are members of the parent.
  CREATE TABLE subgroup (
    parent TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    child TEXT NOT NULL REFERENCES epersongroup ON DELETE CASCADE,
    PRIMARY KEY (parent, child)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX subgroup_of_child ON subgroup (child);
  DROP VIEW epersons;
  DROP VIEW groups;
  -- Most stores have no groups in groups, and need no recursion for each eperson.
  CREATE VIEW epersons AS SELECT uuid, email, first_name, last_name, enabled, password_hash IS NOT NULL AS has_password,
    CASE WHEN EXISTS (SELECT 1 FROM subgroup) THEN
      (WITH RECURSIVE mine (id) AS (
         SELECT epersongroup FROM membership m WHERE m.eperson = eperson.uuid
         UNION SELECT parent FROM subgroup JOIN mine ON child = id)
       SELECT json_group_array(g.name ORDER BY g.name) FROM mine JOIN epersongroup g ON g.uuid = mine.id)
    ELSE
      (SELECT json_group_array(g.name ORDER BY g.name) FROM membership m JOIN epersongroup g ON g.uuid = m.epersongroup
       WHERE m.eperson = eperson.uuid)
    END AS groups, created, last_login FROM eperson;
  CREATE VIEW groups AS SELECT uuid, name, description,
    (SELECT count(*) FROM membership m WHERE m.epersongroup = epersongroup.uuid) AS members,
    (SELECT count(*) FROM subgroup s WHERE s.parent = epersongroup.uuid) AS subgroups, created FROM epersongroup;
  `
