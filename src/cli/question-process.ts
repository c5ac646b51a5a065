import { openBackups } from '../admin/backup/open-backups.ts'
import { verifyBackups } from '../admin/backup/verify.ts'
import type { Asked, Question } from '../admin/operation/questions.ts'
import type { Config } from '../config/config.ts'
import { OperatorError } from '../lib/errors.ts'
import type { Report, Running } from '../lib/threads/child.ts'
import { explain, WrongProvider } from '../sso/explain.ts'
import { verifyTrail } from '../storage/statements/verify-trail.ts'
import { checkedSignOn, examine } from './doctor/examine.ts'
import { examined } from './inspect-store.ts'
import { serveChild } from './serve-child.ts'
import { withStoreOf } from './store.ts'

/**
 * Answers an administrator's question over HTTP, as the command of the same name does (docs/decisions/0049).
 */
async function answer(config: Config, question: Question, { progress }: Running): Promise<Report> {
  switch (question.kind) {
    case 'doctor':
      return { findings: await examine(examined(config)) }
    case 'sso-check':
      return { findings: await checkedSignOn(config, signOnOf(config)) }
    case 'sso-explain':
      return withStoreOf(config, async ({ identities }) => {
        const parts = { config: { ...config, singleSignOn: signOnOf(config) }, identities }
        return { ...(await explain(question.request, parts).catch(inMembers)) }
      })
    case 'verify-trail':
      return withStoreOf(config, async ({ trail }) => {
        await trail.checkpoint()
        const wanted = { maxFaults, kept: question.checkpoint }
        const told = (share: number) => progress('reading', share)
        return { ...(await trail.read(reader => verifyTrail(reader, wanted, told))) }
      })
    case 'verify-backups':
      return { backups: await verifyBackups(await openBackups(question.place, 'read'), progress) }
  }
}

function inMembers(error: unknown): never {
  if (!(error instanceof WrongProvider)) throw error
  throw new OperatorError(`${error.parameter} ${error.message}`)
}

/** Maximum number of faults, which is the default of `carrel events verify`. */
const maxFaults = 20

function signOnOf({ singleSignOn }: Config) {
  if (singleSignOn === null) throw new OperatorError('single sign-on is not configured')
  return singleSignOn
}

serveChild<Asked>(({ config, question }, running) => answer(config, question, running))
