/**
 * The migration that lets a list read only what its viewer may read (docs/decisions/0064). A migration is never changed once it
 * is released.
 */
export const audienceIndexes = `
  CREATE INDEX item_seen_by_title ON carrel.item (audience, title, uuid);
  CREATE INDEX item_seen_by_issued ON carrel.item (audience, issued DESC, uuid);
  CREATE INDEX item_seen_by_type ON carrel.item (audience, type, uuid);
  CREATE INDEX item_seen_by_created ON carrel.item (audience, created, uuid);
  CREATE INDEX item_seen_by_modified ON carrel.item (audience, modified, uuid);
  DROP INDEX carrel.bitstream_by_name;
  DROP INDEX carrel.bitstream_by_content;
  CREATE INDEX bitstream_by_name ON carrel.bitstream (name, audience, uuid);
  CREATE INDEX bitstream_by_content ON carrel.bitstream (sha256, audience, size);
  `
