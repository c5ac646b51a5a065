import type { KeptSession } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { countGuess, guessesBack, maxFactors, maxTotp, type StoredFactor } from '../model/factors.ts'
import type { VerifiedPassword } from '../model/people.ts'
import { isAlive, readState } from '../model/sessions.ts'
import type { Count } from '../model/throttle.ts'
import * as peopleTables from '../storage/schema/people.ts'
import * as sessionsTables from '../storage/schema/sessions.ts'
import { columnsOf } from '../storage/schema/table.ts'
import { endAccessTokens } from '../storage/statements/access-tokens.ts'
import { changeStamp } from '../storage/statements/people-rows.ts'
import { keepOnly } from '../storage/statements/sessions.ts'
import type { Change, Offered, Read } from '../storage/statements/statements.ts'
import * as db from '../storage/statements/statements.ts'

/** Second factors (docs/decisions/0081). Guesses are counted in the table of attempts, under a key of their own. */
export const factors = {
  reads: {
    /** The factors of an eperson, oldest first, and the number of recovery codes that are left. */
    *of(eperson: string): Read<FactorsOf> {
      const sql = `SELECT ${columns} FROM factor WHERE eperson = $1 ORDER BY created, id`
      const found = yield* db.rows<FactorRow>(sql, eperson)
      return {
        factors: found.map(toFactor),
        recoveryCodes: found.length === 0 ? 0 : yield* db.count('recovery_code WHERE eperson = $1', eperson),
      }
    },
    /** The passkey with this id, and the state of its eperson's password; undefined if there is none. */
    *withCredential(credential: string): Read<(StoredFactor & VerifiedPassword) | undefined> {
      const found = yield* db.row<FactorRow & Pick<VerifiedPassword, 'passwordStamp'>>(
        `SELECT ${columns}, (SELECT password_stamp FROM eperson WHERE uuid = factor.eperson) AS "passwordStamp"
         FROM factor WHERE credential = $1`,
        credential,
      )
      if (!found) return undefined
      const { passwordStamp, ...factor } = found
      return { ...toFactor(factor), uuid: factor.eperson, passwordStamp }
    },
    /** True if some passkey logs in without a password. */
    *standsAlone(): Read<boolean> {
      return (yield* db.row('SELECT 1 AS one FROM factor WHERE alone = 1 LIMIT 1')) !== undefined
    },
  },
  changes: {
    /**
     * @param codes hashes of recovery codes if it is to be the first factor; otherwise null
     * @param by the login that has enrolled it; null: the operator
     * @returns `changed` if it is the first and wasn't to be, or the other way round
     */
    *add(
      factor: StoredFactor,
      codes: readonly string[] | null,
      by: Enroller | null,
      event: AuditEvent,
    ): Change<'added' | 'changed' | 'too-many' | 'known' | 'ended'> {
      yield* db.rights(event, 'own')
      const { alone, eperson, ...rest } = factor
      const owner = yield* lockOwner(eperson)
      if (!owner || (by && !isAlive({ ...owner, ...readState(owner.state, owner.sessionKey) }, by.session)))
        return 'ended'
      const others = yield* db.column<string>('SELECT kind FROM factor WHERE eperson = $1', eperson)
      if ((others.length === 0) !== (codes !== null)) return 'changed'
      const most = factor.kind === 'totp' ? maxTotp : maxFactors
      const alike = factor.kind === 'totp' ? others.filter(kind => kind === 'totp') : others
      if (others.length >= maxFactors || alike.length >= most) return 'too-many'
      const row = { ...rest, eperson, alone: Number(alone) }
      if ((yield* db.insert(sessionsTables.factor, row, '(credential) DO NOTHING')) === 0) return 'known'
      if (codes) yield* putCodes(eperson, codes)
      if (by && by.ticket !== null) yield* useTicket(by.ticket, factor.created)
      if (by?.stays) yield* keepOnly(eperson, by.stays)
      else if (codes) yield* changeStamp(eperson)
      yield* db.record(event)
      return 'added'
    },
    /** @returns false if the eperson has no such factor */
    *rename(id: string, eperson: string, name: string, event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'own')
      if ((yield* db.update(sessionsTables.factor, { name }, { id, eperson })) === 0) return false
      yield* db.record(event)
      return true
    },
    /** Removes a factor, and with the last one the recovery codes. @returns false if there was none */
    *remove(id: string, eperson: string, event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'own')
      yield* lockOwner(eperson)
      yield* lockGuesses(eperson)
      if ((yield* db.run('DELETE FROM factor WHERE id = $1 AND eperson = $2', id, eperson)) === 0)
        return false
      yield* endGuesses(eperson)
      if ((yield* db.count('factor WHERE eperson = $1', eperson)) === 0) {
        yield* putCodes(eperson, [])
        yield* changeStamp(eperson)
      }
      yield* db.record(event)
      return true
    },
    /** Removes all factors and recovery codes of an eperson, and ends their sessions and access tokens. */
    *reset(eperson: string, event: AuditEvent): Change<number> {
      yield* db.rights(event, 'own')
      yield* lockOwner(eperson)
      yield* lockGuesses(eperson)
      const removed = yield* db.run('DELETE FROM factor WHERE eperson = $1', eperson)
      yield* putCodes(eperson, [])
      yield* endGuesses(eperson)
      yield* keepOnly(eperson, undefined)
      yield* endAccessTokens(eperson)
      // Ends tickets, and logins under way, that a removed factor has proved.
      yield* db.update(peopleTables.eperson, { password_stamp: yield* db.nextStamp() }, { uuid: eperson })
      yield* db.record(event)
      return removed
    },
    /** @returns false if the eperson has no factor any more */
    *replaceCodes(eperson: string, codes: readonly string[], event: AuditEvent): Change<boolean> {
      yield* db.rights(event, 'own')
      yield* lockOwner(eperson)
      if ((yield* db.count('factor WHERE eperson = $1', eperson)) === 0) return false
      yield* putCodes(eperson, codes)
      yield* db.record(event)
      return true
    },

    /**
     * Records the use of a passkey, once for each value of its counter on all nodes, and ends the count of guesses. A passkey
     * without a counter stays at 0.
     * @returns false if the counter has been there, or the passkey is gone
     */
    *use({ id, eperson }: Pick<StoredFactor, 'id' | 'eperson'>, step: number, at: number): Change<boolean> {
      yield* lockGuesses(eperson)
      const isUsed = yield* useOnce({ id, step, secret: null }, at)
      if (isUsed) yield* endGuesses(eperson)
      return isUsed
    },
    /**
     * Uses a recovery code up, and ends the count of guesses.
     * @returns the number that are left; undefined if there is no such code
     */
    *useCode(eperson: string, code: string, event: AuditEvent): Change<number | undefined> {
      yield* db.rights(event, 'own')
      yield* lockGuesses(eperson)
      const sql = 'DELETE FROM recovery_code WHERE eperson = $1 AND hash = $2'
      if ((yield* db.run(sql, eperson, code)) === 0) return undefined
      yield* endGuesses(eperson)
      const left = yield* db.count('recovery_code WHERE eperson = $1', eperson)
      yield* db.record({ ...event, object: `${left} left` })
      return left
    },
    /**
     * Uses a code of TOTP once on all nodes, and ends the count of guesses; or counts it as a guess if it is of no factor.
     * @param right the uses that the code is good for, unless they were made before
     * @returns the time in ms that it has to wait, whether or not it is right
     */
    *guess(
      eperson: string,
      right: readonly CodeUse[],
      at: number,
    ): Change<'right' | 'wrong' | { readonly wait: number }> {
      const key = keyOf(eperson)
      yield* lockGuesses(eperson)
      const known = yield* db.row<Count>('SELECT level, at FROM attempt WHERE key = $1', key)
      const counted = countGuess(known ?? { level: 0, at: 0 }, yield* db.clock())
      // Decided before the code is looked at, so that a right one can't be told from a wrong one.
      if (!('level' in counted)) return counted
      for (const use of right)
        if (yield* useOnce(use, at)) {
          yield* endGuesses(eperson)
          return 'right'
        }
      // Whoever sends a code again has not guessed it: it was on the screen, and is worth nothing any more.
      if (right.length > 0) return 'wrong'
      yield* db.insert(
        sessionsTables.attempt,
        { key, level: counted.level, at: counted.at, expires: guessesBack(counted) },
        '(key) DO UPDATE SET level = excluded.level, at = excluded.at, expires = excluded.expires',
      )
      return 'wrong'
    },
  },
}

export type Factors = Offered<typeof factors>

interface CodeUse {
  readonly id: string
  readonly step: number
  /** The secret, if it was encrypted again. */
  readonly secret: Uint8Array | null
}

interface Enroller {
  /** The session in which the enrolment has begun, as of then, or the login that has none yet; `begun` is then 0. */
  readonly session: KeptSession
  /** The id of the login's ticket, which is used up; null: it has none. */
  readonly ticket: string | null
  /** The session that stays when all others end; null: all go on. */
  readonly stays: KeptSession | null
}

export interface FactorsOf {
  readonly factors: readonly StoredFactor[]
  readonly recoveryCodes: number
}

const keyOf = (eperson: string) => `factor/${eperson}`

/**
 * Makes concurrent uses of an eperson's factors see each other. It comes before the locks of factors and recovery codes, and
 * after those of epersons, so that no two transactions deadlock.
 */
const lockGuesses = (eperson: string): Change<void> =>
  db.lock(
    `INSERT INTO attempt (key, level, at, expires) VALUES ($1, 0, 0, 0)
     ON CONFLICT (key) DO UPDATE SET key = excluded.key`,
    keyOf(eperson),
  )

const endGuesses = (eperson: string): Change<number> =>
  db.run('DELETE FROM attempt WHERE key = $1', keyOf(eperson))

/** Records a use. @returns false if there was one with this step or a later one, or the factor is gone */
function* useOnce({ id, step, secret }: CodeUse, at: number): Change<boolean> {
  const used = yield* db.run(
    `UPDATE factor SET counter = $1, used = $2, secret = coalesce($3, secret)
     WHERE id = $4 AND (counter < $1 OR (counter = 0 AND $1 = 0))`,
    step,
    at,
    secret,
    id,
  )
  return used === 1
}

interface Owner {
  readonly sessionKey: Uint8Array
  readonly state: string | null
}

/** Makes concurrent changes of an eperson's factors see each other. */
const lockOwner = (eperson: string): Change<Owner | undefined> =>
  db.row(
    `SELECT session_key AS "sessionKey", session_state AS state
     FROM eperson WHERE uuid = $1 AND enabled = 1 FOR NO KEY UPDATE`,
    eperson,
  )

/** Uses up a ticket, or takes the change back if it was used before. */
function* useTicket(id: string, now: number): Change<void> {
  const used = yield* db.run('DELETE FROM ticket WHERE id = $1 AND expires > $2', id, now)
  if (used === 0) throw new db.TakenBack('ended')
}

/** Replaces an eperson's recovery codes. */
function* putCodes(eperson: string, codes: readonly string[]): Change<void> {
  yield* db.run('DELETE FROM recovery_code WHERE eperson = $1', eperson)
  yield* db.insertAll(
    sessionsTables.recoveryCode,
    codes.map(hash => ({ eperson, hash })),
  )
}

const columns = columnsOf(sessionsTables.factor)

type FactorRow = Omit<StoredFactor, 'alone'> & { readonly alone: number }

const toFactor = ({ alone, ...factor }: FactorRow): StoredFactor => ({ ...factor, alone: alone === 1 })
