import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { letPass } from '../data/attempts.ts'
import type { Service } from '../service/service.ts'
import { Client } from './client.ts'

/** Settings with which a test can say where a request comes from. */
export const behindProxy = { CARREL_TRUSTED_PROXIES: '127.0.0.1' }

export interface Guessed {
  readonly status: number
  /** In seconds; 0 if nothing was said. */
  readonly retryAfter: number
  readonly code: string | undefined
  readonly body: string
}

/** Sends passwords from any address, to a service that trusts the proxy that it says it is. */
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
            body: answered,
          })
        })
      })
    },
  }
}

/** @returns the statuses of that many guesses, one after the other */
export async function statusesOf(count: number, guess: (at: number) => Promise<Guessed>): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < count; at++) statuses.push((await guess(at)).status)
  return statuses
}

/** Guesses wrong until the next pause is so long, in seconds, that no slow machine is over it. */
export async function exhaust(
  service: Pick<Service, 'dataFolder'>,
  guess: (at: number) => Promise<Guessed>,
): Promise<void> {
  for (let at = 0; ; at++) {
    const { status, retryAfter } = await guess(at)
    if (status !== 429) continue
    if (retryAfter > longPause) return
    await letPass(service, retryAfter * 1000)
  }
}
const longPause = 20
