import type { ExplainRequest } from '../authn/sso/explain.ts'
import type { Config } from '../config/config.ts'
import { type Client, createFairQueue, Overloaded } from '../lib/fair-queue.ts'
import { type Followed, type Report, runInChild } from '../threads/child.ts'

/**
 * What a command answers, and an administrator asks over HTTP. Each is answered by a process of its own, as the command is:
 * some read for minutes without a pause, or ask servers that don't answer (docs/decisions/0049).
 */
export type Question =
  | { readonly kind: 'doctor' }
  | { readonly kind: 'sso-check' }
  | { readonly kind: 'sso-explain'; readonly request: ExplainRequest }
  | { readonly kind: 'verify-trail'; readonly checkpoint: string | null }
  | { readonly kind: 'verify-backups'; readonly folder: string }

/** To the process that answers. */
export interface Asked {
  readonly config: Config
  readonly question: Question
}

export interface Questions {
  /**
   * Answers while a client waits.
   * @throws Refusal, Overloaded where others are waiting, or where it takes too long
   */
  ask(question: Question, client: Client): Promise<Report>
  /** Answers as a process, which may take as long as it takes. */
  work(question: Question, running: Followed): Promise<Report>
  close(): void
}

/** In ms: a provider has up to a minute for its metadata. */
const longest = 120_000
const maxWaiting = 10
const maxWait = 60_000

export function createQuestions(config: Config): Questions {
  const queue = createFairQueue({ max: 1, maxOfOne: 1, maxWaiting, maxWait })
  const closing = new AbortController()
  /** Those who ask the same at once are answered together. */
  const underWay = new Map<string, Promise<Report>>()

  const work: Questions['work'] = (question, running) =>
    runInChild<Asked>(
      { program: 'question-process', job: { config, question }, name: 'the process that answers' },
      running,
    )

  async function answer(question: Question): Promise<Report> {
    const tooLate = new AbortController()
    const timer = setTimeout(
      () => tooLate.abort(new Overloaded('The answer took too long. Try again, or use the command.')),
      longest,
    )
    try {
      const signal = AbortSignal.any([tooLate.signal, closing.signal])
      return await work(question, { signal, progress: () => {} })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    ask: (question, client) => {
      const key = JSON.stringify(question)
      const same = underWay.get(key)
      if (same) return same
      const answered = queue.run(client, () => answer(question)).finally(() => underWay.delete(key))
      underWay.set(key, answered)
      return answered
    },
    work,
    close: () => closing.abort(new Overloaded('The service is stopping.')),
  }
}
