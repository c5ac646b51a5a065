import type { Queries } from './driver.ts'

/** What tells every node that it must not keep using what it cached of an eperson. */
export const changeStamp = (db: Queries, uuid: string): Promise<number> =>
  db.run("UPDATE carrel.eperson SET stamp = nextval('carrel.stamp') WHERE uuid = $1", uuid)

/** Ends every login token, and what was made from one. $1: 32 random bytes. */
export const replaceSessionKey = "session_key = $1, stamp = nextval('carrel.stamp')"
