import assert from 'node:assert/strict'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { change, forgetAttempts } from '../data/attempts.ts'
import type { Service } from '../service/service.ts'
import { until } from '../service/waiting.ts'
import { withoutRequestId } from './answers.ts'
import { Client } from './client.ts'

/** Settings with which a test can choose the address that a request comes from. */
export const behindProxy = { CARREL_TRUSTED_PROXIES: '127.0.0.1' }

export interface Guessed {
  readonly status: number
  /** Seconds; 0 without the header. */
  readonly retryAfter: number
  readonly code: string | undefined
  readonly body: string
}

/** Sends passwords from any address, through a proxy that the service trusts. */
export interface Guesser {
  guess(from: string, user: string, password?: string, signal?: AbortSignal): Promise<Guessed>
}

export async function guesserOf({ address }: Pick<Service, 'address'>): Promise<Guesser> {
  const { cookie, value } = await new Client(address).csrfPair()
  return {
    guess: async (from, user, password = 'a wrong guess', signal) => {
      const body = new URLSearchParams({ user, password }).toString()
      const sent = request(`${address}/api/authn/login`, {
        method: 'POST',
        ...(signal && { signal }),
        headers: {
          cookie,
          'x-xsrf-token': value,
          'x-forwarded-for': from,
          'content-type': 'application/x-www-form-urlencoded',
        },
      }).end(body)
      return new Promise((resolve, reject) => {
        sent.on('error', reject)
        sent.on('response', async response => {
          const answered = await text(response)
          resolve({
            status: response.statusCode ?? 0,
            retryAfter: Number(response.headers['retry-after'] ?? 0),
            code: answered === '' ? undefined : (JSON.parse(answered) as { code: string }).code,
            body: withoutRequestId(answered),
          })
        })
      })
    },
  }
}

/** @returns the statuses of this number of guesses, made one after another */
export async function statusesOf(count: number, guess: (at: number) => Promise<Guessed>): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < count; at++) statuses.push((await guess(at)).status)
  return statuses
}

/**
 * Sends as many wrong passwords as are free, and then a request that has to wait for a second (L8). If the
 * machine was too slow in between, everything is repeated.
 *
 * @param wrong sends the wrong password with this number, counted from 0
 * @returns the refusal
 */
export const refusalAfter = <T extends { readonly status: number }>(
  service: Pick<Service, 'dataFolder'>,
  free: number,
  wrong: (at: number) => Promise<unknown>,
  next: () => Promise<T>,
): Promise<T> =>
  until(
    `a refusal after ${free} wrong passwords`,
    async () => {
      await forgetAttempts(service)
      for (let at = 0; at < free - 1; at++) await wrong(at)
      const begun = performance.now()
      await wrong(free - 1)
      const last = await next()
      assert.ok(last.status === 429 || performance.now() - begun >= 1_000, `it was ${last.status}`)
      return last
    },
    ({ status }) => status === 429,
  )

/** Maximum number of wrong passwords checked within a time in ms: pauses of 1, 2, 4, … s follow the free ones. */
export const mostLookedAt = (free: number, time: number): number =>
  free + Math.floor(Math.log2(1 + time / 1_000))

/** Makes the next pauses longer than any test. */
export const makeLong = ({ dataFolder }: Pick<Service, 'dataFolder'>): Promise<void> =>
  change(dataFolder, `UPDATE attempt SET level = ${beyondAll} WHERE level > 0`)

/** Sends a wrong password, then raises all counts so that the next pause is longer than any test. */
export async function exhaust(
  service: Pick<Service, 'dataFolder'>,
  guess: () => Promise<Guessed>,
): Promise<void> {
  await guess()
  await makeLong(service)
}
/** A count above every number of free attempts. */
const beyondAll = 60
