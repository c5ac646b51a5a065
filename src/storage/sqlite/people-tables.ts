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
  `
