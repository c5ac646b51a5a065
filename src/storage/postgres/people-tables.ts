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
  `
