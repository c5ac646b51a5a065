import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { lstatSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { openSocket } from '../clients/raw.ts'
import { atEnd } from './at-end.ts'
import type { Answered } from './nodes.ts'
import { temporaryFolder } from './service.ts'
import { until } from './waiting.ts'

/** A connection that stays with one worker. */
export interface Connection {
  ask(path: string, asked?: Asked): Promise<Answered>
}

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Opens connections, enough that the kernel gives at least one to each worker. With 3 workers and 24
 * connections, a worker has none in 0.02 % of all runs.
 */
export const connectionsTo = (t: TestContext, address: string, count = 24): Connection[] =>
  Array.from({ length: count }, () => connectionTo(t, address))

function connectionTo(t: TestContext, address: string): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  atEnd(t, () => agent.destroy())
  return {
    ask: async (path, { method = 'GET', headers = {}, body } = {}) => {
      const sent = request(address + path, { agent, method, headers }).end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }
    },
  }
}

export interface Ends {
  /** Environment for `serve`. */
  readonly env: Readonly<Record<string, string>>
  /** Makes one worker do this. @returns when it has begun */
  begin(how: 'throw' | 'run out of memory'): Promise<void>
  /** Blocks one worker completely. @returns a function that releases it */
  stall(): Promise<() => void>
  /** Makes workers that start from now on wait before they listen. @returns a function that lets them listen */
  holdStarts(): () => void
}

/**
 * Creates a module that is loaded into each thread of a service and makes it possible to end a listening one.
 * It belongs to the tests; the service doesn't know it.
 */
export function endings(t: TestContext): Ends {
  const folder = temporaryFolder(t, 'sqlite')
  const order = join(folder, randomUUID())
  const released = join(folder, 'released')
  const held = join(folder, 'held')
  const file = join(folder, 'ends.cjs')
  writeFileSync(
    file,
    `const { existsSync, readlinkSync, unlinkSync } = require('node:fs')
     const { Server } = require('node:net')
     const { isMainThread } = require('node:worker_threads')
     const { listen } = Server.prototype
     const nobody = new Int32Array(new SharedArrayBuffer(4))
     const waitWhile = is => { while (is()) Atomics.wait(nobody, 0, 0, 20) }
     if (!isMainThread) Server.prototype.listen = function (...args) {
       setInterval(() => {
         let how
         // Only one thread removes it; of rmSync, several could think that they did.
         try { how = readlinkSync(${JSON.stringify(order)}); unlinkSync(${JSON.stringify(order)}) } catch { return }
         if (how === 'stall') return waitWhile(() => !existsSync(${JSON.stringify(released)}))
         if (how === 'throw') throw new Error('ended by a test')
         const kept = []
         for (;;) kept.push(new Array(100_000).fill(kept.length))
       }, 5)
       waitWhile(() => existsSync(${JSON.stringify(held)}))
       return listen.apply(this, args)
     }`,
  )
  async function begin(how: string): Promise<void> {
    // A link can be read without a descriptor.
    symlinkSync(how, order)
    await until(
      `a worker that takes the order to ${how}`,
      () => lstatSync(order, { throwIfNoEntry: false }) === undefined,
    )
  }
  return {
    env: { NODE_OPTIONS: `--require=${file} --max-old-space-size=96` },
    begin,
    stall: async () => {
      await begin('stall')
      const release = () => writeFileSync(released, '')
      atEnd(t, release)
      return release
    },
    holdStarts: () => {
      writeFileSync(held, '')
      const release = () => rmSync(held, { force: true })
      atEnd(t, release)
      return release
    },
  }
}

/** A connection over which requests are sent without waiting for answers (RFC 9112 §9.3.2). */
export interface Pipeline {
  /** @returns the answers to these requests, in order */
  ask(
    requests: readonly { readonly path: string; readonly headers: Readonly<Record<string, string>> }[],
  ): Promise<string[]>
}

export function pipelineTo(t: TestContext, address: string): Pipeline {
  const socket = openSocket(address)
  atEnd(t, () => socket.destroy())
  socket.setNoDelay(true)
  let received = Buffer.alloc(0)
  const waiting: ((body: string) => void)[] = []
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const end = received.indexOf('\r\n\r\n')
      const length = Number(
        /content-length: (\d+)/i.exec(received.toString('latin1', 0, Math.max(end, 0)))?.[1],
      )
      if (end < 0 || received.length < end + 4 + length) return
      waiting.shift()?.(received.toString('utf8', end + 4, end + 4 + length))
      received = received.subarray(end + 4 + length)
    }
  })
  return {
    ask: requests => {
      const answers = requests.map(() => new Promise<string>(resolve => waiting.push(resolve)))
      socket.write(
        requests
          .map(({ path, headers }) => {
            const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
            return `GET ${path} HTTP/1.1\r\nHost: service.test\r\n${lines.join('')}\r\n`
          })
          .join(''),
      )
      return Promise.all(answers)
    },
  }
}
