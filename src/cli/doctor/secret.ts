import { quantity } from '../../lib/quantities.ts'
import type { Check } from './facts.ts'
import { findingsAbout } from './finding.ts'
import { day } from './words.ts'

const { ok, note, warning } = findingsAbout('secret')

/**
 * Maximum age in ms. NIST SP 800-57 part 1, table 1: a symmetric key that authenticates is used for at most
 * two years.
 */
const longest = 2 * 365 * day
const usual = 365 * day

/** Checks the age of the secret that signs tokens (T7). */
export const checkSecret: Check = function* ({ config, store, now }) {
  if (config.tokenSecrets.length > 0) {
    yield note(
      'CARREL_TOKEN_SECRET sets the secret; its age is unknown here',
      'replace it once a year: the new one and a comma before the old one',
    )
    return
  }
  if (!store || store.secretMade === null) return
  const age = now - store.secretMade
  const said = `the secret that signs tokens is ${quantity(Math.max(0, Math.floor(age / day)), 'day')} old`
  const advice = '`carrel secret rotate`; nobody is logged out'
  if (age > longest) yield warning(said, advice)
  else if (age > usual) yield note(said, advice)
  else yield ok(said)
}
